"""What a probe finds: a new tuple, an old one, and the query that the two satisfy.

Law: each (new, old, query) comes once, and they are in that order.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fencepost.tuples import Bools, Int32s, Int64s

_BITS = 63


@dataclass(frozen=True, eq=False)
class Pairs:
    """k pairs, 20 bytes each: rows of the new tuples and of the live window, numbers of queries."""

    new: Int64s
    old: Int64s
    query: Int32s

    @classmethod
    def nothing(cls) -> "Pairs":
        """No pair."""
        none = np.empty(0, np.int64)
        return cls(none, none, np.empty(0, np.int32))

    def __len__(self) -> int:
        """How many pairs."""
        return len(self.query)

    def kept(self, which: Bools) -> "Pairs":
        """Keep some of them."""
        if which.all():
            return self
        return Pairs(self.new[which], self.old[which], self.query[which])

    @classmethod
    def together(cls, parts: Sequence["Pairs"]) -> "Pairs":
        """Concatenate parts that the caller has in order."""
        if not parts:
            return cls.nothing()
        return cls(
            np.concatenate([part.new for part in parts]),
            np.concatenate([part.old for part in parts]),
            np.concatenate([part.query for part in parts]),
        )

    @classmethod
    def once_each(cls, new: Int64s, old: Int64s, query: Int32s) -> "Pairs":
        """Sort pairs found in any order, and drop repeats. O(k log k)."""
        if not len(new):
            return cls.nothing()
        new_bits, old_bits, bits = (int(each.max()).bit_length() for each in (new, old, query))
        if new_bits + old_bits + bits <= _BITS:
            key = (new << (old_bits + bits)) | (old << bits) | query
            key.sort()  # np.unique is ten times slower
            repeated = key[1:] == key[:-1]
            if repeated.any():
                key = key[np.concatenate([[True], ~repeated])]
            pair = key >> bits
            return cls(pair >> old_bits, pair & ~(-1 << old_bits), _low(key, bits))
        order = np.lexsort((query, old, new))
        new, old, query = new[order], old[order], query[order]
        first = np.ones(len(new), np.bool_)
        first[1:] = (np.diff(new) != 0) | (np.diff(old) != 0) | (np.diff(query) != 0)
        return cls(new[first], old[first], query[first])


def _low(key: Int64s, bits: int) -> Int32s:
    low: Int32s = (key & ~(-1 << bits)).astype(np.int32)
    return low


def grown(column: Int32s, size: int, used: int) -> Int32s:
    """Make room: the same column, longer."""
    larger = np.empty(size, np.int32)
    larger[:used] = column[:used]
    return larger
