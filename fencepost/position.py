"""Where a feed's tuples are: the two of its axes that are a place, on the earth or on a plane.

Law: a place is on the earth iff its feed says so, or says nothing and both axes are called as
longitudes and latitudes are.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from fencepost.errors import InputError
from fencepost.text import did_you_mean, shortened

DEGREES, PLANE = "degrees", "plane"
POSITIONS_IN = (DEGREES, PLANE)
"""What a position may be in: degrees of longitude and latitude, or the units of a plane."""

LONGITUDES = frozenset(
    (
        *("lon", "lng", "long", "longitude"),
        *("location_long", "position_long", "gps_lon", "gps_longitude"),
    )
)
LATITUDES = frozenset(
    ("lat", "latitude", "location_lat", "position_lat", "gps_lat", "gps_latitude")
)
_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OTHER = re.compile(r"[^a-z0-9]+")


class Position(NamedTuple):
    """Which two axes of a feed are a place, counted from 0: x and y, or longitude and latitude."""

    axes: tuple[int, int]
    earth: bool


Positions = Mapping[str, Position]
"""The position of every feed that has one."""

NOWHERE: Positions = MappingProxyType({})


def folded(name: str) -> str:
    """Write a name in small letters, its words joined by `_`: `vehicleId` is `vehicle_id`."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return _OTHER.sub("_", _JOINT.sub("_", plain.strip()).lower()).strip("_")


def declared_position(
    axes: Sequence[str], names: Sequence[str], given_in: str | None = None
) -> Position:
    """Find the position that a feed declares; InputError says what is wrong with it."""
    if len(names) != 2 or names[0] == names[1]:
        raise InputError("two axes were expected, longitude first, or x and y")
    for name in names:
        if name not in axes:
            near = did_you_mean(name, axes)
            raise InputError(f"'{shortened(name)}' is none of the axes {', '.join(axes)}.{near}")
    x, y = map(folded, names)
    if x in LATITUDES and y in LONGITUDES:
        raise InputError(f"longitude comes first: ['{names[1]}', '{names[0]}']")
    by_name = x in LONGITUDES and y in LATITUDES
    earth = by_name if given_in is None else given_in == DEGREES
    return Position((axes.index(names[0]), axes.index(names[1])), earth)
