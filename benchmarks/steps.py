"""A step, from tuples as they come to the next state: what it costs, and how its time divides."""

import time
from collections.abc import Callable
from functools import partial
from unittest import mock

import numpy as np

from benchmarks.report import Line
from benchmarks.walks import bands, indexed, laid
from fencepost.arrivals import in_turn
from fencepost.arrivals.arrive import arrive
from fencepost.crossings import BorderIndex, walk
from fencepost.engine import step
from fencepost.order import AS_THEY_COME, OrderRules
from fencepost.outcome import FeedOutcome
from fencepost.state import FeedState
from fencepost.tuples import TupleBatch
from pipelines.workloads import PriceWalks

FEED, AXES = "ticks", ("price",)
STREAMS, LENGTH, RARE = 50_000, 100, 5e-8
LATENESS, ASTRAY = 5_000_000, 0.01
EACH, OF_KERNELS, OF_ORDERED = 30e-9, 3.0, 2.0
REPEATS = 7


def in_time() -> list[Line]:
    """5 M tuples of 50 K streams, mixed at each instant, an event per 100; then 1% out of order."""
    ticks, index = _mixed(), indexed(bands(100_000))
    half = len(ticks) // 2
    first, then = (ticks.take(np.arange(a, a + half)) for a in (0, half))
    state = step(FeedState.empty(FEED, AXES), first, index, deliveries=1).state
    work = partial(step, state, then, index, deliveries=1)
    found = _assert_as_sorted(work)
    whole = _median(work)
    path = laid(then)
    alone = _median(lambda: walk(index, path, fast=True).events)
    arrived = _median(lambda: _arrive(state, then, index, AS_THEY_COME))
    each = [seconds / half * 1e9 for seconds in (whole, arrived, alone)]
    facts = (
        f"{each[0]:.1f} ns a tuple, of them judged and arranged {each[1]:.1f}; the kernels on a "
    )
    facts += f"path that lies ready {each[2]:.1f}; {half:,} tuples, {found:,} events"
    lines = [
        Line("a step in order of time, of 30 ns a tuple", whole / half / EACH, 1.0, facts=facts),
        Line("  of the kernels alone", whole / alone, OF_KERNELS),
    ]
    rules = OrderRules(lateness=LATENESS)
    waiting = step(FeedState.empty(FEED, AXES), first, index, deliveries=1, rules=rules).state
    astray = then.take(_astray(then))
    late = partial(step, waiting, astray, index, deliveries=1, rules=rules)
    _assert_as_sorted(late)
    took = _median(late)
    facts = f"{took / half * 1e9:.1f} ns a tuple"
    what = "lateness 5 s, 1% out of order, of the first"
    return [*lines, Line(what, took / whole, OF_ORDERED, facts=facts)]


def _mixed() -> TupleBatch:
    """Walks whose streams come in another order at each instant."""
    ticks = PriceWalks(streams=STREAMS, length=LENGTH, fluctuation=RARE).tuples()
    draw = np.random.default_rng(5)
    order = [at * STREAMS + draw.permutation(STREAMS) for at in range(LENGTH)]
    return ticks.take(np.concatenate(order))


def _astray(batch: TupleBatch) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Give an order in which some tuples come up to three seconds later."""
    draw = np.random.default_rng(6)
    delay = np.where(draw.random(len(batch)) < ASTRAY, draw.integers(0, 3_000_000, len(batch)), 0)
    return np.argsort(batch.ts + delay, kind="stable")


def _arrive(state: FeedState, batch: TupleBatch, index: BorderIndex, rules: OrderRules) -> object:
    return arrive(state, batch, index, deliveries=1, rules=rules)


def _assert_as_sorted(work: Callable[[], FeedOutcome]) -> int:
    """Compare with the way that sorts all tuples; give how many events there are."""
    mine = work().events
    with mock.patch.object(in_turn, "in_turn", return_value=None):
        assert mine.equals(work().events), "the two ways differ"
    return mine.num_rows


def _median(work: Callable[[], object]) -> float:
    """Take the median of the processor's seconds, after one round unseen."""
    work()
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return sorted(times)[REPEATS // 2]
