"""Hashes of content, compiled: a look at each cell, where NumPy looks five times.

Law: the words of all rows and the names of all codes are mixed as `fencepost.hashing` mixes them in
the first lane.
"""

import numpy as np
from numba import njit

from fencepost import hashing
from fencepost.arrays import Int32s, UInt64s
from fencepost.hashing import LAST_SHIFT, SHIFT

SEED, ODD, ODD_AGAIN = (lanes[0, 0] for lanes in (hashing.SEEDS, hashing.ODD, hashing.ODD_AGAIN))
FULL, NONE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0)


@njit(nogil=True, cache=True, _nrt=False)
def mix(hashes: UInt64s, words: UInt64s) -> None:
    """Mix a word into each hash."""
    for row in range(len(hashes)):
        hashes[row] = _mixed(hashes[row], words[row])


@njit(nogil=True, cache=True, _nrt=False)
def mix_codes(hashes: UInt64s, of_code: UInt64s, codes: Int32s) -> None:
    """Mix the word of a code into each hash."""
    for row in range(len(hashes)):
        hashes[row] = _mixed(hashes[row], of_code[np.uint32(codes[row])])


@njit(nogil=True, cache=True, _nrt=False)
def added_up(hashes: UInt64s) -> np.uint64:
    """Finish hashes, and add them up."""
    total = NONE
    for row in range(len(hashes)):
        total += _finished(hashes[row])
    return total


@njit(nogil=True, cache=True, _nrt=False)
def texts(words: UInt64s, offsets: Int32s, out: UInt64s) -> None:
    """Hash texts, eight bytes at a time; `words` has those from each byte on."""
    for row in range(len(out)):
        begin, end = offsets[row], offsets[row + 1]
        mixed = _mixed(SEED, np.uint64(end - begin))
        for place in range(begin, end, 8):
            left = end - place
            word = words[place] & (FULL if left >= 8 else FULL >> np.uint64(64 - 8 * left))
            mixed = _mixed(mixed, word)
        out[row] = _finished(mixed)


@njit(_nrt=False)
def _mixed(mixed, word):
    mixed = (mixed ^ word) * ODD
    return mixed ^ (mixed >> SHIFT)


@njit(_nrt=False)
def _finished(mixed):
    mixed = (mixed ^ (mixed >> LAST_SHIFT)) * ODD_AGAIN
    mixed = (mixed ^ (mixed >> SHIFT)) * ODD
    return mixed ^ (mixed >> LAST_SHIFT)
