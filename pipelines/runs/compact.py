"""The files of a table arranged anew: few, clustered, divided by what the lake holds by now.

Only files of one lane and one generation are put together, so that what a later plan replaces is
in files of its own; and those of one stretch of epochs, as many at a time as fit into memory.

Law: no row changes; each commit moves rows of some files into others. The caller holds the lock.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from fencepost.arrow import dictionary_of, ranks_of
from fencepost.tuples import Int64s
from pipelines.epochs.drive import chains_of
from pipelines.execute.write import FEW, in_table_order
from pipelines.lake.append import Conflict
from pipelines.lake.buckets import MIXED, buckets_of, division_of, modulus_for
from pipelines.lake.data_files import DataFile
from pipelines.lake.store import Store
from pipelines.runs.tidy import Group, group_of
from schemas import Table

TOGETHER = 64 << 20
"""Bytes of files that are read at a time, unless one alone has more."""


def compact(store: Store, name: str) -> None:
    """Arrange a plain table. O(rows of the files that are put together)."""
    table = store.tables[name]
    if "bucket" in table.partitioned_by:
        for files in _undivided(store, name):
            _replace(store, name, files, divide=True)
    for files in _apart(store, name):
        _replace(store, name, files)


def _apart(store: Store, name: str) -> Iterator[list[DataFile]]:
    """Give the files that are put together."""
    for files in _groups(store, name).values():
        for run in _runs(files):
            if len(run) > 1:
                yield run


def _undivided(store: Store, name: str) -> Iterator[list[DataFile]]:
    """Give the files whose rows are worth dividing, or dividing further."""
    table = store.tables[name]
    for files in _groups(store, name).values():
        bucket = int(files[0].partition["bucket"] or MIXED)
        if bucket < 0:
            due = sum(file.rows for file in files) >= FEW
        else:
            modulus, _ = division_of(bucket, store.buckets)
            due = modulus < _modulus(store, table, files[0])
        if due:
            yield from _runs(files)


def _modulus(store: Store, table: Table, file: DataFile) -> int:
    """Say by which modulus the streams of a file's feed are worth dividing."""
    feed = table.name if table.role == "tuples" else file.partition[table.lane_column or ""]
    there = store.files(feed) if feed in store.tables else []
    return modulus_for(sum(each.rows for each in there), store.buckets)


def _groups(store: Store, name: str) -> Mapping[Group, list[DataFile]]:
    """Give the files that may be put together, in the order of their epochs or deliveries."""
    table = store.tables[name]
    snapshots = {lane: chain.snapshot for lane, chain in chains_of(store).items()}
    groups: dict[Group, list[DataFile]] = defaultdict(list)
    for file in store.files(name):
        alike = () if table.role == "ledger" else group_of(table, file, snapshots)
        groups[alike].append(file)
    for files in groups.values():
        files.sort(key=lambda file: (file.least("epoch") or 0, file.least("arrival") or 0))
    return groups


def _runs(files: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    run: list[DataFile] = []
    for file in files:
        if run and sum(each.size for each in run) + file.size > TOGETHER:
            yield run
            run = []
        run.append(file)
    if run:
        yield run


def _replace(store: Store, name: str, files: Sequence[DataFile], *, divide: bool = False) -> None:
    """Write the rows of some files into others, and commit these in their place."""
    table = store.tables[name]
    at = store.version(name)
    rows = pa.concat_tables([store.read(name, file) for file in files])
    if divide:
        coded = dictionary_of(rows["stream_id"])
        modulus = _modulus(store, table, files[0])
        own = buckets_of(coded.dictionary, modulus)[coded.indices.to_numpy()]
        place = rows.column_names.index("bucket")
        rows = rows.set_column(place, rows.schema.field("bucket"), pa.array(own, pa.int32()))
    came = store.write(name, arranged(rows, table))
    try:
        store.rearrange(name, at, files, came)
    except Conflict:
        for file in came:
            (store.folder(name) / file.path).unlink(missing_ok=True)


def arranged(rows: pa.Table, table: Table) -> pa.Table:
    """Sort rows by what their table is clustered by, or else by its order. O(n log n)."""
    if table.clustered_by:
        order = np.argsort(_curve([ranks_of(rows[name]) for name in table.clustered_by]))
        return rows.take(pa.array(order))
    if table.sorted_by == ("epoch",):
        return rows.take(pa.array(np.argsort(rows["epoch"].to_numpy(), kind="stable")))
    return in_table_order(rows, table)


def _curve(ranks: Sequence[Int64s]) -> Int64s:
    """Interleave the bits of ranks, the highest first: rows near in one column stay near. O(n)."""
    key = np.zeros(len(ranks[0]), np.int64)
    each = 63 // len(ranks)
    for place, rank in enumerate(ranks):
        width = int(rank.max(initial=0)).bit_length()
        even = rank.astype(np.int64) << (each - width) if width < each else rank >> (width - each)
        for bit in range(max(each - width, 0), each):
            key |= ((even >> bit) & 1) << (bit * len(ranks) + place)
    return key
