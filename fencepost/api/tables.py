"""The tables of results, gathered delivery by delivery and put in their order at the end.

Law: rows and their order depend on the deliveries alone. Of several feeds the events have the axes
of all, in the order in which they appeared, null where an event's feed has no such axis; so have
the pairs of several lanes, on either side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.row_order import ordered

Axes = tuple[str, ...]
NAMES = ("events", "transitions", "matches", "leaps", "pairs", "band_changes", "near_changes")
TIME = pa.timestamp("us", "UTC")
PLACE = pa.int32()
"""Which of the accepted tuples of its stream and ts, from 0."""
CODED = pa.dictionary(pa.int32(), pa.string())

MATCH = pa.schema(
    {
        "feed": CODED,
        "query_id": CODED,
        "query_version": pa.int32(),
        "stream_id": CODED,
        "ts": TIME,
        "place": PLACE,
    }
)
WHO = {"type": CODED, **{field.name: field.type for field in MATCH}}
TRANSITION = pa.schema(
    {
        **{name: kind for name, kind in WHO.items() if name != "place"},
        "from_ts": TIME,
        "from_place": PLACE,
        "to_ts": TIME,
        "to_place": PLACE,
    }
)
WHICH = {"feeds": CODED, "query_id": CODED, "query_version": pa.int32()}
BAND_CHANGE = pa.schema(
    {
        **WHICH,
        "change": pa.int8(),
        "left_stream_id": CODED,
        "right_stream_id": CODED,
        "left_value": pa.float64(),
        "right_value": pa.float64(),
        "ts": TIME,
        "place": PLACE,
    }
)
NEAR_CHANGE = pa.schema(
    {
        **WHICH,
        "change": pa.int8(),
        "left_stream_id": CODED,
        "right_stream_id": CODED,
        "left_x": pa.float64(),
        "left_y": pa.float64(),
        "right_x": pa.float64(),
        "right_y": pa.float64(),
        "distance": pa.float64(),
        "ts": TIME,
        "place": PLACE,
    }
)
LEAP = {
    **{field.name: field.type for field in MATCH},
    "prev_ts": TIME,
    "enter_ts": TIME,
    "leave_ts": TIME,
    "enter_share": pa.float64(),
    "leave_share": pa.float64(),
}
SIDES = ("left", "right")
EVENT_ORDER = ("ts", "feed", "stream_id", "place", "query_id", "query_version")
TRANSITION_ORDER = (
    *("ts", "feed", "stream_id", "query_id", "query_version"),
    *("from_ts", "from_place", "type"),
)
MATCH_ORDER = ("feed", "stream_id", "ts", "place", "query_id", "query_version")
PAIR_ORDER = (
    *("ts", "feeds", "left_stream_id", "left_ts", "left_place"),
    *("right_stream_id", "right_ts", "right_place", "query_id", "query_version"),
)
CHANGE_ORDER = ("feeds",)
"""Of a lane the changes stand as they came about: one may take back another of the same ts."""


def event_columns(axes: Mapping[str, Axes]) -> list[str]:
    """Name the columns of the events, with the axes of all feeds."""
    return [*WHO, "prev_ts", *_both_ends(axes)]


def leap_schema(axes: Mapping[str, Axes]) -> pa.Schema:
    """Lay out the columns of the leaps, with the axes of all feeds."""
    return pa.schema({**LEAP, **dict.fromkeys(_both_ends(axes), pa.float64())})


def _both_ends(axes: Mapping[str, Axes]) -> list[str]:
    union = list(dict.fromkeys(axis for own in axes.values() for axis in own))
    return [*union, *(f"prev_{axis}" for axis in union)]


def pair_schema(axes: Mapping[str, Axes], lanes: Sequence[tuple[str, str]]) -> pa.Schema:
    """Lay out the columns of the pairs, with the axes of all lanes on either side."""
    columns = {**WHICH, "ts": TIME}
    for place, side in enumerate(SIDES):
        columns |= {
            f"{side}_stream_id": CODED,
            f"{side}_ts": TIME,
            f"{side}_place": PLACE,
        }
        columns |= {f"{side}_{axis}": pa.float64() for lane in lanes for axis in axes[lane[place]]}
    return pa.schema(columns)


@dataclass(eq=False)
class ResultTables:
    """What has been found so far; `payload` are the columns that travel along onto events."""

    axes: Mapping[str, Axes]
    lanes: Sequence[tuple[str, str]] = ()
    payload: Mapping[str, pa.DataType] = field(default_factory=dict)
    _pairs: list[pa.Table] = field(default_factory=list)
    _changes: list[pa.Table] = field(default_factory=list)
    _near_changes: list[pa.Table] = field(default_factory=list)
    _events: list[pa.Table] = field(default_factory=list)
    _transitions: list[pa.Table] = field(default_factory=list)
    _matches: list[pa.Table] = field(default_factory=list)
    _leaps: list[pa.Table] = field(default_factory=list)

    @property
    def event_schema(self) -> pa.Schema:
        """The columns of the events and their types."""
        types = {**WHO, "prev_ts": TIME, **self.payload}
        columns = [*event_columns(self.axes), *self.payload]
        return pa.schema([(name, types.get(name, pa.float64())) for name in columns])

    def add_events(self, feed: str, table: pa.Table) -> None:
        """Add the events of a delivery, as the engine lays them out."""
        if len(table):
            self._events.append(_fitted(table, feed, self.event_schema))

    def add_transitions(self, feed: str, table: pa.Table) -> None:
        """Add the transitions of a delivery."""
        if len(table):
            self._transitions.append(_fitted(table, feed, TRANSITION))

    def add_matches(self, feed: str, table: pa.Table) -> None:
        """Add the matches of a delivery."""
        if len(table):
            self._matches.append(_fitted(table, feed, MATCH))

    def add_leaps(self, feed: str, table: pa.Table) -> None:
        """Add the leaps of a delivery."""
        if len(table):
            self._leaps.append(_fitted(table, feed, leap_schema(self.axes)))

    def add_pairs(self, lane: str, table: pa.Table) -> None:
        """Add pairs of a lane."""
        if len(table):
            self._pairs.append(_fitted(table, lane, pair_schema(self.axes, self.lanes)))

    def add_band_changes(self, lane: str, table: pa.Table) -> None:
        """Add changes of a lane, in the order in which they came about."""
        if len(table):
            self._changes.append(_fitted(table, lane, BAND_CHANGE))

    def add_near_changes(self, lane: str, table: pa.Table) -> None:
        """Add changes of near joins of a lane, in the order in which they came about."""
        if len(table):
            self._near_changes.append(_fitted(table, lane, NEAR_CHANGE))

    def tables(self) -> dict[str, pa.Table]:
        """Give the tables, each in its order."""
        events = whole(self._events, self.event_schema)
        transitions = whole(self._transitions, TRANSITION)
        matches = whole(self._matches, MATCH)
        return {
            "events": ordered(events, EVENT_ORDER),
            "transitions": ordered(transitions, TRANSITION_ORDER),
            "matches": ordered(matches, MATCH_ORDER),
            "leaps": ordered(whole(self._leaps, leap_schema(self.axes)), EVENT_ORDER),
            "pairs": ordered(whole(self._pairs, pair_schema(self.axes, self.lanes)), PAIR_ORDER),
            "band_changes": ordered(whole(self._changes, BAND_CHANGE), CHANGE_ORDER),
            "near_changes": ordered(whole(self._near_changes, NEAR_CHANGE), CHANGE_ORDER),
        }


def _fitted(table: pa.Table, feed: str, schema: pa.Schema) -> pa.Table:
    """Give a table the columns of a schema: its own, the feed, and nulls for other feeds' axes."""
    columns = []
    for name, kind in zip(schema.names, schema.types, strict=True):
        if name in ("feed", "feeds"):
            columns.append(constant(feed, len(table)))
        elif name not in table.column_names:
            columns.append(pa.nulls(len(table), kind))
        elif kind == CODED:
            coded = pa.types.is_dictionary(table[name].type)
            columns.append(table[name] if coded else pc.dictionary_encode(table[name]))
        else:
            columns.append(table[name].cast(kind))
    return pa.table(columns, schema)


def constant(text: str, length: int) -> pa.DictionaryArray:
    """Repeat a text, coded."""
    return pa.DictionaryArray.from_arrays(np.zeros(length, np.int32), pa.array([text]))


def whole(parts: list[pa.Table], schema: pa.Schema) -> pa.Table:
    """Put tables of a schema behind each other."""
    return pa.concat_tables(parts).unify_dictionaries() if parts else schema.empty_table()
