"""A standalone cluster of two workers writes the rows of one process, whatever is killed.

Its executors have nothing of ours but what the driver ships: tests/cluster/standalone.py.
"""

import os
import signal
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.standalone import Standalone, kill, python, running
from tests.faults.story import JOINED, copied, differing, do, land, make, rows_of
from tests.support.commands.commands import REPOSITORY

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.xdist_group("cluster"),
    pytest.mark.timeout(600),
]

RUN = """
import sys
from pathlib import Path
from pipelines.cli.errors import exit_code_of
from pipelines.lake.crash_points import on_point
from pipelines.project.settings import load
from pipelines.runs.run import run, runner_of

def passed(name):
    if name in sys.argv[1].split(","):
        print(name, flush=True)
        sys.stdin.readline()

on_point(passed)
for project in sys.argv[2:]:
    settings = load(Path(project))
    runner = runner_of(settings, quick=True)
    runner.spark
    code = exit_code_of(lambda: run(settings, runner), debug=False)
    print("ended", int(code), flush=True)
"""
IN_FLIGHT = 1.0
"""Seconds after which the tasks of a job are with their executors."""
NOWHERE = "-"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with running(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def uncut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two stories as they go in one process: before their files have landed, and after."""
    folder = tmp_path_factory.mktemp("uncut")
    make(folder / "crossed")
    make(folder / "joined", story=JOINED)
    for name in ("crossed", "joined"):
        do(folder / name, "registered")
        copied(folder / name, folder / f"{name}-before")
        do(folder / name, "taken-in")
    return folder


def landed(uncut: Path, name: str, target: Path) -> Path:
    """Give a project whose files have landed, and nothing more."""
    project = copied(uncut / f"{name}-before", target)
    land(project, "taken-in")
    return project


def started(
    cluster: Standalone, cwd: Path, points: str, *projects: Path, **environ: str
) -> "subprocess.Popen[str]":
    """Start `fencepost run` on the cluster; it waits for a line at each of these points."""
    path = {"PYTHONPATH": str(REPOSITORY)}
    return python(RUN, (points, *projects), cwd, **cluster.environment, **path, **environ)


def said(driver: "subprocess.Popen[str]") -> str:
    """Wait for a line of the driver."""
    assert driver.stdout is not None
    return driver.stdout.readline().strip()


def go_on(driver: "subprocess.Popen[str]") -> None:
    """Let a driver that waits go on."""
    assert driver.stdin is not None
    driver.stdin.write("\n")
    driver.stdin.flush()


def test_executors_without_our_code_write_the_rows_of_one_process(cluster, uncut, tmp_path) -> None:
    names = ("crossed", "joined")
    projects = [landed(uncut, name, tmp_path / name) for name in names]
    driver = started(cluster, tmp_path, NOWHERE, *projects)
    out, err = driver.communicate(timeout=300)
    assert out.splitlines() == ["ended 0", "ended 0"], err
    for name, project in zip(names, projects, strict=True):
        assert differing(rows_of(project), rows_of(uncut / name)) == []


def test_executors_that_lack_our_code_end_the_run_in_words_and_refuse_nothing(
    cluster, uncut, tmp_path
) -> None:
    """An archive of their own says that they have it; it does not."""
    project = landed(uncut, "crossed", tmp_path / "project")
    with zipfile.ZipFile(tmp_path / "theirs.zip", "w") as theirs:
        theirs.writestr("nothing.txt", "")
    with (project / "fencepost.toml").open("a") as toml:
        toml.write(f'[run.spark]\n"spark.archives" = "{tmp_path}/theirs.zip#theirs"\n')
    before = rows_of(project)
    driver = started(cluster, tmp_path, NOWHERE, project)
    out, err = driver.communicate(timeout=300)
    assert out.splitlines() == ["ended 2"], err
    assert "Spark's executors cannot do the work: " in err
    assert "No module named 'pipelines'" in err
    rows = rows_of(project)
    assert [name for name in before if name != "arrivals" and rows[name] != before[name]] == []
    assert not any("refused" in row for row in rows["arrivals"])
    do(project, "taken-in")
    assert differing(rows_of(project), rows_of(uncut / "crossed")) == []


@pytest.mark.fault(9)
def test_an_executor_killed_in_each_stage_changes_no_row(
    cluster, uncut, tmp_path, record_property
) -> None:
    points = ("ingest.planned", "epochs.planned")
    project = landed(uncut, "crossed", tmp_path / "project")
    driver = started(cluster, tmp_path, ",".join(points), project)
    seen = []
    while (line := said(driver)) in points:
        seen.append(line)
        kill_one(cluster, lambda: go_on(driver))
    record_property("kills", len(seen))
    assert line == "ended 0", driver.communicate()[1]
    assert {*seen} == {*points}
    driver.communicate(timeout=60)
    assert differing(rows_of(project), rows_of(uncut / "crossed")) == []


def kill_one(cluster: Standalone, go: Callable[[], None]) -> None:
    """Kill an executor that has its task: they stand still until the tasks are on their way."""
    executors = cluster.executors()
    for pid in executors:
        os.kill(pid, signal.SIGSTOP)
    go()
    time.sleep(IN_FLIGHT)
    assert executors
    kill(executors[0])
    for pid in executors[1:]:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.fault(9)
def test_a_worker_that_is_killed_changes_no_row(cluster, uncut, tmp_path) -> None:
    project = landed(uncut, "joined", tmp_path / "project")
    driver = started(cluster, tmp_path, "ingest.planned", project)
    assert said(driver) == "ingest.planned"
    go_on(driver)
    cluster.processes[1].kill()
    cluster.processes[1].wait()
    try:
        out, err = driver.communicate(timeout=300)
    finally:
        del cluster.processes[1]
        cluster.start_worker()
    assert out.splitlines() == ["ended 0"], err
    assert differing(rows_of(project), rows_of(uncut / "joined")) == []


@pytest.mark.fault(4, 5)
def test_a_driver_killed_in_each_stage_changes_no_row(
    cluster, uncut, tmp_path, record_property
) -> None:
    project = landed(uncut, "crossed", tmp_path / "project")
    points = ("ingest.planned", "epochs.planned", "epochs.events")
    for point in points:
        driver = started(cluster, tmp_path, point, project)
        assert said(driver) == point
        go_on(driver)
        time.sleep(0.2)
        driver.kill()
        driver.communicate()
    record_property("kills", len(points))
    driver = started(cluster, tmp_path, NOWHERE, project)
    out, err = driver.communicate(timeout=300)
    assert out.splitlines() == ["ended 0"], err
    assert differing(rows_of(project), rows_of(uncut / "crossed")) == []
