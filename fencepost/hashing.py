"""Hashes of content: of words and strings a million at a time, of tables, and of a few bytes.

Law: a hash is that of the content alone. It is the same on every machine, in every process and
whatever slice of a column a value is in; that of a table does not depend on the order of its rows
and columns. It is no defence against deliberate collisions.
"""

import hashlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bytes, Int32s, UInt64s
from fencepost.arrow import dictionary_of

# Two lanes of 64 bits: they begin apart and multiply by different odd numbers, so that what
# collides in the one does not in the other.
_SEEDS = np.array([[0x9E3779B97F4A7C15], [0xD1B54A32D192ED03]], np.uint64)
_ODD = np.array([[0xBF58476D1CE4E5B9], [0xC2B2AE3D27D4EB4F]], np.uint64)
_ODD_AGAIN = np.array([[0x94D049BB133111EB], [0x165667B19E3779F9]], np.uint64)
_FIRST_BYTES = np.array([(1 << 8 * k) - 1 for k in range(9)], np.uint64)
_SHIFT, _LAST_SHIFT = np.uint64(29), np.uint64(32)
_NULL = np.uint64(0xA5A5_5A5A_0F0F_F0F1)  # a word that no number is likely to be
_MOST = (1 << 64) - 1
FEW = 8  # rows that are hashed one by one
_PLAIN = (pa.string(), pa.int32(), pa.int64(), pa.bool_())
CHUNK = 1 << 14  # rows that stay in the cache while they are hashed

Numbers = npt.NDArray[np.integer] | npt.NDArray[np.floating]
Words = Callable[[int, int], UInt64s]


def digest(content: str | bytes, size: int = 16) -> str:
    """Hash a few bytes: 2 `size` hex digits. What no UTF-8 can say is hashed all the same."""
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.blake2b(raw, digest_size=size).hexdigest()


def seeded(n: int) -> UInt64s:
    """Begin n hashes of two lanes: uint64[2, n]."""
    return np.repeat(_SEEDS, n, axis=1)


def mix(hashes: UInt64s, words: UInt64s) -> None:
    """Mix a word into each hash; the order of the words counts."""
    hashes ^= words
    hashes *= _ODD
    hashes ^= hashes >> _SHIFT


def finish(hashes: UInt64s) -> None:
    """Spread every bit over all others, so that hashes may be added up."""
    hashes ^= hashes >> _LAST_SHIFT
    hashes *= _ODD_AGAIN
    hashes ^= hashes >> _SHIFT
    hashes *= _ODD
    hashes ^= hashes >> _LAST_SHIFT


def mix_strings(hashes: UInt64s, strings: pa.StringArray) -> None:
    """Stir a string into each hash, eight bytes at a time, in O(bytes)."""
    offsets, data = bytes_of(strings)
    lengths = np.diff(offsets)
    mix(hashes, lengths.astype(np.uint64))
    padded = np.zeros(len(data) + 8, np.uint8)
    padded[: len(data)] = data
    # Words begin at any byte: a view of stride 1 gathers them, np.take would copy all of it
    # eightfold first.
    words = np.ndarray((len(data) + 1,), "<u8", padded.data, 0, (1,))
    rows, starts = np.arange(len(strings)), offsets[:-1].astype(np.int64)
    while len(rows) > FEW:
        going = lengths > 0
        if not going.all():
            rows, starts, lengths = rows[going], starts[going], lengths[going]
        word = words[starts] & _FIRST_BYTES[np.minimum(lengths, 8)]
        if len(rows) == len(strings):
            mix(hashes, word)
        else:
            some = hashes[:, rows]
            mix(some, word)
            hashes[:, rows] = some
        starts, lengths = starts + 8, lengths - 8
    for row, start, length in zip(rows.tolist(), starts.tolist(), lengths.tolist(), strict=True):
        _mix_string(hashes[:, row], words[start:], length)


def _mix_string(lanes: UInt64s, words: UInt64s, length: int) -> None:
    """Stir one string into its hash. A word takes 1 µs here, and 10 µs as an array of one."""
    one, other = lanes.tolist()
    odd, other_odd = _ODD.ravel().tolist()
    for begin in range(0, length, 8 * CHUNK):
        end = min(begin + 8 * CHUNK, length)
        some = words[begin:end:8].tolist()
        if end % 8 and end == length:
            some[-1] &= int(_FIRST_BYTES[end % 8])
        for word in some:
            one = (one ^ word) * odd & _MOST
            one ^= one >> 29
            other = (other ^ word) * other_odd & _MOST
            other ^= other >> 29
    lanes[:] = one, other


def bytes_of(strings: pa.StringArray) -> tuple[Int32s, Bytes]:
    """View a column without nulls as its bytes, and where in them each string begins and ends."""
    _, offsets, data = strings.buffers()
    if len(strings) == 0:
        return np.zeros(1, np.int32), np.empty(0, np.uint8)
    places = np.frombuffer(offsets, np.int32)[strings.offset : strings.offset + len(strings) + 1]
    begin, end = int(places[0]), int(places[-1])
    content = np.frombuffer(data, np.uint8)[begin:end] if end > begin else np.empty(0, np.uint8)
    return places - np.int32(begin), content


def content_hash(rows: pa.Table, leave_out: tuple[str, ...] = ()) -> int:
    """Hash rows to 64 bits, whatever their order and that of the columns. O(n), 2 ns a cell.

    A coded column is hashed by its dictionary; of the two lanes one is enough.
    """
    columns = [_words(rows[name]) for name in sorted(set(rows.column_names) - set(leave_out))]
    total = 0
    for begin in range(0, rows.num_rows, CHUNK):
        end = min(begin + CHUNK, rows.num_rows)
        hashes = np.repeat(_SEEDS[0], end - begin)
        for words in columns:
            _mix_lane(hashes, words(begin, end))
        _finish_lane(hashes)
        total = added(total, int(hashes.sum()))
    return total


def _mix_lane(hashes: UInt64s, words: UInt64s) -> None:
    """Mix as `mix` does, in the first lane alone."""
    hashes ^= words
    hashes *= _ODD[0]
    hashes ^= hashes >> _SHIFT


def _finish_lane(hashes: UInt64s) -> None:
    """Finish as `finish` does, in the first lane alone."""
    hashes ^= hashes >> _LAST_SHIFT
    hashes *= _ODD_AGAIN[0]
    hashes ^= hashes >> _SHIFT
    hashes *= _ODD[0]
    hashes ^= hashes >> _LAST_SHIFT


def added(one: int, other: int) -> int:
    """Combine the hashes of two sets of rows."""
    return (one + other) % 2**64


def _words(column: pa.ChunkedArray) -> Words:
    """Say how to turn the cells of some rows into one 64-bit word each."""
    kind = column.type
    if pa.types.is_list(kind):
        column = pc.binary_join(column.cast(pa.list_(pa.string())), ",")
    if len(column) <= FEW and kind in _PLAIN:
        few = np.array([_word_of(cell) for cell in column.to_pylist()], np.uint64)
        return lambda begin, end: few[begin:end]
    if pa.types.is_dictionary(kind) or pa.types.is_list(kind) or pa.types.is_string(kind):
        return _by_code(dictionary_of(column))
    missing = column.is_null().to_numpy() if column.null_count else None
    numbers = _numbers(column)
    wide = np.float64 if pa.types.is_floating(kind) else np.int64

    def words(begin: int, end: int) -> UInt64s:
        as_words: UInt64s = numbers[begin:end].astype(wide, copy=False).view(np.uint64)
        return as_words if missing is None else np.where(missing[begin:end], _NULL, as_words)

    return words


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


def _by_code(coded: pa.DictionaryArray) -> Words:
    """Hash the distinct texts, and look them up."""
    names = coded.dictionary.cast(pa.string())
    hashes = seeded(len(names))
    mix_strings(hashes, names)
    finish(hashes)
    of_code = np.append(hashes[0], _NULL)
    codes = coded.indices
    if codes.null_count:
        codes = codes.fill_null(len(names))
    codes = codes.to_numpy(zero_copy_only=False)
    return lambda begin, end: of_code[codes[begin:end]]


def _word_of(cell: str | int | None) -> int:
    """Turn one cell into its word, without the arrays that pay for many: a ledger has such rows."""
    if cell is None:
        return int(_NULL)
    if not isinstance(cell, str):
        return cell & _MOST
    content = cell.encode()
    parts = [content[k : k + 8] for k in range(0, len(content), 8)]
    odd, word = int(_ODD[0, 0]), int(_SEEDS[0, 0])
    for part in (len(content), *(int.from_bytes(each, "little") for each in parts)):
        word = (word ^ part) * odd & _MOST
        word ^= word >> 29
    word = (word ^ word >> 32) * int(_ODD_AGAIN[0, 0]) & _MOST
    word = (word ^ word >> 29) * odd & _MOST
    return word ^ word >> 32
