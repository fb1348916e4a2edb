"""Did a stream enter or leave a standing query from one of its tuples to the next, or match it?

Law: I iff the query did not hold at the previous tuple and holds at the current one, O iff it held
and holds no more; a match iff it holds at the current one, whatever was before.
"""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from operator import eq, ge, gt, le, lt
from typing import NamedTuple

from fencepost.errors import InputError
from fencepost.queries import MATCH, StandingQuery, read_where
from fencepost.queries.condition import All, And, Compare, CompareAxes, Condition, Not, Or
from fencepost.reference import shapes
from fencepost.reference.order import Head

COMPARES: dict[str, Callable[[float, float], bool]] = {
    ">": gt,
    ">=": ge,
    "=": eq,
    "<": lt,
    "<=": le,
}


class Event(NamedTuple):
    """A crossing: I or O at (`ts`, `place`), when delivery `delivery` released its tuple."""

    type: str
    query_id: str
    version: int
    stream: str
    ts: int
    values: tuple[float, ...]
    prev_ts: int | None
    prev_values: tuple[float, ...] | None
    delivery: int
    place: int = 0


class Match(NamedTuple):
    """A match: the query holds for the tuple at (`ts`, `place`) that `delivery` released."""

    query_id: str
    version: int
    stream: str
    ts: int
    delivery: int
    place: int = 0


def holds(query: StandingQuery, values: Sequence[float]) -> bool:
    """A query holds when a box of it contains the values, which pass the box's tests.

    Where it has a region, their position is in that, too.
    """
    if query.region is not None and not shapes.holds(query.region, *position(query, values)):
        return False
    tests = query.tests or ((),) * len(query.boxes)
    return any(
        all(lo <= v < hi for (lo, hi), v in zip(box, values, strict=True))
        and all(COMPARES[op](values[left], values[right]) for left, op, right in its)
        for box, its in zip(query.boxes, tests, strict=True)
    )


def position(query: StandingQuery, values: Sequence[float]) -> tuple[float, float]:
    """A tuple's position is its values on the two axes that the feed declares."""
    if query.position is None:
        raise InputError(f"the query '{query.id}' has a region and no position")
    x, y = query.position
    return values[x], values[y]


def covers(query: StandingQuery, stream: str) -> bool:
    """A query watches the streams that it names, those that a pattern of it fits, or all."""
    if query.streams is None and query.streams_like is None:
        return True
    named = stream in (query.streams or ())
    return named or any(fnmatchcase(stream, pattern) for pattern in query.streams_like or ())


def is_valid(query: StandingQuery, ts: int) -> bool:
    """A query is evaluated at a ts of its half-open validity, wherever the tuple before lies."""
    begun = query.valid_from is None or query.valid_from <= ts
    ended = query.valid_to is not None and query.valid_to <= ts
    return begun and not ended


def crossing(query: StandingQuery, previous: Head | None, current: Head) -> str | None:
    """A first tuple enters only by `on_first`; every other step compares both of its ends."""
    if previous is None:
        return "I" if query.on_first == "enter" and holds(query, current.values) else None
    before, now = holds(query, previous.values), holds(query, current.values)
    if before == now:
        return None
    return "I" if now else "O"


def event(
    query: StandingQuery, stream: str, previous: Head | None, current: Head, delivery: int
) -> Event | None:
    """An event carries the crossing tuple and, where there is one, the tuple before it."""
    if not (covers(query, stream) and is_valid(query, current.ts)):
        return None
    kind = crossing(query, previous, current)
    if kind is None:
        return None
    prev_ts, prev_values = (None, None) if previous is None else (previous.ts, previous.values)
    names, at = (query.id, query.version, stream), (current.ts, current.values)
    return Event(kind, *names, *at, prev_ts, prev_values, delivery, current.place)


def match(query: StandingQuery, stream: str, current: Head, delivery: int) -> Match | None:
    """A match needs nothing but the tuple itself."""
    if not (covers(query, stream) and is_valid(query, current.ts)):
        return None
    if not holds(query, current.values):
        return None
    return Match(query.id, query.version, stream, current.ts, delivery, current.place)


def holds_by_text(query: StandingQuery, axes: Sequence[str], values: Sequence[float]) -> bool:
    """The same answer by another way: the text's own comparisons, without any box."""
    condition = read_where(query.where, tuple(axes), compares_axes=query.kind == MATCH)
    here = query.region is None or shapes.holds(query.region, *position(query, values))
    return here and satisfied(condition, values)


def satisfied(condition: Condition, values: Sequence[float]) -> bool:
    """A condition is what Python says of its comparisons."""
    match condition:
        case And(terms):
            return all(satisfied(term, values) for term in terms)
        case Or(terms):
            return any(satisfied(term, values) for term in terms)
        case Not(term):
            return not satisfied(term, values)
        case Compare(axis, op, value):
            return COMPARES[op](values[axis], value)
        case CompareAxes(left, op, right):
            return COMPARES[op](values[left], values[right])
        case All():
            return True
