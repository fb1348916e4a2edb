"""The views over twenty million events in DuckDB, and the marts, which keep what two of them show.

The lake got its ticks in ten deliveries, evaluated one after the other. Views are read to the last
row, columns summed up, in a session that is open; their rows are held against the ledgers' counts.
Floors are what DuckDB takes over the raw tables, whatever is in force: to group events by pair and
keep the last of either type, to give each event the time of the next, to count pairs by query.
"""

# ruff: noqa: S608  statements over views and tables that are named here

from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.lake_events import OFTEN, RARER, WITHIN
from benchmarks.lake_made import AXES, FEED, QUERIES, Bench, land
from benchmarks.lake_memory import spent
from benchmarks.lake_times import REPEATS, Times, clocked
from benchmarks.report import Line
from fencepost.queries import QuerySet
from fencepost.times import SECOND
from fencepost.tuples import TupleBatch
from pipelines.epochs.drive import Lake, advance
from pipelines.places import Place
from pipelines.project.settings import Settings
from pipelines.serve.marts import MartReport, folder_of, refresh
from pipelines.serve.views.duckdb import duckdb_session, load_delta
from pipelines.spark.runner import HereRunner, Runner
from pipelines.workloads import PriceBands
from schemas.marts import MARTS

DELIVERIES = 10
_PAIR = "r.feed, r.query_id, r.query_version, r.stream_id"
_SUMS = {
    "inside_now": "COUNT(*), MAX(v.since)",
    "visits": "COUNT(*), SUM(v.duration)",
    "query_activity": "SUM(v.times_entered), SUM(v.streams), SUM(v.inside_now), SUM(v.stay)",
}
_EXACT = {
    "inside_now": "COUNT(*), SUM(EPOCH_US(v.since))",
    "visits": "COUNT(*), SUM(EPOCH_US(v.entered_ts)), SUM(EPOCH_US(v.left_ts))",
}
_BARS = {"inside_now": 1.0, "visits": 2.0, "query_activity": 1.0}
_PAIRS = f"""SELECT {_PAIR}, MAX(CASE WHEN r.type = 'I' THEN r.ts END) AS entered,
    MAX(CASE WHEN r.type = 'O' THEN r.ts END) AS left_ FROM raw_events r GROUP BY {_PAIR}"""
_FLOORS = {
    "inside_now": f"SELECT COUNT(*) FROM ({_PAIRS}) p WHERE p.entered > p.left_",
    "visits": f"""SELECT COUNT(n.next) FROM (SELECT LEAD(r.ts) OVER (
        PARTITION BY {_PAIR} ORDER BY r.ts) AS next FROM raw_events r) n""",
    "query_activity": f"""SELECT COUNT(*) FROM (
        SELECT p.query_id, COUNT(*) FROM ({_PAIRS}) p GROUP BY p.query_id) q""",
}


@dataclass(frozen=True)
class Crossed(Bench):
    """Ticks that cross twenty borders each, of bands of which every other one has transitions."""

    fluctuation: float = OFTEN

    @cached_property
    def runner(self) -> Runner:
        """Run tasks in this process: what is timed is the reading."""
        return HereRunner()

    @cached_property
    def queries(self) -> QuerySet:
        """The bands."""
        even = np.arange(QUERIES) % 2 == 0
        within = pa.array(np.full(QUERIES, WITHIN), mask=even)
        return QuerySet.from_table(
            FEED, AXES, PriceBands(count=QUERIES).table().append_column("within", within)
        )


def views(bench: Bench) -> list[Line]:
    """Read each view, then the same from its mart."""
    many = Crossed(bench.folder / "views", bench.rows // RARER)
    settings = many.settings("lake", many.folder / "landing")
    lake = Lake.of(many.make(settings), settings, many.runner)
    found = _evaluated(many, lake)
    lines: list[Line] = []
    with closing(duckdb_session(settings.root, settings.tables, " ".join(_SUMS))) as session:
        _check(session, found)
        for name, sums in _SUMS.items():
            ours = _read(session, f"SELECT {sums} FROM {name} v")
            floor = _read(session, _FLOORS[name])
            claim = f"{name} as a view, of {_BARS[name]:g} s"
            facts = f"{ours}; floor {floor}; {sum(found):,} events"
            lines.append(Line(claim, ours.median / _BARS[name], 1.0, facts=facts))
    return [*lines, *_marts(many, settings, lake)]


def _marts(bench: Bench, settings: Settings, lake: Lake) -> list[Line]:
    """Write each mart, bring it up to date after one more tick of every stream, and read it."""
    names = [name for name in _SUMS if name in MARTS]
    first = {name: _refreshed(settings, name) for name in names}
    land(bench.folder / "landing" / "more.parquet", _one_more(bench.ticks))
    bench.take_in(lake.store, lake.settings)
    found = sum(
        group.counts["entered"] + group.counts["left"] for group in advance(lake, lake.lane(FEED))
    )
    lines = []
    for name in names:
        whole, again = first[name], _refreshed(settings, name)
        assert again.report.how.startswith("what came after"), again.report.how
        with closing(_opened(folder_of(settings.root, name))) as session:
            ours = _read(session, f"SELECT {_SUMS[name]} FROM mart v")
            holds = _row(session, f"SELECT {_EXACT[name]} FROM mart v")
        with closing(duckdb_session(settings.root, settings.tables, name, only=True)) as session:
            assert _row(session, f"SELECT {_EXACT[name]} FROM {name} v") == holds
        claim = f"{name} from its mart, of {_BARS[name]:g} s"
        facts = f"{ours}; {again.report.rows:,} rows"
        lines.append(Line(claim, ours.median / _BARS[name], 1.0, facts=facts))
        claim = f"{name} brought up to date, of its first refresh"
        facts = f"{again} against {whole}, of a core; {found:,} more events"
        lines.append(Line(claim, again.cores / whole.cores, facts=facts))
    return lines


@dataclass(frozen=True)
class Refreshed:
    """A refresh of a mart, and the seconds of all cores that it took."""

    report: MartReport
    cores: float

    def __str__(self) -> str:
        """The seconds."""
        return f"{self.cores:.3g} s"


def _refreshed(settings: Settings, name: str) -> Refreshed:
    before = spent()
    (report,) = refresh(settings, FEED, [name])
    return Refreshed(report, spent() - before)


def _one_more(ticks: TupleBatch) -> TupleBatch:
    """Give every stream a tick, a second after its last one, back where the one before was."""
    order = np.lexsort((ticks.ts, ticks.stream))
    last = np.flatnonzero(np.diff(np.asarray(ticks.stream)[order], append=-1))
    times = np.asarray(ticks.ts)[order[last]] + SECOND
    return replace(ticks.take(order[last - 1]), ts=times)


def _evaluated(bench: Bench, lake: Lake) -> tuple[int, int]:
    """Deliver the ticks in order of time and evaluate them; count the events I and O."""
    ticks = bench.ticks
    in_time = np.argsort(ticks.ts, kind="stable")
    entered = left = 0
    for part, rows in enumerate(np.array_split(in_time, DELIVERIES)):
        land(bench.folder / "landing" / f"{part:03}.parquet", ticks.take(rows))
        bench.take_in(lake.store, lake.settings)
        for group in advance(lake, lake.lane(FEED)):
            entered += group.counts["entered"]
            left += group.counts["left"]
    return entered, left


def _check(session: duckdb.DuckDBPyConnection, found: tuple[int, int]) -> None:
    """Every I begins a visit, every O ends one; and who is inside is who has not left."""
    entered, left = found
    visits = _row(session, "SELECT COUNT(v.entered_ts), COUNT(v.left_ts), COUNT(*) FROM visits v")
    inside = _row(session, "SELECT COUNT(*) FROM inside_now v")
    by_query = "SELECT SUM(v.times_entered), SUM(v.times_left), SUM(v.inside_now)"
    assert visits[:2] == found
    assert inside == (visits[2] - left,)
    assert _row(session, f"{by_query} FROM query_activity v") == (entered, left, *inside)


def _opened(folder: Place) -> duckdb.DuckDBPyConnection:
    """Open a mart as any tool would."""
    session = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    load_delta(session)
    session.execute(f"CREATE VIEW mart AS SELECT * FROM delta_scan('{folder}')")
    return session


def _read(session: duckdb.DuckDBPyConnection, statement: str) -> Times[None]:
    """Time a statement; the first run does not count."""
    runs = [clocked(partial(_row, session, statement)) for _ in range(1 + REPEATS)]
    return Times(tuple((seconds, None) for seconds, _ in runs[1:]))


def _row(session: duckdb.DuckDBPyConnection, statement: str) -> tuple[Any, ...]:
    """Give the only row of a statement's answer."""
    (row,) = session.execute(statement).fetchall()
    return tuple(row)
