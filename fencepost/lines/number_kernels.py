"""A number of a text as the nearest double. Compiled.

Up to 2**53 and 10**22 one division or product is exact. Beyond, the decimal is multiplied by a
power of five in 128 bits, of which in this range so many are right that the rounding is: the
algorithm of Eisel and Lemire (Lemire, Number Parsing at a Gigabyte per Second, 2021).

Law: what comes out is what `fencepost.doubles.parse_number` gives, or nothing.
"""

import numpy as np
from numba import njit

from fencepost.lines.word_kernels import digits_in, first_digits

NOTHING = -1
"""Instead of the place where a cell ends: it is none of its kind."""
PLUS, MINUS, ZERO, SMALL_E, LARGE_E = b"+-0eE"
NINE = 0x39
EXACT = 2**53
MOST_DIGITS, MOST_POWER = 18, 22
"""Digits that a word has room for, and the largest power of ten that is a double."""
POWERS = np.array([float(10**k) for k in range(MOST_POWER + 1)])
WHOLE_POWERS = np.array([10**k for k in range(9)])
LEAST_POWER = -27
"""The smallest power of ten by which 128 bits of a product are always enough."""


def _fifth_powers() -> list[int]:
    """Give 5**k as 128 bits, the highest of them set: cut off, or below 0 rounded up."""
    found = []
    for k in range(LEAST_POWER, MOST_POWER + 1):
        power: int = 5 ** abs(k)
        if k < 0:
            found.append((1 << ((power - 1).bit_length() + 127)) // power + 1)
        else:
            found.append(power << (128 - power.bit_length()))
    return found


FIVES = np.array([[five >> 64, five & (2**64 - 1)] for five in _fifth_powers()], np.uint64)
LEAST_TWO = -200
TWOS = np.array([2.0**k for k in range(LEAST_TWO, 101)])
ONE, TWO, THREE, SMALL, ROUGH = map(np.uint64, (1, 2, 3, 9, 0x1FF))
LOW, HALF, TOP = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(63)


@njit(forceinline=True, _nrt=False)
def number(text, words, at, decimal, is_json):  # noqa: PLR0911
    """Read a number: its end and its value.

    The end is negative, below NOTHING, where it is one, but of so many digits, or so large or
    small, that the nearest double takes more than a division.
    """
    negative = text[at] == MINUS
    if negative or (text[at] == PLUS and not is_json):
        at += 1
    begin = at
    at, mantissa = _digits(words, at, np.int64(0))
    whole = at - begin
    if is_json and (whole == 0 or (whole > 1 and text[begin] == ZERO)):
        return NOTHING, 0.0
    decimals = 0
    if text[at] == decimal:
        point = at + 1
        at, mantissa = _digits(words, point, mantissa)
        decimals = at - point
        if is_json and decimals == 0:
            return NOTHING, 0.0
    digits = whole + decimals
    if digits == 0:
        return NOTHING, 0.0
    power = -decimals
    if text[at] == SMALL_E or text[at] == LARGE_E:
        at, exponent = _exponent(text, at + 1)
        if at < 0:
            return NOTHING, 0.0
        power += exponent
    if digits > MOST_DIGITS or power < LEAST_POWER or power > MOST_POWER:
        return -at, 0.0
    if mantissa > EXACT or power < -MOST_POWER:
        value = _nearest(np.uint64(mantissa), power) if mantissa > 0 else 0.0
    elif power < 0:
        value = np.float64(mantissa) / POWERS[-power]
    else:
        value = np.float64(mantissa) * POWERS[power]
    if value >= EXACT:
        return NOTHING, 0.0
    return at, (-value if negative else value) + 0.0


@njit(forceinline=True, _nrt=False)
def _digits(words, at, value):
    """Go on with the digits of a number; beyond a word's room it is wrong."""
    count = 8
    while count == 8:
        count = digits_in(words[at])
        if count > 0:
            value = value * WHOLE_POWERS[count] + first_digits(words[at], count)
            at += count
    return at, value


@njit(forceinline=True, _nrt=False)
def _exponent(text, at):
    sign = 1
    if text[at] == PLUS or text[at] == MINUS:
        sign = -1 if text[at] == MINUS else 1
        at += 1
    begin, value = at, np.int64(0)
    while ZERO <= text[at] <= NINE:
        value = min(value * 10 + np.int64(text[at] - ZERO), np.int64(100_000))
        at += 1
    return (at if at > begin else NOTHING), sign * value


@njit(forceinline=True, _nrt=False)
def _nearest(whole, power):
    """Give the double nearest to an integer, not 0, times a power of ten."""
    zeros = _leading_zeros(whole)
    whole <<= np.uint64(zeros)
    five = power - LEAST_POWER
    high, low = _product(whole, FIVES[five, 0])
    if high & ROUGH == ROUGH:
        more, _ = _product(whole, FIVES[five, 1])
        low += more
        high += ONE if more > low else np.uint64(0)
    upper = high >> TOP
    shift = upper + SMALL
    mantissa = high >> shift
    exponent = ((217_706 * power) >> 16) + 63 + np.int64(upper) - zeros - 52
    is_tie = low <= ONE and -4 <= power <= 23 and mantissa & THREE == ONE
    if is_tie and mantissa << shift == high:
        mantissa ^= ONE
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    return np.float64(mantissa) * TWOS[exponent - LEAST_TWO]


@njit(forceinline=True, _nrt=False)
def _leading_zeros(whole):
    zeros = 0
    for step in (32, 16, 8, 4, 2, 1):
        if whole >> np.uint64(64 - step) == np.uint64(0):
            whole <<= np.uint64(step)
            zeros += step
    return zeros


@njit(forceinline=True, _nrt=False)
def _product(one, other):
    """Multiply two words: the high word of the product, and the low one."""
    one_low, one_high = one & LOW, one >> HALF
    other_low, other_high = other & LOW, other >> HALF
    lows, highs = one_low * other_low, one_high * other_high
    middle = one_high * other_low + (lows >> HALF)
    inner = one_low * other_high + (middle & LOW)
    return highs + (middle >> HALF) + (inner >> HALF), one * other
