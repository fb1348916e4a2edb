"""The active joins of a lane, as of any version of the registry, as sets.

The registry stores the text of a join; here it is parsed again.

Law: as of a version the sets of a lane never change: the active joins, in the order in which their
versions were registered, each with the registry version from which on it sees tuples.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import LakeError, QueryFault
from fencepost.lanes import pair_of
from fencepost.position import Positions
from fencepost.queries.joins import (
    JOINS,
    NEAR_JOIN,
    WINDOW_JOIN,
    Conjunct,
    JoinQuery,
    JoinSets,
    SomeStreams,
)
from fencepost.queries.joins.on import parse_join
from fencepost.queries.joins.regions import cut_conjuncts
from fencepost.text import shortened
from pipelines.lake.sequence import ARRIVALS
from pipelines.lake.store import Store
from pipelines.planning.deliveries import Arrivals
from pipelines.project.settings import Settings
from pipelines.registry.current_rows import standing_since
from pipelines.registry.queries import QUERIES, Axes, history
from pipelines.registry.regions import side_regions


def lanes(store: Store) -> list[str]:
    """List the lanes that ever had a join, in the order of their first joins."""
    rows = store.some_columns(QUERIES, ["n", "registry_version", "feed", "kind"])
    rows = rows.filter(_are_joins(rows))  # a million other rows are only filtered
    done = store.fold(ARRIVALS, Arrivals).registry_versions
    value_set = pa.array(done, pa.int64())
    rows = rows.filter(pc.is_in(rows["registry_version"], value_set=value_set))
    first = rows.group_by("feed").aggregate([("n", "min")])
    order = pc.sort_indices(first, [("n_min", "ascending"), ("feed", "ascending")])
    named: list[str] = first["feed"].take(order).to_pylist()
    return named


def join_sets(store: Store, settings: Settings, lane: str, version: int | None = None) -> JoinSets:
    """Give the active joins of a lane as of a registry version (None: the newest).

    (Measured) 100 K window joins, with parsing: 6 s.
    """
    rows = history(store, version)
    ever = pc.unique(rows["id"].filter(_are_joins(rows)))
    rows, since = standing_since(rows.filter(pc.is_in(rows["id"], value_set=ever)))
    feeds = pair_of(lane)
    if not all(feed in settings.axes for feed in feeds):
        raise LakeError(
            f"the feeds of '{lane}' are not both declared in fencepost.toml: declare them again, "
            "or remove the queries that join them"
        )
    axes = settings.axes[feeds[0]], settings.axes[feeds[1]]
    of_lane = pc.equal(rows["feed"], lane)

    mine = pc.and_(of_lane, _are_joins(rows))
    queries = joins_of(rows.filter(mine), settings.axes, settings.positions)
    return JoinSets.from_queries(feeds, axes, queries, since[mine.to_numpy()])


def joins_of(rows: pa.Table, axes_of: Axes, positions: Positions | None = None) -> list[JoinQuery]:
    """Parse definitions of joins; without a column `version` all are first versions. 60 µs each.

    Where no positions are given, regions are left out.

    LakeError if their feeds are no longer declared, or have other axes.
    """
    for name in ("valid_from", "valid_to"):
        place = rows.column_names.index(name)
        rows = rows.set_column(place, name, rows[name].cast(pa.int64()))
    return [_join_of(row, axes_of, positions) for row in rows.to_pylist()]


def _join_of(row: Mapping[str, Any], axes_of: Axes, positions: Positions | None) -> JoinQuery:
    left, right = pair_of(row["feed"])
    conjuncts = _conjuncts(row, (left, right), axes_of)
    text = None if positions is None else row["region"]
    regions, on_axes = side_regions(text, (left, right), positions or {})
    if text is not None:
        conjuncts = cut_conjuncts(conjuncts, regions, on_axes, len(axes_of[left]))
    return JoinQuery(
        id=row["id"],
        kind=row["kind"],
        left=left,
        right=right,
        on=row["joined_on"],
        where=row["where"],
        conjuncts=conjuncts,
        regions=regions,
        region_axes=on_axes,
        window=row["window_us"],
        last=row["window_count"],
        left_axis=row["left_axis"],
        right_axis=row["right_axis"],
        low=-inf if row["at_least"] is None else row["at_least"],
        high=inf if row["at_most"] is None else row["at_most"],
        distance=row["distance"],
        takes=(_streams_of(row, ""), _streams_of(row, "right_")),
        positions=_positions(row),
        earth=bool(row["on_earth"]),
        valid_from=row["valid_from"],
        valid_to=row["valid_to"],
        owner=row["owner"],
        tags=tuple(row["tags"] or ()),
        note=row["note"],
        version=row.get("version", 1),
    )


def _streams_of(row: Mapping[str, Any], side: str) -> SomeStreams | None:
    """Read the streams that a near join takes on a side; None: all."""
    named, likes = row[f"{side}streams"], row[f"{side}streams_like"]
    return SomeStreams(tuple(named or ()), tuple(likes or ())) if named or likes else None


def _positions(row: Mapping[str, Any]) -> tuple[tuple[int, int], tuple[int, int]] | None:
    if row["kind"] != NEAR_JOIN:
        return None
    x, y, u, v = row["region_on"]
    return (x, y), (u, v)


def _conjuncts(
    row: Mapping[str, Any], feeds: tuple[str, str], axes_of: Axes
) -> tuple[Conjunct, ...]:
    """Parse the text of a window join; for another, check that its axes exist."""
    subject = f"the query '{shortened(row['id'])}' joins"
    lost: str | None
    for feed in feeds:
        if feed not in axes_of:
            raise LakeError(
                f"{subject} the feed '{feed}', which is not in fencepost.toml: declare it, or "
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
        f"{subject} {feeds[0]} ({', '.join(left)}) and {feeds[1]} ({', '.join(right)}), and was "
        f"registered for other axes: {lost}. Give the feeds their axes back in fencepost.toml."
    )


def _axis_lost(row: Mapping[str, Any], left: Sequence[str], right: Sequence[str]) -> str | None:
    if row["kind"] == NEAR_JOIN:
        (*mine, _, _), (_, _, *other) = row["region_on"], row["region_on"]
        is_there = max(mine) < len(left) and max(other) < len(right)
        return None if is_there else "its positions are on other axes"
    for name, axes in (("left_axis", left), ("right_axis", right)):
        if row[name] not in axes:
            return f"'{shortened(row[name])}' is none of {', '.join(axes)}"
    return None


def _are_joins(rows: pa.Table) -> pa.ChunkedArray:
    return pc.is_in(rows["kind"], value_set=pa.array(JOINS))
