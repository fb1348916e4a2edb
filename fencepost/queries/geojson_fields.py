"""A feature of a map as a standing query: its geometry is the region, its properties are fields.

A polygon is a region as it is, a point with a radius is a circle, a line with a width a corridor.

Law: `query_of(feature)` is the object that, as a line of a rules file, says the same; a property
that has the name of no field is left alone, and so is one that is null or empty. All that is wrong
with a feature is reported at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeGuard

from fencepost.doubles import EXACT_UP_TO
from fencepost.errors import QueryFault
from fencepost.queries.columns import MATCH
from fencepost.queries.fields import KINDS, kind_of
from fencepost.queries.geojson import FEATURE, other_crs
from fencepost.text import did_you_mean, few, shortened

RADIUS, WIDTH = "radius", "width"
FIELDS: Final = (
    *("id", "feed", "kind", "where", "streams", "streams_like", "within", "on_first", "leaps"),
    *("valid_from", "valid_to", "owner", "tags", "note"),
)
"""The fields of a query that a property may be."""
LISTS = ("streams", "tags")
"""Fields of several texts; a property has them as a list, or as one text with commas."""

OF_EVENTS = ("within", "on_first", "leaps")
"""Fields that only a crossing has."""
WORDS = ("owner", "note")
"""Fields that are any text; of several properties it is put together."""

SEVERAL = ("tags", *WORDS)
"""Fields that may be several properties."""
_MOST_NAMED = 8


@dataclass(frozen=True)
class FeatureFields:
    """Which properties become which fields.

    of         by field: its property, or several of SEVERAL. A field that is not here is the
               property of its own name
    otherwise  the fields of features that have no such property
    own_ids    whether a feature without the property that is the id has its own one
    unread     collects the names of properties that are no field, in the order they come
    """

    of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    otherwise: Mapping[str, object] = field(default_factory=dict)
    own_ids: bool = False
    unread: dict[str, None] | None = None

    def of_feed(self, feed: str | None) -> "FeatureFields":
        """Give the same, for features of this feed if neither they nor `otherwise` name one."""
        if feed is None or "feed" in self.otherwise:
            return self
        return replace(self, otherwise={**self.otherwise, "feed": feed})

    def query_of(self, feature: object) -> tuple[dict[str, object], list[QueryFault]]:
        """Give a feature as the object of a query, and what is wrong with it."""
        if not isinstance(feature, dict):
            return {}, [QueryFault(f"a feature is a JSON object, not {kind_of(feature)}")]
        kind = feature.get("type")
        if kind != FEATURE:
            what = f"'{shortened(kind)}'" if isinstance(kind, str) else kind_of(kind)
            return {}, [QueryFault(f"`type` is {what}: '{FEATURE}' was expected")]
        one = _Feature(self, feature)
        if self.unread is not None:
            self.unread.update(dict.fromkeys(one.properties.keys() - self._read))
        return one.as_query()

    @cached_property
    def _read(self) -> frozenset[str]:
        """The properties that are fields."""
        every = (*FIELDS, RADIUS, WIDTH)
        return frozenset(name for each in every for name in self.of.get(each, (each,)))


PLAIN = FeatureFields()
"""Every field is the property of its name."""


class _Feature:
    """One feature, and the faults found in it so far."""

    def __init__(self, fields: FeatureFields, feature: Mapping[str, object]) -> None:
        self.fields = fields
        self.feature = feature
        self.faults: list[QueryFault] = []
        properties = feature.get("properties")
        if not isinstance(properties, dict):
            if properties is not None:
                self.note(f"`properties` must be an object, not {kind_of(properties)}")
            properties = {}
        self.properties: Mapping[str, object] = properties

    def note(self, message: str, hint: str | None = None) -> None:
        """Note a fault."""
        self.faults.append(QueryFault(message, hint=hint))

    def as_query(self) -> tuple[dict[str, object], list[QueryFault]]:
        values = {
            "id": self.id(),
            **{name: self.value(name) for name in FIELDS[1:]},
            "region": self.region(),
        }
        return {name: value for name, value in values.items() if value is not None}, self.faults

    def id(self) -> str | None:
        """Give the id: a property if one is named, else the feature's, else its property `id`."""
        given = self.named_id() if "id" in self.fields.of else self.own_id()
        if given is None or isinstance(given, str):
            return given
        if isinstance(given, bool) or not isinstance(given, int | float):
            self.note(f"the id must be text or a number, not {kind_of(given)}")
            return None
        return plain_number(given)

    def named_id(self) -> object:
        (name,) = self.fields.of["id"]
        given = self.properties.get(name)
        if given is None and self.fields.own_ids:
            given = self.feature.get("id")
        if given is None:
            message = f"there is no property `{shortened(name)}` to be the id"
            self.note(message, _there_are(name, self.properties))
        return given

    def own_id(self) -> object:
        given = self.feature.get("id")
        given = self.properties.get("id") if given is None else given
        if given is None:
            there_are = _there_are("", self.properties)
            self.note("there is no id", f"name the property that is: --id PROPERTY; {there_are}")
        return given

    def value(self, name: str) -> object:
        """Give a field's value in the form that a query has it; None where there is none."""
        given = [self.properties.get(each) for each in self.fields.of.get(name, (name,))]
        values = [each for each in given if each not in (None, "")]
        if name == "kind" and name not in self.fields.of and not (values and values[0] in KINDS):
            values = []  # a word that many maps have, for something else
        if not values:
            return self.given_for_all(name)
        if name in LISTS:
            return [text for value in values for text in _texts(value)] or None
        if name in WORDS and not any(isinstance(value, list | dict) for value in values):
            return ", ".join(map(_text, values))
        if name == "leaps" and values[0] in ("true", "false"):
            return values[0] == "true"
        return values[0]

    def given_for_all(self, name: str) -> object:
        """Give what features without a property have; a match takes no part in events."""
        given = self.fields.otherwise.get(name)
        if given is not None and name in OF_EVENTS and self.value("kind") == MATCH:
            return None
        return given

    def region(self) -> object:
        """Give the geometry as a region; None where it is none, and why is noted."""
        geometry = self.feature.get("geometry")
        if not isinstance(geometry, dict):
            hint = "draw one, or take the feature out of the file"
            self.note(f"`geometry` is {kind_of(geometry)}: there is no region", hint)
            return None
        crs = other_crs(geometry.get("crs", self.feature.get("crs")))
        if crs is not None:
            self.note(f"its coordinates are in {crs}", "convert the file to WGS 84")
        kind, coordinates = geometry.get("type"), geometry.get("coordinates")
        if kind in ("Polygon", "MultiPolygon"):
            return {"type": kind, "coordinates": coordinates}
        if kind in ("MultiPoint", "MultiLineString") and _is_one(coordinates):
            kind, (coordinates,) = str(kind).removeprefix("Multi"), coordinates
        if kind == "Point":
            return {"circle": {"center": coordinates, RADIUS: self.reach(RADIUS, "a circle")}}
        if kind == "LineString":
            return {"corridor": {"line": coordinates, WIDTH: self.reach(WIDTH, "a corridor")}}
        self.note(*_no_region(kind))
        return None

    def reach(self, name: str, shape: str) -> object:
        """Give the radius of a point or the width of a line."""
        value = self.value(name)
        if value is None:
            (own,) = self.fields.of.get(name, (name,))
            message = f"{shape} needs a {name}: there is no property `{shortened(own)}`"
            self.note(message, f"give one to all that have none: --{name} 50m")
        return value


def feature_of(query: Mapping[str, object]) -> dict[str, object] | None:
    """Write a query as a feature that is read back as it; None where it has no region."""
    region = query.get("region")
    if not isinstance(region, dict) or not region.keys() & {"type", "circle", "corridor"}:
        return None
    geometry, reach = geometry_of_region(region)
    properties = {name: value for name, value in query.items() if name not in ("id", "region")}
    return {
        "type": FEATURE,
        "id": query["id"],
        "properties": {**properties, **reach},
        "geometry": geometry,
    }


def geometry_of_region(region: Mapping[str, Any]) -> tuple[dict[str, object], dict[str, object]]:
    """Give a region as a geometry of GeoJSON, and the property that it then needs."""
    if "circle" in region:
        circle = region["circle"]
        return {"type": "Point", "coordinates": circle["center"]}, {RADIUS: circle[RADIUS]}
    if "corridor" in region:
        corridor = region["corridor"]
        line = {"type": "LineString", "coordinates": corridor["line"]}
        return line, {WIDTH: corridor[WIDTH]}
    return dict(region), {}


def plain_number(number: float) -> str:
    """Write a number of JSON as an id has it: 12 for 12.0."""
    whole = abs(number) < EXACT_UP_TO and number == int(number)
    return str(int(number)) if whole else str(number)


def _no_region(kind: object) -> tuple[str, str]:
    if kind in ("MultiPoint", "MultiLineString", "GeometryCollection"):
        return f"a {kind} is no region", "make each of its parts a feature"
    what = f"'{shortened(kind)}'" if isinstance(kind, str) else kind_of(kind)
    hint = "a region is a Polygon, a MultiPolygon, a Point with a radius, a LineString with a width"
    return f"the geometry's `type` is {what}", hint


def _is_one(coordinates: object) -> TypeGuard[list[object]]:
    return isinstance(coordinates, list) and len(coordinates) == 1


def _there_are(name: str, properties: Mapping[str, object]) -> str:
    if not properties:
        return "the feature has no properties"
    names = [shortened(each) for each in properties]
    return f"its properties are: {few(names, _MOST_NAMED)}.{did_you_mean(name, names)}"


def _texts(value: object) -> list[object]:
    """Give a list as it is; a text with commas, which is all that many formats have, in parts."""
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [value if isinstance(value, dict) else _text(value)]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return plain_number(value) if isinstance(value, int | float) else str(value)
