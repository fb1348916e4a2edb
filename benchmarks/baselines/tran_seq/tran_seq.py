"""S1's Tran-Seq, literally: events in the order of time through two sliding windows.

The windows of all queries with the same t are one pair of lists and one pair of tables, keyed by
query and stream. Fig. 8 deletes only from the list of the arriving type, after the probe; so an
event that is too old could still be matched, and one whose answer never comes would never be
reported. Here both lists are cut before the probe, and once more at the end.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.baselines.tran_seq import kernels
from fencepost.errors import InputError
from fencepost.tuples import Int8s, Int32s, Int64s


@dataclass(frozen=True, eq=False)
class Composed:
    """The transitions of some events: of which kind, of which event, answered by which (or -1)."""

    kind: Int8s
    begun: Int64s
    ended: Int64s
    accesses: int


@dataclass(frozen=True)
class TranSeq:
    """The windows of length `within`; `buckets` of each table, a power of two.

    compose  O(1 + t λ / 2|B|) accesses an event
    size     16 bytes an event within t, 8 a bucket
    """

    within: int
    buckets: int = 2_048

    def compose(
        self, query: Int32s, stream: Int32s, ts: Int64s, kind: Int8s, until: int
    ) -> Composed:
        """Run events through, in the order of time; `until` is the watermark behind them."""
        if self.buckets & (self.buckets - 1):
            raise InputError(f"{self.buckets} buckets: a power of two expected")
        if len(ts) and (np.diff(ts) < 0).any():
            raise InputError("events are not in the order of time")
        cells = tuple(np.empty(len(ts), np.int64) for _ in range(4))
        found = np.empty(len(ts), np.int8), *np.empty((2, len(ts)), np.int64)
        tables = np.full((2, self.buckets), kernels.NONE, np.int64)
        events = query, stream, ts, kind
        used, accesses = kernels.compose(events, self.within, until, tables, cells, found)
        kinds, begun, ended = (column[:used] for column in found)
        return Composed(kinds, begun, ended, accesses)
