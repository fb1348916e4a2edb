"""Plays a story on a lake and returns the reference's kind of rows.

Law: how deliveries are grouped into epochs and committed together, how often the whole state is
written, how the streams are shared out and what runs the tasks are arguments here, and none of them
may change a row.
"""

import json
import uuid
from collections.abc import Collection, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from fencepost.order import OrderRules
from fencepost.reference import FeedDelivery, JoinRegistration, Registration, RunResult
from fencepost.reference.order import Arrival, Head, Sighting
from fencepost.reference.transitions import PendingEvent
from fencepost.times import to_microseconds
from pipelines.epochs.drive import Lake, arrivals_of, chain_of
from pipelines.execute import job
from pipelines.execute.logs import AsOf, newest
from pipelines.lake.append import append_once
from pipelines.lake.buckets import MIXED, buckets_of
from pipelines.lake.evidence import Evidence
from pipelines.lake.sequence import conclude, take_numbers
from pipelines.planning.chain import Chain
from pipelines.planning.plan import Limits
from pipelines.planning.rules import SEQUENCE_KEY, as_json, unrecorded
from pipelines.registry.queries import newest_version, rows_of_each, standing
from pipelines.spark.runner import HereRunner, Runner
from schemas.arrivals import DONE, PLANNED
from schemas.tuples import SEQUENCE
from tests.support.lakes.builder import evaluate, new_lake, settings_of
from tests.support.oracles.oracles import event_rows, match_rows, transition_rows
from tests.support.stories.strategies import FEED, Story

KEY = "2026-01-01"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class LakeWay:
    """A way to play a story on a lake.

    at_once   deliveries that have arrived before each advance; None: all of them
    tasks     how many shares the streams are parted into
    """

    at_once: int | None = 1
    limits: Limits = field(default_factory=Limits)
    tasks: int = 1
    buckets: int = 4
    small_files: bool = True


def lake_of(
    root: Path,
    story: Story,
    way: LakeWay = LakeWay(),
    runner: Runner | None = None,
    payload: tuple[tuple[str, str], ...] = (),
) -> Lake:
    """Make a lake for a story, with nothing in it."""
    seen = [s for item in story.script if isinstance(item, FeedDelivery) for s in item.tuples]
    own = {"allowed_lateness": story.lateness, "payload": payload}
    options = {FEED: {**own, **sequence_options(seen)}}
    settings = settings_of(root, {FEED: story.axes}, options, way.buckets)
    return new_lake(settings, runner, way.limits)


def sequence_options(seen: Sequence[Sighting]) -> dict[str, str]:
    """Declare the sequence that tuples have, if they have one."""
    sequence = next((each.sequence for each in seen if each.sequence is not None), None)
    if sequence is None:
        return {}
    kind = "text" if isinstance(sequence, str) else "integer"
    return {"sequence_column": SEQUENCE, "sequence_is": kind}


def play(
    lake: Lake, story: Story, way: LakeWay = LakeWay(), rules: Sequence[OrderRules] = ()
) -> RunResult:
    """Let a story happen on a lake, and gather all that it leads to.

    `rules` are what the deliveries are judged by in turn, if they are not those of the story.
    """
    arrived = 0
    with shared_out(way):
        for item in story.script:
            if isinstance(item, Registration):
                register(lake, item)
                continue
            own = rules[arrived % len(rules)] if rules else _recorded(story, arrived)
            deliver(lake, item, rules=own)
            arrived += 1
            if way.at_once is not None and arrived % way.at_once == 0:
                evaluate(lake, FEED)
        evaluate(lake, FEED)
    return gathered(lake)


def _recorded(story: Story, arrived: int) -> OrderRules | None:
    """Leave every third delivery unrecorded, as older versions did, if that means the same."""
    old = story.rules == unrecorded(story.lateness) and arrived % 3 == 0
    return None if old else story.rules


@contextmanager
def shared_out(way: LakeWay) -> Any:
    """Part even a handful of tuples into tasks and files."""
    rows = 0 if way.tasks > 1 else job.ONE_TASK
    with (
        mock.patch.object(job, "ONE_TASK", rows - 1),
        mock.patch.object(HereRunner, "slots", way.tasks),
        mock.patch("pipelines.execute.write.FEW", 200_000 if way.small_files else 0),
        mock.patch("pipelines.execute.write.PIECE", 1 << 21 if way.small_files else 3),
    ):
        yield


def deliver(
    lake: Lake,
    delivery: FeedDelivery,
    key: str = KEY,
    feed: str = FEED,
    gone: Collection[int] = (),
    rules: OrderRules | None = None,
) -> int:
    """Load a delivery, as ingest would; return its number. Rows in `gone` are marked deleted.

    `rules` are recorded as those that it is judged by.
    """
    store, plan = lake.store, uuid.uuid4().hex
    more = {"lane": feed, "declared": rules and json.dumps(_declared(delivery, rules))}
    planned = take_numbers(
        store,
        PLANNED,
        plan,
        feed,
        lambda n: store.as_table("arrivals", [{**_arrival(n, plan, key), **more}]),
    ).to_pylist()[0]
    rows = tuples_of(lake, delivery, planned["n"], feed, gone)
    evidence = Evidence("ingest", plan, feed, planned["n"], planned["n"], 0, rows.num_rows, 0)
    if rows.num_rows:
        append_once(store, feed, evidence, lambda: store.write(feed, rows), 0)
    latest = max((seen.ts for seen in delivery.tuples), default=None)
    told = {"rows": len(rows), "tuples": len(rows), "malformed": 0, "future": 0}
    conclude(store, plan, feed, [{**planned, "state": DONE, **told, "max_ts": latest}], 0)
    return int(planned["n"])


def _declared(delivery: FeedDelivery, rules: OrderRules) -> dict[str, Any]:
    sequenced = any(seen.sequence is not None for seen in delivery.tuples)
    return {**as_json(rules), **({SEQUENCE_KEY: SEQUENCE} if sequenced else {})}


def _arrival(n: int, plan: str, key: str) -> dict[str, Any]:
    return {
        "n": n,
        "lane": FEED,
        "kind": "delivery",
        "state": PLANNED,
        "plan": plan,
        "path": f"{n}.csv",
        "files": [f"{n}.csv"],
        "content": str(n),
        "partition_key": key,
        "found_at": NOW,
        "bases": "{}",
    }


def tuples_of(
    lake: Lake, delivery: FeedDelivery, n: int, feed: str = FEED, gone: Collection[int] = ()
) -> pa.Table:
    """Return the tuples of a delivery as rows of the feed's table, sometimes parted by bucket."""
    table = lake.settings.tables[feed]
    count = len(delivery.tuples)
    names = pa.array([seen.stream for seen in delivery.tuples], pa.string())
    whole = n % 2 == 0
    bucket = np.full(count, MIXED) if whole else buckets_of(names, lake.store.buckets)
    values = np.array([seen.values for seen in delivery.tuples], float)
    values = values.reshape(-1, len(lake.settings.axes[feed])).T + 0.0
    columns = {
        "stream_id": names,
        "ts": pa.array([seen.ts for seen in delivery.tuples], pa.timestamp("us", "UTC")),
        **dict(zip(lake.settings.axes[feed], map(pa.array, values), strict=True)),
        "arrival": pa.array([n] * count, pa.int64()),
        "file": pa.array([0] * count, pa.int32()),
        "line": pa.array(range(1, count + 1), pa.int64()),
        "bucket": pa.array(bucket, pa.int32()),
        "deleted": pa.array([True if row in gone else None for row in range(count)], pa.bool_()),
    }
    if SEQUENCE in table.arrow.names:
        given = [seen.sequence for seen in delivery.tuples]
        columns[SEQUENCE] = pa.array(given, table.arrow.field(SEQUENCE).type)
    for name in lake.settings.columns[feed].payload_columns:
        columns[name] = pa.array([f"{n}, {row}" for row in range(1, count + 1)], pa.string())
    return pa.table(columns, schema=table.arrow)


def register(lake: Lake, registration: Registration | JoinRegistration) -> None:
    """Make the registry what a registration says, with its very versions."""
    store, plan = lake.store, uuid.uuid4().hex
    known = {
        row["id"]: row
        for row in sorted(store.rows("queries").to_pylist(), key=lambda row: row["n"])
    }
    standing = {name: row for name, row in known.items() if not row["removed"]}
    wanted = {query.id: query for query in registration.queries}
    fresh = [
        query
        for query in registration.queries
        if query.id not in standing or standing[query.id]["version"] != query.version
    ]
    version = newest_version(store) + 1
    gone = [{**row, "removed": True} for name, row in standing.items() if name not in wanted]
    new = [
        {**row, "version": query.version, "removed": False}
        for row, query in zip(rows_of_each(fresh).to_pylist() if fresh else [], fresh, strict=True)
    ]
    row = {"kind": "registry", "lane": "queries", "registry_version": version, "partition_key": ""}
    planned = take_numbers(
        store,
        PLANNED,
        plan,
        "queries",
        lambda n: store.as_table("arrivals", [{**_arrival(n, plan, ""), **row}]),
    ).to_pylist()[0]
    n = planned["n"]
    rows = [{**row, "n": n, "registry_version": version} for row in [*gone, *new]]
    if rows:
        evidence = Evidence("registry", plan, "queries", n, n, 0, len(rows), 0)
        append_once(store, "queries", evidence, lambda: store.write_rows("queries", rows), 0)
    conclude(store, plan, "queries", [{**planned, "state": DONE}], 0)


def gathered(lake: Lake, lane: str = FEED) -> RunResult:
    """Read what a lake says, of epochs that are done, as the reference would."""
    chain = chain_of(lake.store, lane)
    assert not chain.open
    axes = lake.settings.axes[lane]
    numbers = [d.n for d in arrivals_of(lake.store).deliveries(lane)]
    place = {n: k for k, n in enumerate(numbers)}
    rows = RunResult()
    rows.events = event_rows(_found(lake, chain, "events", place), axes)
    rows.transitions = transition_rows(_found(lake, chain, "transitions", place))
    rows.matches = match_rows(_found(lake, chain, "matches", place))
    rows.rejected = [
        (place[row["arrival"]], row["line"] - 1, row["reason"])
        for row in _in_force(lake.store.rows("quarantine"), chain).to_pylist()
    ]
    as_of = AsOf(tuple(chain.eras), chain.snapshot)
    rows.heads = {
        row["stream_id"]: Head(
            _us(row["ts"]),
            tuple(row[axis] for axis in axes),
            row["ts_place"],
            row["sequence"],
        )
        for row in log(lake, "stream_state", as_of)
    }
    rows.waiting = [
        Arrival(
            _us(row["ts"]),
            0,
            0,
            Sighting(
                row["stream_id"],
                _us(row["ts"]),
                tuple(row[axis] for axis in axes),
                _typed(lake, lane, row["sequence"]),
            ),
        )
        for row in log(lake, "reorder", as_of)
    ]
    stands = {
        (row["id"], row["version"]) for row in standing(lake.store).to_pylist()
    }  # a registration that nothing follows drops what pends when the next epoch comes
    rows.pending = [
        PendingEvent(
            row["query_id"],
            row["query_version"],
            row["stream_id"],
            row["type"],
            _us(row["ts"]),
            row["place"],
        )
        for row in log(lake, "pending", as_of)
        if (row["query_id"], row["query_version"]) in stands
    ]
    rows.watermark = chain.watermark
    return rows


def _typed(lake: Lake, lane: str, sequence: str | None) -> int | str | None:
    """Give a sequence, which logs have as text, the type that the feed declares."""
    is_text = lake.settings.feeds[lane].sequence_is == "text"
    return sequence if is_text or sequence is None else int(sequence)


def log(lake: Lake, name: str, as_of: AsOf) -> list[dict[str, Any]]:
    """Read a log as of an epoch."""
    rows: list[dict[str, Any]] = newest(
        as_of.counting(lake.store.rows(name)), lake.store.tables[name].key
    ).to_pylist()
    return rows


def _us(instant: datetime) -> int:
    us = to_microseconds(instant)
    assert us is not None
    return us


def _in_force(rows: pa.Table, chain: Chain) -> pa.Table:
    force = {(epoch.epoch, epoch.generation) for epoch in chain.epochs}
    pairs = zip(rows["epoch"].to_pylist(), rows["generation"].to_pylist(), strict=True)
    return rows.filter(pa.array([pair in force for pair in pairs], pa.bool_()))


def _found(lake: Lake, chain: Chain, name: str, place: dict[int, int]) -> pa.Table:
    """Return the rows of a table in the form of the engine's."""
    rows = _in_force(lake.store.rows(name), chain)
    for column in ("ts", "prev_ts", "from_ts", "to_ts"):
        if column in rows.column_names:
            at = rows.column_names.index(column)
            rows = rows.set_column(at, column, rows[column].cast(pa.int64()))
    delivery: Sequence[int] = [place[n] for n in rows["arrival"].to_pylist()]
    return rows.append_column("delivery", pa.array(delivery, pa.int64()))
