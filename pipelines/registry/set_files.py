"""Files of sets in the lake's cache: written whole, mapped, and known by what they were made from.

A file is one row of lists, one list a column, so that each is contiguous and can be mapped;
their checksum follows Arrow's bytes. The head says what the file was made from. On an object store
the name says so too, and each host maps a copy of its own, fetched once.

Law: a file that is missing, torn or not what its head says is never read as a set.
"""

import json
import shutil
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from fencepost.hashing import digest
from pipelines import places
from pipelines.disk.atomic import replacing
from pipelines.disk.errors import naming
from pipelines.lake.checksums import sum_of
from pipelines.lake.layout import CACHE
from pipelines.places import Place, copy_of, fetched, is_remote, listed
from pipelines.places.host import host_cache

Head = dict[str, Any]
"""What a file was made from, and a digest of its columns."""

T = TypeVar("T")

_HEAD = b"fencepost"
_CRC = 4
"""Bytes of the checksum at the end of a file."""

_TORN = (OSError, pa.ArrowException, ValueError, LookupError, TypeError, AttributeError)
"""What a file raises that is not the one that was written."""

_SETS = ("queries-", "match-queries-", "joins-")
"""How the names of the files begin."""

_checked: dict[Path, tuple[int, int, int]] = {}


def forget_old(root: Place, newest: int) -> int:
    """Delete the files of sets up to a version; they are made again on demand. Say how many."""
    old = [entry.path for entry in listed(root / CACHE) if 0 <= version_in(entry.path) <= newest]
    for name in old:
        (root / CACHE / name).unlink(missing_ok=True)
    return len(old)


def place_for(root: Place, name: str, head: Head) -> Place:
    """Name the file made from this; on a store no other ever has its name."""
    if is_remote(root):
        name += "@" + digest(json.dumps(head, sort_keys=True).encode(), 8)
    return root / CACHE / f"{name}.arrow"


def older_than(root: Place, name: str, version: int) -> list[int]:
    """List the versions before one that a set has files of, the newest first."""
    begin = f"{name}-"
    found = {version_in(each.path) for each in listed(root / CACHE) if each.path.startswith(begin)}
    return sorted((older for older in found if 0 <= older < version), reverse=True)


def version_in(name: str) -> int:
    """Give the version of a file of sets; -1 for another file."""
    stem, dot, ending = name.rpartition(".")
    version = stem.partition("@")[0].rpartition("-")[2]
    ours = ending == "arrow" and stem.startswith(_SETS) and version.isdecimal()
    return int(version) if dot and ours else -1


def here(path: Place) -> Path:
    """Give a file that can be mapped: itself, or this host's copy."""
    return fetched(path, host_cache()) if is_remote(path) else path


def is_current(
    path: Place,
    expected: Head,
    read: Callable[[Path], tuple[T, Head]],
    intact: Callable[[T, Head], bool],
) -> bool:
    """Say whether a file is there, whole, made from what is expected, and true to its head."""
    try:
        copy = here(path)
        now = _stamp(copy)
        known = _checked.get(copy) == now
        if not known and not _is_whole(copy):
            return False
        content, head = read(copy)
        if {name: head[name] for name in expected} != expected:
            return False
        if not known and not intact(content, head):
            return False
        _checked[copy] = now
    except _TORN:
        return False
    return True


def _stamp(path: Path) -> tuple[int, int, int]:
    """Identify a file, as distinct from any later one at its path."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def write_set(path: Place, columns: Mapping[str, pa.Array | np.ndarray], head: Head) -> None:
    """Write a file, and note that it is whole. On a store, this host's copy goes first."""
    if is_remote(path):
        copy = copy_of(path, host_cache())
        write_set(copy, columns, head)
        with copy.open("rb") as content, places.written(path) as file:
            shutil.copyfileobj(content, file)
        return
    path.parent.mkdir(exist_ok=True)
    row = pa.table({name: _as_list(column) for name, column in columns.items()})
    row = row.replace_schema_metadata({_HEAD: json.dumps(head).encode()})
    with replacing(path) as (passing,):
        with pa.OSFile(str(passing), "wb") as file, pa.ipc.new_file(file, row.schema) as written:
            written.write_table(row)
        crc = sum_of(passing)
        with passing.open("ab") as file:
            file.write(crc.to_bytes(_CRC, "big"))
    _checked[path] = _stamp(path)


def open_set(path: Path) -> tuple[pa.RecordBatch, Head]:
    """Open a file: its row, as views of the mapped bytes, and its head."""
    with naming(path), pa.memory_map(str(path)) as file:
        content = file.read_buffer(max(0, file.size() - _CRC))
    row = pa.ipc.open_file(content).get_batch(0)
    return row, json.loads(row.schema.metadata[_HEAD])


def _is_whole(path: Path) -> bool:
    """Compare a file's bytes with the checksum after them. O(bytes): 1 s a GB."""
    with naming(path), pa.memory_map(str(path)) as file:
        content = memoryview(file.read_buffer())
    return zlib.crc32(content[:-_CRC]) == int.from_bytes(content[-_CRC:], "big")


def _as_list(column: pa.Array | np.ndarray) -> pa.Array:
    if isinstance(column, np.ndarray):
        flat = column.ravel()
        column = pa.array(flat.view(np.uint8) if flat.dtype == np.bool_ else flat)
    return pa.LargeListArray.from_arrays(pa.array([0, len(column)], pa.int64()), column)
