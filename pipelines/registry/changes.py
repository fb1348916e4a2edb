"""What a file of definitions changes among the active queries.

Law: a query whose feed, kind, boxes with their tests, region, leaps, streams, patterns of them,
within, on_first or validity differ, boxes, streams and patterns as sets, is a new version, one
above the last version of its id; so is a join whose feeds, conjuncts, regions, window, axes, band
or distance differ. Where only owner, tags, note or the spelling of a condition differ it is edited:
a row of the same version. Otherwise no row is written. Queries that are not named stay.
"""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools, Int64s, UInt64s
from fencepost.errors import LakeError
from fencepost.queries.fingerprint import hashes_of
from fencepost.queries.joins import JOINS, Conjunct
from pipelines.registry.joins import joins_of
from pipelines.registry.queries import DEFINITION, OF_JOINS, Axes, query_set_of


@dataclass(frozen=True, eq=False)
class QueryChanges:
    """The request: queries to register, and ids to remove; a query in both stays."""

    given: pa.Table = field(default_factory=DEFINITION.empty_table)
    gone: pa.StringArray = field(default_factory=lambda: pa.array([], pa.string()))


@dataclass(frozen=True, eq=False)
class Compared:
    """The rows to write (definitions with `version` and `removed`), and the count of each kind."""

    rows: pa.Table
    added: int
    changed: int
    edited: int
    unchanged: int
    removed: int


def compare(newest: pa.Table, changes: QueryChanges, axes_of: Axes) -> Compared:
    """Compare the request with the newest row of each id, removed ones included.

    O(n log n), by column: (measured) a million given to a million active, 1.3 s.
    """
    given = by_feed_and_id(changes.given)  # what follows then meets the log in its own order
    place = places(given["id"], newest["id"])
    known = np.flatnonzero(place >= 0)
    before = newest.take(pa.array(place[known]))
    stood = np.zeros(given.num_rows, np.bool_)
    stood[known] = ~before["removed"].to_numpy()
    same, free = np.zeros_like(stood), np.zeros_like(stood)
    versions = np.zeros(given.num_rows, np.int32)
    versions[known] = before["version"].to_numpy()
    if len(known):
        again = given if len(known) == given.num_rows else given.take(pa.array(known))
        same[known] = stood[known] & _evaluated_alike(before, again, axes_of)
        free[known] = _free_alike(before, again)
        kept = _where_kept(given, known, before, same)
        given = given.set_column(given.column_names.index("where"), DEFINITION.field("where"), kept)
    versions += ~same
    news = np.flatnonzero(~(same & free))
    gone = _gone(newest, changes)
    return Compared(
        pa.concat_tables(
            [
                _versioned(given.take(pa.array(news)), versions[news], removed=False),
                _versioned(gone.select(DEFINITION.names), gone["version"].to_numpy(), removed=True),
            ]
        ),
        added=int((~stood).sum()),
        changed=int((stood & ~same).sum()),
        edited=int((same & ~free).sum()),
        unchanged=int((same & free).sum()),
        removed=gone.num_rows,
    )


def by_feed_and_id(rows: pa.Table) -> pa.Table:
    """Give rows in the order of the table `queries`."""
    return rows.take(pc.sort_indices(rows, [("feed", "ascending"), ("id", "ascending")]))


def places(wanted: pa.ChunkedArray, among: pa.ChunkedArray) -> Int64s:
    """Find each of the wanted among distinct others: its row, or -1. The fewer are hashed."""
    if len(wanted) >= len(among):
        found = pc.index_in(wanted, value_set=among)
        return np.asarray(found.fill_null(-1).to_numpy(), np.int64)
    place = np.full(len(wanted), -1)
    found = pc.index_in(among, value_set=wanted)
    rows = np.flatnonzero(found.is_valid().to_numpy())
    place[found.drop_null().to_numpy()] = rows
    return place


def not_named(standing: pa.Table, given: pa.Table, feed: str | None) -> pa.StringArray:
    """List the active ids (of a feed, where one is named) that are not given."""
    if feed is not None:
        standing = standing.filter(pc.equal(standing["feed"], feed))
    missing = places(standing["id"], given["id"]) < 0
    return standing["id"].filter(pa.array(missing)).combine_chunks()


def _gone(newest: pa.Table, changes: QueryChanges) -> pa.Table:
    if len(changes.gone) == 0:
        return newest.slice(0, 0)
    wanted = pc.is_in(newest["id"], value_set=changes.gone)
    given = pc.is_in(newest["id"], value_set=changes.given["id"].combine_chunks())
    return newest.filter(pc.and_(wanted, pc.invert(pc.or_(given, newest["removed"]))))


def _evaluated_alike(before: pa.Table, given: pa.Table, axes_of: Axes) -> Bools:
    """Say, row by row, whether two are equal except for owner, tags, note and spelling."""
    same = np.zeros(given.num_rows, np.bool_)
    of_same = pc.and_(*(pc.equal(before[name], given[name]) for name in ("feed", "kind")))
    joins = pc.and_(of_same, pc.is_in(given["kind"], value_set=pa.array(JOINS)))
    same[joins.to_numpy()] = _joined_alike(before.filter(joins), given.filter(joins), axes_of)
    watching = given.filter(pc.invert(pc.is_in(given["kind"], value_set=pa.array(JOINS))))
    feeds, kinds = (pc.unique(watching[name]).to_pylist() for name in ("feed", "kind"))
    for feed, kind in product(feeds, kinds):
        of_this = pc.and_(pc.equal(given["feed"], feed), pc.equal(given["kind"], kind))
        mine = pc.and_(of_same, of_this)
        hashes = [
            _hashes(feed, axes_of[feed], each.filter(mine), kind)
            for each in (before.drop_columns(["version"]), given)
        ]
        same[mine.to_numpy()] = (hashes[0] == hashes[1]).all(axis=0)
    return same & _regions_alike(before, given)


def _hashes(feed: str, axes: tuple[str, ...], rows: pa.Table, kind: str) -> UInt64s:
    """Hash definitions but for their regions, whose texts are compared as they are."""
    place = rows.column_names.index("region")
    plain = rows.set_column(place, "region", pa.nulls(rows.num_rows, pa.string()))
    return hashes_of(query_set_of(feed, axes, plain, kind).columns())


def _regions_alike(before: pa.Table, given: pa.Table) -> Bools:
    """Say, row by row, whether the regions are the same, on the same axes."""
    alike = _equal(before["region"], given["region"])
    if before["region_on"].null_count < len(before):
        alike &= _equal(before["on_earth"], given["on_earth"])
        alike &= _lists_equal(before["region_on"], given["region_on"])
    return alike


_NAMES = ("streams", "streams_like", "right_streams", "right_streams_like")
"""The columns of the streams that near joins take."""


def _joined_alike(before: pa.Table, given: pa.Table, axes_of: Axes) -> Bools:
    """Say the same of joins of equal feeds and kind; texts that differ are parsed and compared."""
    alike = np.ones(given.num_rows, np.bool_)
    for name in (*OF_JOINS, "valid_from", "valid_to"):
        if name != "joined_on" and name not in _NAMES:
            alike &= _equal(before[name], given[name])
    for name in _NAMES:
        alike &= _lists_equal(before[name], given[name])
    spelt = _equal(before["joined_on"], given["joined_on"])
    spelt &= _equal(before["where"], given["where"])
    for row in np.flatnonzero(alike & ~spelt).tolist():
        one, other = (_conjuncts(rows.slice(row, 1), axes_of) for rows in (before, given))
        alike[row] = one == other
    return alike


def _conjuncts(row: pa.Table, axes_of: Axes) -> tuple[Conjunct, ...] | None:
    """Read the condition of a join; None where its feeds have other axes now."""
    try:
        (query,) = joins_of(row, axes_of)
    except LakeError:
        return None
    return query.conjuncts


def _free_alike(before: pa.Table, given: pa.Table) -> Bools:
    """Say whether the free columns are the same; if no spelling is given, any is."""
    alike = _equal(before["owner"], given["owner"]) & _equal(before["note"], given["note"])
    alike &= _equal(before["joined_on"], given["joined_on"])
    alike &= given["where"].is_null().to_numpy() | _equal(before["where"], given["where"])
    return alike & _lists_equal(before["tags"], given["tags"])


def _equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Bools:
    neither = pc.and_(one.is_null(), other.is_null())
    equal: Bools = pc.or_(neither, pc.fill_null(pc.equal(one, other), False)).to_numpy()
    return equal


def _lists_equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> Bools:
    lengths = [pc.fill_null(pc.list_value_length(each), 0).to_numpy() for each in (one, other)]
    alike: Bools = lengths[0] == lengths[1]
    if not lengths[0].any() and not lengths[1].any():
        return alike
    rows = np.repeat(np.flatnonzero(alike), lengths[0][alike])
    members = [pc.list_flatten(each.filter(pa.array(alike))) for each in (one, other)]
    alike[rows[pc.not_equal(*members).to_numpy()]] = False
    return alike


def _where_kept(given: pa.Table, known: Int64s, before: pa.Table, same: Bools) -> pa.ChunkedArray:
    """Keep the registered spelling if none is given and the boxes are the same."""
    lost = given["where"].is_null().to_numpy() & same
    if not lost.any() or before["where"].null_count == len(before):
        return given["where"]
    row = np.full(given.num_rows, -1)
    row[known] = np.arange(len(known))
    stood = before["where"].take(pa.array(row, mask=~lost))
    return pc.coalesce(given["where"], stood)


def _versioned(rows: pa.Table, versions: npt.NDArray[np.int32], *, removed: bool) -> pa.Table:
    return rows.append_column("version", pa.array(versions, pa.int32())).append_column(
        "removed", pa.repeat(pa.scalar(removed), len(rows))
    )
