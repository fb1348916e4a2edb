"""What the machine does to a run: it stops it, takes its memory, turns its clock, answers anew.

Each time the rows of all tables are compared with the story that nothing happened to.
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.execute.share import TaskResult
from pipelines.lake.append import Diverged
from pipelines.lake.crash_points import on_point
from pipelines.lake.lock import LOCK
from pipelines.project.settings import load
from pipelines.runs.run import run
from pipelines.spark.runner import HereRunner, Work
from tests.faults.story import copied, differing, do, land, make, rows_of
from tests.faults.victim import PATIENCE, SERVER
from tests.support.commands.commands import REPOSITORY
from tests.support.crashes import Killed

HANGS = 10.0
"""Seconds after which a run that stands still is killed."""
STAGES = ("registered", "taken-in", "registered-again", "late")


@pytest.fixture(scope="module")
def uncut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project before and after the stage `late`."""
    folder = tmp_path_factory.mktemp("uncut")
    project = folder / "project"
    make(project)
    for stage in STAGES:
        if stage == "late":
            copied(project, folder / "before")
        do(project, stage)
    return folder


@pytest.fixture
def project(uncut, tmp_path) -> Path:
    return copied(uncut / "before", tmp_path / "project")


class AnswersAnew(HereRunner):
    """Finds other rows than last time."""

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        answers = [TaskResult.from_json(line) for line in super().run(work, tasks)]
        return [
            replace(a, hashes={name: hashed ^ 1 for name, hashed in a.hashes.items()}).to_json()
            for a in answers
        ]


@pytest.mark.fault(12)
def test_a_replay_that_finds_other_rows_stops_and_writes_nothing(uncut, project) -> None:
    off = on_point(stop_at_events)
    try:
        with pytest.raises(Killed):
            do(project, "late")
    finally:
        off()
    before = rows_of(project)
    with pytest.raises(Diverged, match=r"rows of another content\. Nothing was written"):
        run(load(project), AnswersAnew())
    assert differing(before, rows_of(project)) == []
    run(load(project), HereRunner())
    assert differing(rows_of(uncut / "project"), rows_of(project)) == []


def stop_at_events(name: str) -> None:
    if name == "epochs.events":
        raise Killed(name)


def suspended(folder: Path, place: str) -> None:
    """Tell a stage, and be suspended at the place."""
    on_point(lambda name: os.kill(os.getpid(), signal.SIGSTOP) if name == place else None)
    do(folder, "late")


@pytest.mark.fault(10, 22)
@pytest.mark.parametrize("place", ["ingest.tuples", "epochs.planned", "epochs.evaluated"])
def test_a_run_that_wakes_up_after_another_took_over_adds_no_row(uncut, project, place) -> None:
    """Its lock is taken from under it, as a file server that restarts would."""
    SERVER.set_forkserver_preload(["tests.faults.victim"])
    zombie = SERVER.Process(target=suspended, args=(project, place))
    zombie.start()
    assert zombie.pid is not None
    wait_until_stopped(zombie.pid)
    (project / "lake" / LOCK).unlink()
    run(load(project), HereRunner())
    assert differing(rows_of(uncut / "project"), rows_of(project)) == []
    os.kill(zombie.pid, signal.SIGCONT)
    zombie.join(PATIENCE)
    assert zombie.exitcode is not None
    assert differing(rows_of(uncut / "project"), rows_of(project)) == []


def wait_until_stopped(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
            return
        time.sleep(0.02)
    pytest.fail("it never came to the place")


def starved(folder: Path, megabytes: int) -> None:
    """Tell a stage with so much memory beyond what it has, and no more."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    do(folder, "late")


@pytest.mark.fault(56)
@pytest.mark.parametrize("megabytes", [0, 32, 128])
def test_a_run_that_runs_out_of_memory_changes_no_row(uncut, project, megabytes) -> None:
    """Arrow and delta-rs abort; where one of them waits for ever it is killed, as by a watchdog."""
    SERVER.set_forkserver_preload(["tests.faults.victim"])
    victim = SERVER.Process(target=starved, args=(project, megabytes))
    victim.start()
    victim.join(HANGS)
    if victim.exitcode is None:
        victim.kill()
        victim.join()
    assert victim.exitcode != 0
    land(project, "late")
    run(load(project), HereRunner())
    assert differing(rows_of(uncut / "project"), rows_of(project)) == []


@pytest.mark.fault(53)
def test_a_clock_that_jumps_and_runs_backwards_changes_no_row(uncut, tmp_path, monkeypatch) -> None:
    project = tmp_path / "project"
    make(project)
    draw, true = random.Random(0), time.time_ns  # noqa: S311
    for stage in STAGES:
        monkeypatch.setattr(
            time, "time_ns", lambda: true() + draw.randint(-7200, 7200) * 1_000_000_000
        )
        do(project, stage)
    assert differing(rows_of(uncut / "project"), rows_of(project)) == []


ENVIRONMENTS = [
    {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Kathmandu", "NUMBA_NUM_THREADS": "1"},
    pytest.param(
        {
            "PYTHONHASHSEED": "2",
            "LC_ALL": "C.UTF-8",
            "OMP_NUM_THREADS": "3",
            "NUMBA_CPU_NAME": "generic",
            "NUMBA_CPU_FEATURES": "",
            "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX",
        },
        marks=pytest.mark.slow,
    ),
]
TELLS = """
import json, sys
from pathlib import Path
from tests.support.crashes import Killed
from tests.faults.story import do, rows_of
do(Path(sys.argv[1]), "late")
print(json.dumps(rows_of(Path(sys.argv[1]))))
"""


@pytest.mark.fault(54, 55)
@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=["others", "no vectors"])
def test_no_locale_hash_seed_thread_or_instruction_set_changes_a_row(
    uncut, project, environment, tmp_path
) -> None:
    own = {"NUMBA_CACHE_DIR": str(tmp_path)} if "NUMBA_CPU_NAME" in environment else {}
    said = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TELLS, str(project)],
        cwd=REPOSITORY,
        env={**os.environ, **environment, **own},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=200,
    )
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout) == rows_of(uncut / "project")
