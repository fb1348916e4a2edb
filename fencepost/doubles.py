"""Which double does a number mean, and which double comes next?

Law: text is a number iff NUMBER matches all of it, and it means the nearest double. Of integers
beyond 2**53, written without an exponent, only those are accepted that a double holds exactly:
otherwise two neighbours, two ids say, would silently become one. Whatever a program prints of a
double reads back. There is one zero: -0.0 is 0.0, here and in next_double().
"""

import math
import re
import sys
from decimal import Decimal

from fencepost.text import cut

NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

LARGEST = sys.float_info.max
EXACT_UP_TO = 2**53

_IS_NUMBER = NUMBER.fullmatch
_EDGE = float(EXACT_UP_TO)


def parse_number(text: str) -> float:
    """Read a number; ValueError says why it is none, or why no double may represent it."""
    if _IS_NUMBER(text) is None:
        raise ValueError(f"{cut(text)!r} is not a number")
    value = float(text)
    if -_EDGE < value < _EDGE:
        return value + 0.0
    if math.isinf(value):
        raise ValueError(f"{cut(text)!r} overflows: the largest double is {LARGEST!r}")
    if "e" not in text and "E" not in text and _is_other(Decimal(text), int(value)):
        raise ValueError(_inexact(repr(cut(text)), value))
    return value


def _is_other(given: Decimal, value: int) -> bool:
    return given != value and given == given.to_integral_value()


def exactly(value: int) -> float:
    """Return the double that is this integer; ValueError where none is beyond 2**53."""
    try:
        double = float(value)
    except OverflowError:
        raise ValueError(
            f"an integer of {value.bit_length()} bits overflows: the largest double is {LARGEST!r}"
        ) from None
    if int(double) != value:
        raise ValueError(_inexact(str(value) if value.bit_length() < 128 else "it", double))
    return double


def next_double(x: float) -> float:
    """Return the next larger double; after the largest comes infinity."""
    return math.nextafter(x, math.inf) + 0.0


def _inexact(given: str, nearest: float) -> str:
    near = f"{nearest:.0f}" if abs(nearest) < 1e21 else repr(nearest)
    return f"{given} has no exact double: beyond 2**53 the nearest is {near}"
