"""How a lake stands: who writes, how far each feed is, what stands, what ran last, what went wrong.

Law: nothing is changed and no lock is taken; all figures are of one moment, that of the session.
"""

# ruff: noqa: S608  all of it is written here

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fencepost.lanes import feeds_of
from pipelines.lake.lock import holder
from pipelines.settings import Settings
from pipelines.views.cells import as_json
from pipelines.views.duckdb_session import duckdb_session

if TYPE_CHECKING:
    import duckdb

Row = dict[str, Any]

_TAKEN = "SELECT d.lane, EXPLODE(d.arrivals) AS n FROM done_epochs d"
_PAIRED = """SELECT DISTINCT q.feed AS lane FROM raw_queries q
    JOIN arrivals r ON r.n = q.n AND r.state = 'done' WHERE STRPOS(q.feed, '~') > 0"""

ASKED = {
    "lanes": """SELECT d.lane, MAX(d.epoch) AS epoch, MAX(d.watermark) AS watermark
        FROM done_epochs d GROUP BY d.lane""",
    # A lane of joins takes the deliveries of both its feeds, once a join is registered.
    "behind": f"""SELECT l.lane,
            COUNT(CASE WHEN a.state = 'done' AND t.n IS NULL THEN 1 END) AS lag,
            COUNT(CASE WHEN a.state = 'planned' THEN 1 END) AS arriving
        FROM ({_PAIRED}) l
        LEFT JOIN arrivals a ON a.kind = 'delivery'
            AND a.lane IN (SPLIT_PART(l.lane, '~', 1), SPLIT_PART(l.lane, '~', 2))
        LEFT JOIN ({_TAKEN}) t ON t.lane = l.lane AND t.n = a.n
        GROUP BY l.lane""",
    "members": "SELECT m.lane, COUNT(*) AS streams FROM set_members m GROUP BY m.lane",
    "held back": """SELECT w.lane, COUNT(*) AS waiting FROM live_windows w
        WHERE w.waits GROUP BY w.lane""",
    "lags": f"""SELECT a.lane, COUNT(CASE WHEN a.state = 'done' THEN 1 END) AS lag,
            COUNT(CASE WHEN a.state = 'planned' THEN 1 END) AS arriving
        FROM arrivals a LEFT JOIN ({_TAKEN}) t ON t.lane = a.lane AND t.n = a.n
        WHERE a.kind = 'delivery' AND t.n IS NULL GROUP BY a.lane""",
    # Evaluated once, replaced since, and not yet evaluated anew.
    "stales": f"""SELECT e.lane, COUNT(DISTINCT e.epoch) AS stale
        FROM (
            SELECT r.lane, r.epoch, EXPLODE(r.arrivals) AS n FROM epochs r
            WHERE r.state = 'done' AND NOT r.in_force
        ) e LEFT JOIN ({_TAKEN}) t ON t.lane = e.lane AND t.n = e.n
        WHERE t.n IS NULL GROUP BY e.lane""",
    "opens": """SELECT e.lane, COUNT(*) AS open FROM epochs e
        JOIN (SELECT r.lane, MAX(r.generation) AS newest FROM epochs r GROUP BY r.lane) g
            ON g.lane = e.lane AND g.newest = e.generation
        WHERE e.state = 'planned' GROUP BY e.lane""",
    "streams": "SELECT s.feed AS lane, COUNT(*) AS streams FROM stream_state s GROUP BY s.feed",
    "waiting": "SELECT r.feed AS lane, COUNT(*) AS waiting FROM reorder r GROUP BY r.feed",
    "pendings": "SELECT p.feed AS lane, COUNT(*) AS pending FROM pending p GROUP BY p.feed",
    "kinds": """SELECT q.kind, COUNT(*) AS standing FROM queries q GROUP BY q.kind
        ORDER BY 2 DESC, 1""",
    "registry": """SELECT MAX(a.registry_version) AS version FROM arrivals a
        WHERE a.kind = 'registry' AND a.state = 'done'""",
    "last": """SELECT d.lane, MIN(d.epoch) AS first, MAX(d.epoch) AS last, MAX(d.at) AS at,
            CAST(SUM(d.rows) AS BIGINT) AS rows, CAST(SUM(d.accepted) AS BIGINT) AS accepted,
            CAST(SUM(d.entered + d.left) AS BIGINT) AS events,
            CAST(SUM(d.pass_through + d.short_absence + d.stay + d.departure) AS BIGINT)
                AS transitions,
            CAST(SUM(COALESCE(d.matched, 0)) AS BIGINT) AS matches,
            CAST(SUM(COALESCE(d.paired, 0)) AS BIGINT) AS pairs,
            CAST(SUM(COALESCE(d.came_in + d.went_out, 0)) AS BIGINT) AS band_changes,
            MAX(d.seconds) AS seconds
        FROM done_epochs d GROUP BY d.lane, d.plan ORDER BY MAX(d.at) DESC, 1 LIMIT 1""",
    "reasons": """SELECT q.reason, COUNT(*) AS many FROM quarantine q GROUP BY q.reason
        ORDER BY 2 DESC, 1""",
    "refused": """SELECT COUNT(*) AS refused FROM refused_deliveries r""",
    "unanswered": """SELECT r.n, r.feed, r.path, r.reason, r.detail, r.found_at
        FROM refused_deliveries r WHERE r.answer IS NULL ORDER BY r.n""",
}
"""By name, what is asked of the views."""


@dataclass(frozen=True)
class LaneStatus:
    """How far a feed is, or a pair of feeds that are joined.

    lag       deliveries that have arrived and are not evaluated, stale ones among them
    arriving  deliveries whose arrival was begun and is not done
    stale     epochs that are to be evaluated anew
    open      epochs that were planned and are not done
    waiting   tuples that wait for the watermark
    pending   crossings that have become no transition yet
    missing   its feeds that fencepost.toml does not declare: nothing of it is evaluated
    """

    lane: str
    epoch: int = 0
    watermark: str | None = None
    lag: int = 0
    arriving: int = 0
    stale: int = 0
    open: int = 0
    streams: int = 0
    waiting: int = 0
    pending: int = 0
    missing: Sequence[str] = ()


@dataclass(frozen=True)
class Status:
    """How a lake stands. Times are texts, ISO 8601.

    refused     how many deliveries were ever refused
    unanswered  those of them that nobody has answered
    """

    lake: str
    writer: Row | None
    lanes: Sequence[LaneStatus]
    standing: Mapping[str, int]
    registry_version: int
    last_run: Row | None
    quarantine: Mapping[str, int]
    refused: int
    unanswered: Sequence[Row]


def status_of(settings: Settings) -> Status:
    """Ask a lake how it stands: (measured) 0.3 s, and 1 ms a file of the ledgers."""
    writer = holder(settings.root)
    session = duckdb_session(settings.root, settings.tables)
    try:
        told = {name: _rows(session, sql) for name, sql in ASKED.items()}
    finally:
        session.close()
    return Status(
        lake=str(settings.root),
        writer=None if writer is None else {**asdict(writer), "words": str(writer)},
        lanes=[_lane(lane, told, settings) for lane in (*settings.feeds, *_joined(told))],
        standing={row["kind"]: row["standing"] for row in told["kinds"]},
        registry_version=told["registry"][0]["version"] or 0,
        last_run=_last_run(told["last"]),
        quarantine={row["reason"]: row["many"] for row in told["reasons"]},
        refused=told["refused"][0]["refused"],
        unanswered=told["unanswered"],
    )


def _rows(session: "duckdb.DuckDBPyConnection", sql: str) -> list[Row]:
    result = session.execute(sql)
    names = [column[0] for column in result.description]
    return [
        {name: as_json(value) for name, value in zip(names, row, strict=True)}
        for row in result.fetchall()
    ]


_PARTS = (
    *("lanes", "lags", "behind", "stales", "opens"),
    *("streams", "members", "waiting", "held back", "pendings"),
)


def _joined(told: Mapping[str, list[Row]]) -> list[str]:
    """Name the pairs of feeds that a join was ever registered for."""
    return sorted(row["lane"] for row in told["behind"])


def _lane(lane: str, told: Mapping[str, list[Row]], settings: Settings) -> LaneStatus:
    found: Row = {}
    for name in _PARTS:
        for row in told[name]:
            if row["lane"] == lane:
                found |= {key: value for key, value in row.items() if key != "lane"}
    missing = [feed for feed in feeds_of(lane) if feed not in settings.feeds]
    return LaneStatus(lane, **found, missing=missing)


def _last_run(rows: list[Row]) -> Row | None:
    if not rows:
        return None
    return {**rows[0], "seconds": json.loads(rows[0]["seconds"] or "{}")}
