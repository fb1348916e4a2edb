"""Is every file of the lake there, and are its bytes those that were written?

A check of the newest files each time, of all of them with `deep`: then every data file is
read once, decoded, and compared with what the log says of it.

Law: a data file with a recorded checksum passes only if it is unchanged; one without passes a deep
check only if Parquet can decode all of it, and its rows and bounds are those in the log.
"""

import errno
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import FencepostError
from fencepost.text import escaped
from pipelines.checks.results import LONGEST_SAMPLE, SAMPLES, Checked
from pipelines.lake import layout
from pipelines.lake.checksums import Damaged, verify
from pipelines.lake.data_files import DataFile, lost_file, open_verified
from pipelines.lake.store import Store
from pipelines.places import Entry, Place, is_remote, listed
from pipelines.project.settings import Settings
from pipelines.serve.marts.place import folder_of
from schemas import Table
from schemas.marts import MARTS

ALL = "all tables"
NEWEST = 32 << 20
"""Bytes of a table's newest files that are compared each time: 30 ms."""

QUICK = (
    "Every data file that the log names is there, and as large as it says; the newest have the "
    "checksum that was recorded when they were written."
)
DEEP = (
    "Every data file has the checksum that was recorded when it was written, can be decoded, and "
    "holds the rows and bounds that the log says; every commit in the log can be read."
)


def files_are_whole(settings: Settings, *, deep: bool = False) -> Checked:
    """Check the files of every table of a lake. O(files); `deep`: O(bytes), 3 s a GB."""
    started = time.perf_counter()
    looked = 0
    faults: list[str] = []
    for folder, table in _tables(settings):
        try:
            files = layout.active_files(layout.open_table(folder), table)
            looked += len(files)
            found = _faults(folder, table, files, deep=deep)
            faults += [f"{table.name}/{each}" for each in found]
        except FencepostError as why:
            faults.append(str(why))
    return Checked(
        table=ALL,
        name="files_are_whole",
        passed=not faults,
        severity="error",
        description=DEEP if deep else QUICK,
        counts={"rows": looked, "faults": len(faults)},
        samples=[escaped(each, LONGEST_SAMPLE) for each in faults[:SAMPLES]],
        seconds=round(time.perf_counter() - started, 4),
    )


def _tables(settings: Settings) -> Iterator[tuple[Place, Table]]:
    """List the existing tables, marts among them, and their folders."""
    Store.to_read(settings.root, settings.tables)
    folders: list[tuple[Place, Table]] = [
        (settings.root / name, table) for name, table in settings.tables.items()
    ]
    folders += [(folder_of(settings.root, name), table) for name, table in MARTS.items()]
    return ((folder, table) for folder, table in folders if (folder / "_delta_log").is_dir())


def _faults(folder: Place, table: Table, files: list[DataFile], *, deep: bool) -> Iterator[str]:
    if deep:
        yield from _torn_commits(folder)
    there = _there(folder, files)
    found = {file.path: _fault_outside(there.get(file.path), file) for file in files}
    left = NEWEST
    for file in sorted(files, key=lambda file: _changed(there.get(file.path)), reverse=True):
        left -= file.size
        if found[file.path] is None and (deep or left >= 0):
            found[file.path] = _fault_inside(folder, table, file, deep=deep)
    yield from (f"{path}: {fault}" for path, fault in sorted(found.items()) if fault)


def _torn_commits(folder: Place) -> Iterator[str]:
    for entry in listed(folder / "_delta_log"):
        stem, _, ending = entry.path.partition(".")
        if ending == "json" and stem.isdecimal():
            try:
                layout.read_commit(folder, int(stem))
            except FencepostError as why:
                yield str(why)


def _there(folder: Place, files: Sequence[DataFile]) -> dict[str, Entry | str]:
    """Say of each file what is there, or why it cannot be read; a store is listed once."""
    if is_remote(folder):
        return {entry.path: entry for entry in listed(folder)}
    there: dict[str, Entry | str] = {}
    for file in files:
        try:
            stat = (folder / file.path).stat()
            there[file.path] = Entry(file.path, stat.st_size, stat.st_mtime_ns, None)
        except OSError as why:
            there[file.path] = str(why.strerror)
    return there


def _fault_outside(there: Entry | str | None, file: DataFile) -> str | None:
    """Check what can be seen of a file without reading it."""
    if not isinstance(there, Entry):
        return f"cannot be read: {there or os.strerror(errno.ENOENT)}"
    if there.size == file.size:
        return None
    return f"has {there.size:,} bytes, the log says {file.size:,}"


def _changed(there: Entry | str | None) -> int:
    return there.changed if isinstance(there, Entry) else 0


def _fault_inside(folder: Place, table: Table, file: DataFile, *, deep: bool) -> str | None:
    try:
        if not deep:
            verify(folder, file.path)
            return None
        rows = open_verified(folder, file.path).read()
    except Damaged as why:
        return str(why)
    except (OSError, pa.ArrowException) as why:
        return str(lost_file(table.name, file.path, why))
    if rows.num_rows != file.rows:
        return f"has {rows.num_rows:,} rows, the log says {file.rows:,}"
    for column in set(rows.column_names) & {each.name for each in table.columns}:
        if not _in_bounds(rows[column], file.least(column), file.most(column)):
            return f"has values of '{column}' beyond the bounds that the log says"
    return None


def _in_bounds(values: pa.ChunkedArray, least: Any, most: Any) -> bool:  # noqa: ANN401
    """Say whether values are within the log's bounds; whole numbers, and the names of lanes."""
    if least is None or most is None:
        return True
    found = pc.min_max(values).as_py()
    return bool(found["min"] is None or (least <= found["min"] and found["max"] <= most))
