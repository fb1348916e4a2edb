"""Sets of queries and of joins as files in the lake's cache, so that a worker opens them instantly.

A file is one row of lists, one list a column, so that each is contiguous and can be mapped;
their checksum follows Arrow's bytes. The head says what the file was made from. On an object store
the name says so too, and each host maps a copy of its own, fetched once.

Law: the registry as of a version never changes, so neither does a file. One that is missing, torn
or wrong is made again.
"""

import hashlib
import json
import shutil
import zlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import LakeError
from fencepost.hashing import digest
from fencepost.lanes import pair_of
from fencepost.queries import QuerySet
from fencepost.queries.columns import CROSSING, QueryColumns
from fencepost.queries.fingerprint import sums_of
from fencepost.queries.joins import (
    BAND_JOIN,
    JOINS,
    NEAR_JOIN,
    WINDOW_JOIN,
    BandJoins,
    JoinSets,
    NearJoins,
    WindowJoins,
)
from fencepost.queries.joins.on import SIDES
from fencepost.queries.joins.regions import SideRegions
from fencepost.shapes.columns import Shapes
from pipelines import places
from pipelines.disk.atomic import replacing
from pipelines.disk.errors import naming
from pipelines.lake.checksums import sum_of
from pipelines.lake.layout import CACHE
from pipelines.lake.store import Store
from pipelines.places import Place, copy_of, fetched, is_remote, listed
from pipelines.places.host import host_cache
from pipelines.project.settings import Settings
from pipelines.registry.joins import join_sets
from pipelines.registry.queries import QUERIES, query_set

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

_OF_SHAPES = tuple(f.name for f in fields(Shapes) if f.name != "earth")
"""The columns of the shapes, each written beside those of the queries."""
_TEXTS = ("ids", "streams", "likes")
_JOIN_FLAGS = ("earth", "some")
_FLAGS = ("everywhere", "enters_on_first", "leaps")
_SHAPES: Mapping[str, tuple[int, ...]] = {
    "tests": (-1, 3),
    "plus": (-1, 2),
    "position": (-1, 4),
    "some": (-1, 2),
}
_NO_COLUMNS = ("left", "right", "axes", "regions")
_FIELDS = {
    kind: tuple(f.name for f in fields(each) if f.name not in _NO_COLUMNS)
    for kind, each in zip(JOINS, (WindowJoins, BandJoins, NearJoins), strict=True)
}
"""The columns of the sets of joins; what is the same for all of them is in the head."""

_checked: dict[Path, tuple[int, int, int]] = {}


def compiled_queries(
    store: Store, settings: Settings, feed: str, version: int, kind: str = CROSSING
) -> Place:
    """Give the file with the set of a feed as of a version, written if missing; not in workers.

    (Measured) a million queries: made in 0.9 s, checked in 0.1 s, once in a process.
    """
    name = "queries" if kind == CROSSING else f"{kind}-queries"
    head = {
        "table": store.ids[QUERIES],
        "feed": feed,
        "kind": kind,
        "axes": list(settings.axes[feed]),
        "version": version,
    }
    path = _place(store.root, f"{name}-{feed}-{version}", head)
    if not _is_current(path, head, _open_queries, _queries_intact):
        queries = query_set(store, settings, feed, version, kind)
        columns = queries.columns()
        found_on = {"position": queries.position, "earth": columns.shapes.earth}
        head |= {"sums": list(sums_of(columns)), **found_on}
        _write(path, _flat(columns), head)
    return path


def load_queries(path: Place) -> QuerySet:
    """Open what `compiled_queries` gave: columns are views of the mapped file. 1 ms, no copy."""
    queries, _ = _open_queries(_here(path))
    return queries


def compiled_joins(store: Store, settings: Settings, lane: str, version: int) -> Place:
    """Give the file with a lane's joins as of a version, written if missing; not in workers.

    (Measured) 100 K window joins: made in 6 s, checked in 0.1 s, once in a process.
    """
    feeds = pair_of(lane)
    head = {
        "table": store.ids[QUERIES],
        "feeds": list(feeds),
        "axes": [list(settings.axes.get(feed, ())) for feed in feeds],
        "positions": [settings.positions.get(feed) for feed in feeds],
        "version": version,
    }
    head = json.loads(json.dumps(head))
    path = _place(store.root, f"joins-{lane}-{version}", head)
    if not _is_current(path, head, _open_joins, _joins_intact):
        sets = join_sets(store, settings, lane, version)
        columns = _columns(sets)
        sides = [[each.position, each.shapes.earth] for each in sets[0].regions]
        _write(path, columns, {**head, "fingerprint": _digest(columns), "regions": sides})
    return path


def load_joins(path: Place) -> JoinSets:
    """Open what `compiled_joins` gave: columns are views of the mapped file. 1 ms, no copy."""
    sets, _ = _open_joins(_here(path))
    return sets


def joins_fingerprint(path: Place) -> str:
    """Name the content of a file of joins: equal for the same joins, however they are spelled."""
    _, head = _open_joins(_here(path))
    return str(head["fingerprint"])


def forget_old(root: Place, newest: int) -> int:
    """Delete the files of sets up to a version; they are made again on demand. Say how many."""
    old = [entry.path for entry in listed(root / CACHE) if 0 <= _version(entry.path) <= newest]
    for name in old:
        (root / CACHE / name).unlink(missing_ok=True)
    return len(old)


def _place(root: Place, name: str, head: Head) -> Place:
    """Name the file made from this; on a store no other ever has its name."""
    if is_remote(root):
        name += "@" + digest(json.dumps(head, sort_keys=True).encode(), 8)
    return root / CACHE / f"{name}.arrow"


def _version(name: str) -> int:
    """Give the version of a file of sets; -1 for another file."""
    stem, dot, ending = name.rpartition(".")
    version = stem.partition("@")[0].rpartition("-")[2]
    ours = ending == "arrow" and stem.startswith(_SETS) and version.isdecimal()
    return int(version) if dot and ours else -1


def _here(path: Place) -> Path:
    """Give a file that can be mapped: itself, or this host's copy."""
    return fetched(path, host_cache()) if is_remote(path) else path


def _is_current(
    path: Place,
    expected: Head,
    read: Callable[[Path], tuple[T, Head]],
    intact: Callable[[T, Head], bool],
) -> bool:
    """Say whether a file is there, whole, made from what is expected, and true to its head."""
    try:
        here = _here(path)
        now = _stamp(here)
        known = _checked.get(here) == now
        if not known and not _is_whole(here):
            return False
        content, head = read(here)
        if {name: head[name] for name in expected} != expected:
            return False
        if not known and not intact(content, head):
            return False
        _checked[here] = now
    except _TORN:
        return False
    return True


def _queries_intact(queries: QuerySet, _: Head) -> bool:
    return sums_of(queries.columns()) == queries.sums


def _joins_intact(sets: JoinSets, head: Head) -> bool:
    return bool(_digest(_columns(sets)) == head["fingerprint"])


def _stamp(path: Path) -> tuple[int, int, int]:
    """Identify a file, as distinct from any later one at its path."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _write(path: Place, columns: Mapping[str, pa.Array | np.ndarray], head: Head) -> None:
    """Write a file, and note that it is whole. On a store, this host's copy goes first."""
    if is_remote(path):
        here = copy_of(path, host_cache())
        _write(here, columns, head)
        with here.open("rb") as copy, places.written(path) as file:
            shutil.copyfileobj(copy, file)
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


def _open(path: Path) -> tuple[pa.RecordBatch, Head]:
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


def _flat(queries: QueryColumns) -> dict[str, pa.Array | np.ndarray]:
    """Give the columns of queries, and those of their shapes."""
    columns = queries._asdict()
    shapes = columns.pop("shapes")
    return columns | {f"shapes.{name}": getattr(shapes, name) for name in _OF_SHAPES}


def _open_queries(path: Path) -> tuple[QuerySet, Head]:
    row, head = _open(path)
    axes = tuple(head["axes"])
    values = {name: row[name].values for name in QueryColumns._fields if name != "shapes"}
    arrays = {name: values[name].to_numpy() for name in values if name not in _TEXTS}
    for name in _FLAGS:
        arrays[name] = arrays[name].view(np.bool_)
    for name in ("lo", "hi"):
        arrays[name] = arrays[name].reshape(len(axes), -1)
    arrays["tests"] = arrays["tests"].reshape(-1, 3)
    columns = {name: values[name] if name in _TEXTS else arrays[name] for name in values}
    columns["shapes"] = _shapes_of(row, "shapes.", earth=head["earth"])
    if len(columns["ids"]) + 1 != len(columns["box_ptr"]):
        raise LakeError(f"{path} is torn: the next run makes it again")
    position = None if head["position"] is None else tuple(head["position"])
    return QuerySet(
        *(head["feed"], axes),
        **columns,
        kind=head["kind"],
        position=position,
        sums=tuple(head["sums"]),
    ), head


def _open_joins(path: Path) -> tuple[JoinSets, Head]:
    row, head = _open(path)
    left, right = head["feeds"]
    axes = (tuple(head["axes"][0]), tuple(head["axes"][1]))
    d = sum(map(len, axes))

    def columns(kind: str) -> dict[str, Any]:
        found = {}
        for name in _FIELDS[kind]:
            values = row[f"{kind}.{name}"].values
            shape = (d, -1) if name in ("lo", "hi") else _SHAPES.get(name, (-1,))
            if name in _TEXTS:
                found[name] = values
            else:
                found[name] = values.to_numpy().reshape(shape)
            if name in _JOIN_FLAGS:
                found[name] = found[name].view(np.bool_)
        return found

    windows = columns(WINDOW_JOIN)
    sides = enumerate(head["regions"])
    regions = [_side_of(row, side, len(windows["ids"]), on, earth) for side, (on, earth) in sides]
    return JoinSets(
        WindowJoins(left, right, axes, **windows, regions=(regions[0], regions[1])),
        BandJoins(left, right, axes, **columns(BAND_JOIN)),
        NearJoins(left, right, axes, **columns(NEAR_JOIN)),
    ), head


def _side_of(
    row: pa.RecordBatch, side: int, n: int, on: list[int] | None, earth: bool
) -> SideRegions:
    """Read the regions of one side, as `_columns` gives them."""
    if on is None:
        return SideRegions.none(n)
    name = f"{WINDOW_JOIN}.{SIDES[side]}"
    shape = row[f"{name}.shape"].values.to_numpy()
    return SideRegions(shape, _shapes_of(row, f"{name}.shapes.", earth=earth), (on[0], on[1]))


def _shapes_of(row: pa.RecordBatch, prefix: str, *, earth: bool) -> Shapes:
    columns = {name: row[f"{prefix}{name}"].values.to_numpy() for name in _OF_SHAPES}
    columns["xy"] = columns["xy"].reshape(2, -1)
    return Shapes(**columns, earth=earth)


def _columns(sets: JoinSets) -> dict[str, pa.Array | np.ndarray]:
    """Give the columns of both sets, prefixed by kind; those of regions where there are any."""
    columns = {
        f"{kind}.{name}": getattr(each, name)
        for kind, each in zip(JOINS, sets, strict=True)
        for name in _FIELDS[kind]
    }
    for side, regions in zip(SIDES, sets[0].regions, strict=True):
        if regions.position is not None:
            columns[f"{WINDOW_JOIN}.{side}.shape"] = regions.shape
            columns |= {
                f"{WINDOW_JOIN}.{side}.shapes.{name}": getattr(regions.shapes, name)
                for name in _OF_SHAPES
            }
    return columns


def _digest(columns: Mapping[str, pa.Array | np.ndarray]) -> str:
    """Hash all columns, in their order: 32 hex digits."""
    digest = hashlib.blake2b(digest_size=16)
    for name, column in columns.items():
        digest.update(f"{name} {len(column)} ".encode())
        if isinstance(column, np.ndarray):
            digest.update(np.ascontiguousarray(column).data)
        else:
            lengths = pc.binary_length(column).to_numpy(zero_copy_only=False)
            digest.update(np.ascontiguousarray(lengths).data)
            digest.update("".join(column.to_pylist()).encode())
    return digest.hexdigest()
