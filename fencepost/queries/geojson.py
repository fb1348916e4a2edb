"""GeoJSON (RFC 7946): the features of a text, one by one, in whatever way they stand in it.

A FeatureCollection, a Feature, or one of these after the other (a line each, mostly; RFC 8142).

Law: every feature is given once, in the order of the text, and whatever else stands at the top is a
fault. Where values are on lines of their own, a bad one hides none of the others. Cost: (measured)
1 s for 20 MB of polygons; memory is the text's bytes and one feature.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from fencepost.errors import QueryFault
from fencepost.queries.fields import kind_of
from fencepost.queries.geojson_text import WINDOW, JsonText
from fencepost.text import shortened

COLLECTION, FEATURE = "FeatureCollection", "Feature"
GEOMETRIES = (
    *("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon"),
    "GeometryCollection",
)
ENDINGS = (".geojson", ".geojsonl", ".geojsons")
"""How the name of such a file ends, apart from what it is packed with."""

_HEAD = 1 << 16
_MEMBERS = ("features", "geometry", "coordinates", "geometries", "arcs")
"""Members that only such a text has, and that may be longer than its head."""

WGS_84 = re.compile(r"(?:.*[:/])?(?:CRS84h?|4326|(?:GCS_)?WGS[ _]?(?:19)?84)", re.IGNORECASE)
"""The names of degrees, longitude first."""

_OTHERS = {
    "Topology": "this is TopoJSON: convert it, as `mapshaper in.json -o zones.geojson` does",
}


class FeatureEntry(NamedTuple):
    """What stands where a feature should: its line, its number, both from 1, and its value.

    The value is a QueryFault where there is none that could be read; number 0: nor anything after.
    """

    line: int
    number: int
    value: Any


class GeoJson:
    """The features of a text, which may be read again and again.

    crs  the reference system that it names, if that is not degrees of WGS 84; known when the member
         has been read, mostly before the first feature
    """

    def __init__(self, content: bytes, window: int = WINDOW) -> None:
        """Read nothing yet."""
        self._content = content
        self._window = window
        self._text = JsonText(b"")
        self._number = 0
        self.crs: str | None = None

    def entries(self) -> Iterator[FeatureEntry]:
        """Give the features, from the first on."""
        self._text, self._number, self.crs = JsonText(self._content, self._window), 0, None
        try:
            yield from self._every()
        except QueryFault as fault:
            yield FeatureEntry(self._text.fault_line, 0, fault)

    def _every(self) -> Iterator[FeatureEntry]:
        text = self._text
        if not text.peek():
            raise QueryFault("is empty, where GeoJSON was expected")
        begun = text.line
        yield from self._top()
        one_a_line = text.line > begun and text.ended_on == begun
        while text.peek():
            if not one_a_line:
                yield from self._top()
                continue
            begun = text.line
            try:
                yield from self._top()
            except QueryFault as fault:
                yield self._entry(fault, text.fault_line)
                text.skip_line(begun)

    def _entry(self, value: object, line: int) -> FeatureEntry:
        self._number += 1
        return FeatureEntry(line, self._number, value)

    def _top(self) -> Iterator[FeatureEntry]:
        """Read one value at the top: all of a collection's features, or what is one."""
        text = self._text
        line = text.line
        text.expect("{")
        members: dict[str, object] = {}
        listed = False
        while not text.has("}"):
            if members:
                text.expect(",")
            if text.peek() != '"':
                raise text.fault("the name of a member was expected")
            name = str(text.value())
            if name in members:
                raise text.fault(f"the key `{shortened(name)}` occurs twice in one object")
            text.expect(":")
            members[name] = None
            if name == "features" and text.peek() == "[":
                yield from self._features()
                listed = True
            else:
                members[name] = text.value()
            if name == "crs":
                self.crs = other_crs(members[name])
        if listed and members.get("type") == COLLECTION:
            return
        yield self._entry(self._alone(members), line)

    def _features(self) -> Iterator[FeatureEntry]:
        text = self._text
        text.expect("[")
        first = True
        while not text.has("]"):
            if not first:
                text.expect(",")
            first = False
            line = text.line
            yield self._entry(text.value(), line)

    def _alone(self, members: dict[str, object]) -> dict[str, object] | QueryFault:
        """Give a feature that stands at the top; a fault where it is none."""
        kind = members.get("type")
        if kind == FEATURE:
            return members
        if kind == COLLECTION:
            given = kind_of(members["features"]) if "features" in members else "missing"
            return QueryFault(f"`features` is {given}: a list of features was expected")
        if kind in GEOMETRIES:
            hint = 'write {"type": "Feature", "id": …, "properties": {…}, "geometry": …} round it'
            return QueryFault(f"a {kind} alone has no id", hint=hint)
        if not isinstance(kind, str):
            return QueryFault("no GeoJSON: the member `type` is missing")
        return QueryFault(f"no GeoJSON: `type` is '{shortened(kind)}'", hint=_OTHERS.get(kind))


def other_crs(crs: object) -> str | None:
    """Name the reference system of a member `crs` (GeoJSON of 2008); None for degrees, WGS 84."""
    if crs is None:
        return None
    properties = crs.get("properties") if isinstance(crs, dict) else None
    name = properties.get("name") if isinstance(properties, dict) else None
    if isinstance(name, str):
        return None if WGS_84.fullmatch(name.strip()) else shortened(name)
    return "a `crs` without a name"


def is_geojson(source: str, content: bytes) -> bool:
    """Tell GeoJSON from lines of queries: by its name, else by what it begins with."""
    plain = re.sub(r"\.(gz|gzip|zst|zstd)$", "", source.lower())
    return plain.endswith(ENDINGS) or _begins_so(content[:_HEAD].decode(errors="replace"))


def _begins_so(head: str) -> bool:
    """Say whether a `type` of GeoJSON, or a member that only it has, comes first of all members."""
    member = re.compile(r'[\s\x1e]*[{,]\s*("(?:[^"\\]|\\.)*")\s*:\s*')
    decoder = json.JSONDecoder()
    at = 0
    while found := member.match(head, at):
        name = found[1][1:-1]
        try:
            value, at = decoder.raw_decode(head, found.end())
        except (ValueError, RecursionError):  # it goes on behind the head
            return name in _MEMBERS
        if name == "type":
            return value in (COLLECTION, FEATURE, *GEOMETRIES, *_OTHERS)
        if name in _MEMBERS:
            return True
    return False
