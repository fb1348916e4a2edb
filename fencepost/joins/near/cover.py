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

from fencepost.ragged import ptr_of
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

Named = Int32s | None
"""The streams that a join takes on a side, by their codes; None: all."""


class JoinCover(NamedTuple):
    """n joins: 33 bytes each, and 12 a stream that is named."""

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
        sides = [[_distinct(pair[side]) for pair in each] for side in (0, 1)]
        names = np.array([[pair[side] is not None for pair in each] for side in (0, 1)], np.bool_)
        names = names.reshape(2, n)
        under_ptr, under = _under(names, sides, streams, one=one)
        return cls(
            one=one,
            distances=np.ascontiguousarray(distances, np.float64),
            names=names,
            ptrs=np.stack([ptr_of([len(some) for some in side]) for side in sides]),
            left=np.concatenate([np.empty(0, np.int32), *sides[0]]),
            right=np.concatenate([np.empty(0, np.int32), *sides[1]]),
            everyone=np.flatnonzero(~names.any(axis=0)).astype(np.int32),
            under_ptr=under_ptr,
            under=under,
        )


def _distinct(streams: Named) -> Int32s:
    return np.empty(0, np.int32) if streams is None else np.unique(streams).astype(np.int32)


def _under(
    names: Bools, sides: Sequence[Sequence[Int32s]], streams: int, *, one: bool
) -> tuple[Int64s, Int32s]:
    """List the joins under each stream that they name, ascending."""
    keys = [np.empty(0, np.int64)]
    for row in np.flatnonzero(names.any(axis=0)).tolist():
        side = 0 if names[0, row] else 1
        at = 0 if one else side
        keys.append(((at * streams + sides[side][row].astype(np.int64)) << 32) | row)
    key = np.sort(np.concatenate(keys))
    begins = np.searchsorted(key >> 32, np.arange(2 * streams + 1))
    ptr = np.stack([begins[: streams + 1], begins[streams:]]).astype(np.int64)
    return ptr, (key & 0xFFFFFFFF).astype(np.int32)
