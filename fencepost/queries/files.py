"""Standing queries by the file: JSON lines, or a table with a column `feed`, or all of one feed.

Queries of all kinds may be in one file; each kind becomes a set of its own, joins by their lane.

Law: the files are accepted whole or not at all, and every fault of every file is reported. An
id occurs once in all of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import Fault, Faults, QueryFault, refuse
from fencepost.position import NOWHERE, Positions
from fencepost.queries.columns import CROSSING, MATCH
from fencepost.queries.conversions import is_text
from fencepost.queries.feature_table import FeatureTable
from fencepost.queries.features import Features, feeds_of_features, read_features
from fencepost.queries.geojson import GeoJson, is_geojson
from fencepost.queries.geojson_fields import PLAIN, FeatureFields
from fencepost.queries.joins import JOINS, JoinQuery, JoinSets
from fencepost.queries.jsonl import json_object, read_queries_jsonl
from fencepost.queries.query import AxesOf, Query, StandingQuery, parted
from fencepost.queries.query_set import QuerySet
from fencepost.text import shortened
from fencepost.tuples import Bools, Int64s

FEED = "feed"
FREE = ("owner", "tags", "note")
"""Columns that the evaluation does not need."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class QueryFile:
    """One file: a table, the features of a map, or the bytes of JSON lines.

    `fields` say how the properties of features become queries.
    """

    source: str
    content: bytes
    table: pa.Table | None = None
    features: Features | None = None
    fields: FeatureFields = PLAIN

    @classmethod
    def of_table(cls, source: str, table: pa.Table, fields: FeatureFields = PLAIN) -> "QueryFile":
        """Read a table of queries; Faults where its rows could not even be identified."""
        features = FeatureTable.of_geoparquet(source, table)
        if features is not None:
            return cls(source, b"", None, features, fields)
        refuse(_faults_of_columns(source, table))
        return cls(source, b"", table)

    @classmethod
    def of_text(cls, source: str, content: bytes, fields: FeatureFields = PLAIN) -> "QueryFile":
        """Read a text: GeoJSON, or JSON lines."""
        if is_geojson(source, content):
            return cls(source, b"", None, GeoJson(content), fields)
        return cls(source, content)

    def feeds(self) -> list[str]:
        """List the feeds that its queries name, as far as they can be read."""
        if self.table is not None:
            named = FEED in self.table.column_names
            return [f for f in self.table[FEED].unique().to_pylist() if f] if named else []
        if self.features is not None:
            return feeds_of_features(self.features, self.fields)
        return [feed for line in BytesIO(self.content) for feed in _feeds_of(line)]

    def queries(
        self, feeds: "KnownFeeds", only_feed: str | None, *, feeds_may_be_absent: bool = False
    ) -> Iterator[list[Query]]:
        """Read those of features or lines, some at a time; Faults at the end where any is wrong.

        Features that name no feed are of the only one.
        """
        if self.features is None:
            lines = BytesIO(self.content)
            yield read_queries_jsonl(
                lines, self.source, *feeds, feeds_may_be_absent=feeds_may_be_absent
            )
            return
        yield from read_features(
            self.features,
            self.source,
            self.fields.of_feed(only_feed),
            *feeds,
            feeds_may_be_absent=feeds_may_be_absent,
        )


def _faults_of_columns(source: str, table: pa.Table) -> list[Fault]:
    """List what would keep the rows from being parted by feed and compared by id."""
    names = [name for name in ("id", FEED) if name in table.column_names]
    counts = {name: table.column_names.count(name) for name in names}
    faults = [
        Fault(source, f"the column `{name}` occurs {count} times")
        for name, count in counts.items()
        if count > 1
    ]
    return faults or [
        Fault(source, f"`{name}` holds {why}, text was expected")
        for name in names
        if (why := _why_no_text(table[name])) is not None
    ]


def _why_no_text(column: pa.ChunkedArray) -> str | None:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not is_text(kind):
        return str(kind)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return "bytes that are not UTF-8"
    return None


def _feeds_of(line: bytes) -> list[str]:
    try:
        query = json_object(line)
    except QueryFault:  # reported when the queries are read
        return []
    if not isinstance(query, dict):
        return []
    named = [query.get(FEED)]
    if query.get("kind") in JOINS:  # a band join names an axis behind its feed
        sides = [query.get("left"), query.get("right")]
        named = [side.partition(".")[0] for side in sides if isinstance(side, str)]
    return [feed for feed in named if isinstance(feed, str) and feed]


@dataclass(frozen=True, eq=False)
class StandingQueries:
    """The queries of the feeds that have tuples, and how many there are of feeds that have none.

    `sets` holds the crossings of each feed, `matches` its matches, `joins` those of each lane.
    `pairs` are the feeds, left and right, that any join names.
    """

    sets: Mapping[str, QuerySet]
    matches: Mapping[str, QuerySet] = field(default_factory=dict)
    joins: Mapping[str, JoinSets] = field(default_factory=dict)
    pairs: AbstractSet[tuple[str, str]] = frozenset()
    unevaluated: Mapping[str, int] = field(default_factory=dict)

    @property
    def joined(self) -> AbstractSet[str]:
        """The feeds that any join names."""
        return frozenset(feed for pair in self.pairs for feed in pair)


def read_queries(
    files: Sequence[QueryFile],
    axes_of: AxesOf,
    only_feed: str | None,
    positions: Positions = NOWHERE,
) -> StandingQueries:
    """Read all the files; Parquet without a column `feed` is of the only feed that there is."""
    feeds = KnownFeeds(axes_of, positions)
    faults: list[Fault] = []
    parts: list[_Part] = []
    for file in files:
        parts += collected(faults, partial(_parts, file, feeds, only_feed), [])
    faults += _repeats(parts)
    refuse(faults)
    sets, matches = (
        {feed: QuerySet.empty(feed, tuple(axes), kind) for feed, axes in axes_of.items()}
        for kind in (CROSSING, MATCH)
    )
    unevaluated: dict[str, int] = {}
    joins: dict[str, list[JoinQuery]] = {}
    pairs: set[tuple[str, str]] = set()
    for part in parts:
        pairs.update((query.left, query.right) for query in part.joins)
        if part.lane is not None:
            joins.setdefault(part.lane, []).extend(part.joins)
        elif part.queries is None:
            unevaluated[part.feed] = unevaluated.get(part.feed, 0) + len(part.ids)
        else:
            of_kind = matches if part.queries.kind == MATCH else sets
            of_kind[part.feed] = of_kind[part.feed].with_added(part.queries)
    of_lanes = {lane: _join_sets(queries, axes_of) for lane, queries in joins.items()}
    return StandingQueries(sets, matches, of_lanes, pairs, unevaluated)


def _join_sets(queries: Sequence[JoinQuery], axes_of: AxesOf) -> JoinSets:
    """Make the sets of a lane, by id: rows do not depend on the order of the lines."""
    left, right = queries[0].left, queries[0].right
    by_id = sorted(queries, key=lambda query: query.id)
    return JoinSets.from_queries((left, right), (axes_of[left], axes_of[right]), by_id)


def collected(faults: list[Fault], act: Callable[[], T], otherwise: T) -> T:
    """Do something; where it has Faults add them to the others."""
    try:
        return act()
    except Faults as found:
        faults += found.faults
        return otherwise


@dataclass(frozen=True, eq=False)
class _Part:
    """The queries of one feed and kind in one file; no set where the feed has no tuples.

    Or joins: `feed` is the first of theirs that has no tuples, `lane` is there if both have some.
    """

    source: str
    feed: str
    ids: pa.StringArray
    queries: QuerySet | None
    joins: tuple[JoinQuery, ...] = ()
    lane: str | None = None


class KnownFeeds(NamedTuple):
    """What is known of the feeds: their axes, and which two of them are a place."""

    axes: AxesOf
    positions: Positions


def _parts(file: QueryFile, feeds: KnownFeeds, only_feed: str | None) -> list[_Part]:
    if file.table is not None:
        return _parts_of_table(file.source, file.table, feeds, only_feed)
    some = file.queries(feeds, only_feed, feeds_may_be_absent=True)
    return [part for queries in some for part in _parts_of_queries(file, queries, feeds.axes)]


def _parts_of_queries(file: QueryFile, queries: Sequence[Query], axes_of: AxesOf) -> list[_Part]:
    watching, joins = parted(queries)
    alike: dict[tuple[str, str], list[StandingQuery]] = {}
    for query in watching:
        alike.setdefault((query.feed, query.kind), []).append(query)
    parts = [
        _Part(
            file.source,
            feed,
            pa.array([query.id for query in queries], pa.string()),
            QuerySet.from_queries(feed, axes_of[feed], queries, kind) if feed in axes_of else None,
        )
        for (feed, kind), queries in alike.items()
    ]
    return parts + _parts_of_joins(file.source, joins, axes_of)


def _parts_of_joins(source: str, joins: Sequence[JoinQuery], axes_of: AxesOf) -> list[_Part]:
    alike: dict[tuple[str, str | None], list[JoinQuery]] = {}
    for query in joins:
        absent = [feed for feed in (query.left, query.right) if feed not in axes_of]
        key = (absent[0], None) if absent else (query.left, query.lane)
        alike.setdefault(key, []).append(query)
    return [
        _Part(
            source,
            feed,
            pa.array([query.id for query in queries], pa.string()),
            None,
            tuple(queries),
            lane,
        )
        for (feed, lane), queries in alike.items()
    ]


def _parts_of_table(
    source: str, table: pa.Table, known: KnownFeeds, only_feed: str | None
) -> list[_Part]:
    table = table.drop_columns([name for name in FREE if name in table.column_names])
    if FEED not in table.column_names:
        if only_feed is None:
            hint = "With tuples of several feeds each row must say which feed it watches."
            raise Faults([Fault(source, "no column 'feed'", hint=hint)])
        return _parts_of_feed(source, only_feed, table, known)
    feeds = pc.fill_null(table[FEED].cast(pa.string()), "")
    parts: list[_Part] = []
    nameless = np.flatnonzero(pc.equal(feeds, "").to_numpy())
    faults = [Fault(source, "`feed` is missing", row + 1) for row in nameless.tolist()]
    again, repeats = _repeated_ids(source, table)
    faults += repeats
    for feed in pc.unique(feeds).drop_null().to_pylist():
        mine = pc.equal(feeds, feed).to_numpy() & ~again
        if feed:
            found: list[Fault] = []
            rows = _columns_of(table, mine)
            parts += collected(found, partial(_parts_of_feed, source, feed, rows, known), [])
            faults += [_at(fault, np.flatnonzero(mine)) for fault in found]
    refuse(faults)
    return parts


def _parts_of_feed(source: str, feed: str, table: pa.Table, feeds: KnownFeeds) -> list[_Part]:
    if feed not in feeds.axes:
        ids = table["id"].cast(pa.string()).combine_chunks() if "id" in table.column_names else []
        return [_Part(source, feed, pa.array(ids, pa.string()), None)]
    position = feeds.positions.get(feed)
    sets = QuerySet.of_each_kind(feed, feeds.axes[feed], table, source, position)
    return [_Part(source, feed, queries.ids, queries) for queries in sets.values()]


def _columns_of(table: pa.Table, mine: Bools) -> pa.Table:
    """Return the rows of a feed, without the bounds that only other feeds have."""
    rows = table.drop_columns([FEED]).filter(pa.array(mine))
    foreign = [
        name
        for name in rows.column_names
        if name.endswith(("_lo", "_hi")) and rows[name].null_count == len(rows)
    ]
    return rows.drop_columns(foreign)


def _repeated_ids(source: str, table: pa.Table) -> tuple[Bools, list[Fault]]:
    """Find the rows whose id an earlier row has, whatever their feeds."""
    again = np.zeros(len(table), np.bool_)
    if "id" not in table.column_names:
        return again, []
    coded = pc.dictionary_encode(table["id"].cast(pa.string())).unify_dictionaries()
    codes = pc.fill_null(coded.combine_chunks().indices, -1).to_numpy()
    distinct, first = np.unique(codes, return_index=True)
    again[:] = (codes >= 0) & (first[np.searchsorted(distinct, codes)] < np.arange(len(codes)))
    return again, [
        Fault(source, f"the id '{shortened(table['id'][row].as_py())}' occurs twice", row + 1)
        for row in np.flatnonzero(again).tolist()
    ]


def _at(fault: Fault, rows: Int64s) -> Fault:
    """Move a fault from a feed's rows to its place among the rows of all feeds."""
    return fault if fault.line is None else replace(fault, line=int(rows[fault.line - 1]) + 1)


def _repeats(parts: Sequence[_Part]) -> list[Fault]:
    """List the ids that are in several files."""
    source_of: dict[str, str] = {}
    faults: list[Fault] = []
    if len({part.source for part in parts}) < 2:
        return faults
    for part in parts:
        for query_id in part.ids.to_pylist():
            first = source_of.setdefault(query_id, part.source)
            if first != part.source:
                message = f"the id '{shortened(query_id)}' is in {first} too"
                faults.append(Fault(part.source, message))
    return faults
