"""Distances in words: `150m`, `0.5 km`, `2mi`.

Law: a distance is the double nearest to the number times the unit's exact length in metres.
"""

import math
import re
from fractions import Fraction

from fencepost.doubles import NUMBER
from fencepost.text import cut

UNITS = {
    "m": Fraction(1),
    "km": Fraction(1000),
    "ft": Fraction(3048, 10_000),
    "mi": Fraction(1_609_344, 1000),
    "nmi": Fraction(1852),
}
"""Metres in each unit."""

_DISTANCE = re.compile(rf"({NUMBER.pattern})\s*([a-z]*)")
_LONGEST = 60


def parse_distance(text: str) -> float:
    """Read a distance in metres; a number without a unit is one. ValueError says what is wrong."""
    found = _DISTANCE.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if found is None or (found[2] and found[2] not in UNITS):
        raise ValueError(f"{cut(text)!r} is not a distance like '150m', '0.5km', '2mi'")
    if not math.isfinite(float(found[1])):
        raise ValueError(f"{cut(text)!r} overflows")
    try:
        distance = float(Fraction(found[1]) * UNITS[found[2] or "m"])
    except OverflowError:
        raise ValueError(f"{cut(text)!r} overflows") from None
    if not distance > 0:
        raise ValueError(f"{cut(text)!r} is not more than 0")
    return distance
