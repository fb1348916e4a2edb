"""Processes that tell a stage of a story and are killed on the way, by the hundred.

Each is forked from a server that has imported everything and done nothing: a tenth of a second,
where a command takes one and a half. It leads a process group of its own, and is killed with it.
"""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from pipelines.lake.crash_points import CRASH_AT
from tests.faults.story import do

SERVER = get_context("forkserver")
PATIENCE = 100.0


def tell(folder: Path, stage: str, crash_at: str | None, ready: Connection) -> None:
    """Tell a stage, as a process of its own group; killed at a named point where one is given."""
    os.setsid()
    if crash_at is not None:
        os.environ[CRASH_AT] = crash_at
    ready.send(True)
    do(folder, stage)


def told(folder: Path, stage: str, crash_at: str | None = None, after: float | None = None) -> int:
    """Tell a stage in a process; killed at a point, or after so many seconds. Its exit code."""
    SERVER.set_forkserver_preload(["tests.faults.victim"])
    hears, ready = SERVER.Pipe(duplex=False)
    victim = SERVER.Process(target=tell, args=(folder, stage, crash_at, ready))
    victim.start()
    ready.close()
    assert hears.recv()
    if after is not None:
        time.sleep(after)
        if victim.is_alive() and victim.pid is not None:
            os.killpg(victim.pid, signal.SIGKILL)
    victim.join(PATIENCE)
    if victim.exitcode is None:
        os.killpg(victim.pid or 0, signal.SIGKILL)
        raise AssertionError(f"{stage} was not told in {PATIENCE:g} s")
    return victim.exitcode


def seconds_of(folder: Path, stage: str) -> float:
    """Tell a stage uninterrupted; how long it takes."""
    begun = time.monotonic()
    assert told(folder, stage) == 0
    return time.monotonic() - begun


def places(points: Sequence[str]) -> list[str]:
    """Name each passing of each point, as FENCEPOST_CRASH_AT does."""
    passed: Counter[str] = Counter()
    named = []
    for point in points:
        passed[point] += 1
        named.append(f"{point}:{passed[point]}")
    return named


def kills(
    draw: random.Random, folder: Path, stage: str, points: Sequence[str], seconds: float
) -> Iterator[str]:
    """Kill a stage at a named point or at a random moment, and now and then its recovery too."""
    again = True
    while again:
        if draw.random() < 0.5:
            at = draw.choice(places(points))
            code = told(folder, stage, crash_at=at)
        else:
            moment = draw.uniform(0, seconds)
            at = f"after {moment:.3f} s"
            code = told(folder, stage, after=moment)
        if code == -signal.SIGKILL:
            yield at
        else:  # it was done before, or never came to that point again
            assert code == 0, f"{stage} at {at} ended with {code}"
        again = draw.random() < 0.3
