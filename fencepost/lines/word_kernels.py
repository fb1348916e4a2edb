"""Eight bytes at a time: where the first one of a kind is, and what their digits say. Compiled.

A word has the first byte of the text lowest. Each function looks at the lowest byte that is of its
kind; what it says of bytes above that may be wrong.
"""

import numpy as np
from numba import njit

ONES, HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
ZEROS, TO_HIGH = np.uint64(0x3030303030303030), np.uint64(0x7676767676767676)
BLANKS = np.uint64(0x2020202020202020)
PAIRS, BY_HUNDREDS, BY_ONES = (
    np.uint64(0x000000FF000000FF),
    np.uint64(0x000F424000000064),
    np.uint64(0x0000271000000001),
)
PLACES = np.uint64(0x0001020304050607)
ONE, SEVEN, EIGHT, SIXTEEN, HALF, LAST, TEN = map(np.uint64, (1, 7, 8, 16, 32, 56, 10))
NONE = np.uint64(0)


@njit(forceinline=True, _nrt=False)
def marks_of(word, byte):
    """Mark the bytes that equal one."""
    differs = word ^ (ONES * np.uint64(byte))
    return (differs - ONES) & ~differs & HIGHS


@njit(forceinline=True, _nrt=False)
def control_marks(word):
    """Mark the bytes below a blank."""
    return (word - BLANKS) & ~word & HIGHS


@njit(forceinline=True, _nrt=False)
def place_of(marks):
    """Say which byte, from 0, is the lowest that is marked; one is."""
    lowest = marks & (NONE - marks)
    return np.int64(((lowest >> SEVEN) * PLACES) >> LAST)


@njit(forceinline=True, _nrt=False)
def digits_in(word):
    """Say how many digits a word begins with."""
    above = word ^ ZEROS
    marks = ((above + TO_HIGH) | above) & HIGHS
    return 8 if marks == NONE else place_of(marks)


@njit(forceinline=True, _nrt=False)
def first_digits(word, count):
    """Read the first digits of a word, 1 to 8 of them, as a number."""
    digits = (word ^ ZEROS) << np.uint64(64 - 8 * count)
    pairs = digits * TEN + (digits >> EIGHT)
    hundreds = (pairs & PAIRS) * BY_HUNDREDS
    return np.int64((hundreds + ((pairs >> SIXTEEN) & PAIRS) * BY_ONES) >> HALF)
