"""A delivery under its number, as the ledger says it: what a plan holds, before and after a crash.

Law: what is done with a planned delivery depends on its row, on its files and on the declaration of
its feed, and on nothing else: so doing it again gives the same rows.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fencepost.times import to_microseconds
from pipelines.ingest.landing import Delivery, Refusal
from pipelines.ingest.outcome import Outcome
from pipelines.planning.deliveries import Arrivals
from schemas.arrivals import DELIVERY, DONE, PLANNED, REFUSED
from schemas.table import TIME

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
            told = {"state": REFUSED, "reason": outcome.reason, "detail": outcome.detail}
            return {**self.row, **told}
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
    delivery: Delivery, *, plan: str, found_at: int, bases: str, lines: Sequence[Runs] | None = None
) -> dict[str, Any]:
    """Give a delivery's first row in the ledger, save its number: planned, or refused at once."""
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
