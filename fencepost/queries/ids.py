"""Columns of ids, a million at a time: which are repeated, and which may be no id."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Int64s, UInt64s
from fencepost.hashing import CHUNK, bytes_of, mix_strings, seeded
from fencepost.text import LONGEST_ID, shortened


def repeated(strings: pa.StringArray) -> tuple[Int64s, Int64s]:
    """Return the rows that repeat a string, and for each the row that has it first.

    (Measured) a million distinct ids: 0.1 s. Distinct hashes prove distinct strings, and sorting
    them costs a third of coding the strings; only where two are equal is that done.
    """
    hashes = _sorted_hashes(strings)
    if not (hashes[1:] == hashes[:-1]).any():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    codes = pc.dictionary_encode(strings).indices.to_numpy(zero_copy_only=False)
    rows = np.arange(len(codes))
    first = np.empty(len(codes), np.int64)
    first[codes[::-1]] = rows[::-1]
    again = rows[first[codes] != rows]
    return again, first[codes[again]]


@dataclass(frozen=True)
class KnownIds:
    """The hashes of ids in order: whether an id may be among them, without reading them again."""

    hashes: UInt64s

    @classmethod
    def of(cls, ids: pa.StringArray) -> "KnownIds":
        """Hash and sort ids. (Measured) a million: 0.1 s."""
        return cls(_sorted_hashes(ids))

    def may_have(self, ids: pa.StringArray) -> Int64s:
        """Return the rows of ids whose hashes are among these. O(k log n)."""
        if not len(self.hashes):
            return np.empty(0, np.int64)
        hashes = _hashes(ids)
        at = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.flatnonzero(self.hashes[at] == hashes)


def _sorted_hashes(strings: pa.StringArray) -> UInt64s:
    hashes = _hashes(strings)
    hashes.sort()
    return hashes


def _hashes(strings: pa.StringArray) -> UInt64s:
    hashes = np.empty(len(strings), np.uint64)
    for begin in range(0, len(strings), CHUNK):
        part = strings[begin : begin + CHUNK]
        lanes = seeded(len(part))
        mix_strings(lanes, part)
        hashes[begin : begin + len(part)] = lanes[0]
    return hashes


def no_ids(strings: pa.StringArray) -> Int64s:
    """Return the rows whose string `wrong_with_id` would refuse; all are valid UTF-8."""
    lengths = pc.utf8_length(strings).to_numpy(zero_copy_only=False)
    wrong = (lengths == 0) | (lengths > LONGEST_ID)
    _, data = bytes_of(strings)
    suspect = (data < 0x20) | (data == 0x7F)
    if suspect.any() or ((data[:-1] == 0xC2) & (data[1:] < 0xA0)).any():
        found = pc.match_substring_regex(strings, r"[\x00-\x1f\x7f-\x{9f}]")
        wrong |= found.to_numpy(zero_copy_only=False)
    return np.flatnonzero(wrong)


def named(ids: pa.StringArray, rows: Int64s) -> str:
    """Name a few of the ids, and say how many more there are."""
    names = ", ".join(f"'{shortened(ids[int(row)].as_py())}'" for row in rows[:3])
    return names if len(rows) <= 3 else f"{names} and {len(rows) - 3:,} more"
