"""Ranges: for a new tuple a conjunct is a range on each axis of the other side, and a run of rows.

The window is sorted along each axis. The range with the fewest entries is found by binary search,
and those entries are tested for everything the conjunct requires. The tests between the sides are
searched directly, so a rounded sum is a border like any other. Where few conjuncts meet a
long window, sorting it costs more than it saves: `runs` tests the runs of rows.

Law: the entries found are a superset of those that pair, and each is tested exactly.
"""

import numpy as np

from fencepost.joins.windows import range_kernels
from fencepost.joins.windows.inputs import WindowProbe
from fencepost.joins.windows.pairs import Pairs, grown
from fencepost.tuples import Doubles, Int32s, Int64s

FEWEST = 1 << 12  # room for pairs to begin with


def search(probe: WindowProbe) -> Pairs:
    """Find the pairs. O(d n log n), O(d log n) a conjunct matched, O(1) an entry tested."""
    values = probe.standing.values
    order = np.argsort(values, axis=1).astype(np.int32)
    along = np.take_along_axis(values, order.astype(np.int64), axis=1)
    return _found(probe, along, order)


def scan_runs(probe: WindowProbe) -> Pairs:
    """Find the pairs, with nothing sorted. O(log n) a conjunct matched, O(1) a row of a window."""
    unsorted = (len(probe.standing.values), 0)
    return _found(probe, np.empty(unsorted), np.empty(unsorted, np.int32))


def _found(probe: WindowProbe, along: Doubles, order: Int32s) -> Pairs:
    old, query = np.empty(FEWEST, np.int32), np.empty(FEWEST, np.int32)
    ends = np.zeros(len(probe.new.ts) + 1, np.int64)
    state = np.zeros(3, np.int64)  # the new tuple, the conjunct matched, the pairs so far
    while True:
        wanted = range_kernels.find(probe, along, order, old, query, ends, state)
        if wanted == 0:
            break
        size = 2 * len(old) + int(wanted)
        old, query = grown(old, size, int(state[2])), grown(query, size, int(state[2]))
    used = int(state[2])
    return Pairs.once_each(_owner(ends), old[:used].astype(np.int64), query[:used])


def _owner(ends: Int64s) -> Int64s:
    return np.repeat(np.arange(len(ends) - 1), np.diff(ends))
