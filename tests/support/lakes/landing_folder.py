"""Landing folders for the tests: real files with the times they need, and the ledger of looks."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from fencepost.times import DAY, parse_instant
from pipelines.ingest.landing import Known, LandedDelivery, Looked, Refusal
from pipelines.project.settings import Feed
from schemas import all_tables
from tests.support.lakes import builder

NOON = parse_instant("2026-11-18T12:00:00Z")
LONG_AGO = NOON - DAY
ARRIVALS = all_tables({})["arrivals"].arrow


def land(feed: Feed, name: str, content: str | bytes | None = None, at: int = LONG_AGO) -> Path:
    """Write a file, last changed at a time, as the folders above it; it holds its own name."""
    return builder.land(feed, name, name if content is None else content, at)


def ledger(*batches: Sequence[LandedDelivery], state: str = "done", first: int = 1) -> pa.Table:
    """The ledger once deliveries were planned, and then done; refusals are refused."""
    rows: list[dict[str, Any]] = []
    for n, delivery in enumerate((d for batch in batches for d in batch), first):
        row = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(delivery).items()}
        row |= {"n": n, "lane": row.pop("feed"), "kind": "delivery", "plan": "p", "bases": "{}"}
        row |= {"found_at": NOON}
        if isinstance(delivery, Refusal):
            rows.append(row | {"state": "refused"})
        else:
            rows += [row | {"state": "planned"}, *([row | {"state": state}] * (state != "planned"))]
    other = {"lane": "queries", "kind": "registry", "state": "done", "n": 99, "content": ""}
    rows.append(dict.fromkeys(("plan", "path", "partition_key"), "") | {"bases": "{}"} | other)
    for row in rows:
        row.setdefault("found_at", NOON)
    return pa.Table.from_pylist(rows, ARRIVALS)


def known(feed: Feed, *looks: Looked, state: str = "done") -> Known:
    """What is known after looks, one after the other, were loaded and refused as they said."""
    return Known.of(ledger(*([*one.found, *one.refused] for one in looks), state=state), feed.name)


def paths(deliveries: Sequence[LandedDelivery]) -> list[tuple[str, ...]]:
    return [delivery.files for delivery in deliveries]


def refusals(looked: Looked) -> list[tuple[tuple[str, ...], str]]:
    return [(refusal.files, refusal.reason) for refusal in looked.refused]
