"""Arrow string columns, a million at a time: their hashes, what stands twice, what may be no id.

Law: a hash is that of the bytes alone. It is the same on every machine, in every process and
whatever slice of a column the string stands in.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.text import LONGEST_ID

Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]

# Two lanes of 64 bits: they begin apart and multiply by different odd numbers, so that what
# collides in the one does not in the other.
_SEEDS = np.array([[0x9E3779B97F4A7C15], [0xD1B54A32D192ED03]], np.uint64)
_ODD = np.array([[0xBF58476D1CE4E5B9], [0xC2B2AE3D27D4EB4F]], np.uint64)
_ODD_AGAIN = np.array([[0x94D049BB133111EB], [0x165667B19E3779F9]], np.uint64)
_FIRST_BYTES = np.array([(1 << 8 * k) - 1 for k in range(9)], np.uint64)
_SHIFT, _LAST_SHIFT = np.uint64(29), np.uint64(32)
_CHUNK = 1 << 14


def seeded(n: int) -> UInt64s:
    """Begin n hashes of two lanes: uint64[2, n]."""
    return np.repeat(_SEEDS, n, axis=1)


def mix(hashes: UInt64s, words: UInt64s) -> None:
    """Stir a word into each hash; the order of the words counts."""
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
    offsets, data = _bytes_of(strings)
    lengths = np.diff(offsets)
    mix(hashes, lengths.astype(np.uint64))
    padded = np.zeros(len(data) + 8, np.uint8)
    padded[: len(data)] = data
    # Words begin at any byte: a view of stride 1 gathers them, np.take would copy all of it
    # eightfold first.
    words = np.ndarray((len(data) + 1,), "<u8", padded.data, 0, (1,))
    rows, starts = np.arange(len(strings)), offsets[:-1].astype(np.int64)
    while len(rows):
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


def repeated(strings: pa.StringArray) -> tuple[Int64s, Int64s]:
    """Give the rows that hold a string again, and for each the row that held it first.

    (Measured) a million distinct ids: 0.1 s. Distinct hashes prove distinct strings, and sorting
    them costs a third of coding the strings; only where two are equal is that done.
    """
    hashes = np.empty(len(strings), np.uint64)
    for begin in range(0, len(strings), _CHUNK):
        part = strings[begin : begin + _CHUNK]
        lanes = seeded(len(part))
        mix_strings(lanes, part)
        hashes[begin : begin + len(part)] = lanes[0]
    hashes.sort()
    if not (hashes[1:] == hashes[:-1]).any():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    codes = pc.dictionary_encode(strings).indices.to_numpy(zero_copy_only=False)
    rows = np.arange(len(codes))
    first = np.empty(len(codes), np.int64)
    first[codes[::-1]] = rows[::-1]
    again = rows[first[codes] != rows]
    return again, first[codes[again]]


def no_ids(strings: pa.StringArray) -> Int64s:
    """Give the rows whose string wording.wrong_with_id would refuse; all are valid UTF-8."""
    lengths = pc.utf8_length(strings).to_numpy(zero_copy_only=False)
    wrong = (lengths == 0) | (lengths > LONGEST_ID)
    _, data = _bytes_of(strings)
    suspect = (data < 0x20) | (data == 0x7F)
    if suspect.any() or ((data[:-1] == 0xC2) & (data[1:] < 0xA0)).any():
        found = pc.match_substring_regex(strings, r"[\x00-\x1f\x7f-\x{9f}]")
        wrong |= found.to_numpy(zero_copy_only=False)
    return np.flatnonzero(wrong)


def _bytes_of(strings: pa.StringArray) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """View a column without nulls as its bytes, and where in them each string begins and ends."""
    _, offsets, data = strings.buffers()
    if len(strings) == 0:
        return np.zeros(1, np.int32), np.empty(0, np.uint8)
    places = np.frombuffer(offsets, np.int32)[strings.offset : strings.offset + len(strings) + 1]
    begin, end = int(places[0]), int(places[-1])
    content = np.frombuffer(data, np.uint8)[begin:end] if end > begin else np.empty(0, np.uint8)
    return places - np.int32(begin), content
