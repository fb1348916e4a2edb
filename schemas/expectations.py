"""What the rows of each table promise, as plain values.

An expectation is one sentence about rows, of three kinds. Its subject is a column, or an
expression over the row `t` in the SQL that DuckDB and Spark have in common. Nothing here imports
Great Expectations, which costs seconds: `pipelines.checks` makes suites of these values.

Law: every expectation can fail on rows that a writer gets into the table; what the layout rules out
(a null where none may be) is not promised a second time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from sys import float_info
from typing import Any, Literal

from fencepost.lanes import sides_of
from schemas.quarantine import REASONS

Kind = Literal["in_set", "between", "unique"]
Severity = Literal["error", "warning"]

LONGEST_ID = 256
YEARS = (1900, 2200)
LAST_OF_DAY = 86_400_000_000 - 1
AT_INGEST = ("malformed", "future")
"""The reasons that are found before anything is evaluated."""


@dataclass(frozen=True)
class Expectation:
    """One promise.

    name       a word for it, its own among those of its table
    means      what it says, in a sentence
    kind       in_set: one of `values`; between: `least` to `most`; unique: no two rows have the
               same values in these columns. Nulls are passed over
    """

    name: str
    means: str
    kind: Kind
    columns: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "error"


@dataclass(frozen=True)
class Contract:
    """All that is promised of a feed's rows in a table, or of those of a pair of feeds.

    reads  by name: the expression over the row `t` that expectations look at under that name; what
           is not here is the column itself
    """

    table: str
    expectations: tuple[Expectation, ...]
    reads: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, str]:
        """What must be read: by name, the expression."""
        names = dict.fromkeys(name for each in self.expectations for name in each.columns)
        return {name: self.reads.get(name, f"t.{name}") for name in names}


SIDES = ("left", "right")
_JOIN = ("query_id", "query_version")
_WHO = (*_JOIN, "stream_id")
_TUPLE = (*_WHO, "ts", "place")
_FROM = (*_WHO, "from_ts", "from_place")
_YEAR = {"year_of_ts": "YEAR(t.ts)"}
_INTO_DAY = {"us_into_day": "UNIX_MICROS(t.ts) - UNIX_MICROS(CAST(t.day AS TIMESTAMP))"}
_FOUND_BY = {
    "found_by": "CASE WHEN t.epoch IS NULL THEN 'ingest: ' ELSE 'evaluation: ' END || t.reason"
}
_ANSWER = {
    "answer": "CASE WHEN t.to_ts IS NULL THEN 'unanswered: ' WHEN t.to_ts = t.ts THEN 'answered: '"
    " ELSE 'answered at another time: ' END || t.type"
}


def contracts(lane: str, axes: Mapping[str, tuple[str, ...]]) -> dict[str, Contract]:
    """Return the contracts of the tables that users of a lane read; `axes` are all feeds'."""
    sides = sides_of(lane)
    declared = _of_feed(lane, axes[lane]) if sides is None else _of_joins(*(axes[s] for s in sides))
    return {contract.table: contract for contract in declared}


def _of_feed(feed: str, own: tuple[str, ...]) -> tuple[Contract, ...]:
    return (
        _tuples(feed, own),
        _quarantine(),
        _stream_state(own),
        _events(own),
        _transitions(),
        _matches(),
        _leaps(),
        _pending(),
    )


def _of_joins(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[Contract, ...]:
    axes = [f"left_{axis}" for axis in left] + [f"right_{axis}" for axis in right]
    return _pairs(tuple(axes)), _band_changes(), _near_changes()


def _tuples(feed: str, axes: tuple[str, ...]) -> Contract:
    return Contract(
        feed,
        (
            _id("stream_id", "stream"),
            _in_years("a tuple"),
            *_finite(axes),
            _unique("one_row_each", "No row is loaded twice.", "arrival", "file", "line"),
            _from_one("line", "Rows of a file are counted from 1."),
        ),
        {
            **_lengths("stream_id"),
            **_YEAR,
            **{axis: _finite_or_inf(axis) for axis in axes},
        },
    )


def _quarantine() -> Contract:
    values = [f"{'ingest' if r in AT_INGEST else 'evaluation'}: {r}" for r in REASONS]
    return Contract(
        "quarantine",
        (
            _in_set(
                "reason_fits_its_finder",
                "Ingest rejects what is malformed or future, evaluation what is late, duplicate "
                "or in conflict.",
                "found_by",
                values,
            ),
            _text("detail_says_why", "Every row says why it was rejected.", "detail"),
            _text("path_is_named", "Every row names the file that it came from.", "path"),
            _unique("one_row_each", "No row is rejected twice.", "arrival", "file", "line"),
        ),
        {**_FOUND_BY, **_lengths("detail", "path")},
    )


def _stream_state(axes: tuple[str, ...]) -> Contract:
    return Contract(
        "stream_state",
        (
            _id("stream_id", "stream"),
            _in_years("a last tuple"),
            _all_finite("the last tuple"),
            _text(
                "index_is_named", "Every row names the index that its pointers are for.", "index"
            ),
        ),
        {**_lengths("stream_id", "index"), **_YEAR, "axes_not_finite": _not_finite(axes)},
    )


def _events(axes: tuple[str, ...]) -> Contract:
    return Contract(
        "events",
        (
            _in_set("type_is_known", "A crossing is an I or an O.", "type", ["I", "O"]),
            _id("query_id", "query"),
            _id("stream_id", "stream"),
            _from_one("query_version", "The versions of a query are counted from 1."),
            _unique("one_event_each", "A tuple crosses a version of a query once.", *_TUPLE),
            _in_its_day(),
            _between(
                "steps_go_forward",
                "The tuple before comes before the one that crossed: it is older, or of a lower "
                "place at the same time.",
                "us_since_prev",
                least=0,
            ),
            _all_finite("the tuple that crossed"),
        ),
        {
            **_lengths("query_id", "stream_id"),
            **_INTO_DAY,
            "us_since_prev": "CASE WHEN t.ts = t.prev_ts AND t.place = 0 THEN -1 "
            "ELSE UNIX_MICROS(t.ts) - UNIX_MICROS(t.prev_ts) END",
            "axes_not_finite": _not_finite(axes),
        },
    )


def _transitions() -> Contract:
    values = ["answered: pass_through", "answered: short_absence"]
    values += ["unanswered: stay", "unanswered: departure"]
    return Contract(
        "transitions",
        (
            _in_set(
                "type_fits_the_answer",
                "A pass-through and a short absence were answered at their own ts, a stay and a "
                "departure never.",
                "answer",
                values,
            ),
            _id("query_id", "query"),
            _id("stream_id", "stream"),
            _from_one("query_version", "The versions of a query are counted from 1."),
            _unique("one_transition_each", "A crossing becomes one transition.", *_FROM),
            _between(
                "answered_by_a_later_tuple",
                "The crossing that answered comes after the first one: it is newer, or of a higher "
                "place at the same time.",
                "us_until_answered",
                least=0,
            ),
            _in_its_day(),
            _between(
                "settled_after_it_began",
                "A transition is decided after its crossing, never before.",
                "us_until_settled",
                least=0,
            ),
        ),
        {
            **_lengths("query_id", "stream_id"),
            **_INTO_DAY,
            **_ANSWER,
            "us_until_answered": "CASE WHEN t.to_ts = t.from_ts AND t.to_place <= t.from_place "
            "THEN -1 ELSE UNIX_MICROS(t.to_ts) - UNIX_MICROS(t.from_ts) END",
            "us_until_settled": "UNIX_MICROS(t.ts) - UNIX_MICROS(t.from_ts)",
        },
    )


def _matches() -> Contract:
    return Contract(
        "matches",
        (
            _id("query_id", "query"),
            _id("stream_id", "stream"),
            _from_one("query_version", "The versions of a query are counted from 1."),
            _unique("one_match_each", "A tuple matches a version of a query once.", *_TUPLE),
            _in_its_day(),
            _in_years("a match"),
        ),
        {**_lengths("query_id", "stream_id"), **_INTO_DAY, **_YEAR},
    )


def _leaps() -> Contract:
    return Contract(
        "leaps",
        (
            _id("query_id", "query"),
            _id("stream_id", "stream"),
            _from_one("query_version", "The versions of a query are counted from 1."),
            _unique("one_leap_each", "A step leaps through a version of a query once.", *_TUPLE),
            _in_its_day(),
            _in_years("a leap"),
            _between(
                "in_before_out",
                "A step goes into a query before it goes out, and both between its two tuples.",
                "us_inside",
                least=0,
            ),
        ),
        {
            **_lengths("query_id", "stream_id"),
            **_INTO_DAY,
            **_YEAR,
            "us_inside": "CASE WHEN t.enter_ts < t.prev_ts OR t.leave_ts > t.ts THEN -1 "
            "ELSE UNIX_MICROS(t.leave_ts) - UNIX_MICROS(t.enter_ts) END",
        },
    )


def _pending() -> Contract:
    return Contract(
        "pending",
        (
            _in_set("type_is_known", "A crossing is an I or an O.", "type", ["I", "O"]),
            _id("query_id", "query"),
            _id("stream_id", "stream"),
            _from_one("query_version", "The versions of a query are counted from 1."),
            _in_years("a crossing"),
        ),
        {**_lengths("query_id", "stream_id"), **_YEAR},
    )


def _pairs(axes: tuple[str, ...]) -> Contract:
    left, right = (tuple(f"{s}_{of}" for of in ("stream_id", "ts", "place")) for s in SIDES)
    return Contract(
        "pairs",
        (
            *_ids_of_joins(),
            _unique("one_pair_each", "A join pairs two tuples once.", *_JOIN, *left, *right),
            _in_its_day(),
            _between(
                "ts_is_that_of_one_of_them",
                "The time of a pair is that of its left or of its right tuple.",
                "us_from_the_nearer",
                least=0,
                most=0,
            ),
            _all_finite("both tuples"),
        ),
        {
            **_lengths("query_id", "left_stream_id", "right_stream_id"),
            **_INTO_DAY,
            "us_from_the_nearer": "LEAST(ABS(UNIX_MICROS(t.ts) - UNIX_MICROS(t.left_ts)), "
            "ABS(UNIX_MICROS(t.ts) - UNIX_MICROS(t.right_ts)))",
            "axes_not_finite": _not_finite(axes),
        },
    )


def _band_changes() -> Contract:
    pair = ("left_stream_id", "right_stream_id")
    return Contract(
        "band_changes",
        (
            *_ids_of_joins(),
            _unique(
                "one_change_each",
                "A tuple, or a registration, brings a pair in or takes it out, once.",
                *(*_JOIN, *pair, "ts", "arrival", "place"),
            ),
            _in_its_day(),
            _all_finite("the pair"),
        ),
        {
            **_lengths("query_id", *pair),
            **_INTO_DAY,
            "axes_not_finite": _not_finite(("left_value", "right_value")),
        },
    )


def _near_changes() -> Contract:
    pair = ("left_stream_id", "right_stream_id")
    return Contract(
        "near_changes",
        (
            *_ids_of_joins(),
            _unique(
                "one_change_each",
                "A tuple, or a registration, brings two streams together or parts them, once.",
                *(*_JOIN, *pair, "ts", "arrival", "place"),
            ),
            _in_its_day(),
            _all_finite("the pair"),
        ),
        {
            **_lengths("query_id", *pair),
            **_INTO_DAY,
            "axes_not_finite": _not_finite(("left_x", "left_y", "right_x", "right_y", "distance")),
        },
    )


def _ids_of_joins() -> Iterator[Expectation]:
    yield _id("query_id", "query")
    yield _from_one("query_version", "The versions of a query are counted from 1.")
    for side in SIDES:
        yield _id(f"{side}_stream_id", "stream")


def _in_set(name: str, means: str, column: str, values: list[str]) -> Expectation:
    return Expectation(name, means, "in_set", (column,), {"values": values})


def _between(name: str, means: str, column: str, **limits: float) -> Expectation:
    return Expectation(name, means, "between", (column,), limits)


def _unique(name: str, means: str, *columns: str) -> Expectation:
    return Expectation(name, means, "unique", columns)


def _text(name: str, means: str, column: str) -> Expectation:
    limits = {"least": 1}
    return Expectation(name, means, "between", (f"{column}_length",), limits, "warning")


def _id(column: str, of: str) -> Expectation:
    means = f"The id of a {of} has 1 to {LONGEST_ID} characters."
    return _between(f"{column}_is_an_id", means, f"{column}_length", least=1, most=LONGEST_ID)


def _lengths(*columns: str) -> dict[str, str]:
    return {f"{column}_length": f"LENGTH(t.{column})" for column in columns}


def _from_one(column: str, means: str) -> Expectation:
    return _between(f"{column}_is_positive", means, column, least=1)


def _in_years(of: str) -> Expectation:
    means = f"The time of {of} lies in the years {YEARS[0]} to {YEARS[1]}."
    return _between("ts_between_1900_and_2200", means, "year_of_ts", least=YEARS[0], most=YEARS[1])


def _in_its_day() -> Expectation:
    means = "The day is that of ts, UTC."
    return _between("day_is_that_of_ts", means, "us_into_day", least=0, most=LAST_OF_DAY)


def _finite(axes: tuple[str, ...]) -> Iterator[Expectation]:
    limits = {"least": -float_info.max, "most": float_info.max}
    for axis in axes:
        yield _between(f"{axis}_is_finite", f"The axis {axis} is a finite number.", axis, **limits)


def _all_finite(of: str) -> Expectation:
    means = f"Every axis of {of} is a finite number."
    return _between("axes_are_finite", means, "axes_not_finite", least=0, most=0)


def _not_finite(axes: tuple[str, ...]) -> str:
    return " + ".join(f"CASE WHEN {_is_finite(axis)} THEN 0 ELSE 1 END" for axis in axes)


def _finite_or_inf(axis: str) -> str:
    """Show NaN as infinity: pandas reads it as null, which would be skipped."""
    return f"CASE WHEN {_is_finite(axis)} THEN t.{axis} ELSE CAST('inf' AS DOUBLE) END"


def _is_finite(axis: str) -> str:
    return f"t.{axis} - t.{axis} = 0"
