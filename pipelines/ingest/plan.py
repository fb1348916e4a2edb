"""Deliveries get their numbers: planned in the ledger before a row of them is read.

Law: those found together are numbered by path, bytewise, whatever feed they belong to and however
many plans they make. A refusal has its number like every delivery.
"""

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipelines.ingest.deliveries import Planned, Runs, first_row
from pipelines.ingest.execute import carry_out
from pipelines.ingest.landing import Delivery, Refusal
from pipelines.ingest.outcome import Outcome, Turned
from pipelines.ingest.report import IngestReport
from pipelines.lake.crash_points import point
from pipelines.lake.sequence import ARRIVALS, take_numbers
from pipelines.lake.store import Store
from pipelines.project.settings import Settings
from pipelines.spark.runner import Runner
from schemas.arrivals import PLANNED, REFUSED

MOST_BYTES = 1 << 30
MOST_DELIVERIES = 5_000
"""How much a plan holds, a single larger delivery aside: what a crash can cost."""


@dataclass(frozen=True)
class Wanted:
    """A delivery that is to have a number; `lines` are the rows of each file, None: all."""

    delivery: Delivery
    lines: Sequence[Runs] | None = None

    @property
    def size(self) -> int:
        """Bytes that are to be read."""
        return 0 if isinstance(self.delivery, Refusal) else sum(self.delivery.sizes)


def take_all(
    store: Store,
    settings: Settings,
    runner: Runner,
    wanted: Sequence[Wanted],
    now: int,
    report: IngestReport,
) -> None:
    """Plan deliveries and carry the plans out, one after the other; `now` is when they were found.

    The report is told what became of each, after each plan.
    """
    ordered = sorted(wanted, key=lambda each: (each.delivery.path.encode(), each.delivery.feed))
    total, done = sum(each.size for each in wanted), 0
    for some in _bounded(ordered):
        rows = _number(store, some, now)
        point("ingest.planned")
        report.add_all(_refused(rows))
        planned = [row for row in rows if row.row["state"] == PLANNED]
        if planned:
            report.add_all(carry_out(store, settings, runner, planned))
        done += sum(each.size for each in some)
        report.reach(done / total if total else 1.0)
    report.reach(1.0)


def _refused(rows: Iterable[Planned]) -> Iterator[tuple[Planned, Outcome]]:
    for each in rows:
        if each.row["state"] == REFUSED:
            why = Turned(each.row["reason"], each.row["detail"])
            yield each, Outcome.refused(each.n, why)


def _bounded(wanted: Sequence[Wanted]) -> Iterator[list[Wanted]]:
    some: list[Wanted] = []
    size = 0
    for each in wanted:
        if some and (size + each.size > MOST_BYTES or len(some) == MOST_DELIVERIES):
            yield some
            some, size = [], 0
        some.append(each)
        size += each.size
    if some:
        yield some


def _number(store: Store, wanted: Sequence[Wanted], now: int) -> list[Planned]:
    plan = uuid.uuid4().hex
    feeds = sorted({each.delivery.feed for each in wanted})
    bases = json.dumps({name: store.version(name) for name in (ARRIVALS, "quarantine", *feeds)})
    rows = [
        first_row(each.delivery, plan=plan, found_at=now, bases=bases, lines=each.lines)
        for each in wanted
    ]

    def numbered(first: int) -> pa.Table:
        return store.as_table(ARRIVALS, [{**row, "n": first + k} for k, row in enumerate(rows)])

    planned = take_numbers(store, "plan", plan, ",".join(feeds), numbered)
    return [Planned(row) for row in planned.to_pylist()]
