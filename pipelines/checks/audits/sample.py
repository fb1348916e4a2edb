"""The sample for audits: some steps of some streams, and the queries that were active then.

Law: no index, kernel or state of the engine is used; what a step is, is read from the tuples, and
the choice of steps depends on these and the scope alone.
"""

# ruff: noqa: S608  names of feeds, axes, tables and columns are declared, all else are numbers

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow.compute as pc

from fencepost.queries import QuerySet
from fencepost.tuples import Bools
from pipelines.checks.admission import accepted, placed
from pipelines.checks.results import SAMPLES, FaultCount
from pipelines.checks.scope import CheckScope
from pipelines.project.settings import Settings
from pipelines.registry.current_rows import standing_rows
from pipelines.registry.queries import query_set_of
from pipelines.serve.views.registry import DONE_COMMITS
from schemas.queries import QUERIES

if TYPE_CHECKING:
    import duckdb

STREAMS = 64
STEPS = 4_000
BOXES = 20_000_000
"""The most streams, steps of theirs, and boxes tested at a step, all in all."""

REGISTRIES = 3
"""Versions of the registry that are audited: the newest ones of the steps."""

T = TypeVar("T", bound=tuple[Any, ...])


class SampledStep(NamedTuple):
    """A tuple of a stream and the one before; `before` is None where there is none. Times in µs."""

    stream: str
    ts: int
    place: int
    after: tuple[float, ...]
    before: tuple[float, ...] | None


@dataclass(frozen=True)
class Audit(Generic[T]):
    """What queries of a kind yield, compared with the rows of a table.

    table     its name in the lake
    columns   of that table: the first fields of a row; stream, time in µs and place follow
    row       makes one of these fields
    expected  what a step yields, by looking at every query
    """

    kind: str
    table: str
    columns: tuple[str, ...]
    row: Callable[..., T]
    expected: Callable[[QuerySet, SampledStep], Iterator[T]]

    def run(
        self, session: "duckdb.DuckDBPyConnection", settings: Settings, scope: CheckScope
    ) -> FaultCount:
        """Compare the rows of the sample with what all queries yield; O(steps · boxes)."""
        looked, faults = 0, list[str]()
        for queries, steps in sampled(session, settings, scope, self.kind):
            looking = steps if len(queries) else ()
            expected = {each for step in looking for each in self.expected(queries, step)}
            found = self._found(session, scope, {step[:3] for step in steps})
            looked += len(steps)
            faults += [f"missing: {each}" for each in sorted(expected - found)]
            faults += [f"not a {self.kind}: {each}" for each in sorted(found - expected)]
        return FaultCount(looked, len(faults), faults[:SAMPLES])

    def _found(
        self,
        session: "duckdb.DuckDBPyConnection",
        scope: CheckScope,
        steps: set[tuple[str, int, int]],
    ) -> set[T]:
        """Read the rows of steps."""
        columns = ", ".join(f"e.{column}" for column in self.columns)
        rows: list[tuple[Any, ...]] = session.execute(
            f"SELECT {columns}, e.stream_id, UNIX_MICROS(e.ts), e.place FROM {self.table} e "
            "JOIN audited m ON m.stream_id = e.stream_id AND m.ts = e.ts AND m.place = e.place "
            f"WHERE e.feed = '{scope.feed}'"
        ).fetchall()
        return {self.row(*each) for each in rows if each[-3:] in steps}


def sampled(
    session: "duckdb.DuckDBPyConnection", settings: Settings, scope: CheckScope, kind: str
) -> Iterator[tuple[QuerySet, list[SampledStep]]]:
    """Give the steps of the sample with the queries of a kind that were active then.

    They are also in the session's table `audited`, by stream, ts and place.
    """
    axes = settings.axes[scope.feed]
    session.execute(f"CREATE OR REPLACE TEMP TABLE audited AS {_steps(scope, axes)}")
    by_registry = _by_registry(session, scope, len(axes))
    for registry in sorted(by_registry, reverse=True)[:REGISTRIES]:
        queries = _query_set(session, settings, scope.feed, registry, kind)
        most = max(1, BOXES // REGISTRIES // max(1, queries.lo.shape[1]))
        yield queries, by_registry[registry][:most]


def inside(queries: QuerySet, point: Sequence[float]) -> Bools:
    """Mark the boxes that contain a point."""
    within = np.ones(queries.lo.shape[1], np.bool_)
    for lo, hi, value in zip(queries.lo, queries.hi, point, strict=True):
        within &= (lo <= value) & (value < hi)
    return within


def any_of(queries: QuerySet, boxes: Bools) -> Bools:
    """Mark the queries with one of these boxes."""
    if len(queries) == 0:
        return boxes[:0]
    return np.logical_or.reduceat(boxes, queries.box_ptr[:-1])


def covered(queries: QuerySet, step: SampledStep) -> Bools:
    """Mark the queries that watch a step's stream and are valid at its time."""
    named = np.flatnonzero(pc.equal(queries.streams, step.stream).to_numpy(zero_copy_only=False))
    covers: Bools = queries.everywhere.copy()
    covers[np.searchsorted(queries.stream_ptr, named, side="right") - 1] = True
    if queries.patterns is not None:
        for query in np.flatnonzero(queries.patterns.has).tolist():
            covers[query] = queries.patterns.watches(query, step.stream)
    return covers & (queries.valid_from <= step.ts) & (step.ts < queries.valid_to)


def _steps(scope: CheckScope, axes: Sequence[str]) -> str:
    """Write as SQL: a sample of steps, and the epoch that their tuple arrived with."""
    arrived = f"""SELECT d.epoch, EXPLODE(d.arrivals) AS n FROM done_epochs d
        WHERE d.lane = '{scope.feed}'"""
    streams = f"""SELECT DISTINCT t.stream_id FROM "{scope.feed}" t
        WHERE t.arrival IN (SELECT k.n FROM ({arrived}) k WHERE {scope.epochs("k.epoch")})
        ORDER BY HASH(t.stream_id) LIMIT {STREAMS:d}"""
    among = f"t.stream_id IN (SELECT x.stream_id FROM ({streams}) x)"
    values = ", ".join(f"a.v{i}" for i in range(len(axes)))
    tuples = placed(scope, f"a.stream_id, a.ts, a.epoch, a.own, {values}")
    before = ", ".join(f"LAG(a.v{i}) OVER w AS p{i}" for i in range(len(axes)))
    return f"""WITH {accepted(scope, among)}, placed AS (
    {tuples}
), moved AS (
    SELECT a.*, UNIX_MICROS(a.ts) AS us, LAG(a.ts) OVER w IS NULL AS is_first, {before}
    FROM placed a WINDOW w AS (PARTITION BY a.stream_id ORDER BY a.ts, a.place)
)
SELECT m.* FROM moved m WHERE {scope.epochs("m.epoch")}
ORDER BY HASH(m.stream_id, m.us, m.place) LIMIT {STEPS:d}"""


def _by_registry(
    session: "duckdb.DuckDBPyConnection", scope: CheckScope, axes: int
) -> dict[int, list[SampledStep]]:
    """Read the steps, by the registry of the epoch that took them: their own, or a later one."""
    epochs = session.execute(
        "SELECT d.epoch, UNIX_MICROS(d.watermark), d.registry_version FROM done_epochs d "
        f"WHERE d.lane = '{scope.feed}' ORDER BY d.epoch"
    ).fetchall()
    after = ", ".join(f"m.v{i}" for i in range(axes))
    before = ", ".join(f"m.p{i}" for i in range(axes))
    rows = session.execute(
        f"SELECT m.stream_id, m.us, m.place, m.epoch, m.own, m.is_first, {after}, {before} "
        "FROM audited m ORDER BY HASH(m.stream_id, m.us, m.place)"
    ).fetchall()
    steps: dict[int, list[SampledStep]] = {}
    for stream, ts, place, arrived, own, is_first, *values in rows:
        point_before = None if is_first else tuple(values[axes:])
        registry = next(
            registry
            for epoch, watermark, registry in epochs
            if epoch >= arrived
            and ((watermark is not None and watermark >= ts) or (own is not None and own <= epoch))
        )
        step = SampledStep(stream, ts, place, tuple(values[:axes]), point_before)
        steps.setdefault(registry, []).append(step)
    return steps


def _query_set(
    session: "duckdb.DuckDBPyConnection", settings: Settings, feed: str, registry: int, kind: str
) -> QuerySet:
    """Read the queries that were active in a version of the registry."""
    rows = session.execute(
        f"SELECT q.* FROM raw_queries q WHERE q.n IN ({DONE_COMMITS}) "
        f"AND q.registry_version <= {registry:d} ORDER BY q.n"
    ).to_arrow_table()
    stood = standing_rows(rows.cast(QUERIES.arrow).combine_chunks())
    mine = pc.and_(pc.equal(stood["feed"], feed), pc.equal(stood["kind"], kind))
    return query_set_of(feed, settings.axes[feed], stood.filter(mine), kind)
