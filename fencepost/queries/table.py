"""Queries as a table: one row a query of one box, a million rows in a moment.

    id                     text
    <axis>_lo, <axis>_hi   a number: lo <= v < hi; null, infinite or no such column: unbounded
    kind                   `crossing` or `match`; null: `crossing`
    version                an integer from 1; null: 1
    on_first               `silent` or `enter`; null: `silent`
    within                 µs, a duration type, or text like `3m`; null: absent
    streams                a list of texts; null: all streams
    streams_like           a pattern, or a list of them; null: none
    valid_from, valid_to   µs, a timestamp with a zone, or ISO 8601 text; null: always
    region                 text: GeoJSON, WKT, or the JSON of a circle or a corridor; null: none
    leaps                  true or false; null: false

A `match` has neither `on_first` nor `within` nor `leaps`. Joins are no rows: they are read from
JSON lines.

Law: the rows are accepted whole or not at all, by the rules of the JSON form; every bad row is
reported, rows counted from 1, of which the first hundred are listed. Every column is checked at
once, never row by row.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools, Doubles, Int32s, Int64s
from fencepost.doubles import LARGEST
from fencepost.errors import QueryFault
from fencepost.position import Position
from fencepost.queries.columns import CROSSING, MATCH, QueryColumns, no_shapes, no_tests
from fencepost.queries.conversions import inexact, is_text, microseconds, nulls_of
from fencepost.queries.fields import NO_POSITION
from fencepost.queries.ids import no_ids, repeated
from fencepost.queries.joins.query import JOINS
from fencepost.queries.jsonl import json_object
from fencepost.queries.query import NO_EVENTS, ON_FIRST
from fencepost.queries.region import cut_to, shapes_of
from fencepost.queries.table_reader import TableReader
from fencepost.ragged import distinct_members
from fencepost.shapes.columns import Shapes
from fencepost.shapes.parse import shape_of
from fencepost.shapes.shape import Shape
from fencepost.text import did_you_mean, shortened, wrong_with_id
from fencepost.times import (
    ALWAYS_FROM,
    ALWAYS_TO,
    EARLIEST,
    LATEST,
    LONGEST,
    parse_duration,
    parse_instant,
)

OF_A_ROW = (CROSSING, MATCH)
_LISTS = ("streams", "streams_like")
_OPTIONAL = (
    *("kind", "version", "within", *_LISTS, "on_first", "valid_from", "valid_to"),
    *("region", "leaps"),
)


def columns_of(
    axes: tuple[str, ...],
    table: pa.Table,
    source: str,
    kind: str,
    position: Position | None = None,
) -> tuple[QueryColumns, Bools]:
    """Read a table's columns, and which rows are matches; `kind` is that of rows that say none.

    O(n) but for the sort that finds repeated ids; raises Faults.
    """
    reader = _QueryReader(table, source)
    reader.refuse_unknown(axes)
    ids = reader.ids()
    lo, hi = reader.bounds(axes)
    everywhere, stream_ptr, streams = reader.lists("streams", "stream")
    patternless, like_ptr, likes = reader.lists("streams_like", "pattern")
    valid_from, valid_to = reader.validity()
    matches = reader.matches(kind)
    leaps = reader.leaps()
    reader.refuse_events(matches, leaps)
    shape, shapes = reader.regions(position, lo, hi)
    test_ptr, tests = no_tests(len(ids))
    columns = QueryColumns(
        ids=ids,
        versions=reader.versions(),
        box_ptr=np.arange(len(ids) + 1),
        lo=lo,
        hi=hi,
        everywhere=everywhere | ~patternless,
        stream_ptr=stream_ptr,
        streams=streams,
        within=reader.within(),
        enters_on_first=reader.enters_on_first(),
        valid_from=valid_from,
        valid_to=valid_to,
        test_ptr=test_ptr,
        tests=tests,
        like_query=np.repeat(np.arange(len(ids)), np.diff(like_ptr)),
        likes=likes,
        leaps=leaps,
        shape=shape,
        shapes=shapes,
    )
    reader.raise_faults()
    return columns, matches


class _QueryReader(TableReader):
    """The columns of queries, one or two a method."""

    def refuse_unknown(self, axes: tuple[str, ...]) -> None:
        ends = [axis + end for axis in axes for end in ("_lo", "_hi")]
        known = ("id", *ends, *_OPTIONAL)
        names = self.table.column_names
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                self.refuse(f"the column `{shortened(name)}` occurs {names.count(name)} times")
            if name not in known:
                listed = f"the columns are: {', '.join(known)}.{did_you_mean(name, known)}"
                self.refuse(f"unknown column `{shortened(name)}`", listed)
        if "id" not in names:
            self.refuse("the column `id` is missing")
        self.raise_faults()

    def ids(self) -> pa.StringArray:
        column = self.column("id")
        nulls = np.ones(self.n, np.bool_) if column is None else nulls_of(column)
        self.note(nulls, lambda _: "`id` is null")
        text = None if column is None else self.text("id", column)
        if text is None:
            return pa.nulls(self.n, pa.string()).fill_null("")
        ids = text.fill_null("")
        wrong = no_ids(ids)
        self.note(wrong[~nulls[wrong]], lambda row: f"`id` {wrong_with_id(ids[row].as_py())}")
        again, firsts = repeated(ids)
        first = dict(zip(again.tolist(), firsts.tolist(), strict=True))
        passed_over = nulls[again] | np.isin(again, wrong)
        self.note(
            again[~passed_over],
            lambda row: (
                f"the id '{shortened(ids[row].as_py())}' occurs twice: "
                f"in rows {first[row] + 1} and {row + 1}"
            ),
        )
        return ids

    def bounds(self, axes: tuple[str, ...]) -> tuple[Doubles, Doubles]:
        lo, hi = np.empty((len(axes), self.n)), np.empty((len(axes), self.n))
        for axis, begins, ends in zip(axes, lo, hi, strict=True):
            read = self.bound(f"{axis}_lo", begins, -math.inf) & self.bound(
                f"{axis}_hi", ends, math.inf
            )
            self.note(read & ~((begins < ends) & (ends > -LARGEST)), _empty(axis, begins, ends))
        return lo, hi

    def bound(self, name: str, values: Doubles, unbounded: float) -> Bools:
        """Fill in the values of one end; mark the rows in which they are bounds."""
        column = self.column(name)
        values[:] = unbounded
        if column is None:
            return np.ones(self.n, np.bool_)
        if pa.types.is_integer(column.type):
            whole = column.fill_null(0).to_numpy(zero_copy_only=False)
            lost = inexact(whole)
            self.note(lost, lambda row: f"`{name}` {whole[row]} has no exact double")
            np.copyto(values, whole, where=~nulls_of(column), casting="unsafe")
            return ~lost
        if not pa.types.is_floating(column.type):
            self.refuse(f"`{name}` holds {column.type}, numbers were expected", "cast it to double")
            return np.zeros(self.n, np.bool_)
        values[:] = column.cast(pa.float64()).fill_null(unbounded).to_numpy(zero_copy_only=False)
        values += 0.0  # -0.0 becomes 0.0
        wrong: Bools = np.isnan(values) | (values == -unbounded)
        self.note(
            wrong, lambda row: f"`{name}` is {values[row]}, a number or {unbounded} was expected"
        )
        return ~wrong

    def versions(self) -> npt.NDArray[np.int32]:
        column = self.column("version")
        if column is None:
            return np.ones(self.n, np.int32)
        if not pa.types.is_integer(column.type):
            self.refuse(f"`version` holds {column.type}, integers were expected")
            return np.ones(self.n, np.int32)
        versions = column.fill_null(1).to_numpy(zero_copy_only=False)
        self.note(
            (versions < 1) | (versions > 2**31 - 1),
            lambda row: f"`version` is {versions[row]}, 1 to 2147483647 was expected",
        )
        whole: npt.NDArray[np.int32] = versions.astype(np.int32)
        return whole

    def lists(self, name: str, one: str) -> tuple[Bools, Int64s, pa.StringArray]:
        """Read lists of names: who has none, and the names; what occurs twice counts once."""
        absent = np.ones(self.n, np.bool_)
        none = absent, np.zeros(self.n + 1, np.int64), pa.array([], pa.string())
        column = self.column(name)
        if column is None:
            return none
        if one == "pattern" and is_text(column.type):  # one needs no list
            each = pa.array(np.arange(self.n + 1, dtype=np.int32))
            column = pa.ListArray.from_arrays(each, column, mask=column.is_null())
        if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
            self.refuse(f"`{name}` holds {column.type}, lists of texts were expected")
            return none
        absent = nulls_of(column)
        lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        self.note(
            ~absent & (lengths == 0),
            lambda _: f"`{name}` is an empty list: null watches all streams",
        )
        members = column.flatten()
        if pa.types.is_dictionary(members.type):
            members = members.cast(members.type.value_type)
        text = self.text(name, members) if len(members) else members.cast(pa.string())
        if text is None:
            return none
        rows = np.repeat(np.arange(self.n), lengths)
        names = text.fill_null("")
        wrong = no_ids(names)
        place = dict(zip(rows[wrong].tolist(), wrong.tolist(), strict=True))
        self.note(
            np.unique(rows[wrong]), lambda row: f"a {one} of `{name}` {_wrong(text[place[row]])}"
        )
        return absent, *distinct_members(rows, names, self.n)

    def within(self) -> Int64s:
        column = self.column("within")
        if column is None:
            return np.full(self.n, -1)
        if is_text(column.type):
            return self.parsed("within", column, parse_duration, -1)
        if pa.types.is_integer(column.type):
            unit = "us"
        elif pa.types.is_duration(column.type):
            unit = column.type.unit
        else:
            self.refuse(f"`within` holds {column.type}, µs, durations or text were expected")
            return np.full(self.n, -1)
        within, outside = microseconds(column, unit, 0, LONGEST + 1, -1)
        counts = column if unit == "us" else column.cast(pa.int64())
        self.note(
            outside, lambda row: f"`within` {counts[row]} {unit} is negative or over 400 years"
        )
        return within

    def enters_on_first(self) -> Bools:
        column = self.column("on_first")
        if column is None:
            return np.zeros(self.n, np.bool_)
        enters: Bools = self.parsed("on_first", column, _on_first, 0) == 1
        return enters

    def matches(self, kind: str) -> Bools:
        column = self.column("kind")
        if column is None:
            return np.full(self.n, kind == MATCH)
        given = self.parsed("kind", column, _kind, OF_A_ROW.index(kind))
        matches: Bools = given == OF_A_ROW.index(MATCH)
        return matches

    def refuse_events(self, matches: Bools, leaps: Bools) -> None:
        """Refuse what only crossings have."""
        for name in ("within", "on_first"):
            column = self.column(name)
            if column is not None:
                self.note(matches & ~nulls_of(column), partial(_no_event, name))
        self.note(matches & leaps, partial(_no_event, "leaps"))

    def leaps(self) -> Bools:
        column = self.column("leaps")
        if column is None:
            return np.zeros(self.n, np.bool_)
        if not pa.types.is_boolean(column.type):
            self.refuse(f"`leaps` holds {column.type}, true or false was expected")
            return np.zeros(self.n, np.bool_)
        leaps: Bools = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
        return leaps

    def regions(self, position: Position | None, lo: Doubles, hi: Doubles) -> tuple[Int32s, Shapes]:
        """Read the regions, 20 µs and more each, and cut the boxes to their bounds."""
        column = self.column("region")
        text = None if column is None else self.text("region", column)
        if text is None or text.null_count == self.n:
            return no_shapes(self.n)
        if position is None:
            self.refuse("`region`: the feed has no `position`", NO_POSITION)
            return no_shapes(self.n)
        regions: list[Shape | None] = [None] * self.n
        wrong: dict[int, str] = {}
        for row in np.flatnonzero(~nulls_of(text)).tolist():
            try:
                region = shape_of(_given(text[row].as_py()), earth=position.earth)
                box = tuple(zip(lo[:, row].tolist(), hi[:, row].tolist(), strict=True))
                ((box,), _) = cut_to(region, position.axes, (box,), ())
                lo[:, row], hi[:, row] = zip(*box, strict=True)
                regions[row] = region
            except QueryFault as fault:
                wrong[row] = (
                    fault.message if fault.hint is None else f"{fault.message}: {fault.hint}"
                )
        self.note(np.array([*wrong], np.int64), wrong.__getitem__)
        _, shape, shapes = shapes_of(regions, [position.axes] * self.n)
        return shape, shapes

    def validity(self) -> tuple[Int64s, Int64s]:
        begins = self.instants("valid_from", ALWAYS_FROM)
        ends = self.instants("valid_to", ALWAYS_TO)
        self.note(begins >= ends, lambda _: "`valid_from` is not before `valid_to`")
        return begins, ends

    def instants(self, name: str, always: int) -> Int64s:
        column = self.column(name)
        if column is None:
            return np.full(self.n, always)
        if is_text(column.type):
            return self.parsed(name, column, parse_instant, always)
        if pa.types.is_integer(column.type):
            unit = "us"
        elif pa.types.is_timestamp(column.type) and column.type.tz is not None:
            unit = column.type.unit
        else:
            self.refuse(
                f"`{name}` holds {column.type}, µs, timestamps with a zone or text were expected"
            )
            return np.full(self.n, always)
        instants, outside = microseconds(column, unit, EARLIEST, LATEST, always)
        counts = column if unit == "us" else column.cast(pa.int64())
        self.note(
            outside,
            lambda row: f"`{name}` {counts[row]} {unit} lies outside the years 1900 to 2200",
        )
        return instants


def _given(region: str) -> object:
    """Read what is JSON; what is not is left to be read as WKT."""
    return json_object(region.encode()) if region.lstrip().startswith("{") else region


def _on_first(text: str) -> int:
    if text not in ON_FIRST:
        raise ValueError(f"'{shortened(text)}' was given, 'silent' or 'enter' was expected")
    return ON_FIRST.index(text)


def _no_event(name: str, _: int) -> str:
    return f"a match has no `{name}`: {NO_EVENTS}"


def _kind(text: str) -> int:
    if text in JOINS:
        raise ValueError(
            f"'{text}' was given, 'crossing' or 'match' was expected: a join is given as JSON"
        )
    if text not in OF_A_ROW:
        raise ValueError(f"'{shortened(text)}' was given, 'crossing' or 'match' was expected")
    return OF_A_ROW.index(text)


def _wrong(name: pa.StringScalar) -> str | None:
    given = name.as_py()
    return "is null" if given is None else wrong_with_id(given)


def _empty(axis: str, begins: Doubles, ends: Doubles) -> Callable[[int], str]:
    """Word the fault of a row whose ends leave no value between them."""
    return lambda row: (
        f"holds for no value: `{axis}_lo` {begins[row]} is not below `{axis}_hi` {ends[row]}"
    )
