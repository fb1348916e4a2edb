"""The features of a map as standing queries, whatever kind of file they came in.

Law: the features are accepted whole or not at all; every bad one is reported with its line, its
number and its id. An id occurs once. Where every feature would have the same fault, it is one of
the file, reported once.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from fencepost.errors import Fault, Faults, QueryFault
from fencepost.position import Positions
from fencepost.queries.fields import NO_POSITION
from fencepost.queries.geojson import FeatureEntry
from fencepost.queries.geojson_fields import FeatureFields
from fencepost.queries.query import AxesOf, Query, StandingQuery, check_query
from fencepost.text import shortened

MOST_VERTICES = 1 << 18
"""Vertices that are read before they are handed on, to become columns."""
_NOTHING = "nothing imported"
_OTHER_CRS = (
    "A position on the earth is in degrees of WGS 84, longitude first. Convert the file, for "
    "example with `ogr2ogr -t_srs EPSG:4326 out.geojson in.geojson`."
)
_NO_FEED = "Say which feed they are of: --feed FEED, or a property `feed`."


class Features(Protocol):
    """The features of a file; `crs` names their reference system if that is not WGS 84."""

    crs: str | None

    def entries(self) -> Iterator[FeatureEntry]:
        """Give them in their order, as often as wanted."""


def read_features(
    features: Features,
    source: str,
    fields: FeatureFields,
    axes_of: AxesOf,
    positions: Positions,
    *,
    feeds_may_be_absent: bool = False,
) -> Iterator[list[Query]]:
    """Read all of them, some at a time, or raise Faults that lists every fault of every feature.

    `axes_of`, `positions` and `feeds_may_be_absent` are those of check_query. No more than
    MOST_VERTICES are objects at once, those of one feature aside.
    """
    queries: list[Query] = []
    vertices = 0
    faults: list[Fault] = []
    number_of: dict[str, int] = {}
    for entry in features.entries():
        obj, found = _object_of(entry.value, fields)
        of_all = _fault_of_all(features, source, obj, axes_of, positions)
        if of_all is not None:
            raise Faults([of_all, *faults], _NOTHING)
        if not found:
            query, found = check_query(
                obj, axes_of, positions, feeds_may_be_absent=feeds_may_be_absent
            )
            if isinstance(query, StandingQuery) and query.region is not None and not faults:
                queries.append(query)
                vertices += query.region.vertices
        found += _repeats(obj, entry.number, number_of)
        label = _label(entry.number, obj)
        faults += [_of_feature(source, entry.line, label, fault) for fault in found]
        if vertices > MOST_VERTICES:
            yield queries
            queries, vertices = [], 0
    if faults:
        raise Faults(faults, _NOTHING)
    yield queries


def feeds_of_features(features: Features, fields: FeatureFields) -> list[str]:
    """List the feeds that they name; what is at fault is reported when they are read."""
    found = (_object_of(entry.value, fields)[0].get("feed") for entry in features.entries())
    return list(dict.fromkeys(feed for feed in found if isinstance(feed, str) and feed))


def _object_of(value: object, fields: FeatureFields) -> tuple[dict[str, object], list[QueryFault]]:
    return ({}, [value]) if isinstance(value, QueryFault) else fields.query_of(value)


def _fault_of_all(
    features: Features,
    source: str,
    obj: Mapping[str, object],
    axes_of: AxesOf,
    positions: Positions,
) -> Fault | None:
    """Say what is wrong with all the features of a file, if it shows in this one."""
    if not obj:
        return None
    feed = obj.get("feed")
    if feed is None:
        return Fault(source, "its features name no feed", hint=_NO_FEED)
    if not isinstance(feed, str) or feed not in axes_of:
        return None
    place = positions.get(feed)
    if place is None:
        return Fault(source, f"the feed '{feed}' has no `position`", hint=NO_POSITION)
    if features.crs is not None and place.earth:
        return Fault(source, f"its coordinates are in {features.crs}", hint=_OTHER_CRS)
    return None


def _label(number: int, obj: Mapping[str, object]) -> str:
    if not number:
        return ""
    query_id = obj.get("id")
    named = f" ('{shortened(query_id)}')" if isinstance(query_id, str) else ""
    return f"feature {number:,}{named}: "


def _of_feature(source: str, line: int, label: str, fault: QueryFault) -> Fault:
    message = label + fault.message
    return Fault(source, message, line, fault.column, fault.text, fault.width, fault.hint)


def _repeats(obj: Mapping[str, object], number: int, number_of: dict[str, int]) -> list[QueryFault]:
    """Report an id that occurred before; remember one that did not."""
    query_id = obj.get("id")
    if not isinstance(query_id, str):
        return []
    first = number_of.setdefault(query_id, number)
    if first == number:
        return []
    hint = "--id names another property; parts of one zone are one MultiPolygon"
    return [QueryFault(f"feature {first:,} has the same id", hint=hint)]
