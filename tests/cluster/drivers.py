"""Programs that drive a cluster: `fencepost run`, standing still where a test wants it to."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.cluster.standalone import Standalone, kill, python
from tests.faults.story import copied, land
from tests.support.commands.commands import REPOSITORY

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
