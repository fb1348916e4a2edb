"""Hashes of content: of words and strings a million at a time, and of a few bytes.

Law: a hash is that of the content alone. It is the same on every machine, in every process and
whatever slice of a column a value is in. It is no defence against deliberate collisions.
"""

import hashlib

import numpy as np
import pyarrow as pa

from fencepost.arrays import Bytes, Int32s, UInt64s

# Two lanes of 64 bits: they begin apart and multiply by different odd numbers, so that what
# collides in the one does not in the other.
SEEDS = np.array([[0x9E3779B97F4A7C15], [0xD1B54A32D192ED03]], np.uint64)
ODD = np.array([[0xBF58476D1CE4E5B9], [0xC2B2AE3D27D4EB4F]], np.uint64)
ODD_AGAIN = np.array([[0x94D049BB133111EB], [0x165667B19E3779F9]], np.uint64)
_FIRST_BYTES = np.array([(1 << 8 * k) - 1 for k in range(9)], np.uint64)
SHIFT, LAST_SHIFT = np.uint64(29), np.uint64(32)
MOST = (1 << 64) - 1
FEW = 8  # rows that are hashed one by one
CHUNK = 1 << 14  # rows that stay in the cache while they are hashed


def digest(content: str | bytes, size: int = 16) -> str:
    """Hash a few bytes: 2 `size` hex digits. What no UTF-8 can say is hashed all the same."""
    raw = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return hashlib.blake2b(raw, digest_size=size).hexdigest()


def seeded(n: int) -> UInt64s:
    """Begin n hashes of two lanes: uint64[2, n]."""
    return np.repeat(SEEDS, n, axis=1)


def mix(hashes: UInt64s, words: UInt64s) -> None:
    """Mix a word into each hash; the order of the words counts."""
    hashes ^= words
    hashes *= ODD
    hashes ^= hashes >> SHIFT


def finish(hashes: UInt64s) -> None:
    """Spread every bit over all others, so that hashes may be added up."""
    hashes ^= hashes >> LAST_SHIFT
    hashes *= ODD_AGAIN
    hashes ^= hashes >> SHIFT
    hashes *= ODD
    hashes ^= hashes >> LAST_SHIFT


def mix_strings(hashes: UInt64s, strings: pa.StringArray) -> None:
    """Stir a string into each hash, eight bytes at a time, in O(bytes)."""
    offsets, words = words_of(strings)
    lengths = np.diff(offsets)
    mix(hashes, lengths.astype(np.uint64))
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


def hashes_of_strings(strings: pa.StringArray) -> UInt64s:
    """Hash strings to 64 bits: the first lane, finished. O(bytes)."""
    hashes = seeded(len(strings))
    mix_strings(hashes, strings)
    finish(hashes)
    lane: UInt64s = hashes[0]
    return lane


def _mix_string(lanes: UInt64s, words: UInt64s, length: int) -> None:
    """Stir one string into its hash. A word takes 1 µs here, and 10 µs as an array of one."""
    one, other = lanes.tolist()
    odd, other_odd = ODD.ravel().tolist()
    for begin in range(0, length, 8 * CHUNK):
        end = min(begin + 8 * CHUNK, length)
        some = words[begin:end:8].tolist()
        if end % 8 and end == length:
            some[-1] &= int(_FIRST_BYTES[end % 8])
        for word in some:
            one = (one ^ word) * odd & MOST
            one ^= one >> 29
            other = (other ^ word) * other_odd & MOST
            other ^= other >> 29
    lanes[:] = one, other


def words_of(strings: pa.StringArray) -> tuple[Int32s, UInt64s]:
    """View the eight bytes from each byte on, and where each string begins and ends."""
    offsets, data = bytes_of(strings)
    padded = np.zeros(len(data) + 8, np.uint8)
    padded[: len(data)] = data
    # Words begin at any byte: a view of stride 1 gathers them, np.take would copy all of it
    # eightfold first.
    return offsets, np.ndarray((len(data) + 1,), "<u8", padded.data, 0, (1,))


def bytes_of(strings: pa.StringArray) -> tuple[Int32s, Bytes]:
    """View a column without nulls as its bytes, and where in them each string begins and ends."""
    _, offsets, data = strings.buffers()
    if len(strings) == 0:
        return np.zeros(1, np.int32), np.empty(0, np.uint8)
    places = np.frombuffer(offsets, np.int32)[strings.offset : strings.offset + len(strings) + 1]
    begin, end = int(places[0]), int(places[-1])
    content = np.frombuffer(data, np.uint8)[begin:end] if end > begin else np.empty(0, np.uint8)
    return places - np.int32(begin), content


def added(one: int, other: int) -> int:
    """Combine the hashes of two sets of rows."""
    return (one + other) % 2**64
