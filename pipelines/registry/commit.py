"""A registration: it takes its number, its rows are written, it is done. Or nothing happened.

    arrivals: planned ──▶ queries: the rows, with their evidence ──▶ arrivals: done

Law: a registry commit holds whole or not at all, from its number on. Ended at any point, `recover`
settles it: what has its evidence in `queries` is done, anything else refused. A version that was
refused is not given again.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fencepost.errors import LakeError
from pipelines.lake.append import append_once
from pipelines.lake.crash_points import point
from pipelines.lake.data_files import content_hash
from pipelines.lake.evidence import Evidence
from pipelines.lake.sequence import ARRIVALS, conclude, take_numbers
from pipelines.lake.store import Store
from pipelines.planning.deliveries import Arrivals
from pipelines.project.settings import Settings
from pipelines.registry.changes import Changes, Compared, by_feed_and_id, compare
from pipelines.registry.queries import QUERIES, newest, newest_version
from schemas.arrivals import DONE, PLANNED, REFUSED, REGISTRY

LISTS = ("lo", "hi", "tests", "streams", "tags")
"""Columns that the hash of a commit leaves out: they would cost more than all the others."""

ABANDONED = "abandoned"


@dataclass(frozen=True)
class Registered:
    """What a registration did; without a change it has no number, and the version is the old."""

    n: int | None
    registry_version: int
    added: int
    changed: int
    edited: int
    unchanged: int
    removed: int


def register(store: Store, settings: Settings, changes: Changes, now: int) -> Registered:
    """Register what was given; the caller holds the lake and has recovered it. `now` is in µs.

    (Measured) a million queries given to a million standing ones: 2 s from here to the end.
    """
    version = newest_version(store)
    compared = compare(newest(store), changes, settings.axes)
    if compared.rows.num_rows == 0:
        return _registered(None, version, compared)
    rows = by_feed_and_id(compared.rows)
    plan = f"{REGISTRY}-{uuid.uuid4().hex}"
    content = content_hash(rows, LISTS)
    planned = take_numbers(
        store, PLANNED, plan, QUERIES, lambda n: _planned(store, n, plan, version, content, now)
    ).to_pylist()[0]
    point("registry.planned")
    _append(store, planned, rows, content)
    point("registry.appended")
    _conclude(store, planned, state=DONE)
    point("registry.done")
    return _registered(planned["n"], planned["registry_version"], compared)


def recover(store: Store) -> None:
    """Settle the registry commits that were planned and not concluded; there is one at most."""
    open_plans = store.fold(ARRIVALS, Arrivals).planned.values()
    for planned in [row for row in open_plans if row["kind"] == REGISTRY]:
        since = json.loads(planned["bases"])[QUERIES]
        found = {evidence.key for evidence in store.evidence(QUERIES, since)}
        if (REGISTRY, planned["plan"]) in found:
            _conclude(store, planned, state=DONE)
        else:
            detail = "it ended before its queries were written; nothing of it holds"
            _conclude(store, planned, state=REFUSED, reason=ABANDONED, detail=detail)


def _planned(
    store: Store, n: int, plan: str, compared_with: int, content: int, now: int
) -> pa.Table:
    if newest_version(store) != compared_with:
        raise LakeError(
            "somebody else registered queries at the same time; nothing was registered. Run again."
        )
    taken = store.fold(ARRIVALS, Arrivals).newest_planned_version
    row = {
        "n": n,
        "lane": QUERIES,
        "kind": REGISTRY,
        "state": PLANNED,
        "plan": plan,
        "path": "",
        "content": f"{content:016x}",
        "partition_key": "",
        "found_at": now,
        "bases": json.dumps({name: store.version(name) for name in (ARRIVALS, QUERIES)}),
        "registry_version": taken + 1,
    }
    return store.as_table(ARRIVALS, [row])


def _append(store: Store, planned: Mapping[str, Any], rows: pa.Table, content: int) -> None:
    n, count = planned["n"], rows.num_rows
    evidence = Evidence(REGISTRY, planned["plan"], QUERIES, n, n, 0, count, content)
    numbered = rows
    for name in ("n", "registry_version"):
        number = pa.repeat(pa.scalar(planned[name], pa.int64()), count)
        numbered = numbered.append_column(name, number)
    since = json.loads(planned["bases"])[QUERIES]
    append_once(store, QUERIES, evidence, lambda: store.write(QUERIES, numbered), since)


def _conclude(store: Store, planned: Mapping[str, Any], **what: str) -> None:
    since = json.loads(planned["bases"])[ARRIVALS]
    conclude(store, planned["plan"], QUERIES, [{**planned, **what}], since)


def _registered(n: int | None, version: int, compared: Compared) -> Registered:
    return Registered(
        n,
        version,
        compared.added,
        compared.changed,
        compared.edited,
        compared.unchanged,
        compared.removed,
    )
