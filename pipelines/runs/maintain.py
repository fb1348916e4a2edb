"""Small files compacted, obsolete rows removed, old files deleted.

All of it is done under the lake's lock, and changes no row that any view shows.

Law: a state as of the horizon or later can always be read; before it, re-evaluation is refused with
a message.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from deltalake import DeltaTable

from fencepost.row_hashes import content_hash
from pipelines.epochs.drive import chain_of, code_version
from pipelines.lake.append import append_once
from pipelines.lake.crash_points import point
from pipelines.lake.evidence import Evidence
from pipelines.lake.obsolete import Obsolete
from pipelines.lake.store import Store
from pipelines.lake.vacuum import vacuum
from pipelines.lanes import Lane, lanes_of
from pipelines.planning.chain import EPOCHS, Chain
from pipelines.progress import Progress, no_progress
from pipelines.project.settings import Settings
from pipelines.registry.queries import newest_version
from pipelines.registry.set_files import forget_old
from pipelines.runs.compact import compact
from schemas import Table
from schemas.epochs import HORIZON

SETS_KEPT = 3
FILE_BYTES = 128 * 1024 * 1024


@dataclass
class Maintained:
    """The outcome: files before and after by table, obsolete rows and files deleted, horizons."""

    compacted: dict[str, tuple[int, int]] = field(default_factory=dict)
    deleted_rows: dict[str, int] = field(default_factory=dict)
    deleted: int = 0
    horizons: dict[str, int] = field(default_factory=dict)


def maintain(
    store: Store,
    settings: Settings,
    *,
    keep_states: int = 10,
    keep_files: timedelta = timedelta(days=7),
    progress: Progress = no_progress,
) -> Maintained:
    """Run all maintenance; the caller holds the lock and has recovered the lake.

    The last `keep_states` snapshots of the state are kept: re-evaluation can go back that far.
    `keep_files` is how long a file that is no longer needed stays for readers that still use it.
    """
    done = Maintained()
    for lane in lanes_of(store, settings):
        progress(f"{lane}: deleting obsolete rows", 0.0)
        _raise_horizon(store, lane, keep_states, done)
        _take_out(store, lane, done)
    _forget_old_sets(store, done)
    for place, (name, table) in enumerate(store.tables.items()):
        progress(f"{name}: compacting files", place / len(store.tables))
        before = len(store.files(name))
        if store.log(name).is_plain:
            compact(store, name)
        elif before > 1:
            store.rewrite(name, partial(_compacted, by=table.clustered_by))
        point(f"maintain.{name}")
        after = len(store.files(name))
        if after != before:
            done.compacted[name] = (before, after)
        done.deleted += vacuum(store, name, keep_files)
        store.delta(name).create_checkpoint()
    from pipelines.serve import marts  # this imports DuckDB

    done.deleted += marts.tidy(store.root, keep_files)
    return done


def _compacted(delta: DeltaTable, by: Sequence[str]) -> None:
    """Let delta-rs arrange a table with features that our own commits do not support."""
    if by:
        delta.optimize.z_order(by, target_size=FILE_BYTES)
    else:
        delta.optimize.compact(target_size=FILE_BYTES)


def _raise_horizon(store: Store, lane: Lane, keep: int, done: Maintained) -> None:
    """Record in the ledger that states before the oldest snapshot kept are gone; delete them."""
    chain = chain_of(store, lane.name)
    snapshots = [epoch.epoch for epoch in chain.epochs if epoch.snapshot and epoch.done]
    if len(snapshots) > keep and snapshots[-keep] > chain.horizon:
        horizon = snapshots[-keep]
        _write_horizon(store, chain, horizon)
        point("maintain.horizon")
        chain = chain_of(store, lane.name)
    done.horizons[lane.name] = chain.horizon
    if chain.horizon:
        for log in lane.logs:
            _delete(store, log, Obsolete(lane.name, before=chain.horizon), done)


def _write_horizon(store: Store, chain: Chain, horizon: int) -> None:
    row = {
        **chain.epochs[horizon - 1].as_row(HORIZON, datetime.now(UTC)),
        "plan": uuid.uuid4().hex,
        "code": code_version(),
    }
    rows = store.as_table(EPOCHS, [row])
    evidence = Evidence(
        HORIZON, row["plan"], chain.lane, horizon, horizon, 0, 1, content_hash(rows)
    )
    since = store.version(EPOCHS)
    append_once(store, EPOCHS, evidence, lambda: store.write(EPOCHS, rows), since)


def _take_out(store: Store, lane: Lane, done: Maintained) -> None:
    """Remove the rows of epochs that were re-evaluated since, where no commit of ours could."""
    chain = chain_of(store, lane.name)
    for newer, first, _ in chain.eras[1:]:
        for table in lane.tables:
            _delete(store, table, Obsolete(lane.name, since=first, below=newer), done)


def _forget_old_sets(store: Store, done: Maintained) -> None:
    """Delete the files of query sets except the newest few; they are rebuilt on demand."""
    newest = newest_version(store)
    done.deleted += forget_old(store.root, newest - SETS_KEPT)


def _delete(store: Store, table: Table, rows: Obsolete, done: Maintained) -> None:
    """Delete rows that no longer count."""
    if store.log(table.name).is_plain:
        gone = store.remove(table.name, rows)
    else:
        where = rows.condition(table)
        gone = int(store.rewrite(table.name, lambda delta: delta.delete(where))["num_deleted_rows"])
    if gone:
        done.deleted_rows[table.name] = done.deleted_rows.get(table.name, 0) + gone
