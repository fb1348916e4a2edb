"""Standing rules as Python gives them: dicts, a table, a file."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta

import pyarrow as pa

from fencepost.api.inputs import arrow_table
from fencepost.errors import InputError
from fencepost.position import NOWHERE, Positions
from fencepost.queries.files import FEED, QueryFile, StandingQueries, read_queries
from fencepost.queries.geojson import COLLECTION, FEATURE, GeoJson
from fencepost.queries.geojson_fields import PLAIN, FeatureFields
from fencepost.times import format_instant, to_microseconds

DEFAULT_FEED = "tuples"
"""The feed of rules that name none, and so of tuples that come without a name."""

_TEXTS = ("where", "on", "between")
"""Columns by which a table's rows are rules in words, not boxes."""


class Rules:
    """Standing rules, checked as far as they can be without the columns of their feeds.

    Made by `rules`, and never changed. `len()` counts them, `feeds` names what they watch. Their
    conditions become boxes when the first tuples of a feed say which axes it has.
    """

    def __init__(self, files: Iterable[QueryFile], feed: str = DEFAULT_FEED) -> None:
        """Check all of them; Faults lists everything that is wrong."""
        self._files = tuple(files)
        self._feed = feed
        checked = self._for({})
        self._counts = dict(checked.unevaluated)
        self._pairs = checked.pairs

    def __len__(self) -> int:
        """How many rules."""
        return sum(self._counts.values())

    @property
    def feeds(self) -> tuple[str, ...]:
        """The feeds that the rules watch or join, sorted."""
        joined = {feed for pair in self._pairs for feed in pair}
        return tuple(sorted(joined.union(self._counts)))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The feeds, left and right, that are joined."""
        return tuple(sorted(self._pairs))

    def __repr__(self) -> str:
        """Say how many rules there are, and of which feeds."""
        watched = ", ".join(self.feeds)
        return f"<{len(self)} {'rule' if len(self) == 1 else 'rules'} of {watched or 'no feed'}>"

    def _for(
        self, axes: Mapping[str, tuple[str, ...]], positions: Positions = NOWHERE
    ) -> StandingQueries:
        """Give the rules as boxes over the axes of these feeds; Faults where one does not fit."""
        return read_queries(self._files, axes, self._feed, positions)


def rules(*sources: object, feed: str = DEFAULT_FEED, id: str | None = None) -> Rules:
    """Take standing rules from dicts, tables and files, all of them or none.

    A source is a dict or a list of dicts, as one line of a rules file each; the path of such a
    file, JSON lines or Parquet, plain or gzip; or a table (Arrow, pandas, Polars, DuckDB) with the
    columns `id` and `where`, or `id` and `<axis>_lo`, `<axis>_hi`. A duration may be a
    `timedelta`, a time a `datetime` with a zone. `feed` is that of dicts and rows that name none.

    Zones of a map are rules, too: a file of GeoJSON or GeoParquet (with `fencepost[geo]` also
    GeoPackage and Shapefile), a FeatureCollection as a dict, or what has a `__geo_interface__`, as
    a GeoDataFrame does. `id` names the property that is the rule's id, else the feature's own is.

    Law: `Faults` lists every fault of every source, with its place; then none is taken. What each
    field means: docs/semantics.md.

    Cost: 20 µs a rule in words, 0.2 µs a row of bounds.

    >>> import fencepost as fp
    >>> fp.rules({"id": "cheap", "where": "price < 10", "within": "3m"})
    <1 rule of tuples>
    >>> fp.rules({"id": "cheap", "where": "price <> 10"})
    Traceback (most recent call last):
    ...
    fencepost.errors.Faults: rules:1: one of >, >=, =, <, <=, BETWEEN was expected at column 7, ...
    """
    fields = PLAIN if id is None else FeatureFields(of={"id": (id,)})
    return Rules([file for source in sources for file in _opened(source, feed, fields)], feed)


def as_rules(given: object) -> Rules:
    """Give rules as they are, and anything that `rules` takes as rules."""
    return given if isinstance(given, Rules) else rules(given)


def _opened(source: object, feed: str, fields: FeatureFields) -> Iterator[QueryFile]:
    if isinstance(source, Rules):
        yield from source._files  # noqa: SLF001  its own
    elif isinstance(source, str | os.PathLike):
        from fencepost.files import open_queries

        yield open_queries(os.fspath(source), fields)
    elif (zones := _zones(source)) is not None:
        yield QueryFile("zones", b"", None, GeoJson(_zones_text(zones)), fields)
    elif isinstance(source, Mapping) and "id" in source and isinstance(source["id"], str):
        yield _of_dicts([source], feed)
    elif isinstance(source, list | tuple) and all(isinstance(rule, Mapping) for rule in source):
        yield _of_dicts(source, feed)
    else:
        yield _of_table(arrow_table(source, "the rules"), feed)


def _zones(source: object) -> object:
    """Give the features of a map, if it is some."""
    zones = getattr(source, "__geo_interface__", source)
    is_map = isinstance(zones, Mapping) and zones.get("type") in (COLLECTION, FEATURE)
    return zones if is_map else None


def _zones_text(zones: object) -> bytes:
    try:
        return json.dumps(zones, default=_plain).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError) as why:
        raise InputError(f"the zones cannot be read: {why}") from None


def _of_dicts(given: Iterable[Mapping[str, object]], feed: str) -> QueryFile:
    """Write dicts as the lines of a file, which is where rules are read."""
    lines = [_line({FEED: feed, **rule} if _watches(rule) else rule) for rule in given]
    return QueryFile("rules", "".join(lines).encode("utf-8", "surrogatepass"))


def _watches(rule: Mapping[str, object]) -> bool:
    """Tell a rule that watches a feed from a join, which names two."""
    return "left" not in rule and "right" not in rule


def _line(rule: Mapping[str, object]) -> str:
    try:
        return json.dumps(dict(rule), ensure_ascii=False, default=_plain) + "\n"
    except (TypeError, ValueError) as why:
        raise InputError(f"the rule {rule.get('id')!r} cannot be read: {why}") from None


def _plain(value: object) -> object:
    """Write what JSON has no form for."""
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return format_instant(to_microseconds(value) or 0)
    if isinstance(value, date):
        raise TypeError(f"{value} has no time zone")
    if isinstance(value, set | frozenset):
        return sorted(value)
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return value.tolist()
    raise TypeError(f"{value!r} is of type {type(value).__name__}")


def _of_table(table: pa.Table, feed: str) -> QueryFile:
    """Take rows of bounds as they are, rows in words one by one."""
    if not any(name in table.column_names for name in _TEXTS):
        return QueryFile.of_table("rules", table)
    rows = [
        {name: value for name, value in row.items() if value is not None}
        for row in table.to_pylist()
    ]
    return _of_dicts(rows, feed)
