"""A registration: a number is assigned, rows are written, and it is done; or nothing happened.

    arrivals: planned ──▶ queries: the rows, with their evidence ──▶ arrivals: done

Law: a registry commit counts whole or not at all, from its number on. Ended at any point, `recover`
settles it: with evidence in `queries` it is done, anything else refused. A version that was
refused is not assigned again. If removal is by a rule (all that a file does not name, all of an
owner), what is removed is what was agreed to, or nothing is.
"""

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import Fault, Faults, InputError, LakeError
from fencepost.row_hashes import content_hash
from fencepost.text import did_you_mean, escaped
from pipelines.lake.append import append_once
from pipelines.lake.crash_points import point
from pipelines.lake.evidence import Evidence
from pipelines.lake.sequence import ARRIVALS, conclude, take_numbers
from pipelines.lake.store import Store
from pipelines.planning.deliveries import Arrivals
from pipelines.project.lake import PATIENCE, open_to_write
from pipelines.project.settings import Settings
from pipelines.registry.changes import (
    Compared,
    QueryChanges,
    by_feed_and_id,
    compare,
    not_named,
    places,
)
from pipelines.registry.queries import DEFINITION, QUERIES, newest, newest_version, standing
from schemas.arrivals import DONE, PLANNED, REFUSED, REGISTRY

LISTS = ("lo", "hi", "tests", "streams", "streams_like", "tags", "wkb", "region_on")
"""Columns that the hash of a commit leaves out: they would cost more than all the others."""

ABANDONED = "abandoned"


@dataclass(frozen=True)
class Registered:
    """The outcome of a registration; without a change there is no number, and the version stays."""

    n: int | None
    registry_version: int
    added: int
    changed: int
    edited: int
    unchanged: int
    removed: int


def register(store: Store, settings: Settings, changes: QueryChanges, now: int) -> Registered:
    """Register queries; the caller has locked the lake and recovered it. `now` is in µs.

    (Measured) a million queries given where a million are active: 2 s from here to the end.
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
    """Settle the registry commits that were planned and not concluded; at most one exists."""
    open_plans = store.fold(ARRIVALS, Arrivals).planned.values()
    for planned in [row for row in open_plans if row["kind"] == REGISTRY]:
        since = json.loads(planned["bases"])[QUERIES]
        found = {evidence.key for evidence in store.evidence(QUERIES, since)}
        if (REGISTRY, planned["plan"]) in found:
            _conclude(store, planned, state=DONE)
        else:
            detail = "it ended before its queries were written; nothing was registered"
            _conclude(store, planned, state=REFUSED, reason=ABANDONED, detail=detail)


def _planned(
    store: Store, n: int, plan: str, compared_with: int, content: int, now: int
) -> pa.Table:
    arrivals = store.fold(ARRIVALS, Arrivals)
    begun = any(row["kind"] == REGISTRY for row in arrivals.planned.values())
    if begun or arrivals.registry_version != compared_with:
        raise LakeError(
            "somebody else registered queries at the same time; nothing was registered. Run again."
        )
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
        "registry_version": arrivals.newest_planned_version + 1,
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


NOTHING_REMOVED = "nothing removed"
MOST_GUESSED = 10_000
"""Of more ids than these the nearest is not looked for: it would take seconds."""

Gone = Callable[[Store], pa.StringArray]
Agree = Callable[[int], None]


def change(
    settings: Settings, command: str, given: pa.Table, gone: Gone, agree: Agree | None = None
) -> Registered:
    """Register queries and remove those that `gone` names; `agree` comes first, and may raise.

    The lake is not locked meanwhile.
    """
    agreed: pa.StringArray | None = None
    if agree is not None:
        agreed = gone(Store.to_read(settings.root, settings.tables))
        if len(agreed):
            agree(len(agreed))
    with open_to_write(settings, command, PATIENCE, recover=recover) as (store, _):
        ids = gone(store)
        if agreed is not None and set(ids.to_pylist()) != set(agreed.to_pylist()):
            raise InputError("the queries changed while you were asked: nothing done")
        return register(store, settings, QueryChanges(given, ids), time.time_ns() // 1000)


def put(settings: Settings, command: str, given: pa.Table) -> Registered:
    """Register queries; the others stay."""
    return change(settings, command, given, lambda _: pa.array([], pa.string()))


def replace(
    settings: Settings, command: str, given: pa.Table, feed: str | None, agree: Agree | None
) -> Registered:
    """Register queries, and remove all others, or all others of a feed."""
    return change(
        settings, command, given, lambda store: not_named(standing(store), given, feed), agree
    )


def remove(settings: Settings, command: str, ids: Sequence[tuple[Fault, str]]) -> Registered:
    """Remove queries by their ids; an id's fault says where it was given."""
    wanted = pa.chunked_array([pa.array([query_id for _, query_id in ids], pa.string())])
    distinct = wanted.unique()

    def gone(store: Store) -> pa.StringArray:
        there = standing(store)["id"]
        missing = pc.is_in(wanted, value_set=distinct.filter(_absent(distinct, there)))
        faults = [
            _unknown(fault, query_id, there)
            for (fault, query_id), absent in zip(ids, missing.to_pylist(), strict=True)
            if absent
        ]
        if faults:
            raise Faults(faults, NOTHING_REMOVED)
        return distinct

    return change(settings, command, DEFINITION.empty_table(), gone)


def remove_owned(settings: Settings, command: str, owner: str, agree: Agree | None) -> Registered:
    """Remove all queries of an owner."""

    def gone(store: Store) -> pa.StringArray:
        queries = standing(store)
        mine = pc.fill_null(pc.equal(queries["owner"], owner), False)
        if not pc.any(mine).as_py():
            raise InputError(f"no query is owned by '{escaped(owner)}': {NOTHING_REMOVED}")
        return queries["id"].filter(mine).combine_chunks()

    return change(settings, command, DEFINITION.empty_table(), gone, agree)


def ids_in(file: Path) -> list[tuple[Fault, str]]:
    """Read ids from a file, one per line; Faults if it is not text."""
    try:
        lines = file.read_bytes().decode("utf-8-sig").split("\n")
    except OSError as why:
        raise Faults(
            [Fault(str(file), f"cannot be read: {why.strerror}")], NOTHING_REMOVED
        ) from None
    except UnicodeDecodeError:
        raise Faults([Fault(str(file), "is not UTF-8")], NOTHING_REMOVED) from None
    ids = [(Fault(str(file), "", place), line.rstrip("\r")) for place, line in enumerate(lines, 1)]
    return [(fault, query_id) for fault, query_id in ids if query_id]


def unknown_id(query_id: str, there: pa.ChunkedArray) -> str:
    """Make the fault of an unknown id, with a similar one if any."""
    near = did_you_mean(query_id, there.to_pylist()) if len(there) <= MOST_GUESSED else ""
    return f"no active query '{escaped(query_id)}'.{escaped(near)}"


def _absent(ids: pa.StringArray, there: pa.ChunkedArray) -> pa.BooleanArray:
    return pa.array(places(pa.chunked_array([ids]), there) < 0)


def _unknown(fault: Fault, query_id: str, there: pa.ChunkedArray) -> Fault:
    return Fault(fault.source, unknown_id(query_id, there), fault.line)
