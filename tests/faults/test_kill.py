"""Killed with SIGKILL, again and again, `fencepost run` ends with the rows of a run that was not.

The JVM of a killed run is an orphan for a moment: the next run begins beside it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from fencepost.errors import LockedError, WorkerError
from pipelines.execute.task import work as evaluates
from pipelines.ingest.task import work as reads
from pipelines.project.settings import load
from pipelines.runs.run import run
from pipelines.spark.configuration import ATTEMPTS
from pipelines.spark.runner import HereRunner, SparkRunner
from tests.faults.deaths import ALWAYS, Deadly, deaths, dies
from tests.faults.story import JOINED, copied, differing, do, land, make, rows_of
from tests.support.commands.commands import REPOSITORY

FENCEPOST = "from pipelines.cli.app import main; main()"
SAID = "said.txt"
KILLS = (
    "ingest.planned:1",
    "ingest.quarantine:1",
    "ingest.tuples:1",
    "ingest.done:1",
    "epochs.planned:1",
    "epochs.evaluated:1",
    "epochs.events:1",
    "epochs.stream_state:1",
    "epochs.transitions:1",
    "epochs.matches:1",
    "epochs.done:1",
)
KILLS_OF_JOINS = (
    "epochs.pairs:1",
    "epochs.evaluated:1",  # the same group again: the feeds' own lanes are done by now
    "epochs.band_changes:1",
    "epochs.live_windows:1",
    "epochs.set_members:1",
    "epochs.done:1",
    "epochs.planned:1",
)
KILLS_ON_SPARK = ("ingest.tuples:1", "epochs.events:1", "epochs.stream_state:1")
DIES_IN_A_JOB = """
import os, signal, sys, threading
from pipelines.lake.crash_points import on_point

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def passed(name):
    if name == "epochs.planned":
        from pipelines.spark import session
        print(session._RUNNING[0].jvm.process.pid, flush=True)
        threading.Timer(0.2, die).start()

on_point(passed)
from pipelines.cli.app import main
main()
"""
RUNS_TWICE = """
import sys
from functools import partial
from pathlib import Path
from pipelines.spark import session
from pipelines.cli.errors import exit_code_of
from pipelines.execute.task import work
from pipelines.lake.lock import hold
from pipelines.runs.run import run, runner_of
from pipelines.project.settings import load
from tests.faults.deaths import Deadly, killing

settings = load(Path(sys.argv[1]))
runner = runner_of(settings, quick=True)
runner.spark
first = session._RUNNING[0].jvm.process.pid
deadly = Deadly(runner, {work: partial(killing, work, first)})
print(exit_code_of(lambda: run(settings, deadly), debug=False), session.ended(), flush=True)
with hold(settings.root, "the test", 0):
    pass
run(settings, runner, timeout=0)
print(session.ended(), session._RUNNING[0].jvm.process.pid != first)
"""
FOUND = ("events", "transitions", "matches", "stream_state", "pending", "reorder")


@pytest.fixture(scope="module")
def uncut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The story as it goes uncut: the project before each stage, and after the last."""
    folder = tmp_path_factory.mktemp("uncut")
    project = folder / "project"
    make(project)
    for stage in ("registered", "taken-in", "registered-again", "late"):
        copied(project, folder / stage)
        do(project, stage)
        if stage == "taken-in":
            copied(project, folder / "taken-in-done")
    return folder


def started(folder: Path, code: str = FENCEPOST, **environ: str) -> subprocess.Popen[str]:
    """Start `fencepost run --json` in a session of its own."""
    with (folder / SAID).open("a") as said:
        return subprocess.Popen(
            [sys.executable, "-c", code, "run", "--json", "--config", str(folder)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environ},
            stdout=subprocess.PIPE,
            stderr=said,  # no pipe: an orphan would hold it, and we would wait for it
            text=True,
            start_new_session=True,
        )


def ended(process: subprocess.Popen[str], folder: Path, code: int) -> str:
    """Wait for its end; give what it printed."""
    out, _ = process.communicate(timeout=100)
    assert process.returncode == code, (folder / SAID).read_text()
    return out


def killed(folder: Path, at: str, **environ: str) -> None:
    """Run until it is killed at a point."""
    ended(started(folder, FENCEPOST_CRASH_AT=at, **environ), folder, -signal.SIGKILL)


def finished(folder: Path, **environ: str) -> dict[str, list[object]]:
    """Run to the end."""
    told: dict[str, list[object]] = json.loads(ended(started(folder, **environ), folder, 0))
    return told


@pytest.mark.fault(1, 2, 4, 5, 7)
def test_killed_ten_times_in_a_row_a_run_changes_no_row(uncut, tmp_path, record_property) -> None:
    project = copied(uncut / "taken-in", tmp_path / "project")
    land(project, "taken-in")
    for at in KILLS:
        killed(project, at)
    record_property("kills", len(KILLS))
    finished(project)
    assert differing(rows_of(project), rows_of(uncut / "taken-in-done")) == []


@pytest.mark.fault(2, 5, 7)
def test_killed_again_and_again_a_run_of_joins_changes_no_row(tmp_path, record_property) -> None:
    uncut, project = tmp_path / "uncut", tmp_path / "project"
    make(uncut, story=JOINED)
    for stage in ("registered", "taken-in", "registered-again"):
        do(uncut, stage)
    copied(uncut, project)
    do(uncut, "late")
    land(project, "late")
    for at in KILLS_OF_JOINS:
        killed(project, at)
    record_property("kills", len(KILLS_OF_JOINS))
    finished(project)
    assert differing(rows_of(project), rows_of(uncut)) == []


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.fault(4, 5)
def test_killed_three_times_a_run_on_spark_changes_no_row(uncut, tmp_path, record_property) -> None:
    project = copied(uncut / "late", tmp_path / "project")
    land(project, "late")
    for at in KILLS_ON_SPARK:
        killed(project, at, FENCEPOST_RUNNER="spark")
    record_property("kills", len(KILLS_ON_SPARK))
    record_property("kills on Spark", len(KILLS_ON_SPARK))
    finished(project)
    assert differing(rows_of(project), rows_of(uncut / "project")) == []


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.fault(3, 10)
def test_an_orphaned_jvm_changes_no_row(uncut, tmp_path) -> None:
    project = copied(uncut / "taken-in", tmp_path / "project")
    land(project, "taken-in")
    process = started(project, DIES_IN_A_JOB, FENCEPOST_RUNNER="spark")
    orphan = int(ended(process, project, -signal.SIGKILL).split()[0])  # one a group of epochs
    try:
        finished(project)
        assert differing(rows_of(project), rows_of(uncut / "taken-in-done")) == []
        assert is_gone(orphan)
        assert differing(rows_of(project), rows_of(uncut / "taken-in-done")) == []
    finally:
        with suppress(ProcessLookupError):
            os.kill(orphan, signal.SIGKILL)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.fault(8)
def test_a_jvm_killed_in_a_job_fails_the_run_in_words_and_the_next_has_another(
    uncut, tmp_path
) -> None:
    """In one process, so that the lock was let go of, not freed by the kernel."""
    project = copied(uncut / "taken-in", tmp_path / "project")
    land(project, "taken-in")
    told = subprocess.run(
        [sys.executable, "-c", RUNS_TWICE, str(project)],
        cwd=REPOSITORY,
        env={**os.environ, "FENCEPOST_RUNNER": "spark"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert told.stdout.splitlines() == ["2 -9", "None True"], told.stderr
    assert told.stderr.startswith("Spark's Java was ended by SIGKILL in the middle of the work.")
    assert len(told.stderr.splitlines()) == 1
    assert differing(rows_of(project), rows_of(uncut / "taken-in-done")) == []


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.fault(9)
def test_a_worker_that_dies_once_costs_a_retry_and_changes_no_row(uncut, tmp_path, spark) -> None:
    project = copied(uncut / "late", tmp_path / "project")
    land(project, "late")
    marks = [tmp_path / "reads", tmp_path / "evaluates"]
    jobs = zip((reads, evaluates), marks, strict=True)
    for folder in marks:
        folder.mkdir()
    deadly = {work: partial(dies, work, str(folder), 1) for work, folder in jobs}
    run(load(project), Deadly(SparkRunner(lambda: spark), deadly))
    assert [deaths(folder) for folder in marks] == [1, 1]
    assert differing(rows_of(project), rows_of(uncut / "project")) == []


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.fault(9)
def test_a_worker_that_always_dies_ends_the_run_in_words_and_commits_nothing(
    uncut, tmp_path, spark
) -> None:
    project = copied(uncut / "late", tmp_path / "project")
    land(project, "late")
    settings, runner = load(project), SparkRunner(lambda: spark)
    deadly = Deadly(runner, {evaluates: partial(dies, evaluates, str(tmp_path), ALWAYS)})
    with pytest.raises(WorkerError, match=f"ended its worker {ATTEMPTS} times: Python worker exit"):
        run(settings, deadly)
    assert ATTEMPTS <= deaths(tmp_path) < ALWAYS
    before, left = rows_of(uncut / "late"), rows_of(project)
    assert [name for name in FOUND if left[name] != before[name]] == []
    run(settings, runner, timeout=0)
    assert differing(rows_of(project), rows_of(uncut / "project")) == []


def is_gone(pid: int, patience: float = 30.0) -> bool:
    """Wait until a process that is no child of ours has ended."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


@pytest.mark.fault(20)
def test_of_two_runs_at_once_one_waits_and_no_row_comes_twice(uncut, tmp_path) -> None:
    project = copied(uncut / "taken-in", tmp_path / "project")
    land(project, "taken-in")
    both = [started(project), started(project)]
    told = [json.loads(ended(process, project, 0)) for process in both]
    assert sorted(len(each["deliveries"]) for each in told) == [0, 4]
    assert differing(rows_of(project), rows_of(uncut / "taken-in-done")) == []


@pytest.mark.fault(20, 22)
def test_who_cannot_wait_is_told_who_writes_and_changes_nothing(uncut, tmp_path) -> None:
    project = copied(uncut / "taken-in", tmp_path / "project")
    land(project, "taken-in")
    settings = load(project)
    code = f"""
import sys
from pathlib import Path
from pipelines.lake.lock import hold
with hold(Path({str(settings.root)!r}), "fencepost run"):
    print("held", flush=True)
    sys.stdin.read()
"""
    holds = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holds:
        assert holds.stdout is not None
        assert holds.stdout.readline() == "held\n"
        with pytest.raises(LockedError, match=f"`fencepost run` \\(process {holds.pid} on"):
            run(settings, HereRunner(), timeout=0.2)
        assert differing(rows_of(project), rows_of(uncut / "taken-in")) == []
        holds.kill()
    report = run(settings, HereRunner())
    assert len(report.ingested.loaded) == 4
