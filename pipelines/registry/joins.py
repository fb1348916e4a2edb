"""What joins stand: of a lane, as of any version of the registry, as sets and as files for workers.

The registry keeps the texts of a join; here they are read again. What is read lies in the lake's
cache as columns, so that a worker opens it in a moment.

Law: as of a version the sets of a lane never change: the joins that stand, in the order in which
their versions were registered, each with the registry version from which on it takes tuples.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import LakeError, QueryFault
from fencepost.lanes import sides_of
from fencepost.queries.joins import (
    BAND_JOIN,
    JOINS,
    WINDOW_JOIN,
    BandJoins,
    Conjunct,
    JoinQuery,
    WindowJoins,
)
from fencepost.queries.joins.on import parse_join
from fencepost.queries.strings import Int64s
from fencepost.text import shortened
from pipelines.lake.layout import CACHE, Note
from pipelines.lake.sequence import ARRIVALS
from pipelines.lake.store import Store
from pipelines.planning.deliveries import Arrivals
from pipelines.project.settings import Settings
from pipelines.registry.definitions import Axes
from pipelines.registry.queries import (
    QUERIES,
    TORN,
    as_list,
    history,
    is_whole,
    open_row,
    stamp,
    standing_since,
    write_row,
)

JoinSets = tuple[WindowJoins, BandJoins]

_SAYS = b"fencepost"
_SHAPES: Mapping[str, tuple[int, ...]] = {"tests": (-1, 3), "plus": (-1, 2)}
_FIELDS = {
    kind: tuple(f.name for f in fields(each) if f.name not in ("left", "right", "axes"))
    for kind, each in ((WINDOW_JOIN, WindowJoins), (BAND_JOIN, BandJoins))
}
"""The columns of the sets; what is the same for all queries stands in the head."""

_checked: dict[Path, tuple[int, int, int]] = {}


def lanes(store: Store) -> list[str]:
    """List the lanes that a join was ever registered for, in the order of the first of each."""
    rows = store.some_columns(QUERIES, ["n", "registry_version", "feed", "kind"])
    rows = rows.filter(_are_joins(rows))  # of a million others no more than this is looked at
    done = store.fold(ARRIVALS, Arrivals).registry_versions
    value_set = pa.array(done, pa.int64())
    rows = rows.filter(pc.is_in(rows["registry_version"], value_set=value_set))
    first = rows.group_by("feed").aggregate([("n", "min")])
    order = pc.sort_indices(first, [("n_min", "ascending"), ("feed", "ascending")])
    named: list[str] = first["feed"].take(order).to_pylist()
    return named


def join_sets(store: Store, settings: Settings, lane: str, version: int | None = None) -> JoinSets:
    """Give the joins of a lane that stand as of a registry version (None: the newest).

    (Measured) 100 K window joins, whose texts are read: 6 s.
    """
    rows = history(store, version)
    ever = pc.unique(rows["id"].filter(_are_joins(rows)))
    rows, since = standing_since(rows.filter(pc.is_in(rows["id"], value_set=ever)))
    feeds = sides_of(lane)
    if feeds is None or not all(feed in settings.axes for feed in feeds):
        raise LakeError(
            f"the feeds of '{lane}' are not both declared in fencepost.toml: declare them again, "
            "or remove the queries that join them"
        )
    axes = settings.axes[feeds[0]], settings.axes[feeds[1]]
    of_lane = pc.equal(rows["feed"], lane)

    def of_kind(kind: str) -> tuple[list[JoinQuery], Int64s]:
        mine = pc.and_(of_lane, pc.equal(rows["kind"], kind))
        return joins_of(rows.filter(mine), settings.axes), since[mine.to_numpy()]

    return (
        WindowJoins.from_queries(feeds, axes, *of_kind(WINDOW_JOIN)),
        BandJoins.from_queries(feeds, axes, *of_kind(BAND_JOIN)),
    )


def joins_of(rows: pa.Table, axes_of: Axes) -> list[JoinQuery]:
    """Read definitions of joins again; without a column `version` each is its first. 60 µs each.

    LakeError where their feeds are declared no more, or with other axes.
    """
    for name in ("valid_from", "valid_to"):
        place = rows.column_names.index(name)
        rows = rows.set_column(place, name, rows[name].cast(pa.int64()))
    return [_join_of(row, axes_of) for row in rows.to_pylist()]


def cached(store: Store, settings: Settings, lane: str, version: int) -> Path:
    """Give the file that holds a lane's joins as of a version, made if need be; not in workers.

    (Measured) 100 K window joins: made in 6 s, checked in 0.1 s, once in a process.
    """
    path = store.root / CACHE / f"joins-{lane}-{version}.arrow"
    feeds = sides_of(lane) or (lane, "")
    told = {
        "table": Note.read(store.root).ids[QUERIES],
        "feeds": list(feeds),
        "axes": [list(settings.axes.get(feed, ())) for feed in feeds],
        "version": version,
    }
    if not _is_right(path, told):
        _write(path, join_sets(store, settings, lane, version), told)
        _checked[path] = stamp(path)
    return path


def load(path: Path) -> JoinSets:
    """Open a file that `cached` gave: its columns are views of the mapped file. 1 ms, no copy."""
    sets, _ = _open(path)
    return sets


def fingerprint(path: Path) -> str:
    """Name the content of such a file: equal where the same joins stand, however they are spelt."""
    _, says = _open(path)
    return str(says["fingerprint"])


def _join_of(row: Mapping[str, Any], axes_of: Axes) -> JoinQuery:
    left, right = sides_of(row["feed"]) or (row["feed"], "")
    return JoinQuery(
        id=row["id"],
        kind=row["kind"],
        left=left,
        right=right,
        on=row["joined_on"],
        where=row["where"],
        conjuncts=_conjuncts(row, (left, right), axes_of),
        window=row["window_us"],
        last=row["window_count"],
        left_axis=row["left_axis"],
        right_axis=row["right_axis"],
        low=-inf if row["at_least"] is None else row["at_least"],
        high=inf if row["at_most"] is None else row["at_most"],
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        owner=row["owner"],
        tags=tuple(row["tags"] or ()),
        note=row["note"],
        version=row.get("version", 1),
    )


def _conjuncts(
    row: Mapping[str, Any], feeds: tuple[str, str], axes_of: Axes
) -> tuple[Conjunct, ...]:
    """Read the texts of a window join; of a band join, see that there are such axes."""
    told = f"the query '{shortened(row['id'])}' joins"
    lost: str | None
    for feed in feeds:
        if feed not in axes_of:
            raise LakeError(
                f"{told} the feed '{feed}', which is not in fencepost.toml: declare it again, or "
                "remove the query"
            )
    left, right = (axes_of[feed] for feed in feeds)
    try:
        if row["kind"] == WINDOW_JOIN:
            return parse_join(row["joined_on"], row["where"], feeds, (left, right))
    except QueryFault as why:
        lost = why.message
    else:
        lost = _axis_lost(row, left, right)
    if lost is None:
        return ()
    raise LakeError(
        f"{told} {feeds[0]} ({', '.join(left)}) and {feeds[1]} ({', '.join(right)}), and was "
        f"registered for other axes: {lost}. Give the feeds their axes back in fencepost.toml."
    )


def _axis_lost(row: Mapping[str, Any], left: Sequence[str], right: Sequence[str]) -> str | None:
    for name, axes in (("left_axis", left), ("right_axis", right)):
        if row[name] not in axes:
            return f"'{shortened(row[name])}' is none of {', '.join(axes)}"
    return None


def _are_joins(rows: pa.Table) -> pa.ChunkedArray:
    return pc.is_in(rows["kind"], value_set=pa.array(JOINS))


def _columns(sets: JoinSets) -> dict[str, pa.Array | np.ndarray]:
    """Give the columns of both sets, named by their kind."""
    return {
        f"{kind}.{name}": getattr(each, name)
        for kind, each in zip(JOINS, sets, strict=True)
        for name in _FIELDS[kind]
    }


def _write(path: Path, sets: JoinSets, told: Mapping[str, object]) -> None:
    """Write the sets as one row of lists, one list a column, so that each lies in one piece."""
    columns = _columns(sets)
    says = json.dumps({**told, "fingerprint": _digest(columns)}).encode()
    row = pa.table({name: as_list(column) for name, column in columns.items()})
    write_row(path, row.replace_schema_metadata({_SAYS: says}))


def _open(path: Path) -> tuple[JoinSets, dict[str, Any]]:
    batch = open_row(path)
    says = json.loads(batch.schema.metadata[_SAYS])
    left, right = says["feeds"]
    axes = (tuple(says["axes"][0]), tuple(says["axes"][1]))
    d = sum(map(len, axes))

    def columns(kind: str) -> dict[str, Any]:
        found = {}
        for name in _FIELDS[kind]:
            values = batch[f"{kind}.{name}"].values
            shape = (d, -1) if name in ("lo", "hi") else _SHAPES.get(name, (-1,))
            found[name] = values if name == "ids" else values.to_numpy().reshape(shape)
        return found

    return (
        WindowJoins(left, right, axes, **columns(WINDOW_JOIN)),
        BandJoins(left, right, axes, **columns(BAND_JOIN)),
    ), says


def _is_right(path: Path, told: Mapping[str, object]) -> bool:
    """Say whether a file is there, whole, of this registry, and holds what its head says."""
    try:
        now = stamp(path)
        if _checked.get(path) != now and not is_whole(path):
            return False
        sets, says = _open(path)
        if {name: says[name] for name in told} != told:
            return False
        if _checked.get(path) != now:
            if _digest(_columns(sets)) != says["fingerprint"]:
                return False
            _checked[path] = now
    except TORN:
        return False
    return True


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
