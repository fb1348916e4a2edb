"""An audit of window joins: some of the newest tuples, tested against all that came before.

The engine uses an index of live tuples; here each conjunct of each join is compared with a tuple
and those of the other feed that were joined before it, in plain NumPy, whatever the windows hold.

Law: no index, kernel or state of the engine is used; accepted tuples and their order are read
from deliveries and tuples.
"""

# ruff: noqa: S608  names of feeds and axes are declared, all else are numbers

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fencepost.queries.joins import WINDOW_JOIN
from fencepost.queries.joins.query import Conjunct, JoinQuery, JoinTest
from fencepost.shapes import twins
from fencepost.shapes.columns import Shapes
from fencepost.shapes.prepare import prepared
from fencepost.times import format_instant
from fencepost.tuples import Bools, Int64s
from pipelines.checks.audits.join_sample import audited_joins
from pipelines.checks.audits.matches import COMPARES
from pipelines.checks.join_sql import deliveries, tuples
from pipelines.checks.results import SAMPLES, FaultCount
from pipelines.checks.scope import CheckScope
from pipelines.ingest import delta_source
from pipelines.project.settings import Settings
from schemas.tuples import SEQUENCE

if TYPE_CHECKING:
    import duckdb

    from fencepost.arrays import Doubles

TUPLES = 40
STRETCH = 50_000
QUERIES = 200
MOST_COMPARED = 200_000_000
"""At most so many tuples are audited, held against those of the last deliveries (so many of them,
and of both feeds), for so many joins, and so many times in all."""

REGISTRIES = 3
"""Versions of the registry that are audited: the newest ones of the tuples."""


class JoinDelivery(NamedTuple):
    """A delivery of the lane; `mark` is the lane's watermark before it, µs."""

    place: int
    registry: int
    mark: int | None


JoinedTuple = tuple[str, int, int, tuple[float, ...]]
"""Its stream, time, place and values."""


class Paired(NamedTuple):
    """A pair, expected or actual: of each tuple the stream, the time in µs, place and values."""

    query: str
    version: int
    left: JoinedTuple
    right: JoinedTuple

    def __str__(self) -> str:
        """Describe it."""
        left, right = (
            f"{who} at {format_instant(ts)}" + (f", place {place}" if place else "")
            for who, ts, place, _ in (self.left, self.right)
        )
        return f"{self.query} v{self.version}: {left} and {right}"


@dataclass(frozen=True, eq=False)
class StretchSide:
    """The tuples of a side that were joined in the stretch, in that order."""

    names: list[str]
    us: Int64s
    place: Int64s
    release: Int64s
    registry: Int64s
    values: "Doubles"  # [axis, tuple]

    def at(self, k: int) -> JoinedTuple:
        """Give one of them."""
        values = tuple(self.values[:, k].tolist())
        return self.names[k], int(self.us[k]), int(self.place[k]), values


@dataclass(frozen=True, eq=False)
class Stretch:
    """The newest deliveries: by place, and the tuples of either side that came with them."""

    by_place: Mapping[int, JoinDelivery]
    sides: tuple[StretchSide, StretchSide]
    whole: bool


@dataclass(frozen=True, eq=False)
class ProbeTuple:
    """A tuple, and what it is compared with.

    before  how many of the other side's tuples came before its delivery: the first ones
    apart   how far from each of these it is, for a window of time, in µs
    """

    stretch: Stretch
    side: int
    k: int
    before: int
    apart: Int64s

    @classmethod
    def of(cls, stretch: Stretch, side: int, k: int) -> "ProbeTuple":
        """Measure; the watermark counts too."""
        own, other = stretch.sides[side], stretch.sides[1 - side]
        before = int(np.searchsorted(other.release, own.release[k]))
        earlier = other.us[:before]
        apart = np.abs(own.us[k] - earlier)
        mark = stretch.by_place[int(own.release[k])].mark
        if mark is not None:
            apart = np.maximum(apart, mark - earlier)
        return cls(stretch, side, k, before, apart)


def run(session: "duckdb.DuckDBPyConnection", settings: Settings, scope: CheckScope) -> FaultCount:
    """Compare the pairs of the sample with all joins; O(tuples · stretch · joins)."""
    session.execute(
        "CREATE OR REPLACE TEMP TABLE lane_deliveries AS "
        f"WITH {deliveries(scope, settings)} SELECT * FROM marked"
    )
    stretch = _stretch(session, settings, scope)
    looked, wrong = 0, list[str]()
    sample = _sample(session, scope, stretch)
    for registry in sorted(sample, reverse=True)[:REGISTRIES]:
        mine = sample[registry]
        compared = len(mine) * max(1, *(len(side.us) for side in stretch.sides))
        most = min(QUERIES, max(1, MOST_COMPARED // REGISTRIES // compared))
        queries, since = audited_joins(session, settings, scope, WINDOW_JOIN, registry, most)
        if not queries:
            continue
        expected = {
            pair
            for side, k in mine
            for probe in [ProbeTuple.of(stretch, side, k)]
            for query, first in zip(queries, since.tolist(), strict=True)
            for pair in _pairs(query, first, probe)
        }
        found = _found(session, settings, scope, stretch, mine)
        looked += len(mine)
        wrong += [f"missing: {each}" for each in sorted(expected - found)]
        wrong += [f"not a pair: {each}" for each in sorted(found - expected)]
    return FaultCount(looked, len(wrong), wrong[:SAMPLES])


def _stretch(
    session: "duckdb.DuckDBPyConnection", settings: Settings, scope: CheckScope
) -> Stretch:
    """Read the newest deliveries of the scope that feeds have judged, and their tuples."""
    rows = session.execute(
        "SELECT d.place, d.registry_version, "
        "LAG(CASE WHEN d.left_mark IS NOT NULL AND d.right_mark IS NOT NULL "
        "THEN LEAST(d.left_mark, d.right_mark) END) OVER (ORDER BY d.place), "
        f"d.judged, {scope.epochs('d.epoch')}, d.side, COALESCE(d.tuples, 0) "
        "FROM lane_deliveries d ORDER BY d.place"
    ).fetchall()
    judged = next((k for k, row in enumerate(rows) if not row[3]), len(rows))
    beyond = max((k + 1 for k, row in enumerate(rows[:judged]) if row[4]), default=0)
    first, many = beyond, [0, 0]
    while first and (sum(many) < STRETCH or not all(many)):
        first -= 1
        many[rows[first][5]] += rows[first][6]
    some = [JoinDelivery(*row[:3]) for row in rows[first:beyond]]
    left, right = (_side(session, settings, scope, side, (first + 1, beyond)) for side in (0, 1))
    return Stretch({each.place: each for each in some}, (left, right), first == 0)


def _side(
    session: "duckdb.DuckDBPyConnection",
    settings: Settings,
    scope: CheckScope,
    side: int,
    places: tuple[int, int],
) -> StretchSide:
    """Read the tuples of some places, and write them to the table `stretch_0` or 1."""
    feed = settings.feeds[scope.sides[side]]
    marked = "marked AS (SELECT * FROM lane_deliveries)"
    content = ", ".join([*(f"x.v{i}" for i in range(len(feed.axes))), "x.gone", "x.stream_id"])
    rows = content if feed.form == delta_source.FORM else "x.file, x.line"
    in_turn = f"x.{SEQUENCE} NULLS FIRST, {rows}" if feed.sequence_column is not None else rows
    tie = "x.stream_id, x.ts_place" if feed.allowed_lateness else in_turn
    session.execute(f"""CREATE OR REPLACE TEMP TABLE stretch_{side} AS WITH {marked}
SELECT x.*, ROW_NUMBER() OVER (ORDER BY x.release, x.us, {tie}) - 1 AS nth,
    d.registry_version AS registry
FROM ({tuples(scope, side, feed)}) x JOIN lane_deliveries d ON d.place = x.release
WHERE x.release BETWEEN {places[0]:d} AND {places[1]:d}""")
    rows = session.execute(f"SELECT s.* FROM stretch_{side} s ORDER BY s.nth").to_arrow_table()
    values = [rows[f"v{i}"].to_numpy() for i in range(len(feed.axes))]
    return StretchSide(
        rows["stream_id"].to_pylist(),
        rows["us"].to_numpy(),
        rows["ts_place"].to_numpy(),
        rows["release"].to_numpy(),
        rows["registry"].to_numpy(),
        np.stack(values),
    )


def _sample(
    session: "duckdb.DuckDBPyConnection", scope: CheckScope, stretch: Stretch
) -> dict[int, list[tuple[int, int]]]:
    """Choose tuples of the scope's epochs, as far apart as possible: by registry, (side, which)."""
    inside = {
        place
        for (place,) in session.execute(
            f"SELECT d.place FROM lane_deliveries d WHERE {scope.epochs('d.epoch')}"
        ).fetchall()
    }
    chosen: dict[int, list[tuple[int, int]]] = {}
    for side, of_side in enumerate(stretch.sides):
        mine = np.flatnonzero(np.isin(of_side.release, list(inside)))
        if len(mine) == 0:
            continue
        spread = np.unique(np.linspace(0, len(mine) - 1, TUPLES // 2).astype(np.int64))
        for k in mine[spread].tolist():
            chosen.setdefault(int(of_side.registry[k]), []).append((side, k))
    return chosen


def _pairs(query: JoinQuery, since: int, probe: ProbeTuple) -> Iterator[Paired]:
    """Give the pairs of a tuple with those of the other side that came before."""
    side, k, before = probe.side, probe.k, probe.before
    own, other = probe.stretch.sides[side], probe.stretch.sides[1 - side]
    us = int(own.us[k])
    begun = query.valid_from is None or query.valid_from <= us
    if not begun or (query.valid_to is not None and query.valid_to <= us):
        return
    within = other.registry[:before] >= since
    if query.window is not None:
        within &= probe.apart <= query.window
    if query.last is not None:
        within[: max(0, before - query.last)] = False
    earlier = np.flatnonzero(within)
    mine = np.broadcast_to(own.values[:, k : k + 1], (len(own.values), len(earlier)))
    theirs = other.values[:, earlier]
    values = np.concatenate([mine, theirs] if side == 0 else [theirs, mine])
    lefts = len(own.values if side == 0 else other.values)
    joined = _satisfied(query.conjuncts, values) & _in_regions(query, values, lefts)
    for j in earlier[joined].tolist():
        left, right = (own.at(k), other.at(j)) if side == 0 else (other.at(j), own.at(k))
        yield Paired(query.id, query.version, left, right)


def _satisfied(conjuncts: Sequence[Conjunct], values: "Doubles") -> Bools:
    """Mark the columns of values that satisfy one of the conjuncts."""
    satisfied = np.zeros(values.shape[1], np.bool_)
    for box, tests in conjuncts:
        passing = np.ones(values.shape[1], np.bool_)
        for (lo, hi), axis in zip(box, values, strict=True):
            passing &= (lo <= axis) & (axis < hi)
        for test in tests:
            passing &= _passed(test, values)
        satisfied |= passing
    return satisfied


def _in_regions(query: JoinQuery, values: "Doubles", lefts: int) -> Bools:
    """Mark the columns whose positions are in the regions of both sides, where there are any."""
    inside = np.ones(values.shape[1], np.bool_)
    for region, position, first in zip(query.regions, query.region_axes, (0, lefts), strict=True):
        if region is not None and position is not None:
            x, y = (values[first + axis] for axis in position)
            shapes = prepared(Shapes.of([region], region.earth), fast=False)
            inside &= twins.holds(shapes, np.zeros(len(x), np.int64), x, y)
    return inside


def _passed(test: JoinTest, values: "Doubles") -> Bools:
    one, other = values[test.axis] + test.plus, values[test.other] + test.other_plus
    passed: Bools = COMPARES[test.op](one, other)
    return passed


def _found(
    session: "duckdb.DuckDBPyConnection",
    settings: Settings,
    scope: CheckScope,
    stretch: Stretch,
    mine: Sequence[tuple[int, int]],
) -> set[Paired]:
    """Read the pairs of tuples of the sample, with whatever came before in the stretch.

    If the stretch begins after the lane, those of older tuples are left out.
    """
    numbers = [", ".join(str(k) for side, k in mine if side == s) or "-1" for s in (0, 1)]
    each = (
        f"SELECT {side} AS side, s.stream_id, s.us, s.ts_place AS place FROM stretch_{side} s "
        f"WHERE s.nth IN ({some})"
        for side, some in enumerate(numbers)
    )
    session.execute(f"CREATE OR REPLACE TEMP TABLE audited AS {' UNION ALL '.join(each)}")
    columns = [
        f"p.{side}_{axis}"
        for side, feed in zip(("left", "right"), scope.sides, strict=True)
        for axis in settings.axes[feed]
    ]
    d = len(settings.axes[scope.sides[0]])
    rows = session.execute(f"""SELECT p.query_id, p.query_version, m.side,
    p.left_stream_id, UNIX_MICROS(p.left_ts), p.left_place,
    p.right_stream_id, UNIX_MICROS(p.right_ts), p.right_place,
    {", ".join(columns)}
FROM pairs p JOIN audited_joins q ON q.id = p.query_id AND q.version = p.query_version
JOIN lane_deliveries d ON d.n = p.arrival
JOIN audited m ON m.side = d.side AND m.us = UNIX_MICROS(p.ts) AND m.stream_id =
    CASE WHEN d.side = 0 THEN p.left_stream_id ELSE p.right_stream_id END
    AND m.place = CASE WHEN d.side = 0 THEN p.left_place ELSE p.right_place END
WHERE p.lane = '{scope.lane}'""").fetchall()
    known = [
        set(zip(side.names, side.us.tolist(), side.place.tolist(), strict=True))
        for side in stretch.sides
    ]
    found = set()
    for query, version, side, *both in rows:
        left, right, values = tuple(both[:3]), tuple(both[3:6]), tuple(both[6:])
        if stretch.whole or (right if side == 0 else left) in known[1 - side]:
            found.add(Paired(query, version, (*left, values[:d]), (*right, values[d:])))
    return found
