"""A hash of all that a lane's checks depend on: equal hashes, equal findings.

These are the data files of the lane and its rows of the ledgers; the registry; the axes; and the
text of the checks themselves, of the views that they read, and of the contracts.

Law: whatever a check of the lane could find differently changes the fingerprint; also a data file
that was overwritten, or is gone, since its size and time of change are part of it.
"""

from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path

import pyarrow.compute as pc

import schemas
from pipelines import checks
from pipelines.lake.store import Store
from pipelines.lanes import Lane
from pipelines.places import Place, is_remote, listed
from pipelines.serve import views
from schemas import Table

LEDGERS = ("arrivals", "epochs")
REGISTRY = "queries"
"""The lane of registry commits, in the sequence."""


def fingerprint(store: Store, lane: Lane) -> str:
    """Give the fingerprint of a lane; 10 µs a data file, and what reading the ledgers takes."""
    axes = lane.settings.axes
    said = blake2b(_code().encode(), digest_size=16)
    said.update(repr([(feed, axes.get(feed)) for feed in lane.feed_names]).encode())
    said.update(repr((store.buckets, sorted(axes))).encode())
    for name, table in store.tables.items():
        if name in LEDGERS:
            parts = _rows(store, name, lane)
        elif _reads(table, lane):
            parts = _files(store, table, lane)
        else:
            continue
        for part in sorted(parts):
            said.update(f"{name}\0{part}\n".encode())
    return said.hexdigest()


def _rows(store: Store, ledger: str, lane: Lane) -> Iterator[str]:
    """Give a lane's rows of a ledger, and those of the registry."""
    rows = store.rows(ledger)
    wanted = [lane.name, *lane.feed_names, REGISTRY]
    mine = pc.is_in(rows["lane"], pc.cast(wanted, rows["lane"].type))
    return (repr(row) for row in rows.filter(mine).to_pylist())


def _files(store: Store, table: Table, lane: Lane) -> Iterator[str]:
    """Give the data files that may hold rows of a lane, each with its size and time of change."""
    of_lane = {lane.name, *lane.feed_names}
    stands = _stands(store.folder(table.name))
    for file in store.files(table.name):
        if (
            table.lane_column in table.partitioned_by
            and file.partition[table.lane_column] not in of_lane
        ):
            continue
        yield f"{file.path} {stands(file.path)}"


def _reads(table: Table, lane: Lane) -> bool:
    """Say whether a lane's checks read a table: not the tuples of others, nor joins for a feed."""
    if table.role == "tuples":
        return table.name in lane.feed_names
    return table.owner != "join" or lane.joins


def _stands(folder: Place) -> Callable[[str], str]:
    """Give what says how a file stands; a store is asked for all of them at once."""
    if is_remote(folder):
        of_path = {entry.path: f"{entry.size} {entry.etag}" for entry in listed(folder)}
        return lambda path: of_path.get(path, "missing")

    def on_disk(path: str) -> str:
        try:
            found = (folder / path).stat()
        except OSError:
            return "missing"
        return f"{found.st_size} {found.st_mtime_ns}"

    return on_disk


@cache
def _code() -> str:
    """Give a hash of the sources of checks, views and contracts."""
    said = blake2b(digest_size=16)
    for room in (checks, views, schemas):
        for folder in room.__path__:
            for source in sorted(Path(folder).glob("*.py")):
                said.update(source.read_bytes())
    return said.hexdigest()
