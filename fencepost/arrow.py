"""The order of the rows of a table.

Law: it depends on the rows alone, not on how they came about. Text is in the order of its bytes in
UTF-8, which is the order of its code points on every machine.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.tuples import Int64s


def ordered(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Sort by these columns, the first one first: O(n log n) on integers, each text ranked once."""
    if not len(table):
        return table
    columns = [_ranks(table.column(key)) for key in reversed(keys)]
    return table.take(pa.array(np.lexsort(columns)))


def _ranks(column: pa.ChunkedArray) -> Int64s:
    """Give integers in the order of the cells."""
    if pa.types.is_string(column.type):
        column = pc.dictionary_encode(column)
    if not pa.types.is_dictionary(column.type):
        integers: Int64s = column.cast(pa.int64()).to_numpy()
        return integers
    coded = column.unify_dictionaries().combine_chunks()
    rank = np.empty(len(coded.dictionary), np.int64)
    rank[pc.array_sort_indices(coded.dictionary).to_numpy()] = np.arange(len(rank))
    ranks: Int64s = rank[coded.indices.to_numpy()]
    return ranks
