"""What the rows of each table promise, as plain values.

An expectation is one sentence about rows, of three kinds. Its subject is a column, or an
expression over the row `t` in the SQL that DuckDB and Spark have in common. Nothing here imports
Great Expectations, which costs seconds: `pipelines.checks` makes suites of these values.

Law: every expectation can fail on rows that a writer gets into the table; what the layout rules out
(a null where none may be) is not promised a second time.
"""

from collections.abc import Iterator, Mapping

from fencepost.lanes import sides_of
from schemas.promises import (
    Contract,
    Expectation,
    all_finite,
    between,
    finite,
    finite_or_inf,
    from_one,
    identifier,
    in_its_day,
    in_set,
    in_years,
    lengths,
    not_finite,
    text,
    unique,
)
from schemas.quarantine import REASONS

AT_INGEST = ("malformed", "future")
"""The reasons that are found before anything is evaluated."""

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
            identifier("stream_id", "stream"),
            in_years("a tuple"),
            *finite(axes),
            unique("one_row_each", "No row is loaded twice.", "arrival", "file", "line"),
            from_one("line", "Rows of a file are counted from 1."),
        ),
        {
            **lengths("stream_id"),
            **_YEAR,
            **{axis: finite_or_inf(axis) for axis in axes},
        },
    )


def _quarantine() -> Contract:
    values = [f"{'ingest' if r in AT_INGEST else 'evaluation'}: {r}" for r in REASONS]
    return Contract(
        "quarantine",
        (
            in_set(
                "reason_fits_its_finder",
                "Ingest rejects what is malformed or future, evaluation what is late, duplicate "
                "or in conflict.",
                "found_by",
                values,
            ),
            text("detail_says_why", "Every row says why it was rejected.", "detail"),
            text("path_is_named", "Every row names the file that it came from.", "path"),
            unique("one_row_each", "No row is rejected twice.", "arrival", "file", "line"),
        ),
        {**_FOUND_BY, **lengths("detail", "path")},
    )


def _stream_state(axes: tuple[str, ...]) -> Contract:
    return Contract(
        "stream_state",
        (
            identifier("stream_id", "stream"),
            in_years("a last tuple"),
            all_finite("the last tuple"),
            text("index_is_named", "Every row names the index that its pointers are for.", "index"),
        ),
        {**lengths("stream_id", "index"), **_YEAR, "axes_not_finite": not_finite(axes)},
    )


def _events(axes: tuple[str, ...]) -> Contract:
    return Contract(
        "events",
        (
            in_set("type_is_known", "A crossing is an I or an O.", "type", ["I", "O"]),
            identifier("query_id", "query"),
            identifier("stream_id", "stream"),
            from_one("query_version", "The versions of a query are counted from 1."),
            unique("one_event_each", "A tuple crosses a version of a query once.", *_TUPLE),
            in_its_day(),
            between(
                "steps_go_forward",
                "The tuple before comes before the one that crossed: it is older, or of a lower "
                "place at the same time.",
                "us_since_prev",
                least=0,
            ),
            all_finite("the tuple that crossed"),
        ),
        {
            **lengths("query_id", "stream_id"),
            **_INTO_DAY,
            "us_since_prev": "CASE WHEN t.ts = t.prev_ts AND t.place = 0 THEN -1 "
            "ELSE UNIX_MICROS(t.ts) - UNIX_MICROS(t.prev_ts) END",
            "axes_not_finite": not_finite(axes),
        },
    )


def _transitions() -> Contract:
    values = ["answered: pass_through", "answered: short_absence"]
    values += ["unanswered: stay", "unanswered: departure"]
    return Contract(
        "transitions",
        (
            in_set(
                "type_fits_the_answer",
                "A pass-through and a short absence were answered at their own ts, a stay and a "
                "departure never.",
                "answer",
                values,
            ),
            identifier("query_id", "query"),
            identifier("stream_id", "stream"),
            from_one("query_version", "The versions of a query are counted from 1."),
            unique("one_transition_each", "A crossing becomes one transition.", *_FROM),
            between(
                "answered_by_a_later_tuple",
                "The crossing that answered comes after the first one: it is newer, or of a higher "
                "place at the same time.",
                "us_until_answered",
                least=0,
            ),
            in_its_day(),
            between(
                "settled_after_it_began",
                "A transition is decided after its crossing, never before.",
                "us_until_settled",
                least=0,
            ),
        ),
        {
            **lengths("query_id", "stream_id"),
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
            identifier("query_id", "query"),
            identifier("stream_id", "stream"),
            from_one("query_version", "The versions of a query are counted from 1."),
            unique("one_match_each", "A tuple matches a version of a query once.", *_TUPLE),
            in_its_day(),
            in_years("a match"),
        ),
        {**lengths("query_id", "stream_id"), **_INTO_DAY, **_YEAR},
    )


def _leaps() -> Contract:
    return Contract(
        "leaps",
        (
            identifier("query_id", "query"),
            identifier("stream_id", "stream"),
            from_one("query_version", "The versions of a query are counted from 1."),
            unique("one_leap_each", "A step leaps through a version of a query once.", *_TUPLE),
            in_its_day(),
            in_years("a leap"),
            between(
                "in_before_out",
                "A step goes into a query before it goes out, and both between its two tuples.",
                "us_inside",
                least=0,
            ),
        ),
        {
            **lengths("query_id", "stream_id"),
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
            in_set("type_is_known", "A crossing is an I or an O.", "type", ["I", "O"]),
            identifier("query_id", "query"),
            identifier("stream_id", "stream"),
            from_one("query_version", "The versions of a query are counted from 1."),
            in_years("a crossing"),
        ),
        {**lengths("query_id", "stream_id"), **_YEAR},
    )


def _pairs(axes: tuple[str, ...]) -> Contract:
    left, right = (tuple(f"{s}_{of}" for of in ("stream_id", "ts", "place")) for s in SIDES)
    return Contract(
        "pairs",
        (
            *_ids_of_joins(),
            unique("one_pair_each", "A join pairs two tuples once.", *_JOIN, *left, *right),
            in_its_day(),
            between(
                "ts_is_that_of_one_of_them",
                "The time of a pair is that of its left or of its right tuple.",
                "us_from_the_nearer",
                least=0,
                most=0,
            ),
            all_finite("both tuples"),
        ),
        {
            **lengths("query_id", "left_stream_id", "right_stream_id"),
            **_INTO_DAY,
            "us_from_the_nearer": "LEAST(ABS(UNIX_MICROS(t.ts) - UNIX_MICROS(t.left_ts)), "
            "ABS(UNIX_MICROS(t.ts) - UNIX_MICROS(t.right_ts)))",
            "axes_not_finite": not_finite(axes),
        },
    )


def _band_changes() -> Contract:
    pair = ("left_stream_id", "right_stream_id")
    return Contract(
        "band_changes",
        (
            *_ids_of_joins(),
            unique(
                "one_change_each",
                "A tuple, or a registration, brings a pair in or takes it out, once.",
                *(*_JOIN, *pair, "ts", "arrival", "place"),
            ),
            in_its_day(),
            all_finite("the pair"),
        ),
        {
            **lengths("query_id", *pair),
            **_INTO_DAY,
            "axes_not_finite": not_finite(("left_value", "right_value")),
        },
    )


def _near_changes() -> Contract:
    pair = ("left_stream_id", "right_stream_id")
    return Contract(
        "near_changes",
        (
            *_ids_of_joins(),
            unique(
                "one_change_each",
                "A tuple, or a registration, brings two streams together or parts them, once.",
                *(*_JOIN, *pair, "ts", "arrival", "place"),
            ),
            in_its_day(),
            all_finite("the pair"),
        ),
        {
            **lengths("query_id", *pair),
            **_INTO_DAY,
            "axes_not_finite": not_finite(("left_x", "left_y", "right_x", "right_y", "distance")),
        },
    )


def _ids_of_joins() -> Iterator[Expectation]:
    yield identifier("query_id", "query")
    yield from_one("query_version", "The versions of a query are counted from 1.")
    for side in SIDES:
        yield identifier(f"{side}_stream_id", "stream")
