"""The bridge between the engine's columns and the reference's rows, and the comparison of the two.

Law: nothing is decided here. Columns become rows one to one, and rows are compared as multisets.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost.order import OrderRules
from fencepost.queries import CROSSING, MATCH, QuerySet
from fencepost.reference import (
    Event,
    FeedDelivery,
    Match,
    Registration,
    RunResult,
    Sighting,
    Transition,
)
from fencepost.tuples import TupleBatch

COMPARED = ("events", "transitions", "rejected")


@dataclass(frozen=True)
class Epoch:
    """Whole deliveries under one registration; `first` is the number of the first of them.

    `rules` are those that the script gave last, None where it gave none.
    """

    registration: Registration
    deliveries: tuple[FeedDelivery, ...]
    first: int
    rules: OrderRules | None = None


def epochs(
    script: Sequence[FeedDelivery | Registration | OrderRules],
    cuts: Collection[int] | None = None,
) -> Iterator[Epoch]:
    """Split a script where queries or rules change, and before each delivery whose number is a cut.

    Without cuts every delivery is an epoch of its own. A registration that ends the script is an
    epoch without a delivery, since it drops what is pending; one that another follows at once
    shows nowhere.
    """
    registration = shown = Registration(())
    number = 0
    rules: OrderRules | None = None
    run: list[FeedDelivery] = []
    for item in script:
        is_cut = not isinstance(item, FeedDelivery) or cuts is None or number in cuts
        if run and is_cut:
            yield Epoch(registration, tuple(run), number - len(run), rules)
            run, shown = [], registration
        if isinstance(item, Registration):
            registration = item
        elif isinstance(item, OrderRules):
            rules = item
        else:
            run.append(item)
            number += 1
    if run or registration is not shown:
        yield Epoch(registration, tuple(run), number - len(run), rules)


def batch_of(feed: str, axes: Sequence[str], deliveries: Sequence[FeedDelivery]) -> TupleBatch:
    """The tuples of deliveries as the engine's input: numbered from 0, rows in file order."""
    rows = [(n, seen) for n, delivery in enumerate(deliveries) for seen in delivery.tuples]
    return TupleBatch.from_columns(
        feed,
        tuple(axes),
        pa.array([seen.stream for _, seen in rows], pa.string()),
        np.array([seen.ts for _, seen in rows], np.int64),
        np.array([seen.values for _, seen in rows], np.float64).reshape(-1, len(axes)).T,
        np.array([n for n, _ in rows], np.int32),
        sequence=sequence_of([seen for _, seen in rows]),
    )


def sequence_of(rows: Sequence[Sighting]) -> pa.Array | None:
    """The sequences of tuples, of one type; None where none has one."""
    given = [seen.sequence for seen in rows]
    if all(each is None for each in given):
        return None
    return pa.array(given, pa.string() if isinstance(given[0], str) else pa.int64())


def query_set_of(feed: str, axes: Sequence[str], registration: Registration) -> QuerySet:
    """The crossing queries in force as the engine's input."""
    return _of_kind(feed, axes, registration, CROSSING)


def match_set_of(feed: str, axes: Sequence[str], registration: Registration) -> QuerySet:
    """The match queries in force as the engine's input."""
    return _of_kind(feed, axes, registration, MATCH)


def _of_kind(feed: str, axes: Sequence[str], registration: Registration, kind: str) -> QuerySet:
    mine = [query for query in registration.queries if query.kind == kind]
    return QuerySet.from_queries(feed, tuple(axes), mine, kind)


def event_rows(events: pa.Table, axes: Sequence[str], first: int = 0) -> list[Event]:
    """The engine's events as the reference has them; its deliveries count from `first`."""
    return [event_row(row, axes, first) for row in events.to_pylist()]


def event_row(row: dict[str, Any], axes: Sequence[str], first: int) -> Event:
    """One event: no previous tuple is no previous value, on any axis."""
    before = tuple(row[f"prev_{axis}"] for axis in axes)
    return Event(
        row["type"],
        row["query_id"],
        row["query_version"],
        row["stream_id"],
        row["ts"],
        tuple(row[axis] for axis in axes),
        row["prev_ts"],
        None if row["prev_ts"] is None and set(before) == {None} else before,
        row["delivery"] + first,
        row.get("place", 0),
    )


def transition_rows(transitions: pa.Table, first: int = 0) -> list[Transition]:
    """The engine's transitions as the reference has them; its deliveries count from `first`."""
    return [
        Transition(
            row["type"],
            row["query_id"],
            row["query_version"],
            row["stream_id"],
            row["ts"],
            row["from_ts"],
            row["to_ts"],
            row["delivery"] + first,
            row.get("from_place", 0),
            row.get("to_place", None if row["to_ts"] is None else 0),
        )
        for row in transitions.to_pylist()
    ]


def match_rows(matches: pa.Table, first: int = 0) -> list[Match]:
    """The engine's matches as the reference has them; its deliveries count from `first`."""
    return [
        Match(
            row["query_id"],
            row["query_version"],
            row["stream_id"],
            row["ts"],
            row["delivery"] + first,
            row.get("place", 0),
        )
        for row in matches.to_pylist()
    ]


def rejected_rows(
    rows: Sequence[int], reasons: Sequence[str], batch: TupleBatch, first: int = 0
) -> list[tuple[int, int, str]]:
    """Rows of a batch that were rejected, as (delivery, row in that delivery, reason)."""
    begins = np.searchsorted(batch.delivery, batch.delivery, side="left")
    return [
        (int(batch.delivery[row]) + first, int(row - begins[row]), reason)
        for row, reason in zip(rows, reasons, strict=True)
    ]


def differences(name: str, expected: Collection[object], actual: Collection[object]) -> list[str]:
    """What is missing and what is too much, a line each, rows counted as often as they occur."""
    wanted, given = Counter(expected), Counter(actual)
    missing = [f"{name}: missing {row}" for row in (wanted - given).elements()]
    return missing + [f"{name}: not expected {row}" for row in (given - wanted).elements()]


def assert_same_rows(
    expected: RunResult, actual: RunResult, parts: Sequence[str] = COMPARED, note: str = ""
) -> None:
    """Fail with every row that only one side has."""
    found = [
        line
        for part in parts
        for line in differences(part, listed(expected, part), listed(actual, part))
    ]
    assert not found, "\n".join([note, *sorted(found)])


def listed(rows: RunResult, part: str) -> list[object]:
    """One part of the rows as a list of values that can be counted."""
    content = getattr(rows, part)
    if part == "waiting":  # its place among the waiting is release order, not a number
        return [arrival.sighting for arrival in content]
    if part == "heads":  # a log has sequences as text
        return [
            (stream, head._replace(sequence=head.sequence and str(head.sequence)))
            for stream, head in content.items()
        ]
    if isinstance(content, dict):
        return list(content.items())
    return content if isinstance(content, list) else [content]
