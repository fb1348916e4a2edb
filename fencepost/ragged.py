"""Lists of different lengths, end to end in one array: `ptr[k]:ptr[k + 1]` are the members of k.

Law: ptr begins with 0, never falls, and ends with the number of members.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools, Int32s, Int64s


def ptr_of(lengths: Sequence[int] | Int32s | Int64s | Bools) -> Int64s:
    """Sum lengths up to where each list begins, and the end of all. O(lists)."""
    ptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ptr[1:])
    return ptr


def members(ptr: Int64s, rows: Int64s | Int32s) -> tuple[Int64s, Int64s]:
    """Choose some of the lists: their own ptr, and the place of each member. O(members)."""
    begins = ptr[rows]
    own = ptr_of(ptr[rows + 1] - begins)
    return own, np.repeat(begins - own[:-1], np.diff(own)) + np.arange(own[-1])


def distinct_members(rows: Int64s, names: pa.StringArray, n: int) -> tuple[Int64s, pa.StringArray]:
    """List names by their rows, ascending in 0 to n - 1: each name once a row, in their order."""
    codes = pc.dictionary_encode(names).indices.to_numpy(zero_copy_only=False)
    _, first = np.unique(rows * (len(names) + 1) + codes, return_index=True)
    if len(first) < len(rows):
        first.sort()
        rows, names = rows[first], names.take(pa.array(first))
    return ptr_of(np.bincount(rows, minlength=n)), names
