"""Many seeds in several processes, counted, until they are done or the time is over."""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context

from tests.simulated.run import Ran, run

CHUNK = 250
TOLD_EVERY = 30.0
"""Seconds."""


def chunk_of(first: int, seeds: int) -> Counter[str]:
    """Run a chunk of seeds; what they were made of, in all."""
    total: Counter[str] = Counter(seeds=seeds)
    for seed in range(first, first + seeds):
        ran = run(seed)
        total.update({name: getattr(ran, name) for name in Ran.TOTALS})
    return total


def chunks(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Cut a range of seeds."""
    for begin in range(first, last + 1, CHUNK):
        yield begin, min(CHUNK, last + 1 - begin)


def say(total: Counter[str], begun: float) -> None:
    """Print how far it has come."""
    seconds = time.monotonic() - begun
    told = " · ".join(f"{name} {total[name]:,}" for name in Ran.TOTALS)
    rate = f"{total['seeds'] / seconds:,.0f} a second"
    sys.stdout.write(f"{total['seeds']:,} seeds in {seconds:,.0f} s ({rate}): {told}\n")
    sys.stdout.flush()


def all_of(first: int, last: int, processes: int, minutes: float) -> Counter[str]:
    """Run seeds in several processes until they are done or the time is over."""
    begun = told = time.monotonic()
    total: Counter[str] = Counter()
    left = chunks(first, last)
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        running: set[Future[Counter[str]]] = set()
        while True:
            if time.monotonic() - begun < minutes * 60:
                more = islice(left, processes - len(running))
                running |= {pool.submit(chunk_of, *chunk) for chunk in more}
            if not running:
                break
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                total.update(each.result())
            if time.monotonic() - told > TOLD_EVERY:
                told = time.monotonic()
                say(total, begun)
    say(total, begun)
    return total
