"""Faults of a disk, put into one run of `fencepost` at one system call: by strace.

A plain run under strace lists the calls of each thread that touch the project. A fault is then one
of them, by its number, and an errno. strace counts in each thread, so the same number may hit a
call that is none of the disk's; the trace says so, and such a run proves nothing.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

CALLS = ("openat", "mkdir", "rename", "link,linkat", "unlink")
ERRORS = ("ENOSPC", "EIO", "EROFS", "EDQUOT")
LINE = re.compile(r"(\d+) +(\w+)\((.*)")
LONGEST = 60
HANGS = -1
STRACE = shutil.which("strace")


@dataclass(frozen=True)
class Fault:
    """The k-th of some calls fails, in whichever thread gets so far."""

    calls: str
    at: int
    error: str

    def __str__(self) -> str:
        """Name it as strace does."""
        return f"{self.calls}:error={self.error}:when={self.at}"


@dataclass(frozen=True)
class Ended:
    """How the run ended, and which calls failed."""

    code: int
    stderr: str
    failed: tuple[str, ...]


@cache
def why_not() -> str | None:
    """Say why calls cannot be made to fail here; None where they can."""
    if STRACE is None:
        return "there is no strace here"
    tried = subprocess.run(
        [STRACE, "-f", "-qq", "-e", "inject=getppid:error=EIO", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return None if tried.returncode == 0 else f"ptrace is not allowed: {tried.stderr.strip()}"


def command(folder: Path, *arguments: str) -> list[str]:
    """Give the command line of a run on a project."""
    return [sys.executable, "-m", "pipelines.cli.app", *arguments, "--config", str(folder)]


def traced(folder: Path, calls: str, *options: str, arguments: tuple[str, ...]) -> Ended:
    """Run under strace, which writes down the calls that touch the project."""
    trace = folder.with_name(f"{folder.name}.trace")
    strace = [str(STRACE), "-f", "-qq", "-y", "--seccomp-bpf", "-o", str(trace), f"-etrace={calls}"]
    try:
        ended = subprocess.run(
            [*strace, *options, *command(folder, *arguments)],
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
            env={**os.environ, "FENCEPOST_RUNNER": "here"},
            cwd=Path(__file__).parents[2],
        )
        code, stderr = ended.returncode, ended.stderr
    except subprocess.TimeoutExpired:
        code, stderr = HANGS, f"it did not end in {LONGEST} s"
    lines = trace.read_text(errors="replace").splitlines()
    injected = tuple(line for line in lines if "(INJECTED)" in line)
    return Ended(code, stderr, injected)


def faults(folder: Path, calls: str, *arguments: str) -> list[Fault]:
    """List the places where a call of some thread touches the project, from a run of its own."""
    traced(folder, calls, arguments=arguments)
    trace = folder.with_name(f"{folder.name}.trace").read_text(errors="replace")
    return [
        Fault(calls, at, "EIO" if reads else ERRORS[n % len(ERRORS)])
        for n, (at, reads) in enumerate(sorted(_places(trace.splitlines(), str(folder)).items()))
    ]


def _places(lines: list[str], project: str) -> dict[int, bool]:
    """Give the numbers at which every thread that gets so far touches the project, if to read."""
    counted: dict[str, int] = {}
    reads: dict[int, bool] = {}
    others: set[int] = set()
    for line in lines:
        call = LINE.match(line)
        if call is None:
            continue
        at = counted[call[1]] = counted.get(call[1], 0) + 1
        if project in call[3]:
            reads[at] = reads.get(at, False) or "O_RDONLY" in call[3]
        elif call[2] != "openat":  # a module that is not found is another matter, and shows
            others.add(at)
    return {at: only for at, only in reads.items() if at not in others}


def with_fault(folder: Path, fault: Fault, *arguments: str) -> Ended | None:
    """Run with a fault; None where it hit nothing, or something that is none of the disk's."""
    ended = traced(folder, fault.calls, "-e", f"inject={fault}", arguments=arguments)
    if not ended.failed or any(str(folder) not in line for line in ended.failed):
        return None
    return ended


def require() -> None:
    """Skip, and say why, where calls cannot be made to fail."""
    why = why_not()
    if why is not None:
        pytest.skip(why)
