"""A planned delivery as the ledger records it, its outcome, and the report of an ingest.

Law: the work on a planned delivery depends on its row, on its files and on the declaration of
its feed, and on nothing else: so doing it again gives the same rows. Of its outcome,
rows = tuples + malformed + future.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import pyarrow as pa

from fencepost.hashing import added
from fencepost.times import to_microseconds
from pipelines.ingest.landing import LandedDelivery, Refusal
from pipelines.planning.deliveries import Arrivals
from schemas.arrivals import DELIVERY, DONE, PLANNED, REFUSED
from schemas.table import TIME

UNREADABLE = "unreadable"
VANISHED = "vanished"
REWRITTEN = "rewritten"
UPDATES = "updates"
MOST_WORDS = 2000
"""Characters of a reason in words; a file of a thousand columns can say more than anybody reads."""


class Rejection(Exception):
    """A delivery cannot be loaded: `reason` in a word, `detail` in words."""

    def __init__(self, reason: str, detail: str) -> None:
        """Keep the words short enough for a ledger."""
        super().__init__(detail)
        self.reason = reason
        self.detail = detail if len(detail) <= MOST_WORDS else detail[: MOST_WORDS - 1] + "…"


@dataclass(frozen=True)
class Outcome:
    """Of one delivery, or of a part of it.

    max_ts       µs; None where there is no tuple
    ignored      columns that are not used
    hash, aside  hashes of its tuples and of its rows in quarantine, in any order
    reason       why it was refused, in a word; None: it was loaded
    """

    n: int
    rows: int = 0
    tuples: int = 0
    malformed: int = 0
    future: int = 0
    max_ts: int | None = None
    ignored: tuple[str, ...] = ()
    hash: int = 0
    aside: int = 0
    reason: str | None = None
    detail: str | None = None

    @classmethod
    def refused(cls, n: int, why: Rejection) -> Self:
        """Give the outcome of a rejected delivery: all counts are 0."""
        return cls(n, reason=why.reason, detail=why.detail)

    def and_then(self, other: "Outcome") -> "Outcome":
        """Merge two parts of a delivery; if one is refused, so is the whole."""
        if self.reason is not None or other.reason is not None:
            return self if self.reason is not None else other
        times = [ts for ts in (self.max_ts, other.max_ts) if ts is not None]
        return Outcome(
            self.n,
            self.rows + other.rows,
            self.tuples + other.tuples,
            self.malformed + other.malformed,
            self.future + other.future,
            max(times, default=None),
            tuple(dict.fromkeys((*self.ignored, *other.ignored))),
            added(self.hash, other.hash),
            added(self.aside, other.aside),
        )

    def as_json(self) -> dict[str, Any]:
        """Encode it for a task's result."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Decode it."""
        return cls(**{**fields, "ignored": tuple(fields["ignored"])})


Row = Mapping[str, Any]
Runs = Sequence[tuple[int, int]]
"""Rows of a file in runs: first and last of each, ascending and apart."""


@dataclass(frozen=True)
class Planned:
    """A delivery under its number. `lines` names the rows of each file; None: all of them."""

    row: Row

    @property
    def n(self) -> int:
        """Its place in the one sequence."""
        return int(self.row["n"])

    @property
    def feed(self) -> str:
        """Its feed."""
        return str(self.row["lane"])

    @property
    def plan(self) -> str:
        """The plan that it belongs to."""
        return str(self.row["plan"])

    @property
    def path(self) -> str:
        """The file or folder, below the landing folder of its feed."""
        return str(self.row["path"])

    @property
    def files(self) -> list[str]:
        """Its files, in their order."""
        return list(self.row["files"] or ())

    @property
    def found_at(self) -> int:
        """When it was found, µs: the clock where the feed has none."""
        us = to_microseconds(self.row["found_at"])
        return us if us is not None else 0

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(self.row["sizes"] or ())

    def base(self, table: str) -> int:
        """Give the version of a table when this was planned: its rows came later."""
        return int(json.loads(self.row["bases"]).get(table, 0))

    def lines_of(self, place: int) -> list[tuple[int, int]] | None:
        """Give the runs of rows to take of one of its files; None: all of them."""
        if self.row["lines"] is None:
            return None
        return [(first, last) for first, last in json.loads(self.row["lines"][place])]

    def concluded(self, outcome: Outcome) -> dict[str, Any]:
        """Give its second row in the ledger: done, or refused."""
        if outcome.reason is not None:
            refusal = {"state": REFUSED, "reason": outcome.reason, "detail": outcome.detail}
            return {**self.row, **refusal}
        return {
            **self.row,
            "state": DONE,
            "rows": outcome.rows,
            "tuples": outcome.tuples,
            "malformed": outcome.malformed,
            "future": outcome.future,
            "max_ts": instant(outcome.max_ts),
            "ignored": list(outcome.ignored),
        }


def instant(us: int | None) -> Any:  # noqa: ANN401  what a row of a ledger holds
    """Give a time as a ledger's row holds it."""
    return pa.scalar(us, TIME).as_py()


def first_row(
    delivery: LandedDelivery,
    *,
    plan: str,
    found_at: int,
    bases: str,
    declared: str,
    lines: Sequence[Runs] | None = None,
) -> dict[str, Any]:
    """Give a delivery's first row in the ledger, without its number: planned, or refused.

    `declared` records how it is to be read and judged.
    """
    row = {
        "lane": delivery.feed,
        "kind": DELIVERY,
        "state": PLANNED,
        "plan": plan,
        "path": delivery.path,
        "files": list(delivery.files),
        "sizes": list(delivery.sizes),
        "mtimes": list(delivery.mtimes),
        "hashes": list(delivery.hashes),
        "lines": None if lines is None else [json.dumps(runs) for runs in lines],
        "content": delivery.content,
        "partition_key": delivery.partition_key,
        "found_at": instant(found_at),
        "bases": bases,
        "declared": declared,
    }
    if isinstance(delivery, Refusal):
        row |= {"state": REFUSED, "reason": delivery.reason, "detail": delivery.detail}
    return row


def unfinished(arrivals: Arrivals) -> list[list[Planned]]:
    """Give the deliveries that are planned and not concluded, by plan, in their order."""
    plans: dict[str, list[Planned]] = {}
    for _, row in sorted(arrivals.planned.items()):
        if row["kind"] == DELIVERY:
            plans.setdefault(row["plan"], []).append(Planned(row))
    return list(plans.values())


@dataclass(frozen=True)
class LoadedDelivery:
    """A delivery that was loaded, and its counts; `ignored` are columns that are not used."""

    n: int
    feed: str
    path: str
    rows: int
    tuples: int
    malformed: int
    future: int
    ignored: tuple[str, ...]


@dataclass(frozen=True)
class RefusedDelivery:
    """A delivery that was not loaded: why, in a word and in words."""

    n: int
    feed: str
    path: str
    reason: str
    detail: str


Progress = Callable[["IngestReport"], None]
"""Called with what was done so far."""


def no_report(_: "IngestReport") -> None:
    """Report nothing."""


@dataclass
class IngestReport:
    """All deliveries of an ingest, a recovery or a retry.

    progress     is called with it after each plan
    done         how much of the found deliveries is loaded, from 0 to 1
    waiting      by feed: what is not complete yet
    passed_over  by feed: what can never be loaded, each with the reason
    """

    progress: Progress = no_report
    loaded: list[LoadedDelivery] = field(default_factory=list)
    refused: list[RefusedDelivery] = field(default_factory=list)
    done: float = 0.0
    waiting: dict[str, list[str]] = field(default_factory=dict)
    passed_over: dict[str, list[str]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return sum(each.rows for each in self.loaded)

    @property
    def tuples(self) -> int:
        """How many of them are tuples."""
        return sum(each.tuples for each in self.loaded)

    @property
    def malformed(self) -> int:
        """How many hold no tuple."""
        return sum(each.malformed for each in self.loaded)

    @property
    def future(self) -> int:
        """How many are too far ahead of the clock."""
        return sum(each.future for each in self.loaded)

    def reach(self, done: float) -> None:
        """Note how much has been done, and report it."""
        self.done = done
        self.progress(self)

    def add(self, later: "IngestReport") -> None:
        """Append the report of a later ingest; `waiting` is the later one's."""
        self.loaded += later.loaded
        self.refused += later.refused
        self.waiting = later.waiting
        self.passed_over = later.passed_over

    def add_all(self, concluded: Iterable[tuple[Planned, Outcome]]) -> None:
        """Note the outcome of a plan's deliveries."""
        for delivery, outcome in concluded:
            whose = (outcome.n, delivery.feed, delivery.path)
            if outcome.reason is not None:
                self.refused.append(RefusedDelivery(*whose, outcome.reason, outcome.detail or ""))
            else:
                counts = (outcome.rows, outcome.tuples, outcome.malformed, outcome.future)
                self.loaded.append(LoadedDelivery(*whose, *counts, outcome.ignored))
