"""The inputs of a probe: new tuples, the standing window, and which conjuncts match the new.

Law: `matched` names, for each new tuple, the conjuncts whose box and tests of its own side hold, in
ascending order; so conjuncts of a query come one after the other.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fencepost.joins.windows import kernels
from fencepost.joins.windows.conjuncts import LONGEST, Conditions, Terms
from fencepost.joins.windows.live import Live
from fencepost.matches import ProbeResult
from fencepost.tuples import Doubles, Int32s, Int64s


class NewTuples(NamedTuple):
    """m new tuples; to each its mark, and how many of the other feed came before it."""

    ts: Int64s
    values: Doubles  # [axis, m]
    mark: Int64s
    accepted: Int64s


class StandingWindow(NamedTuple):
    """n old tuples, in the order in which they were accepted.

    latest[i] is the latest ts up to row i, earliest[i] the earliest from row i on: where ts hardly
    ever falls, a range of times is a run of rows. since[t] is the first row accepted after the
    queries of terms t were registered.
    """

    ts: Int64s
    values: Doubles  # [axis, n]
    place: Int64s
    latest: Int64s
    earliest: Int64s
    since: Int64s


class ConjunctMatches(NamedTuple):
    """The conjuncts that new tuple i satisfies by itself are ids[ptr[i]:ptr[i + 1]]."""

    ptr: Int64s
    ids: Int32s


class WindowProbe(NamedTuple):
    """New tuples against a window, by the conjuncts of the new ones' side."""

    new: NewTuples
    standing: StandingWindow
    conditions: Conditions
    matched: ConjunctMatches


def new_tuples(
    ts: Int64s, values: Doubles, mark: Int64s | int, accepted: Int64s | int
) -> NewTuples:
    """Give each new tuple its mark and its count."""
    m = len(ts)
    marks = np.maximum(np.broadcast_to(np.asarray(mark, np.int64), m), -LONGEST)
    counts = np.array(np.broadcast_to(np.asarray(accepted, np.int64), m))
    return NewTuples(_owned(ts, np.int64), _owned(values, np.float64), marks, counts)


def standing_window(live: Live, terms: Terms) -> StandingWindow:
    """Compute what concerns the window as a whole, once a probe. O(n)."""
    ts, place = _owned(live.ts, np.int64), _owned(live.place, np.int64)
    latest = np.maximum.accumulate(ts)
    earliest = np.minimum.accumulate(ts[::-1])[::-1].copy()
    since = np.searchsorted(live.registry, terms.registered).astype(np.int64)
    return StandingWindow(
        ts=ts,
        values=_owned(live.values, np.float64),
        place=place,
        latest=latest,
        earliest=earliest,
        since=since,
    )


def _owned(column: npt.NDArray[Any], kind: type[np.generic]) -> npt.NDArray[Any]:
    """Give what the kernels are compiled for: contiguous, and not read-only; mostly as it is."""
    return np.require(column, kind, ["C", "W"])


def matches_of(found: ProbeResult, conjuncts: int) -> ConjunctMatches:
    """Put what an index found in order. O(results)."""
    if len(found.ids) < 2:
        return ConjunctMatches(found.ptr, found.ids)
    ids = found.ids.copy()
    kernels.ascend(found.ptr, ids, np.zeros((conjuncts >> 6) + 1, np.uint64))
    return ConjunctMatches(found.ptr, ids)
