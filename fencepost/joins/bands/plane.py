"""Many band joins over two sets that change: S4's Q1 and Q2, by a stabbing partition.

A plane is one axis of the left feed against one of the right: the value that each stream now has,
in order, and the bands in groups. The paper keeps the covering intervals of the groups
shifted by every point, O(m τ) of them, so that a search among them costs O(log(m τ)); here each
group that is near is searched for among the points themselves. That takes O(m + n) memory, lets a
point move in O(log m), and costs a look at a cell or two for a group that is not near.

Law: (r, s) is in the result of a band iff low <= fl(r − s) <= high, one float64 subtraction, and
what an update reports is the result after it less the result before it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeVar

import numpy as np

from fencepost.errors import InputError
from fencepost.joins.bands import kernels, move_kernels, result_kernels
from fencepost.joins.bands.changes import BandChanges, BandPairs, ChangeColumns
from fencepost.joins.bands.partition import StabbingPartition
from fencepost.joins.bands.points import Points
from fencepost.matches.result import FEWEST, ProbeResult
from fencepost.tuples import Bools, Doubles, Int8s, Int32s, Int64s

LEFT, RIGHT = 0, 1
Array = TypeVar("Array", Int64s, Doubles)
Members = tuple[Int32s, Doubles]
"""Streams and their values. Codes count from 0, each side's own."""


class Updates(NamedTuple):
    """What happens, in order: whose value, of which side, becomes which, or that it is gone."""

    side: Int8s
    stream: Int32s
    value: Doubles
    gone: Bools

    @classmethod
    def of(cls, side: Int8s, stream: Int32s, value: Doubles, gone: Bools) -> Self:
        """Refuse columns that are no updates."""
        side, stream = np.ascontiguousarray(side, np.int8), np.ascontiguousarray(stream, np.int32)
        gone = np.ascontiguousarray(gone, np.bool_)
        value = np.ascontiguousarray(value, np.float64) + 0.0
        n = len(side)
        if not len(stream) == len(value) == len(gone) == n:
            raise InputError(f"{n} sides, {len(stream)} streams, {len(value)} values, {len(gone)}")
        if side.min(initial=0) < LEFT or side.max(initial=0) > RIGHT:
            raise InputError("a side is 0 for left or 1 for right")
        if stream.min(initial=0) < 0:
            raise InputError(f"stream {stream.min()}: codes count from 0")
        _finite(value[~gone])
        return cls(side, stream, value, gone)


class Keyed(NamedTuple):
    """What a kernel finds: the keys, row << 32 | stream, of update u are keys[ptr[u]:ptr[u + 1]].

    Those from split[u] on are gained, and those before are lost; `others` has the values of their
    streams, `was` that of the stream before. `some` is scratch, a place a group.
    """

    ptr: Int64s
    keys: Int64s
    some: Int64s
    split: Int64s
    was: Doubles
    others: Doubles

    @classmethod
    def empty(cls, updates: int, groups: int, *, changes: bool) -> Self:
        """Make room for a few keys; for changes, for what is known of each update too."""
        keys, n = 4 * updates + FEWEST, updates if changes else 0
        return cls(
            ptr=np.zeros(updates + 1, np.int64),
            keys=np.empty(keys, np.int64),
            some=np.empty(groups, np.int64),
            split=np.zeros(n, np.int64),
            was=np.empty(n),
            others=np.empty(keys if changes else 0),
        )

    def filled(self, find: "Callable[[Self, int], int]") -> Self:
        """Run a kernel until it is through, in room that grows as it must; see result.gathered.

        `find` begins with the update it is given, and returns the first that did not fit.
        """
        keyed, many = self, len(self.ptr) - 1
        first = find(keyed, 0)
        while first < many:
            used, wanted = int(keyed.ptr[first]), int(keyed.ptr[first + 1])
            rate = used / first if first else 0.0
            size = max(2 * len(keyed.keys), wanted + int(1.2 * rate * (many - first)))
            others = _grown(keyed.others, size, used) if len(keyed.others) else keyed.others
            keyed = keyed._replace(keys=_grown(keyed.keys, size, used), others=others)
            first = find(keyed, first)
        return keyed

    def rows(self) -> ProbeResult:
        """The rows of each update."""
        return ProbeResult(self.ptr, (self.keys[: self.ptr[-1]] >> kernels.BITS).astype(np.int32))


@dataclass(eq=False)
class BandPlane:
    """n bands in τ groups over m streams. 40 bytes a band, 70 to 110 a stream, whatever τ is.

    build     O(n log n + m log m)
    apply     O(τ + g log m + k log k + e log n) an update of k changes; g groups that are near, e
              entries of theirs, never more than the pairs that the delete and the insert have;
              O(1) within the stretch that a stream may go while the other side stands still
    affected  the same, with k the queries that change
    pairs     O(m τ log m + k log k), with τ that of the rows asked for

    `partition` may be exchanged for another one; the sets stay.
    """

    partition: StabbingPartition
    points: Points

    @classmethod
    def build(
        cls, partition: StabbingPartition, left: Members | None = None, right: Members | None = None
    ) -> "BandPlane":
        """Build from what both sides have; without it they are empty."""
        nobody = np.empty(0, np.int32), np.empty(0)
        return cls(partition, Points.of(left or nobody, right or nobody))

    @property
    def nbytes(self) -> int:
        """Bytes of both sets and of the bands."""
        return self.points.nbytes + self.partition.nbytes

    def tau(self) -> int:
        """How many groups the bands are in."""
        return self.partition.tau

    def members(self, side: int) -> Members:
        """Return the streams that a side has, ascending, and their values."""
        return self.points.members(side)

    def check(self) -> None:
        """Raise BrokenIndex unless every invariant holds. O(n log n + m log m)."""
        self.partition.check()
        self.points.check()

    def apply(self, side: Int8s, stream: Int32s, value: Doubles, gone: Bools) -> BandChanges:
        """Apply updates in their order; return the exact changes of each (Q1).

        `side` is 0 for left and 1 for right; where `gone`, the stream leaves and its value is not
        read. A stream that was not there enters; one that goes and was not there changes nothing.
        """
        updates = Updates.of(side, stream, value, gone)
        keyed = self._applied(updates, once=False)
        columns = ChangeColumns.empty(int(keyed.ptr[-1]))
        result_kernels.write_changes(updates, keyed, columns)
        return BandChanges.of(len(updates.side), columns)

    def affected(self, side: Int8s, stream: Int32s, value: Doubles, gone: Bools) -> ProbeResult:
        """Apply updates in their order; return the queries that each changes, once each (Q2).

        Instead of apply, for the same updates: O(τ log m + queries). Net as well: a query that the
        delete and the insert hit in the same pairs alone is not affected; one that loses a pair and
        gains another is, once.
        """
        return self._applied(Updates.of(side, stream, value, gone), once=True).rows()

    def touched(self, side: int, value: float) -> Int32s:
        """Return the queries that have a pair at a value of a side, ascending, each once.

        S4's Q2 for an insert or a delete alone, O(τ log m + k): of each group only the entries on
        either side of its point are looked at. Nothing is changed.
        """
        _finite(np.array([value]))
        moving = np.array([value if side == LEFT else 0.0 - value]) + 0.0
        return self._paired(self.partition, 1 - side, moving, once=True).rows().ids

    def pairs(self, rows: Int64s | Int32s | None = None) -> BandPairs:
        """Return all pairs that are in now, of some rows or of all."""
        own = self.partition
        wanted = np.arange(len(own)) if rows is None else np.unique(np.asarray(rows, np.int64))
        if wanted.min(initial=0) < 0 or wanted.max(initial=-1) >= len(own):
            raise InputError(f"rows {wanted.min()} to {wanted.max()} of {len(own)} bands")
        part = own if rows is None else StabbingPartition.build(own.low[wanted], own.high[wanted])
        streams, values = self.members(LEFT)
        keyed = self._paired(part, RIGHT, values, once=False)
        keys = keyed.keys[: keyed.ptr[-1]]
        begin = np.zeros(len(part) + 1, np.int64)
        np.cumsum(np.bincount(keys >> kernels.BITS, minlength=len(part)), out=begin[1:])
        query, left, right = np.empty((3, len(keys)), np.int32)
        result_kernels.write_pairs(keyed, begin, streams, query, left, right)
        now = self.points.now
        return BandPairs(
            wanted[query].astype(np.int32), left, right, now[LEFT][left], 0.0 - now[RIGHT][right]
        )

    def _paired(self, part: StabbingPartition, side: int, moving: Doubles, *, once: bool) -> Keyed:
        """Find the keys of the pairs that signed values have with the entries of a side."""
        bands, leaves = part.columns, self.points.leaves

        def find(keyed: Keyed, first: int) -> int:
            return int(kernels.pairs_of(bands, leaves, side, moving, once, keyed, first))

        return Keyed.empty(len(moving), part.tau, changes=False).filled(find)

    def _applied(self, updates: Updates, *, once: bool) -> Keyed:
        """Apply updates; find the keys of the changes, or with `once` of the rows that change."""
        points, bands = self.points, self.partition.columns
        points.with_room(int(updates.stream.max(initial=-1)) + 1)
        points.serve(self.partition)

        def find(keyed: Keyed, first: int) -> int:
            while True:
                first = kernels.apply(bands, points.columns, updates, once, keyed, first)
                if first == len(updates.side) or keyed.ptr[first + 1] > len(keyed.keys):
                    return int(first)
                points.with_leaves()

        keyed = Keyed.empty(len(updates.side), self.tau(), changes=True).filled(find)
        while not move_kernels.settle(points.columns):
            points.with_leaves()
        return keyed


def _finite(values: Doubles) -> None:
    for wrong in np.flatnonzero(~np.isfinite(values))[:1]:
        raise InputError(f"the value {values[wrong]} of update {wrong} is not finite")


def _grown(array: Array, size: int, used: int) -> Array:
    grown = np.empty(size, array.dtype)
    grown[:used] = array[:used]
    return grown
