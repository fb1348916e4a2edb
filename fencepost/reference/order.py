"""Which tuples of a delivery are accepted, and when?

Law: every row read is accepted, waiting or rejected, exactly one of the three, and the accepted
tuples of a stream ascend strictly in (ts, place).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from fencepost.order_rules import OrderRules
from fencepost.queries import StandingQuery


@dataclass(frozen=True)
class Sighting:
    """One tuple: where on the feed's axes a stream was seen, and when (UTC, µs).

    `sequence` is what orders it among those of its instant, where the feed declares such a column.
    """

    stream: str
    ts: int
    values: tuple[float, ...]
    sequence: int | str | None = None


@dataclass(frozen=True)
class FeedDelivery:
    """What arrives at once, its rows in file order."""

    tuples: tuple[Sighting, ...]


@dataclass(frozen=True)
class Registration:
    """A registry commit: the whole set of queries in force for the deliveries after it."""

    queries: tuple[StandingQuery, ...]


class Head(NamedTuple):
    """A stream's last accepted tuple, and which of its instant it was, from 0."""

    ts: int
    values: tuple[float, ...]
    place: int = 0
    sequence: int | str | None = None


class Arrival(NamedTuple):
    """A tuple and where it came from: its delivery (from 0), and its row in it."""

    ts: int
    delivery: int
    row: int
    sighting: Sighting


def turn(arrival: Arrival) -> tuple[object, ...]:
    """Tuples are judged and released by ts, then by sequence, then by delivery and row."""
    return (arrival.ts, *numbered(arrival.sighting.sequence), arrival.delivery, arrival.row)


def numbered(sequence: int | str | None) -> tuple[bool, int | str]:
    """A tuple without a sequence goes before all that have one; Python compares text bytewise."""
    return (False, 0) if sequence is None else (True, sequence)


def fault(
    new: Sighting, waiting: Iterable[Arrival], last: Head | None, rules: OrderRules
) -> str | None:
    """A tuple is judged against its stream's waiting tuples and last released one; None is good."""
    if last is not None and new.ts < last.ts:
        return "late"
    mine = [a.sighting for a in waiting if (a.sighting.stream, a.ts) == (new.stream, new.ts)]
    meets_last = last is not None and last.ts == new.ts
    if new.sequence is not None:
        mine = [known for known in mine if known.sequence == new.sequence]
        if last is not None and meets_last and last.sequence is not None:
            if numbered(new.sequence) < numbered(last.sequence):
                return "late"
            if new.sequence == last.sequence:
                return repeat(new, last.values)
    elif rules.ties == "all":
        return None
    elif last is not None and meets_last:
        return repeat(new, last.values)
    return repeat(new, mine[0].values) if mine else None


def repeat(new: Sighting, first: tuple[float, ...]) -> str:
    """In one place, the same values are a duplicate and others a conflict: the first taken won."""
    return "duplicate" if new.values == first else "conflict"


def moved(watermark: int | None, good: Iterable[Arrival], rules: OrderRules) -> int | None:
    """The watermark is the largest ts of all good arrivals so far, less the lateness then allowed.

    Where each stream has its own, the feed's is behind by what a stream may be idle.
    """
    behind = rules.lateness if rules.idle is None else rules.idle
    marks = [arrival.ts - behind for arrival in good]
    return max(marks if watermark is None else [watermark, *marks], default=None)


def of_stream(
    stream: str,
    watermark: int | None,
    waiting: Iterable[Arrival],
    last: Head | None,
    rules: OrderRules,
) -> int | None:
    """A stream's watermark is the feed's, or by stream its own where that is further."""
    if rules.idle is None:
        return watermark
    seen = [arrival.ts for arrival in waiting if arrival.sighting.stream == stream]
    seen += [] if last is None else [last.ts]
    marks = [ts - rules.lateness for ts in seen]
    return max(marks if watermark is None else [watermark, *marks], default=None)


def is_released(arrival: Arrival, watermark: int | None) -> bool:
    """A waiting tuple is released when its watermark has reached its ts."""
    return watermark is not None and arrival.ts <= watermark


def headed(last: Head | None, new: Sighting) -> Head:
    """A released tuple is its stream's last; its place is how many of its instant came before."""
    place = last.place + 1 if last is not None and last.ts == new.ts else 0
    return Head(new.ts, new.values, place, new.sequence)
