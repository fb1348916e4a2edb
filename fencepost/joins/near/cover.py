"""How far each near join reaches, and which streams it takes; compiled for the streams there are.

A join that names no stream asks for every pair. One that does stands under the streams it names, of
its left side if it names any there, else of its right: so a thousand joins for a van each cost a
van that moves only its own.

Law: a join asks for a pair (l, r) iff it takes l on the left and r on the right; of one feed, or
r on the left and l on the right.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa

from fencepost.arrow import codes_in
from fencepost.queries.joins import NearJoins
from fencepost.queries.patterns import fits
from fencepost.ragged import ptr_of
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

Named = Int32s | None
"""The streams that a join takes on a side, by their codes; None: all."""

Keys = tuple[Int64s, Int64s]

_CODE = 32
"""Bits of a stream's code in a key, join << _CODE | code."""


class JoinCover(NamedTuple):
    """n joins: 34 bytes each, and 8 a stream that is named."""

    one: bool  # whether left and right are one feed
    distances: Doubles
    names: Bools  # [side, join]: whether it takes some streams only
    ptrs: Int64s  # [side, join + 1]: of the streams, ascending
    left: Int32s
    right: Int32s
    everyone: Int32s  # the joins that take all
    under_ptr: Int64s  # [side, stream + 1]
    under: Int32s

    @classmethod
    def of(
        cls,
        distances: Doubles,
        streams: int,
        named: Sequence[tuple[Named, Named]] | None = None,
        *,
        one: bool = False,
    ) -> Self:
        """Compile for stream codes below a number: O(n + streams + those named, sorted)."""
        n = len(distances)
        each = [(None, None)] * n if named is None else named
        names = np.array([[pair[side] is not None for pair in each] for side in (0, 1)], np.bool_)
        left, right = (
            np.concatenate([np.empty(0, np.int64), *(_keys(row, codes) for row, codes in side)])
            for side in ([*enumerate(pair[side] for pair in each)] for side in (0, 1))
        )
        return cls._compiled(distances, streams, names.reshape(2, n), (left, right), one=one)

    @classmethod
    def over(
        cls, nears: NearJoins, rows: Int32s, left: pa.StringArray, right: pa.StringArray
    ) -> Self:
        """Compile some joins of a set for the streams with these names."""
        joins, streams = nears.take(rows.astype(np.int64)), max(len(left), len(right))
        one = nears.left == nears.right
        keys = _named(joins, 0, left), _named(joins, 1, left if one else right)
        return cls._compiled(joins.distance, streams, joins.some.T, keys, one=one)

    @classmethod
    def _compiled(
        cls, distances: Doubles, streams: int, names: Bools, named: Keys, *, one: bool
    ) -> Self:
        """Compile from the keys of what each join names on either side."""
        n, keys = len(distances), (np.unique(named[0]), np.unique(named[1]))
        ptrs = [ptr_of(np.bincount(side >> _CODE, minlength=n)) for side in keys]
        under_ptr, under = _under(names, keys, streams, one=one)
        return cls(
            one=one,
            distances=np.ascontiguousarray(distances, np.float64),
            names=np.ascontiguousarray(names),
            ptrs=np.stack(ptrs),
            left=_codes(keys[0]),
            right=_codes(keys[1]),
            everyone=np.flatnonzero(~names.any(axis=0)).astype(np.int32),
            under_ptr=under_ptr,
            under=under,
        )


def _keys(row: int | Int64s, codes: Named) -> Int64s:
    if codes is None:
        return np.empty(0, np.int64)
    keys: Int64s = np.asarray(row, np.int64) << _CODE | codes.astype(np.int64)
    return keys


def _codes(keys: Int64s) -> Int32s:
    return (keys & ((1 << _CODE) - 1)).astype(np.int32)


def _named(joins: NearJoins, side: int, names: pa.StringArray) -> Int64s:
    """Give the keys of what joins name on a side, and of what fits their patterns there."""
    sides = np.arange(2 * len(joins)) % 2 == side
    rows = np.arange(2 * len(joins)) >> 1
    named = np.repeat(sides, np.diff(joins.stream_ptr))
    row = np.repeat(rows, np.diff(joins.stream_ptr))[named]
    code = codes_in(joins.streams.filter(pa.array(named)), names)
    keys = [_keys(row[code >= 0], code[code >= 0])]
    likes = np.repeat(rows, np.diff(joins.like_ptr))
    mine = np.flatnonzero(np.repeat(sides, np.diff(joins.like_ptr)))
    texts = names.to_pylist() if len(mine) else []
    for at in mine.tolist():
        pattern = joins.likes[at].as_py()
        fit = np.flatnonzero([fits(pattern, text) for text in texts]).astype(np.int32)
        keys.append(_keys(likes[at], fit))
    return np.concatenate(keys)


def _under(names: Bools, keys: Keys, streams: int, *, one: bool) -> tuple[Int64s, Int32s]:
    """List the joins under each stream that they name, ascending."""
    by_left = keys[0][names[0][keys[0] >> _CODE]]
    by_right = keys[1][~names[0][keys[1] >> _CODE]]
    begin = np.concatenate([np.zeros(len(by_left)), np.full(len(by_right), 0 if one else streams)])
    every = np.concatenate([by_left, by_right])
    stream = _codes(every) + begin.astype(np.int64)
    order = np.lexsort((every, stream))
    begins = np.searchsorted(stream[order], np.arange(2 * streams + 1))
    ptr = np.stack([begins[: streams + 1], begins[streams:]]).astype(np.int64)
    return ptr, (every >> _CODE)[order].astype(np.int32)
