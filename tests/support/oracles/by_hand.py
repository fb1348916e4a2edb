"""Short words for the reference's tests, so that a case worked by hand reads like a sentence.

`q` is [2, 5) on one axis unless a test says otherwise; times are small integers, since only their
order and their differences count.
"""

from fencepost.order import OrderRules, Ties
from fencepost.queries import StandingQuery
from fencepost.reference import (
    FeedDelivery,
    Registration,
    RunResult,
    Sighting,
    run,
)
from tests.support.stories.strategies import standing_query

RANGE = "x >= 2 AND x < 5"
OUT, IN = 0.0, 3.0


def q(**changes) -> StandingQuery:
    return standing_query("q", changes.pop("where", RANGE), changes.pop("axes", ("x",)), **changes)


def seen(*steps) -> FeedDelivery:
    """One delivery of (stream, ts, value, …) rows."""
    return FeedDelivery(
        tuple(Sighting(s, ts, tuple(map(float, values))) for s, ts, *values in steps)
    )


def walk(*values: float, stream: str = "s") -> list[FeedDelivery]:
    """A stream's values at ts 1, 2, 3, …, each a delivery of its own."""
    return [seen((stream, ts, value)) for ts, value in enumerate(values, 1)]


def in_force(*queries: StandingQuery) -> Registration:
    return Registration(queries)


def ran(
    *script: FeedDelivery | Registration,
    axes: tuple[str, ...] = ("x",),
    lateness: int = 0,
    idle: int | None = None,
    ties: Ties = "first",
) -> RunResult:
    return run("grid", axes, script, OrderRules(ties, lateness, idle))


def told(query: StandingQuery, *deliveries: FeedDelivery, **more) -> RunResult:
    """Run deliveries under one query that never changes."""
    return ran(in_force(query), *deliveries, **more)


def crossed(rows: RunResult) -> list[tuple[str, str, int]]:
    return [(e.type, e.query_id, e.ts) for e in rows.events]


def became(rows: RunResult) -> list[tuple[str, int, int, int | None]]:
    return [(t.type, t.ts, t.from_ts, t.to_ts) for t in rows.transitions]


def entered_and_left(rows: RunResult) -> tuple[set[str], set[str]]:
    """The differential query sets of a run: who was entered, who was left."""
    entered = {e.query_id for e in rows.events if e.type == "I"}
    return entered, {e.query_id for e in rows.events if e.type == "O"}
