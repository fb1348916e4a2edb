"""The rows of a few streams among a file's many, by the hashes of their ids.

A micro-batch of a thousand tuples wants a thousand of a million rows of state, epoch after epoch
from the same cached file. Comparing ids with all of them is a pass over the file; hashes sorted
once are searched.
"""

import numpy as np
import pyarrow as pa

from fencepost.arrays import Int64s, UInt64s
from fencepost.hashing import hashes_of_strings

WORTH = 16
"""Rows of a file for each stream wanted, from which on a search pays."""


def lookup_of(ids: pa.DictionaryArray) -> pa.Table:
    """Sort the rows of a file by the hash of their id. O(n log n); 12 bytes a row."""
    hashes = hashes_of_strings(ids.dictionary)[ids.indices.to_numpy(zero_copy_only=False)]
    order = np.argsort(hashes, kind="stable")
    return pa.table({"hash": hashes[order], "row": order.astype(np.int32)})


def candidates(lookup: pa.Table, wanted: UInt64s) -> Int64s:
    """Find the rows whose id has one of these hashes, in their order: O(k log n) for k hashes.

    Two ids may have one hash: whoever wants certain ones compares what is found.
    """
    hashes, row = (lookup[name].chunk(0).to_numpy() for name in ("hash", "row"))
    wanted = np.unique(wanted)
    if not len(hashes):
        return np.empty(0, np.int64)
    begin = np.searchsorted(hashes, wanted)
    there = hashes.take(begin, mode="clip") == wanted  # few are, of the files of other streams
    wanted, begin = wanted[there], begin[there]
    many = np.searchsorted(hashes, wanted, side="right") - begin
    ends = np.cumsum(many)
    if not len(ends) or not ends[-1]:
        return np.empty(0, np.int64)
    places = np.arange(ends[-1]) + np.repeat(begin - ends + many, many)
    return np.sort(row[places]).astype(np.int64)
