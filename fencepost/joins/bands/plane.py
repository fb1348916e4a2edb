"""Many band joins over two sets that change: S4's Q1 and Q2, by a stabbing partition.

A plane is one axis of the left feed against one of the right. It holds the value that each stream
now has, in order, and the bands in groups. The paper keeps the covering intervals of the groups
shifted by every point, O(m τ) of them, so that a search among them costs O(log(m τ)); here each
group that is near is searched for among the points themselves. That takes O(m + n) memory, lets a
point move in O(log m), and costs a look at a cell or two for a group that is not near.

Law: (r, s) is in the result of a band iff low <= fl(r − s) <= high, one float64 subtraction, and
what an update reports is the result after it less the result before it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fencepost.errors import InputError
from fencepost.joins.bands import kernels
from fencepost.joins.bands import result_kernels as laying
from fencepost.joins.bands.changes import Changes, HeldPairs
from fencepost.joins.bands.points import Points
from fencepost.joins.bands.stabbing import StabbingPartition
from fencepost.matches.result import FEWEST, ProbeResult
from fencepost.tuples import Bools, Doubles, Int8s, Int32s, Int64s

LEFT, RIGHT = 0, 1
Array = TypeVar("Array", Int64s, Doubles)
Members = tuple[Int32s, Doubles]
"""Streams and their values. Codes count from 0, each side's own."""


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
        """Lay out what both sides have; nothing where they are not given."""
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
        """Give the streams that a side has, ascending, and their values."""
        return self.points.members(side)

    def check(self) -> None:
        """Raise BrokenIndex unless every invariant holds. O(n log n + m log m)."""
        self.partition.check()
        self.points.check()

    def apply(self, side: Int8s, stream: Int32s, value: Doubles, gone: Bools) -> Changes:
        """Take updates in their order, and tell the exact changes of each (Q1).

        `side` is 0 for left and 1 for right; where `gone`, the stream leaves and its value is not
        read. A stream that was not there enters; one that goes and was not there changes nothing.
        """
        taken = self._taken(side, stream, value, gone, once=False)
        side, stream, value = taken.side, taken.stream, taken.value
        k = int(taken.ptr[-1])
        update, query, change = np.empty(k, np.int64), np.empty(k, np.int32), np.empty(k, np.int8)
        streams, values = np.empty((2, k), np.int32), np.empty((2, k))
        laying.tell(
            side, stream, value, taken.ptr, taken.split, taken.was, taken.room, taken.others,
            update, query, change, streams, values,
        )  # fmt: skip
        return Changes(len(side), update, query, change, *streams, *values)

    def affected(self, side: Int8s, stream: Int32s, value: Doubles, gone: Bools) -> ProbeResult:
        """Take updates in their order, and tell the queries that each changes, once each (Q2).

        Instead of apply, for the same updates: O(τ log m + queries). Net as well: a query that the
        delete and the insert hit in the same pairs alone is not affected; one that loses a pair and
        gains another is, once.
        """
        taken = self._taken(side, stream, value, gone, once=True)
        return _rows(taken.ptr, taken.room)

    def touched(self, side: int, value: float) -> Int32s:
        """Give the queries that have a pair at a value of a side, ascending, each once.

        S4's Q2 for an insert or a delete alone, O(τ log m + k): of each group only the entries on
        either side of its point are asked. Nothing is changed.
        """
        _finite(np.array([value]))
        moving = np.array([value if side == LEFT else 0.0 - value]) + 0.0
        return _rows(*self._held(self.partition, 1 - side, moving, once=True)).ids

    def pairs(self, rows: Int64s | Int32s | None = None) -> HeldPairs:
        """Give all pairs that are in now, of some rows or of all."""
        own = self.partition
        asked = np.arange(len(own)) if rows is None else np.unique(np.asarray(rows, np.int64))
        if asked.min(initial=0) < 0 or asked.max(initial=-1) >= len(own):
            raise InputError(f"rows {asked.min()} to {asked.max()} of {len(own)} bands")
        part = own if rows is None else StabbingPartition.build(own.low[asked], own.high[asked])
        streams, values = self.members(LEFT)
        ptr, room = self._held(part, RIGHT, values)
        begin = np.zeros(len(part) + 1, np.int64)
        np.cumsum(np.bincount(room >> laying.BITS, minlength=len(part)), out=begin[1:])
        k = len(room)
        query, left, right = np.empty((3, k), np.int32)
        laying.lay_out(ptr, room, begin, streams, query, left, right)
        now = self.points.now
        return HeldPairs(
            asked[query].astype(np.int32), left, right, now[LEFT][left], 0.0 - now[RIGHT][right]
        )

    def _held(
        self, part: StabbingPartition, side: int, moving: Doubles, *, once: bool = False
    ) -> tuple[Int64s, Int64s]:
        """Find the keys of the pairs that signed values have with the entries of a side."""
        ptr, some = np.zeros(len(moving) + 1, np.int64), np.empty(part.tau, np.int64)

        bands, leaves = _bands(part), self.points.leaves

        def run(room: Int64s, first: int) -> int:
            return int(kernels.hold(bands, leaves, side, moving, once, ptr, room, some, first))

        room = _in_room(ptr, run)
        return ptr, room[: ptr[-1]]

    def _taken(
        self, side: Int8s, stream: Int32s, value: Doubles, gone: Bools, *, once: bool
    ) -> "_Taken":
        own = _Taken.of(side, stream, value, gone)
        points, bands = self.points, _bands(self.partition)
        points.with_room(int(own.stream.max(initial=-1)) + 1)
        points.serve(self.partition)
        some = np.empty(self.tau(), np.int64)

        def run(room: Int64s, first: int) -> int:
            own.others = _grown(own.others, 0 if once else len(room), int(own.ptr[first]))
            while True:
                first = kernels.apply(
                    bands, points.leaves, points.cells, points.moving, points.now, own.side,
                    own.stream, own.value, own.gone, once, own.ptr, own.split, own.was, room,
                    own.others, some, first,
                )  # fmt: skip
                if first == len(own.side) or own.ptr[first + 1] > len(room):
                    return int(first)
                points.with_leaves()

        own.room = _in_room(own.ptr, run)
        while not kernels.settle(points.leaves, points.cells, points.moving, points.now):
            points.with_leaves()
        return own


@dataclass(eq=False)
class _Taken:
    """Updates, and what the kernel told of them."""

    side: Int8s
    stream: Int32s
    value: Doubles
    gone: Bools
    ptr: Int64s
    split: Int64s
    was: Doubles
    room: Int64s
    others: Doubles

    @classmethod
    def of(cls, side: Int8s, stream: Int32s, value: Doubles, gone: Bools) -> "_Taken":
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
        room, none = np.empty(0, np.int64), np.empty(0)
        ptr, split = np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
        return cls(side, stream, value, gone, ptr, split, np.empty(n), room, none)


def _finite(values: Doubles) -> None:
    for wrong in np.flatnonzero(~np.isfinite(values))[:1]:
        raise InputError(f"the value {values[wrong]} of update {wrong} is not finite")


def _bands(part: StabbingPartition) -> tuple[Doubles | Int32s | Int64s, ...]:
    return (
        part.low, part.high, part.ptr, part.stabs, part.covers,
        part.by_low, part.lows, part.by_high, part.highs, *part.ends,
    )  # fmt: skip


def _in_room(ptr: Int64s, run: Callable[[Int64s, int], int]) -> Int64s:
    """Run a kernel until it has done all, in room that grows as it must; see found.gathered."""
    many = len(ptr) - 1
    room = np.empty(4 * many + FEWEST, np.int64)
    first = run(room, 0)
    while first < many:
        used, asked = int(ptr[first]), int(ptr[first + 1])
        rate = used / first if first else 0.0
        size = max(2 * len(room), asked + int(1.2 * rate * (many - first)))
        room = _grown(room, size, used)
        first = run(room, first)
    return room


def _grown(array: Array, size: int, used: int) -> Array:
    grown = np.empty(size, array.dtype)
    grown[:used] = array[:used]
    return grown


def _rows(ptr: Int64s, room: Int64s) -> ProbeResult:
    return ProbeResult(ptr, (room[: ptr[-1]] >> laying.BITS).astype(np.int32))
