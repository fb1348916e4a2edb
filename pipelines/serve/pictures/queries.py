"""What the pictures show, queried from the views.

Law: only what is shown is read: the ledgers, the events of two days, the quarantine's reasons.
"""

# ruff: noqa: S608  a feed's name is one that is declared; the rest are numbers

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import duckdb
import pyarrow as pa

from fencepost.errors import refuse_unknown
from fencepost.position import Position
from pipelines.project.settings import Settings
from pipelines.serve.views.duckdb import duckdb_session

HOURS = 48
BUSIEST = 15
EPOCHS = 96
PARTITIONS = 72
REGIONS = 2_000
BOXES = 16
"""Of a query."""

HOUR = timedelta(hours=1)
HOUR_OF = "CAST(FLOOR(UNIX_MICROS({0}) / 3.6e9) AS BIGINT)"

T = TypeVar("T")
Session = duckdb.DuckDBPyConnection


def events_by_hour(settings: Settings, feed: str) -> tuple[pa.Table, int]:
    """Count the crossings of the busiest queries, hour by hour; give the number of queries too.

    Columns query_id, hour (since 1970), events; the hours are the last ones before the watermark.
    """

    def read(session: Session) -> tuple[pa.Table, int]:
        known = session.execute(
            f"SELECT MAX(d.watermark) FROM done_epochs d WHERE d.lane = '{feed}'"
        ).fetchall()[0][0]
        last = known or datetime.fromtimestamp(0, UTC)
        since = last.replace(minute=0, second=0, microsecond=0) - (HOURS - 1) * HOUR
        hour = HOUR_OF.format("e.ts")
        counted = f"""SELECT e.query_id, {hour} AS hour, COUNT(*) AS events FROM events e
            WHERE e.feed = '{feed}' AND e.day >= DATE '{since:%Y-%m-%d}'
                AND {hour} >= {int(since.timestamp()) // 3600:d}
            GROUP BY e.query_id, {hour}"""
        session.execute(f"CREATE TEMP TABLE counted AS {counted}")
        rows = session.execute(
            f"""SELECT c.query_id, c.hour, c.events FROM counted c JOIN (
                SELECT b.query_id, SUM(b.events) AS total FROM counted b GROUP BY b.query_id
                ORDER BY total DESC, b.query_id LIMIT {BUSIEST:d}
            ) busy ON busy.query_id = c.query_id
            ORDER BY busy.total DESC, c.query_id, c.hour"""
        ).to_arrow_table()
        queries = session.execute("SELECT COUNT(DISTINCT c.query_id) FROM counted c").fetchall()
        return rows, queries[0][0]

    return _from_views(settings, feed, read)


def epochs(settings: Settings, feed: str) -> pa.Table:
    """Give the newest epochs in force: epoch, plan, rows, entered, left, seconds, together, of.

    The seconds, as JSON, are of all the epochs of its plan together, `together` in number; `of` is
    the number of all epochs.
    """
    return _from_views(
        settings,
        feed,
        lambda session: session.execute(
            f"""SELECT * FROM (
                SELECT d.epoch, d.plan, d.rows, d.entered, d.left, d.seconds,
                    COUNT(*) OVER (PARTITION BY d.plan) AS together, COUNT(*) OVER () AS of
                FROM done_epochs d WHERE d.lane = '{feed}' ORDER BY d.epoch DESC LIMIT {EPOCHS:d}
            ) e ORDER BY e.epoch"""
        ).to_arrow_table(),
    )


def quarantine(settings: Settings, feed: str) -> tuple[pa.Table, int]:
    """Count the rejected rows (reason, rows), and all rows that were read."""

    def read(session: Session) -> tuple[pa.Table, int]:
        reasons = session.execute(
            f"""SELECT q.reason, COUNT(*) AS rows FROM quarantine q WHERE q.feed = '{feed}'
            GROUP BY q.reason ORDER BY rows DESC, q.reason"""
        ).to_arrow_table()
        read = session.execute(
            f"""SELECT COALESCE(CAST(SUM(a.rows) AS BIGINT), 0) FROM arrivals a
            WHERE a.lane = '{feed}' AND a.kind = 'delivery' AND a.state = 'done'"""
        ).fetchall()
        return reasons, read[0][0]

    return _from_views(settings, feed, read)


def partitions(settings: Settings, feed: str) -> pa.Table:
    """Give the newest partitions: key, tuples, entered, left, of (how many there are)."""
    return _from_views(
        settings,
        feed,
        lambda session: session.execute(
            f"""SELECT * FROM (
                SELECT d.partition_key AS key, CAST(SUM(d.accepted) AS BIGINT) AS tuples,
                    CAST(SUM(d.entered) AS BIGINT) AS entered,
                    CAST(SUM(d.left) AS BIGINT) AS left, COUNT(*) OVER () AS of
                FROM done_epochs d WHERE d.lane = '{feed}' GROUP BY d.partition_key
                ORDER BY d.partition_key DESC LIMIT {PARTITIONS:d}
            ) p ORDER BY p.key"""
        ).to_arrow_table(),
    )


def regions(settings: Settings, feed: str, place: Position) -> tuple[pa.Table, dict[str, int]]:
    """Give the first standing queries by name, and how many there are of each form.

    Columns region; west, south, east, north: those of each box. The form of a query without a
    region is `box`.
    """
    many = len(settings.feeds[feed].axes)
    x, y = (f"[{axis + 1:d}:{BOXES * many:d}:{many:d}]" for axis in place.axes)

    def read(session: Session) -> tuple[pa.Table, dict[str, int]]:
        one_tuple = f"q.feed = '{feed}' AND q.kind IN ('crossing', 'match')"
        rows = session.execute(
            f"""SELECT q.region, q.lo{x} AS west, q.lo{y} AS south, q.hi{x} AS east,
                q.hi{y} AS north
            FROM queries q WHERE {one_tuple} ORDER BY q.id LIMIT {REGIONS:d}"""
        ).to_arrow_table()
        counts = session.execute(
            f"""SELECT CASE WHEN q.region IS NULL THEN 'box'
                    WHEN q.region LIKE '{{"circle"%' THEN 'circle'
                    WHEN q.region LIKE '{{"corridor"%' THEN 'corridor' ELSE 'polygon' END,
                COUNT(*) FROM queries q WHERE {one_tuple} GROUP BY 1"""
        ).fetchall()
        return rows, dict(counts)

    return _from_views(settings, feed, read)


def _from_views(settings: Settings, feed: str, read: Callable[[Session], T]) -> T:
    refuse_unknown(feed, settings.feeds, "feed")
    session = duckdb_session(settings.root, settings.tables)
    try:
        return read(session)
    finally:
        session.close()
