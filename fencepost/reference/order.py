"""Which tuples of a delivery are accepted, and when?

Law: every row read is accepted, waiting or rejected, exactly one of the three, and the accepted
tuples of a stream ascend strictly in ts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from fencepost.queries import StandingQuery


@dataclass(frozen=True)
class Sighting:
    """One tuple: where on the feed's axes a stream was seen, and when (UTC, µs)."""

    stream: str
    ts: int
    values: tuple[float, ...]


@dataclass(frozen=True)
class FeedDelivery:
    """What arrives at once, its rows in file order."""

    tuples: tuple[Sighting, ...]


@dataclass(frozen=True)
class Registration:
    """A registry commit: the whole set of queries in force for the deliveries after it."""

    queries: tuple[StandingQuery, ...]


class Arrival(NamedTuple):
    """A tuple and its place; arrivals are judged by ts, then delivery (from 0), then row."""

    ts: int
    delivery: int
    row: int
    sighting: Sighting


def fault(new: Sighting, waiting: Iterable[Arrival], last: Sighting | None) -> str | None:
    """A tuple is judged against its stream's waiting tuples and last released one; None is good."""
    for _, _, _, known in waiting:
        if (known.stream, known.ts) == (new.stream, new.ts):
            return repeat(new, known)
    if last is None or new.ts > last.ts:
        return None
    return "late" if new.ts < last.ts else repeat(new, last)


def repeat(new: Sighting, first: Sighting) -> str:
    """At one ts, the same values are a duplicate and others a conflict: the first accepted won."""
    return "duplicate" if new.values == first.values else "conflict"


def moved(watermark: int | None, good: Iterable[Arrival], lateness: int) -> int | None:
    """The watermark is the largest ts of all good arrivals so far, less the lateness."""
    marks = [arrival.ts - lateness for arrival in good]
    return max(marks if watermark is None else [watermark, *marks], default=None)


def is_released(arrival: Arrival, watermark: int | None) -> bool:
    """A waiting tuple is released when the watermark has reached its ts."""
    return watermark is not None and arrival.ts <= watermark
