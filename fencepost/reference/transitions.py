"""What became of a crossing within the time t of its query?

Law: each crossing of a query with `within` gets one transition, unless nothing answers it and its
time runs out at or after the query's `valid_to`, or the query goes first.
"""

from typing import NamedTuple

from fencepost.queries import StandingQuery
from fencepost.reference.crossings import Event

ANSWERED = {"I": "pass_through", "O": "short_absence"}
UNANSWERED = {"I": "stay", "O": "departure"}


class PendingEvent(NamedTuple):
    """A crossing of which nothing has become yet."""

    query_id: str
    version: int
    stream: str
    type: str
    ts: int
    place: int = 0


class Transition(NamedTuple):
    """What became of the crossing at `from_ts`, known at `ts`, in delivery `delivery`."""

    type: str
    query_id: str
    version: int
    stream: str
    ts: int
    from_ts: int
    to_ts: int | None
    delivery: int
    from_place: int = 0
    to_place: int | None = None


def is_of(e: PendingEvent, query: StandingQuery) -> bool:
    """A pending crossing belongs to one version of a query."""
    return (e.query_id, e.version) == (query.id, query.version)


def outlasts(deadline: int, query: StandingQuery) -> bool:
    """An unanswered crossing whose time runs out at or after `valid_to` has no transition."""
    return query.valid_to is not None and deadline >= query.valid_to


def answers(e: PendingEvent, f: Event, within: int) -> bool:
    """The next crossing answers if it comes within t, the very end of t included."""
    return f.ts - e.ts <= within


def by_pair(e: PendingEvent, f: Event) -> Transition:
    """An answered crossing carries the times of both."""
    when = (f.ts, e.ts, f.ts)
    return Transition(ANSWERED[e.type], *e[:3], *when, f.delivery, e.place, f.place)


def by_time(e: PendingEvent, within: int, delivery: int) -> Transition:
    """Unanswered, a crossing is decided at the end of its t and has no other time to show."""
    when = (e.ts + within, e.ts, None)
    return Transition(UNANSWERED[e.type], *e[:3], *when, delivery, e.place)


def is_overdue(e: PendingEvent, within: int, watermark: int | None) -> bool:
    """The watermark decides a crossing when it is past the end of its t, not yet at it."""
    return watermark is not None and e.ts + within < watermark
