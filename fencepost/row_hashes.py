"""The hash of a table: of its rows, whatever their order and that of the columns.

Law: it is that of the content alone, and the same by NumPy and by compiled kernels, of a few rows
and of many; hashes of parts add up to that of the whole.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Int32s, UInt64s
from fencepost.arrow import dictionary_of
from fencepost.hashing import (
    CHUNK,
    FEW,
    LAST_SHIFT,
    MOST,
    ODD,
    ODD_AGAIN,
    SEEDS,
    SHIFT,
    added,
    hashes_of_strings,
    words_of,
)

_NULL = np.uint64(0xA5A5_5A5A_0F0F_F0F1)  # a word that no number is likely to be
_PLAIN = (pa.string(), pa.int32(), pa.int64(), pa.bool_())
COMPILE_FROM = 20_000  # rows from which the compiled kernels are worth their loading

Numbers = npt.NDArray[np.integer] | npt.NDArray[np.floating]
Array = TypeVar("Array", UInt64s, Int32s)
Mixing = Callable[[UInt64s, int, int], None]


def content_hash(
    rows: pa.Table, leave_out: tuple[str, ...] = (), *, fast: bool | None = None
) -> int:
    """Hash rows to 64 bits, whatever their order and that of the columns. O(n), 1 ns a cell.

    A coded column is hashed by its dictionary; of the two lanes one is enough. `fast` chooses the
    compiled kernels or their NumPy twins, None by the number of rows, where kernels are in use.
    """
    lane = _lane(_are_many(rows.num_rows) if fast is None else fast)
    names = sorted(set(rows.column_names) - set(leave_out))
    columns = [_mixing(rows[name], lane) for name in names]
    total = 0
    for begin in range(0, rows.num_rows, CHUNK):
        end = min(begin + CHUNK, rows.num_rows)
        hashes = np.repeat(SEEDS[0], end - begin)
        for mix_column in columns:
            mix_column(hashes, begin, end)
        total = added(total, int(lane.added_up(hashes)))
    return total


class _Lane(NamedTuple):
    """The first lane of many hashes: by NumPy, or by compiled kernels.

    mix, mix_codes  mix in a word each, or the word of a code
    added_up        finish them, and add them up
    texts           hash texts, finished
    """

    mix: Callable[[UInt64s, UInt64s], None]
    mix_codes: Callable[[UInt64s, UInt64s, Int32s], None]
    added_up: Callable[[UInt64s], int | np.uint64]
    texts: Callable[[pa.StringArray], UInt64s]


def _are_many(rows: int) -> bool:
    """Say whether the kernels pay: the first one of a process takes a second to load."""
    return rows >= COMPILE_FROM and "numba" in sys.modules


def _lane(fast: bool) -> _Lane:
    if not fast:
        return _Lane(_mix_lane, _mix_codes, _added_up, hashes_of_strings)
    from fencepost import hashing_kernels as kernels

    def texts(strings: pa.StringArray) -> UInt64s:
        offsets, words = words_of(strings)
        hashes = np.empty(len(strings), np.uint64)
        kernels.texts(words, offsets, hashes)
        return hashes

    return _Lane(kernels.mix, kernels.mix_codes, kernels.added_up, texts)


def _mix_lane(hashes: UInt64s, words: UInt64s) -> None:
    """Mix as `mix` does, in the first lane alone."""
    hashes ^= words
    hashes *= ODD[0]
    hashes ^= hashes >> SHIFT


def _mix_codes(hashes: UInt64s, of_code: UInt64s, codes: Int32s) -> None:
    _mix_lane(hashes, of_code[codes])


def _added_up(hashes: UInt64s) -> int:
    """Finish as `finish` does, in the first lane alone, and add up."""
    hashes ^= hashes >> LAST_SHIFT
    hashes *= ODD_AGAIN[0]
    hashes ^= hashes >> SHIFT
    hashes *= ODD[0]
    hashes ^= hashes >> LAST_SHIFT
    return int(hashes.sum())


def _mixing(column: pa.ChunkedArray, lane: _Lane) -> Mixing:
    """Say how the cells of some rows are mixed into hashes, one 64-bit word each."""
    kind = column.type
    if pa.types.is_list(kind):
        column = pc.binary_join(column.cast(pa.list_(pa.string())), ",")
    if len(column) <= FEW and kind in _PLAIN:
        few = np.array([_word_of(cell) for cell in column.to_pylist()], np.uint64)
        return lambda hashes, begin, end: lane.mix(hashes, _fixed(few[begin:end]))
    if pa.types.is_dictionary(kind) or pa.types.is_list(kind) or pa.types.is_string(kind):
        return _mixing_by_code(dictionary_of(column), lane)
    missing = column.is_null().to_numpy() if column.null_count else None
    numbers = _numbers(column)
    wide = np.float64 if pa.types.is_floating(kind) else np.int64

    def mix_numbers(hashes: UInt64s, begin: int, end: int) -> None:
        words: UInt64s = numbers[begin:end].astype(wide, copy=False).view(np.uint64)
        if missing is not None:
            words = np.where(missing[begin:end], _NULL, words)
        lane.mix(hashes, _fixed(words))

    return mix_numbers


def _mixing_by_code(coded: pa.DictionaryArray, lane: _Lane) -> Mixing:
    """Hash the distinct texts, and look them up."""
    of_code = lane.texts(coded.dictionary.cast(pa.string()))
    codes = coded.indices
    if codes.null_count:
        codes, of_code = codes.fill_null(len(of_code)), np.append(of_code, _NULL)
    rows = _fixed(codes.to_numpy(zero_copy_only=False).astype(np.int32, copy=False))
    words = _fixed(of_code)
    return lambda hashes, begin, end: lane.mix_codes(hashes, words, rows[begin:end])


def _fixed(array: Array) -> Array:
    """View an array as one that nobody changes, as most of Arrow's: kernels are compiled once."""
    view = array.view()
    view.flags.writeable = False
    return view


def _numbers(column: pa.ChunkedArray) -> Numbers:
    """View the cells of a column that is neither text nor list; a null is 0. O(1) without nulls."""
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if pa.types.is_temporal(whole.type):
        whole = whole.view(pa.int32() if whole.type.bit_width == 32 else pa.int64())
    elif pa.types.is_boolean(whole.type):
        whole = whole.cast(pa.int8())
    elif not (pa.types.is_integer(whole.type) or pa.types.is_floating(whole.type)):
        whole = whole.cast(pa.int64())  # of bytes where there are none
    cells: Numbers = (whole.fill_null(0) if whole.null_count else whole).to_numpy()
    return cells


def _word_of(cell: str | int | None) -> int:
    """Turn one cell into its word, without the arrays that pay for many: a ledger has such rows."""
    if cell is None:
        return int(_NULL)
    if not isinstance(cell, str):
        return cell & MOST
    content = cell.encode()
    parts = [content[k : k + 8] for k in range(0, len(content), 8)]
    odd, word = int(ODD[0, 0]), int(SEEDS[0, 0])
    for part in (len(content), *(int.from_bytes(each, "little") for each in parts)):
        word = (word ^ part) * odd & MOST
        word ^= word >> 29
    word = (word ^ word >> 32) * int(ODD_AGAIN[0, 0]) & MOST
    word = (word ^ word >> 29) * odd & MOST
    return word ^ word >> 32
