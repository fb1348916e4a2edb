"""What a run tidies in passing, so that no epoch pays for earlier ones.

Small files of a table are compacted, those of similar size: so a row is rewritten as often as
the logarithm of all rows. Every few commits a checkpoint is written; commits before it that are
older than `keep_history` are deleted, with the files whose rows they moved elsewhere.

Law: no row changes. The files of every version still in the log exist; a commit that may be
evidence for unfinished work is kept. The caller holds the lock. Interrupted at any point, it
leaves a lake that is merely less tidy.
"""

import json
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from fencepost.times import SECOND
from pipelines.epochs.drive import arrivals_of, chains_of
from pipelines.execute.write import in_table_order
from pipelines.lake import layout
from pipelines.lake.append import Conflict
from pipelines.lake.crash_points import point
from pipelines.lake.data_files import DataFile
from pipelines.lake.log import FRESH, replaced_by
from pipelines.lake.store import Store
from pipelines.places import Place, is_remote, listed
from schemas import Table

FAN = 16
"""So many files of like size become one."""
SMALL, LARGEST = 8 << 20, 64 << 20
"""Bytes: of a file that is still put together with others; of what is put together at once."""
CHECKPOINT_EVERY = 100
"""Commits between two checkpoints."""

YOUNGEST_ON_STORES = int(2 * FRESH * SECOND)
"""µs that every commit on a store stays: whoever read the log so lately need not look again."""

RETENTION = "delta.deletedFileRetentionDuration"

Group = tuple[object, ...]


def tidy(store: Store, keep_history: int) -> None:
    """Do what is due; `keep_history` in µs. 10 µs a table to which nothing was committed.

    On a store a table that this process did not use costs no request.
    """
    snapshots: Mapping[str, int] | None = None
    for name in store.tables:
        if not store.is_used(name) or store.tidied.get(name) == store.version(name):
            continue
        if snapshots is None:
            snapshots = {lane: chain.snapshot for lane, chain in chains_of(store).items()}
        while merged := [*_due(store.tables[name], store.files(name), snapshots)]:
            if not all(_put_together(store, name, files) for files in merged):
                break
        version = store.version(name)
        if (
            version >= CHECKPOINT_EVERY - 1
            and version - layout.checkpointed(store.folder(name)) >= CHECKPOINT_EVERY
        ):
            _checkpoint(store, name, keep_history)
            _clean(store, name, keep_history)
        store.tidied[name] = store.version(name)


def _due(
    table: Table, files: Sequence[DataFile], snapshots: Mapping[str, int]
) -> Iterator[list[DataFile]]:
    """Find files to compact: many of a group, of similar size."""
    tiers: dict[Group, list[DataFile]] = defaultdict(list)
    for file in files:
        if file.size < SMALL:
            tier = int(math.log(max(file.rows, 1), FAN))
            tiers[*group_of(table, file, snapshots), tier].append(file)
    for alike in tiers.values():
        if len(alike) >= FAN:
            total = 0
            some: list[DataFile] = []
            for file in alike:
                if some and total + file.size > LARGEST:
                    break
                some.append(file)
                total += file.size
            if len(some) > 1:
                yield some


def group_of(table: Table, file: DataFile, snapshots: Mapping[str, int]) -> Group:
    """Name the group of files that a file may be compacted with.

    Those of a log that precede the last snapshot are no longer read, and stay apart from those
    that every epoch reads. So do generations, and rows without an epoch: what a later one replaces
    is then in files of its own.
    """
    lane = file.least("lane") if file.least("lane") == file.most("lane") else None
    lane = str(lane or file.partition.get("feed"))
    before = None
    if table.role == "log" and lane in snapshots:
        before = (file.most("epoch") or 0) < snapshots[lane]
    generations = file.least("generation"), file.most("generation")
    return (*file.partition.values(), lane, before, *generations)


def _put_together(store: Store, name: str, files: Sequence[DataFile]) -> bool:
    """Write the rows of some files into one, and commit it in their place; say whether it was."""
    table = store.tables[name]
    at = store.version(name)
    rows = pa.concat_tables([store.read(name, file) for file in files])
    if table.sorted_by == ("epoch",):
        rows = rows.take(pa.array(np.argsort(rows["epoch"].to_numpy(), kind="stable")))
    came = store.write(name, in_table_order(rows, table))
    point("tidy.written")
    try:
        store.rearrange(name, at, files, came)
    except Conflict:
        for file in came:
            (store.folder(name) / file.path).unlink(missing_ok=True)
        return False
    point("tidy.together")
    return True


def _checkpoint(store: Store, name: str, keep_history: int) -> None:
    """Write what the table consists of, so that no reader needs the commits before."""
    delta = store.delta(name)
    wanted = f"interval {max(keep_history // 1_000_000, 1)} seconds"
    if delta.metadata().configuration.get(RETENTION) != wanted:
        delta.alter.set_table_properties({RETENTION: wanted})  # else tombstones stay for a week
        delta = store.delta(name)
    delta.create_checkpoint()
    point("tidy.checkpoint")


def _clean(store: Store, name: str, keep_history: int) -> None:
    """Delete the commits before a checkpoint that are old enough, and files that they removed."""
    folder = store.folder(name)
    log = folder / layout.LOG
    commits, checkpoints, others = _read(log)
    oldest_base = _oldest_base(store, name)
    kept = max(keep_history, YOUNGEST_ON_STORES) if is_remote(folder) else keep_history
    young = time.time_ns() // 1000 - kept
    old = [c for c in checkpoints if c <= oldest_base and commits.get(c, young) < young]
    reach = max(old, default=-1)
    active = {file.path for file in store.files(name)}
    for version in sorted(commits):
        if version >= reach:
            break
        for path in replaced_by(layout.read_commit(folder, version) or ()) - active:
            (folder / path).unlink(missing_ok=True)
        point("tidy.files")
        layout.commit_path(folder, version).unlink(missing_ok=True)
        point("tidy.cleaned")
    aside = [path for path, changed in others.items() if changed < young]
    for path in (*(path for version, path in checkpoints.items() if version < reach), *aside):
        (log / path).unlink(missing_ok=True)


def _read(log: Place) -> tuple[dict[int, int], dict[int, str], dict[str, int]]:
    """List a log: its commits and when each was made, in µs, its checkpoints, and stray files."""
    commits: dict[int, int] = {}
    checkpoints: dict[int, str] = {}
    others: dict[str, int] = {}
    for entry in listed(log):
        stem, _, rest = entry.path.partition(".")
        if rest == "json" and stem.isdecimal():
            commits[int(stem)] = entry.changed
        elif rest == "checkpoint.parquet" and stem.isdecimal():
            checkpoints[int(stem)] = entry.path
        elif entry.path.startswith("_commit_") and entry.path.endswith(".tmp"):
            others[entry.path] = entry.changed
    return commits, checkpoints, others


def _oldest_base(store: Store, name: str) -> int:
    """Give the first version whose commits may be evidence for unfinished work."""
    plans = [json.loads(row["bases"]) for row in arrivals_of(store).planned.values()]
    plans += [dict(e.bases) for chain in chains_of(store).values() for e in chain.open]
    return min((int(bases.get(name, 0)) for bases in plans), default=store.version(name))
