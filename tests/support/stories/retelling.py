"""Retelling a story: with other epochs, names, units, axes or cuts, and what its rows become.

Law: a relation needs no oracle. It holds the engine to itself, so it also catches what engine and
reference could both get wrong.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from fencepost.queries import Box, StandingQuery, Tests
from fencepost.reference import (
    Event,
    FeedDelivery,
    Match,
    PendingEvent,
    Registration,
    RunResult,
    Sighting,
    Transition,
)
from tests.support.stories.play import Way
from tests.support.stories.strategies import GRID, Story

ALL = ("events", "transitions", "matches", "rejected", "pending", "heads", "waiting", "watermark")
Values = tuple[float, ...]
Region = tuple[Box, Tests]
FAR = 1000.0

HALFWAY = (-2.5, *(g + half for g in GRID for half in (0.0, 0.5)))


def same(value: Any) -> Any:
    """Where a retelling changes nothing."""
    return value


def cuts() -> st.SearchStrategy[frozenset[int] | None]:
    """Where epochs begin; None: at every delivery."""
    return st.none() | st.frozensets(st.integers(0, 9), max_size=4)


def ways() -> st.SearchStrategy[Way]:
    """Any way to play."""
    flag = st.booleans()
    return st.builds(
        Way,
        fast=flag,
        threads=st.sampled_from((1, 2)),
        striped=flag,
        many_stripes=flag,
        incremental=flag,
        reloaded=flag,
        index=st.sampled_from(("auto", "scan", "packed", "bitmaps")),
        cuts=cuts(),
    )


# ── retelling ─────────────────────────────────────────────────────────────────────────────────────


def retold(
    story: Story,
    *,
    query: Callable[[StandingQuery], StandingQuery] = same,
    values: Callable[[Values], Values] = same,
    stream: Callable[[str], str] = same,
) -> Story:
    """The same story with every query and every tuple put in other words."""

    def item(told: FeedDelivery | Registration) -> FeedDelivery | Registration:
        if isinstance(told, Registration):
            return Registration(tuple(query(q) for q in told.queries))
        rows = (Sighting(stream(s.stream), s.ts, values(s.values)) for s in told.tuples)
        return FeedDelivery(tuple(rows))

    return replace(story, script=tuple(item(told) for told in story.script))


def rows_in_words(
    rows: RunResult,
    *,
    query: Callable[[str], str] = same,
    values: Callable[[Values], Values] = same,
    stream: Callable[[str], str] = same,
) -> RunResult:
    """The same rows in those words."""

    def event(e: Event) -> Event:
        before = None if e.prev_values is None else values(e.prev_values)
        return e._replace(
            query_id=query(e.query_id),
            stream=stream(e.stream),
            values=values(e.values),
            prev_values=before,
        )

    def sighting(s: Sighting) -> Sighting:
        return replace(s, stream=stream(s.stream), values=values(s.values))

    return replace(
        rows,
        events=[event(e) for e in rows.events],
        transitions=[
            t._replace(query_id=query(t.query_id), stream=stream(t.stream))
            for t in rows.transitions
        ],
        matches=[
            m._replace(query_id=query(m.query_id), stream=stream(m.stream)) for m in rows.matches
        ],
        pending=[
            p._replace(query_id=query(p.query_id), stream=stream(p.stream)) for p in rows.pending
        ],
        heads={
            stream(name): head._replace(values=values(head.values))
            for name, head in rows.heads.items()
        },
        waiting=[a._replace(sighting=sighting(a.sighting)) for a in rows.waiting],
    )


def with_regions(
    change: Callable[[Box, Tests], Iterable[Region]],
) -> Callable[[StandingQuery], StandingQuery]:
    """Put other boxes and tests into a query; its text is not read again."""

    def changed(query: StandingQuery) -> StandingQuery:
        its = query.tests or ((),) * len(query.boxes)
        found = [new for old in zip(query.boxes, its, strict=True) for new in change(*old)]
        tests = tuple(tests for _, tests in found)
        return replace(
            query, boxes=tuple(box for box, _ in found), tests=tests if any(tests) else ()
        )

    return changed


def rows_without(
    rows: RunResult, *, query: str | None = None, stream: str | None = None
) -> RunResult:
    """The rows of all but one query, or all but one stream."""

    def is_of_others(row: Event | Transition | Match | PendingEvent) -> bool:
        return row.query_id != query and row.stream != stream

    return replace(
        rows,
        events=[e for e in rows.events if is_of_others(e)],
        transitions=[t for t in rows.transitions if is_of_others(t)],
        matches=[m for m in rows.matches if is_of_others(m)],
        pending=[p for p in rows.pending if is_of_others(p)],
        heads={name: head for name, head in rows.heads.items() if name != stream},
        waiting=[a for a in rows.waiting if a.sighting.stream != stream],
    )


def deliveries_of(story: Story) -> list[FeedDelivery]:
    return [item for item in story.script if isinstance(item, FeedDelivery)]


def with_deliveries(story: Story, deliveries: Sequence[FeedDelivery]) -> Story:
    """The story with its deliveries replaced one by one."""
    left = iter(deliveries)
    return replace(
        story, script=tuple(next(left) if isinstance(i, FeedDelivery) else i for i in story.script)
    )
