"""Bands in groups that a point stabs each: S4's stabbing partition, canonical and kept up.

Cut anew it is canonical: by lows, a group going on while all of it have a point in common, which
gives as few groups as can be, τ(I). Bands that come later join a group whose core they meet, or
are groups of their own; bands that go leave their group. The witnesses, bands that are apart from
each other, tell how large τ(I) is at least; where the groups come to be more than twice as many
and one, it is cut anew. Each cut leaves room for (τ + 1) / 2 updates before the next.

Law: every band is in one group, which its group's point stabs; there are at most 2 τ(I) + 1 groups.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from fencepost.errors import BrokenIndex, InputError
from fencepost.joins.bands import group_kernels
from fencepost.tuples import Bools, Doubles, Int32s, Int64s


class BandGroups(NamedTuple):
    """A partition, as the kernels see it: its columns, and where each group's finite ends are."""

    low: Doubles
    high: Doubles
    ptr: Int64s
    stabs: Doubles
    covers: Doubles
    by_low: Int32s
    lows: Doubles
    by_high: Int32s
    highs: Doubles
    low_ends: Doubles  # [(least, largest) of the lows, group]
    high_ends: Doubles


@dataclass(frozen=True, eq=False, kw_only=True)
class StabbingPartition:
    """n closed bands, rows 0 to n − 1, in τ groups. 40 bytes a band, 36 a group.

    build         O(n log n)
    with_added    O(n + b τ) for b bands, which become the last rows
    with_removed  O(n); those removed vanish and later rows move up

    Group g has the bands by_low[ptr[g]:ptr[g + 1]], their lows ascending, and the same bands in
    by_high, their highs descending. A band's end may be infinite; the points `stabs` are finite.
    """

    low: Doubles  # [row]
    high: Doubles
    ptr: Int64s
    stabs: Doubles  # [group]: a point that all of them hold
    covers: Doubles  # [(least low, largest high), group]
    by_low: Int32s
    lows: Doubles  # beside by_low
    by_high: Int32s
    highs: Doubles  # beside by_high
    witnesses: Int32s  # rows of bands that are apart from each other

    @classmethod
    def build(cls, low: Doubles, high: Doubles) -> Self:
        """Cut bands into the fewest groups."""
        low, high = _bounds(low, high)
        group = np.zeros(len(low), np.int32)
        witnesses = np.zeros(len(low), np.int32)
        by_low = np.argsort(low, kind="stable").astype(np.int32)
        groups = group_kernels.cut(low, high, by_low, group, witnesses)
        by_high = np.lexsort((-high, group)).astype(np.int32)
        ptr = np.zeros(groups + 1, np.int64)
        np.cumsum(np.bincount(group, minlength=groups), out=ptr[1:])
        return cls._of((low, high), ptr, by_low, by_high, witnesses[:groups].copy())

    @property
    def tau(self) -> int:
        """How many groups there are now."""
        return len(self.stabs)

    @cached_property
    def columns(self) -> BandGroups:
        """All arrays: kernels only read them."""
        ends = [self._finite_ends(bounds) for bounds in (self.lows, self.highs)]
        return BandGroups(
            self.low, self.high, self.ptr, self.stabs, self.covers,
            self.by_low, self.lows, self.by_high, self.highs, *ends,
        )  # fmt: skip

    def _finite_ends(self, bounds: Doubles) -> Doubles:
        """Return the least and the largest finite bound of each group.

        The least is above the largest where none is finite: nobody passes such a bound.
        """
        finite, ends = np.isfinite(bounds), np.empty((2, self.tau))
        if self.tau:
            begin = self.ptr[:-1]
            ends[0] = np.minimum.reduceat(np.where(finite, bounds, np.inf), begin)
            ends[1] = np.maximum.reduceat(np.where(finite, bounds, -np.inf), begin)
        return ends

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        own = (getattr(self, each.name) for each in fields(self))
        return sum(array.nbytes for array in own)

    def __len__(self) -> int:
        """How many bands."""
        return len(self.low)

    def optimal(self) -> int:
        """Return τ(I), the fewest groups that there could be. O(n log n)."""
        order = np.argsort(self.low, kind="stable").astype(np.int32)
        room = np.zeros(len(self), np.int32)
        return int(group_kernels.cut(self.low, self.high, order, room, room.copy()))

    def with_added(self, low: Doubles, high: Doubles) -> Self:
        """Add bands behind the others (U2)."""
        low, high = _bounds(low, high)
        n, b = len(self), len(low)
        every = np.concatenate([self.low, low]), np.concatenate([self.high, high])
        if 8 * b > n:
            return self.build(*every)
        room = np.zeros((2, b))
        last = self.ptr[1:] - 1
        cores = np.hstack([np.stack([self.lows[last], self.highs[last]]), room])
        ends = np.hstack([np.stack([self.low[self.witnesses], self.high[self.witnesses]]), room])
        group, apart = np.zeros(b, np.int32), np.zeros(b, np.bool_)
        many = self.tau, len(self.witnesses)
        groups, witnesses = group_kernels.join((low, high), cores, ends, many, group, apart)
        if groups > 2 * witnesses + 1:
            return self.build(*every)
        rows = np.arange(n, n + b, dtype=np.int32)
        counts = np.zeros(groups, np.int64)
        counts[: self.tau] = np.diff(self.ptr)
        ptr = np.zeros(groups + 1, np.int64)
        np.cumsum(counts + np.bincount(group, minlength=groups), out=ptr[1:])
        by_low = np.insert(self.by_low, *self._places(self.lows, low, group, rows))
        by_high = np.insert(self.by_high, *self._places(-self.highs, -high, group, rows))
        apart_now = np.concatenate([self.witnesses, rows[apart]])
        return self._of(every, ptr, by_low, by_high, apart_now, self.stabs)

    def with_removed(self, rows: Int64s | Int32s) -> Self:
        """Take rows out (U2): later ones move up."""
        rows = np.asarray(rows, np.int64)
        if rows.min(initial=0) < 0 or rows.max(initial=-1) >= len(self):
            raise InputError(f"rows {rows.min()} to {rows.max()} of {len(self)} bands")
        stays: Bools = np.ones(len(self), np.bool_)
        stays[rows] = False
        kept = self.witnesses[stays[self.witnesses]]
        counts = np.add.reduceat(stays[self.by_low], self.ptr[:-1], dtype=np.int64)
        filled = counts > 0
        if np.count_nonzero(filled) > 2 * len(kept) + 1:
            return self.build(self.low[stays], self.high[stays])
        moved = (np.cumsum(stays) - 1).astype(np.int32)
        ptr = np.zeros(np.count_nonzero(filled) + 1, np.int64)
        np.cumsum(counts[filled], out=ptr[1:])
        return self._of(
            (self.low[stays], self.high[stays]),
            ptr,
            moved[self.by_low[stays[self.by_low]]],
            moved[self.by_high[stays[self.by_high]]],
            moved[kept],
            self.stabs[filled],
        )

    def check(self) -> None:
        """Raise BrokenIndex unless every invariant holds. O(n log n)."""
        groups = np.repeat(np.arange(self.tau), np.diff(self.ptr))
        rows = np.arange(len(self))
        for name, listed in (("lows", self.by_low), ("highs", self.by_high)):
            if not np.array_equal(np.sort(listed), rows):
                raise BrokenIndex(f"{len(self)} bands, and not each once in the list of {name}")
        if len(groups) != len(self) or (np.diff(self.ptr) <= 0).any():
            raise BrokenIndex(f"the groups begin at {self.ptr.tolist()[:9]}, of {len(self)} bands")
        ends = (("low", self.low, self.by_low, self.lows, 1), ("high", self.high, self.by_high,
                self.highs, -1))  # fmt: skip
        for name, bound, listed, beside, sign in ends:
            if not np.array_equal(bound[listed], beside):
                raise BrokenIndex(f"the {name}s beside the list are not those of its bands")
            falls = sign * beside[1:] < sign * beside[:-1]
            for wrong in np.flatnonzero(falls & (np.diff(groups) == 0))[:1]:
                raise BrokenIndex(
                    f"{name} {beside[wrong]} comes before {beside[wrong + 1]} in group "
                    f"{groups[wrong]}"
                )
        of_row = np.empty((2, len(self)), np.int64)
        of_row[0, self.by_low], of_row[1, self.by_high] = groups, groups
        for wrong in np.flatnonzero(of_row[0] != of_row[1])[:1]:
            raise BrokenIndex(f"band {wrong} is in the groups {of_row[:, wrong].tolist()}")
        stab = self.stabs[of_row[0]]
        for wrong in np.flatnonzero(~((self.low <= stab) & (stab <= self.high)))[:1]:
            raise BrokenIndex(
                f"band {wrong}, [{self.low[wrong]}, {self.high[wrong]}], is not stabbed by "
                f"{stab[wrong]}, the point of its group {of_row[0, wrong]}"
            )
        self._check_groups()

    def _check_groups(self) -> None:
        first = self.ptr[:-1]
        if not np.isfinite(self.stabs).all() or not np.array_equal(
            self.covers, np.stack([self.lows[first], self.highs[first]])
        ):
            raise BrokenIndex("a point is infinite, or an interval does not cover its group")
        apart = self.witnesses[np.argsort(self.low[self.witnesses], kind="stable")]
        for wrong in np.flatnonzero(self.low[apart[1:]] <= self.high[apart[:-1]])[:1]:
            raise BrokenIndex(f"the witnesses {apart[wrong]} and {apart[wrong + 1]} meet")
        if self.tau > 2 * self.optimal() + 1:
            raise BrokenIndex(f"{self.tau} groups, and {self.optimal()} would do")

    @classmethod
    def _of(
        cls,
        ends: tuple[Doubles, Doubles],
        ptr: Int64s,
        by_low: Int32s,
        by_high: Int32s,
        witnesses: Int32s,
        stabs: Doubles | None = None,
    ) -> Self:
        """Compute what follows from the groups; points stay where they can."""
        low, high = ends
        lows, highs = low[by_low], high[by_high]
        first, last = ptr[:-1], ptr[1:] - 1
        inside = np.zeros(len(first))
        if stabs is not None:
            inside[: len(stabs)] = stabs
        stab = np.clip(inside, lows[last], highs[last])
        covers = np.stack([lows[first], highs[first]])
        return cls(
            low=low,
            high=high,
            ptr=ptr,
            stabs=stab,
            covers=covers,
            by_low=by_low,
            lows=lows,
            by_high=by_high,
            highs=highs,
            witnesses=witnesses,
        )

    def _places(
        self, bounds: Doubles, added: Doubles, group: Int32s, rows: Int32s
    ) -> tuple[Int64s, Int32s]:
        """Return where rows go into a list whose groups ascend by bounds, and the rows in order."""
        order = np.lexsort((added, group))
        places = np.full(len(added), len(self), np.int64)
        for k, (g, bound) in enumerate(zip(group[order], added[order], strict=True)):
            if g < self.tau:
                begin, end = self.ptr[g], self.ptr[g + 1]
                places[k] = begin + np.searchsorted(bounds[begin:end], bound, side="right")
        return places, rows[order]


def _bounds(low: Doubles, high: Doubles) -> tuple[Doubles, Doubles]:
    """Refuse what is no band, or holds no finite difference."""
    low = np.ascontiguousarray(low, np.float64) + 0.0
    high = np.ascontiguousarray(high, np.float64) + 0.0
    if low.shape != high.shape:
        raise InputError(f"{len(low)} lows and {len(high)} highs")
    for wrong in np.flatnonzero(~((low <= high) & (low < np.inf) & (high > -np.inf)))[:1]:
        raise InputError(f"band {wrong} is [{low[wrong]}, {high[wrong]}], expected low <= high")
    return low, high
