"""The view `daily_summary`, held against a plain count over drawn histories."""

import json
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.events import TRANSITIONS
from schemas.marts import DAILY_SUMMARY
from tests.support.lakes.ledger import BEGIN, Ledger, answered, at
from tests.support.stories.histories import (
    FEED,
    IDS,
    STREAMS,
    Crossing,
    History,
    histories,
    laid_out,
    visits_of,
)

SHARED = Ledger({FEED: ("price",)}).in_memory()
STEP = 9 * 3600
"""A second of a history, in the seconds of these tests: so that days pass, and end between them."""

DAY = timedelta(days=1)
Key = tuple[date, str, int]


def stretched(ledger: Ledger) -> Ledger:
    """Let a history's time pass more slowly, and each stream's own clock with it."""
    for rows in ledger.rows.values():
        for row in rows:
            if row.get("declared"):
                row["declared"] = slower(row["declared"])
            for name, value in row.items():
                if isinstance(value, datetime):
                    row[name] = BEGIN + (value - BEGIN) * STEP
            if "day" in row and "ts" in row:
                row["day"] = row["ts"]
    return ledger


def slower(declared: str) -> str:
    """Stretch the waits that an epoch was judged by."""
    feeds = json.loads(declared)
    for own in feeds.values():
        own["allowed_lateness"] *= STEP
        own["idle"] *= STEP
    return json.dumps(feeds)


def moment(second: int) -> datetime:
    """The instant of a history's second, stretched."""
    return BEGIN + timedelta(seconds=second * STEP)


settled = st.lists(
    st.tuples(
        st.sampled_from(TRANSITIONS),
        st.sampled_from(IDS),
        st.sampled_from(STREAMS),
        st.integers(0, 36),
        st.booleans(),
    ),
    max_size=4,
)
"""Transitions: type, query, stream, when, and whether they count."""


def summed(history: History, transitions: list[Any]) -> list[tuple[Any, ...]]:
    """Count day by day what a history holds, one fact after the other."""
    told: dict[Key, Counter[str]] = defaultdict(Counter)
    crossings: dict[Key, list[Crossing]] = defaultdict(list)
    for crossing in history.in_force:
        crossings[moment(crossing.ts).date(), crossing.query, crossing.version].append(crossing)
    for type_, query, _, second, counts in transitions:
        if counts:
            told[moment(second).date(), query, 1][type_] += 1
    ended: dict[Key, list[float | None]] = defaultdict(list)
    visits = visits_of(history)
    for query, version, _, entered, left, *_ in visits:
        if entered is not None:
            told[moment(entered).date(), query, version]["begun"] += 1
        if left is not None:
            lasted = None if entered is None else float((left - entered) * STEP)
            ended[moment(left).date(), query, version].append(lasted)
    rows = []
    for day, query, version in {*told, *crossings, *ended}:
        key = day, query, version
        end = datetime.combine(day + DAY, datetime.min.time(), BEGIN.tzinfo)
        known = [lasted for lasted in ended[key] if lasted is not None]
        rows.append(
            (
                *key,
                sum(c.type == "I" for c in crossings[key]),
                sum(c.type == "O" for c in crossings[key]),
                *(told[key][kind] for kind in TRANSITIONS),
                len({c.stream for c in crossings[key]}),
                told[key]["begun"],
                len(ended[key]),
                sum(known) / len(known) if known else None,
                max(known, default=None),
                sum(
                    visit[:2] == (query, version)
                    and visit[3] is not None
                    and moment(visit[3]) < end
                    and (visit[4] is None or moment(visit[4]) >= end)
                    for visit in visits
                ),
            )
        )
    return sorted(rows, key=repr)


def found(ledger: Ledger) -> list[tuple[Any, ...]]:
    """Ask the view, the feed aside."""
    columns = ", ".join(column.name for column in DAILY_SUMMARY.columns if column.name != "feed")
    return answered(ledger.in_memory(SHARED), f"SELECT {columns} FROM daily_summary")  # noqa: S608


@given(histories(), settled)
def test_oracle_a_day_s_summary_is_what_a_plain_count_gives(history, transitions):
    ledger = laid_out(history)
    if not history.epochs:
        transitions = []
    for type_, query, stream, second, counts in transitions:
        epoch = 1 if counts else 99
        generation = 2 if history.redone_from == 1 else 1
        row = {"feed": FEED, "query_id": query, "query_version": 1, "stream_id": stream}
        row |= {"epoch": epoch, "generation": generation, "ts": at(second), "day": at(second)}
        ledger.add("transitions", **row, type=type_)
    assert found(stretched(ledger)) == summed(history, transitions)


def lasting(*spans: tuple[float, float | None]) -> Ledger:
    """A lake with visits of one query from and until these seconds, each of a stream of its own."""
    ledger = Ledger({FEED: ("price",)})
    ledger.register({"id": "q"})
    ledger.epoch(FEED, 1, [ledger.arrive(FEED)], watermark=at(5 * 86_400))
    for place, (entered, left) in enumerate(spans):
        ledger.event("I", "q", f"s{place}", entered)
        if left is not None:
            ledger.event("O", "q", f"s{place}", left)
    return ledger


def inside(ledger: Ledger) -> list[tuple[Any, ...]]:
    return answered(ledger.in_memory(SHARED), "SELECT day, inside FROM daily_summary")


@pytest.mark.parametrize(
    ("left", "first_day", "second_day"),
    [(86_399.999999, 0, None), (86_400, 1, 0), (86_400.000001, 1, 0), (None, 1, None)],
)
def test_who_leaves_at_midnight_was_inside_at_the_day_s_end(left, first_day, second_day):
    first, second = BEGIN.date(), BEGIN.date() + DAY
    expected = [(first, first_day), (second, second_day)]
    assert inside(lasting((10, left))) == [row for row in expected if row[1] is not None]


def test_a_day_on_which_nothing_happened_has_no_row_and_changes_nothing():
    days = [BEGIN.date() + k * DAY for k in (0, 3)]
    ledger = lasting((10, 3 * 86_400 + 1), (20, None))
    assert inside(ledger) == [(days[0], 2), (days[1], 1)]


def test_the_mean_of_visits_is_exact_whatever_their_order():
    ledger = lasting((0.1, 0.400001), (0, 86_000.7), (0.000001, 0.000003))
    told = "SELECT mean_duration, longest_duration, visits_ended FROM daily_summary"
    microseconds = 300_001 + 86_000_700_000 + 2
    expected = [(microseconds / 3 / 1e6, 86_000.7, 3)]
    assert answered(ledger.in_memory(SHARED), told) == expected
    ledger.rows["events"].reverse()
    assert answered(ledger.in_memory(SHARED), told) == expected


def test_the_newest_day_has_inside_whom_inside_now_counts():
    ledger = lasting((10, 20), (30, None), (86_400, None), (86_401, 86_500))
    connection = ledger.in_memory(SHARED)
    newest = "SELECT s.inside FROM daily_summary s ORDER BY s.day DESC LIMIT 1"
    assert answered(connection, newest) == answered(connection, "SELECT count(*) FROM inside_now")
