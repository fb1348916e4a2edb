"""Sets of queries and of joins as files in the lake's cache, so that a worker opens them instantly.

A large set of which a version changed little is a file of what changed, and names the file that it
changes: so one more rule costs neither its writer nor a worker a million others.

Law: the registry as of a version never changes, so neither does a file. One that is missing, torn
or wrong is made again.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import LakeError
from fencepost.lanes import pair_of
from fencepost.queries import QuerySet
from fencepost.queries.columns import CROSSING, QueryColumns
from fencepost.queries.fingerprint import fingerprint_of, plus, sums_of
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
from pipelines.lake.store import Store
from pipelines.places import Place
from pipelines.project.settings import Settings
from pipelines.registry.joins import join_sets
from pipelines.registry.queries import QUERIES, query_set, rows_since
from pipelines.registry.set_changes import SetChanges, changes_in
from pipelines.registry.set_files import (
    Head,
    here,
    is_current,
    older_than,
    open_set,
    place_for,
    write_set,
)

LARGE, CHANGED = 10_000, 8
"""A set of fewer queries is written whole, and one of which more than an eighth changed."""

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


def compiled_queries(
    store: Store, settings: Settings, feed: str, version: int, kind: str = CROSSING
) -> Place:
    """Give the file with the set of a feed as of a version, written if missing; not in workers.

    (Measured) a million queries: made in 0.9 s, checked in 0.1 s, once in a process; one more
    query: 0.05 s.
    """
    name = f"{'' if kind == CROSSING else f'{kind}-'}queries-{feed}"
    made_from = {
        "table": store.ids[QUERIES],
        "feed": feed,
        "kind": kind,
        "axes": list(settings.axes[feed]),
    }
    head = made_from | {"version": version}
    path = place_for(store.root, f"{name}-{version}", head)
    if _is_set(path, head):
        return path
    bases = (
        place_for(store.root, f"{name}-{older}", made_from | {"version": older})
        for older in older_than(store.root, name, version)
    )
    found = next((base for base in bases if _is_set(base, made_from)), None)
    changes = None if found is None else _changes(store, found, version)
    if changes is None:
        queries = query_set(store, settings, feed, version, kind)
        changes = None, SetChanges.whole(queries)
    _write_queries(path, *changes, head)
    return path


def load_queries(path: Place) -> QuerySet:
    """Open what `compiled_queries` gave: columns are views of the mapped file. 1 ms, no copy.

    A set that changes another is a copy of that, changed.
    """
    base, changes = load_changes(path)
    return changes.added if base is None else changes.applied_to(load_queries(base))


def load_changes(path: Place) -> tuple[Place | None, SetChanges]:
    """Open it as it is written: the file that it changes, None for none, and the changes."""
    changes, head = _open_queries(here(path))
    return _beside(path, head), changes


def named(path: Place) -> tuple[int, str]:
    """Give how many queries a file stands for, and the fingerprint of their set. 1 ms."""
    _, head = open_set(here(path))
    position = None if head["position"] is None else tuple(head["position"])
    count, axes, sums = head["count"], tuple(head["axes"]), tuple(head["sums"])
    return count, fingerprint_of(head["feed"], axes, count, sums, head["kind"], position)


def _changes(store: Store, older: Place, version: int) -> tuple[Place | None, SetChanges] | None:
    """Give a version as changes of an older one's base, or whole; None where regions disagree."""
    base = _base_of(older) or older
    _, head = open_set(here(base))
    queries = load_queries(base)
    changes = changes_in(queries, rows_since(store, head["version"], version))
    places = {(each.position, each.shapes.earth) for each in (queries, changes.added)}
    if len(places) > 1 and None not in {place for place, _ in places}:
        return None  # refused where the set is made anew
    if len(queries) < LARGE or (len(changes.gone) + len(changes.added)) * CHANGED > len(queries):
        return None, SetChanges.whole(changes.applied_to(queries))
    return base, changes


def _is_set(path: Place, head: Head) -> bool:
    """Say whether a file of a set is whole, and the one that it changes."""
    if not is_current(path, head, _open_queries, _queries_intact):
        return False
    base = _base_of(path)
    return base is None or is_current(base, {}, _open_queries, _queries_intact)


def _base_of(path: Place) -> Place | None:
    """Give the file that a file of a set changes; None for none."""
    _, head = open_set(here(path))
    return _beside(path, head)


def _beside(path: Place, head: Head) -> Place | None:
    return None if head["base"] is None else path.parent / head["base"]


def _write_queries(path: Place, base: Place | None, changes: SetChanges, head: Head) -> None:
    added = changes.added
    kept = QuerySet.empty(added.feed, added.axes, added.kind)
    if base is not None:
        kept = load_queries(base).with_removed(changes.gone)
    columns, sums = added.columns(), sums_of(added.columns())
    head |= {
        "base": None if base is None else base.name,
        "count": len(kept) + len(added),
        "sums": plus(kept.sums or (0, 0), sums),
        "position": kept.position or added.position,
        "own": {"sums": sums, "position": added.position, "earth": columns.shapes.earth},
    }
    write_set(path, {"gone": changes.gone, **_flat(columns)}, head)


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
    path = place_for(store.root, f"joins-{lane}-{version}", head)
    if not is_current(path, head, _open_joins, _joins_intact):
        sets = join_sets(store, settings, lane, version)
        columns = _columns(sets)
        sides = [[each.position, each.shapes.earth] for each in sets[0].regions]
        write_set(path, columns, {**head, "fingerprint": _digest(columns), "regions": sides})
    return path


def load_joins(path: Place) -> JoinSets:
    """Open what `compiled_joins` gave: columns are views of the mapped file. 1 ms, no copy."""
    sets, _ = _open_joins(here(path))
    return sets


def joins_fingerprint(path: Place) -> str:
    """Name the content of a file of joins: equal for the same joins, however they are spelled."""
    _, head = _open_joins(here(path))
    return str(head["fingerprint"])


def _queries_intact(changes: SetChanges, _: Head) -> bool:
    return sums_of(changes.added.columns()) == changes.added.sums


def _joins_intact(sets: JoinSets, head: Head) -> bool:
    return bool(_digest(_columns(sets)) == head["fingerprint"])


def _flat(queries: QueryColumns) -> dict[str, pa.Array | np.ndarray]:
    """Give the columns of queries, and those of their shapes."""
    columns = queries._asdict()
    shapes = columns.pop("shapes")
    return columns | {f"shapes.{name}": getattr(shapes, name) for name in _OF_SHAPES}


def _open_queries(path: Path) -> tuple[SetChanges, Head]:
    row, head = open_set(path)
    axes = tuple(head["axes"])
    values = {name: row[name].values for name in QueryColumns._fields if name != "shapes"}
    arrays = {name: values[name].to_numpy() for name in values if name not in _TEXTS}
    for name in _FLAGS:
        arrays[name] = arrays[name].view(np.bool_)
    for name in ("lo", "hi"):
        arrays[name] = arrays[name].reshape(len(axes), -1)
    arrays["tests"] = arrays["tests"].reshape(-1, 3)
    columns = {name: values[name] if name in _TEXTS else arrays[name] for name in values}
    columns["shapes"] = _shapes_of(row, "shapes.", earth=head["own"]["earth"])
    if len(columns["ids"]) + 1 != len(columns["box_ptr"]):
        raise LakeError(f"{path} is torn: the next run makes it again")
    own = head["own"]
    added = QuerySet(
        *(head["feed"], axes),
        **columns,
        kind=head["kind"],
        position=None if own["position"] is None else tuple(own["position"]),
        sums=tuple(own["sums"]),
    )
    return SetChanges(row["gone"].values, added), head


def _open_joins(path: Path) -> tuple[JoinSets, Head]:
    row, head = open_set(path)
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
