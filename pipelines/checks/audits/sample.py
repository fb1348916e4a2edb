"""The sample for audits: some steps of some streams, and the queries that were active then.

Law: no index, kernel or state of the engine is used; what a step is, is read from the tuples, and
the choice of steps depends on these and the scope alone.
"""

# ruff: noqa: S608  names of feeds, axes, tables and columns are declared, all else are numbers

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Doubles, Int64s
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

TOGETHER = 1 << 18
"""Boxes that are tested at a time, so that what is known of them stays in the cache."""

REGISTRIES = 3
"""Versions of the registry that are audited: the newest ones of the steps."""

NEVER_BEFORE, NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max

T = TypeVar("T", bound=tuple[Any, ...])


class SampledSteps(NamedTuple):
    """Tuples, and the one before each of its stream. Times in µs.

    after, before  values of the two, a row an axis; NaN where there is none before
    first          marks where there is none
    """

    streams: pa.StringArray
    ts: Int64s
    places: Int64s
    after: Doubles
    before: Doubles
    first: Bools

    def key(self, step: int) -> tuple[str, int, int]:
        """Name a step: stream, time and place."""
        return self.streams[step].as_py(), int(self.ts[step]), int(self.places[step])

    def keys(self) -> set[tuple[str, int, int]]:
        """Name all of them."""
        columns = self.streams.to_pylist(), self.ts.tolist(), self.places.tolist()
        return set(zip(*columns, strict=True))

    def of(self, rows: slice | Int64s) -> "SampledSteps":
        """Give some of them, in the order of the rows."""
        which = np.arange(len(self.ts))[rows]
        return SampledSteps(
            self.streams.take(pa.array(which)),
            self.ts[which],
            self.places[which],
            self.after[:, which],
            self.before[:, which],
            self.first[which],
        )

    def parts(self, boxes: int) -> Iterator["SampledSteps"]:
        """Give them part by part, so that few boxes are tested at a time."""
        many = max(1, TOGETHER // max(1, boxes))
        for begin in range(0, len(self.ts), many):
            yield self.of(slice(begin, begin + many))


@dataclass(frozen=True)
class Audit(Generic[T]):
    """What queries of a kind yield, compared with the rows of a table.

    table     its name in the lake
    columns   of that table: the first fields of a row; stream, time in µs and place follow
    row       makes one of these fields
    expected  what steps yield, by looking at every query
    """

    kind: str
    table: str
    columns: tuple[str, ...]
    row: Callable[..., T]
    expected: Callable[[QuerySet, SampledSteps], Iterator[T]]

    def run(
        self, session: "duckdb.DuckDBPyConnection", settings: Settings, scope: CheckScope
    ) -> FaultCount:
        """Compare the rows of the sample with what all queries yield; O(steps · boxes)."""
        looked, faults = 0, list[str]()
        audited, registries = sampled(session, settings, scope)
        for registry in sorted(registries, reverse=True)[:REGISTRIES]:
            queries = _query_set(session, settings, scope.feed, registry, self.kind)
            boxes = queries.lo.shape[1]
            steps = registries[registry].of(slice(max(1, BOXES // REGISTRIES // max(1, boxes))))
            parts = steps.parts(boxes) if len(queries) else ()
            expected = {each for part in parts for each in self.expected(queries, part)}
            found = self._found(session, scope, audited, steps)
            looked += len(steps.ts)
            faults += [f"missing: {each}" for each in sorted(expected - found)]
            faults += [f"not a {self.kind}: {each}" for each in sorted(found - expected)]
        return FaultCount(looked, len(faults), faults[:SAMPLES])

    def _found(
        self,
        session: "duckdb.DuckDBPyConnection",
        scope: CheckScope,
        audited: str,
        steps: SampledSteps,
    ) -> set[T]:
        """Read the rows of steps."""
        columns = ", ".join(f"e.{column}" for column in self.columns)
        rows: list[tuple[Any, ...]] = session.execute(
            f"SELECT {columns}, e.stream_id, UNIX_MICROS(e.ts), e.place FROM {self.table} e "
            f"JOIN {audited} m ON m.stream_id = e.stream_id AND m.ts = e.ts AND m.place = e.place "
            f"WHERE e.feed = '{scope.feed}'"
        ).fetchall()
        keys = steps.keys() if rows else set()
        return {self.row(*each) for each in rows if each[-3:] in keys}


def sampled(
    session: "duckdb.DuckDBPyConnection", settings: Settings, scope: CheckScope
) -> tuple[str, dict[int, SampledSteps]]:
    """Give the steps of the sample, by the registry whose queries were active then.

    They are also in a table of the session, which is named; it is made once for a scope.
    """
    axes = settings.axes[scope.feed]
    steps = _steps(scope, axes)
    audited = f"audited_{blake2b(steps.encode(), digest_size=8).hexdigest()}"
    session.execute(f"CREATE TEMP TABLE IF NOT EXISTS {audited} AS {steps}")
    return audited, _by_registry(session, scope, audited, len(axes))


def inside(queries: QuerySet, points: Doubles) -> Bools:
    """Mark the boxes that contain each of some points."""
    within = np.ones((points.shape[1], queries.lo.shape[1]), np.bool_)
    for lo, hi, values in zip(queries.lo, queries.hi, points[:, :, np.newaxis], strict=True):
        within &= lo <= values
        within &= values < hi
    return within


def any_of(queries: QuerySet, boxes: Bools) -> Bools:
    """Mark the queries with one of these boxes, for each point."""
    if boxes.shape[1] == len(queries):  # each has one
        return boxes
    return np.logical_or.reduceat(boxes, queries.box_ptr[:-1], axis=1)


def watched(queries: QuerySet, steps: SampledSteps, marked: Bools) -> Bools:
    """Leave of what is marked, step by query, what the query watches: stream and time."""
    left = marked.copy()
    for step in np.flatnonzero(marked.any(axis=1)).tolist():
        left[step] &= _covered(queries, steps.streams[step].as_py(), int(steps.ts[step]))
    return left


def pairs(marked: Bools) -> list[tuple[int, int]]:
    """List what is marked, by step and query."""
    steps, queries = np.divmod(np.flatnonzero(marked), max(1, marked.shape[1]))
    return list(zip(steps.tolist(), queries.tolist(), strict=True))


def _covered(queries: QuerySet, stream: str, ts: int) -> Bools:
    """Mark the queries that watch a stream and are valid at a time."""
    covers: Bools = queries.everywhere & (queries.valid_from <= ts) & (ts < queries.valid_to)
    if len(queries.streams):
        named = np.flatnonzero(pc.equal(queries.streams, stream).to_numpy(zero_copy_only=False))
        by_name = np.searchsorted(queries.stream_ptr, named, side="right") - 1
        covers[by_name] = (queries.valid_from[by_name] <= ts) & (ts < queries.valid_to[by_name])
    if queries.patterns is not None:
        for query in np.flatnonzero(queries.patterns.has & covers).tolist():
            covers[query] = queries.patterns.watches(query, stream)
    return covers


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
    session: "duckdb.DuckDBPyConnection", scope: CheckScope, audited: str, axes: int
) -> dict[int, SampledSteps]:
    """Read the steps, by the registry of the epoch that took them: their own, or a later one."""
    done = session.execute(
        "SELECT d.epoch, UNIX_MICROS(d.watermark) AS watermark, d.registry_version "
        f"FROM done_epochs d WHERE d.lane = '{scope.feed}' ORDER BY d.epoch"
    ).to_arrow_table()
    values = ", ".join(f"m.{letter}{i}" for letter in "vp" for i in range(axes))
    rows = session.execute(
        "SELECT m.stream_id, m.us, m.place, m.is_first, m.epoch, CAST(m.own AS BIGINT) AS own, "
        f"{values} FROM {audited} m ORDER BY HASH(m.stream_id, m.us, m.place)"
    ).to_arrow_table()
    points = np.array([_filled(column, np.nan) for column in rows.columns[6:]])
    steps = SampledSteps(
        rows["stream_id"].cast(pa.string()).combine_chunks(),
        rows["us"].to_numpy(),
        rows["place"].to_numpy(),
        points[:axes],
        points[axes:],
        rows["is_first"].to_numpy(),
    )
    epochs = done["epoch"].to_numpy()
    arrived = np.searchsorted(epochs, rows["epoch"].to_numpy())
    clock = np.maximum.accumulate(_filled(done["watermark"], NEVER_BEFORE))
    passed = np.searchsorted(clock, steps.ts)
    released = np.searchsorted(epochs, _filled(rows["own"], NEVER))
    registry = done["registry_version"].to_numpy()[
        np.maximum(arrived, np.minimum(passed, released))
    ]
    return {int(each): steps.of(np.flatnonzero(registry == each)) for each in np.unique(registry)}


def _filled(column: pa.ChunkedArray, value: float) -> Any:  # noqa: ANN401  of its own type
    """Give a column with this value in place of nulls."""
    return column.fill_null(pa.scalar(value, column.type)).to_numpy()


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
