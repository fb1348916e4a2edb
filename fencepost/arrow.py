"""Arrow's columns for NumPy: distinct values and their codes, names by codes, and ranks of rows.

Law: an order depends on the rows alone, not on how they came about. Text is in the order of its
bytes in UTF-8, which is the order of its code points on every machine.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools, Codes, Int32s, Int64s


def owned(parts: Sequence[bytes | memoryview]) -> pa.Buffer:
    """Concatenate bytes in memory of Arrow's own. O(bytes).

    A thread of Arrow may be the last to let go of a buffer. If its memory is Python's, that needs
    the interpreter, and a thread that asks for it while the process ends aborts the process.
    """
    buffer = pa.allocate_buffer(sum(map(len, parts)))
    room, begin = memoryview(buffer).cast("B"), 0
    for part in parts:
        room[begin : begin + len(part)] = part
        begin += len(part)
    return buffer


def cut_out(content: bytes, begins: Int64s, ends: Int64s) -> pa.LargeBinaryArray:
    """Cut stretches out of bytes; they ascend and are apart. O(bytes of the stretches)."""
    if not len(begins):
        return pa.array([], pa.large_binary())
    bounds = pa.py_buffer(np.stack([begins, ends], axis=1).astype(np.int64).ravel())
    parts = [None, bounds, pa.py_buffer(content)]  # every second one is the content between
    every = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 2 * len(begins) - 1, parts)
    return every.take(pa.array(np.arange(0, 2 * len(begins) - 1, 2)))


def dictionary_of(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """Code a column by its distinct values, in one piece with one dictionary. O(n)."""
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    if isinstance(column, pa.ChunkedArray):
        column = _in_one_piece(column)
    return column


def _in_one_piece(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Put the chunks of a coded column together; where they have one dictionary it stays."""
    if column.num_chunks > 1:
        first = column.chunk(0).dictionary
        if all(chunk.dictionary.equals(first) for chunk in column.iterchunks()):
            codes = pa.concat_arrays([chunk.indices for chunk in column.iterchunks()])
            return pa.DictionaryArray.from_arrays(codes, first)
    return column.unify_dictionaries().combine_chunks()


def texts_of(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """Code a column of texts likewise; the dictionary is of Arrow's plain strings."""
    coded = dictionary_of(column)
    return pa.DictionaryArray.from_arrays(coded.indices, coded.dictionary.cast(pa.string()))


def codes_of(column: pa.Array | pa.ChunkedArray) -> Int64s:
    """Number the distinct values of a column, which has no nulls."""
    codes: Int64s = dictionary_of(column).indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def codes_in(names: pa.StringArray, known: pa.StringArray) -> Int32s:
    """Return the place of each name among the known ones, -1 where it is not there.

    O(both); next to nothing if there are none of either, or they are the same.
    """
    if not len(names):
        return np.empty(0, np.int32)
    if not len(known):
        return np.full(len(names), -1, np.int32)
    if names.equals(known):  # as from step to step, where all streams move
        return np.arange(len(names), dtype=np.int32)
    found = pc.fill_null(pc.index_in(names, value_set=known), -1)
    codes: Int32s = found.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    return codes


def by_code(names: pa.StringArray, codes: Codes) -> pa.DictionaryArray:
    """Look names up by their codes; a few rows do not carry all names along."""
    if len(codes) < len(names):
        return pc.dictionary_encode(names.take(pa.array(codes)))
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32, copy=False)), names)


def coded(words: Sequence[str], codes: Codes | Bools) -> pa.DictionaryArray:
    """Say one of a few words in each row, by its code."""
    indices = pa.array(codes.astype(np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()))


def ranks_of(column: pa.Array | pa.ChunkedArray) -> Int64s:
    """Rank the rows of a column by their values: O(n + k log k) for k distinct ones."""
    coded = dictionary_of(column)
    ranks: Int64s = _rank(coded.dictionary)[coded.indices.to_numpy(zero_copy_only=False)]
    return ranks


def ranks_by_code(names: pa.StringArray, codes: Codes) -> Int64s:
    """Rank rows by the names of their codes: O(n + k log k) over the names that occur."""
    used, place = np.unique(codes, return_inverse=True)
    return _rank(names.take(pa.array(used)))[place]


def _rank(values: pa.Array) -> Int64s:
    rank = np.empty(len(values), np.int64)
    rank[pc.array_sort_indices(values).to_numpy()] = np.arange(len(values))
    return rank
