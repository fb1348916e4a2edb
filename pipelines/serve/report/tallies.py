"""Counts: in all, by hour, by type, by query, by stream; and rejected rows.

The events and transitions of a feed are read once, into two small tables of the session; everything
else is computed from those.

Law: every count is of the whole scope; only lists are cut, and the page gives their full length.
"""

# ruff: noqa: S608  whole numbers and declared names alone

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from fencepost.text import escaped
from fencepost.times import DAY, SECOND
from pipelines.serve.report.scope import ReportScope

TOP = 10
"""Queries and streams that are listed."""

SAMPLES = 4
"""Rows shown of each reason in quarantine."""

REFUSED = 30
"""Refused deliveries that are listed."""

RAW = 200
"""Characters shown of a record."""

MINUTE = 60 * SECOND
UNITS = (
    (MINUTE, "minute"),
    (5 * MINUTE, "5 minutes"),
    (15 * MINUTE, "15 minutes"),
    (60 * MINUTE, "hour"),
    (6 * 60 * MINUTE, "6 hours"),
    (DAY, "day"),
    (7 * DAY, "week"),
    (30 * DAY, "30 days"),
    (365 * DAY, "365 days"),
)
BARS = 72
"""Bars of the crossings over time, at most."""

KINDS = ("pass_through", "short_absence", "stay", "departure")

Session = duckdb.DuckDBPyConnection


def count_events(session: Session, scope: ReportScope) -> None:
    """Create the tables `__crossed` and `__became`: counts by query, stream and type."""
    key = "t.query_id, t.query_version, t.stream_id, t.type"
    for name, view in (("__crossed", "events"), ("__became", "transitions")):
        session.execute(
            f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {key}, COUNT(*) AS n "
            f"FROM {view} t WHERE {scope.found} GROUP BY {key}"
        )


def crossings(session: Session) -> tuple[int, int]:
    """Count the crossings in and out."""
    counts = dict(session.execute("SELECT c.type, SUM(c.n) FROM __crossed c GROUP BY 1").fetchall())
    return int(counts.get("I", 0)), int(counts.get("O", 0))


def transitions(session: Session) -> dict[str, int]:
    """Count the transitions of each type."""
    counts = dict(session.execute("SELECT b.type, SUM(b.n) FROM __became b GROUP BY 1").fetchall())
    return {kind: int(counts.get(kind, 0)) for kind in KINDS}


def matches(session: Session, scope: ReportScope) -> int:
    """Count the matches."""
    ((many,),) = session.execute(f"SELECT COUNT(*) FROM matches t WHERE {scope.found}").fetchall()
    return int(many)


@dataclass(frozen=True)
class CountOverTime:
    """What to count over time: one or two aggregates over the rows `t` of a view."""

    view: str
    up: str
    down: str | None
    found: str


def over_time(session: Session, scope: ReportScope) -> dict[str, Any] | None:
    """Count the crossings in and out over time."""
    up, down = (f"COUNT(*) FILTER (t.type = '{kind}')" for kind in "IO")
    return counts_over_time(session, CountOverTime("events", up, down, scope.found))


def counts_over_time(session: Session, counted: CountOverTime) -> dict[str, Any] | None:
    """Count by hour, or by what gives a readable number of bars; None if there are no rows."""
    rows_of = f"FROM {counted.view} t WHERE {counted.found}"
    first, last = session.execute(
        f"SELECT epoch_us(MIN(t.ts)), epoch_us(MAX(t.ts)) {rows_of}"
    ).fetchall()[0]
    if first is None:
        return None
    unit, name = next(
        ((u, n) for u, n in UNITS if last // u - first // u < BARS), (UNITS[-1][0], UNITS[-1][1])
    )
    begin = first // unit
    bars = min(last // unit - begin + 1, BARS * 5)
    up, down = [0] * bars, [0] * bars
    rows = session.execute(
        f"SELECT epoch_us(t.ts) // {unit} - {begin} AS bar, {counted.up}, {counted.down or '0'} "
        f"{rows_of} GROUP BY 1"
    ).fetchall()
    for bar, above, below in rows:
        up[min(bar, bars - 1)] += above
        down[min(bar, bars - 1)] += below
    bars_over_time = {"unit": name, "step": unit, "begin": begin * unit, "up": up}
    return bars_over_time if counted.down is None else {**bars_over_time, "down": down}


def top(session: Session, by: str) -> dict[str, Any]:
    """List the queries (`query_id`) or the streams (`stream_id`) that crossed most."""
    other = "stream_id" if by == "query_id" else "query_id"
    became = ", ".join(f"SUM(b.n) FILTER (b.type = '{kind}') AS {kind}" for kind in KINDS)
    many = session.execute(f"SELECT COUNT(DISTINCT c.{by}) FROM __crossed c").fetchall()[0][0]
    rows = session.execute(
        f"""WITH most AS (
            SELECT c.{by} AS id, SUM(c.n) FILTER (c.type = 'I') AS entered,
                SUM(c.n) FILTER (c.type = 'O') AS gone, COUNT(DISTINCT c.{other}) AS others
            FROM __crossed c GROUP BY 1 ORDER BY SUM(c.n) DESC, 1 LIMIT {TOP}
        ), became AS (
            SELECT b.{by} AS id, {became} FROM __became b
            WHERE b.{by} IN (SELECT m.id FROM most m) GROUP BY 1
        )
        SELECT m.id, m.entered, m.gone, m.others, {", ".join(f"b.{kind}" for kind in KINDS)}
        FROM most m LEFT JOIN became b ON b.id = m.id
        ORDER BY COALESCE(m.entered, 0) + COALESCE(m.gone, 0) DESC, m.id"""
    ).fetchall()
    return {"of": many, "rows": [[row[0], *(int(n or 0) for n in row[1:])] for row in rows]}


def rejected(session: Session, scope: ReportScope) -> list[dict[str, Any]]:
    """Count the rows in quarantine by reason, with a few of each."""
    counts = session.execute(
        f"SELECT t.reason, COUNT(*) FROM quarantine t WHERE {scope.rejected} "
        "GROUP BY 1 ORDER BY 2 DESC, 1"
    ).fetchall()
    samples: dict[str, list[list[Any]]] = {reason: [] for reason, _ in counts}
    rows = session.execute(
        f"""SELECT t.reason, t.path, t.line, t.detail, t.raw FROM quarantine t
        WHERE {scope.rejected} QUALIFY ROW_NUMBER() OVER (
            PARTITION BY t.reason ORDER BY t.arrival, t.file, t.line
        ) <= {SAMPLES} ORDER BY t.reason, t.arrival, t.file, t.line"""
    ).fetchall()
    for reason, path, line, detail, raw in rows:
        samples[reason].append([escaped(path, RAW), line, escaped(detail, RAW), escaped(raw, RAW)])
    return [{"reason": reason, "rows": many, "samples": samples[reason]} for reason, many in counts]


def refused(session: Session, feeds: Sequence[str]) -> dict[str, Any]:
    """List the refused deliveries, unanswered ones first, whatever the range."""
    rows = session.execute(
        """SELECT r.feed, r.path, r.reason, r.detail, COALESCE(r.answer, ''), epoch_us(r.found_at)
        FROM refused_deliveries r ORDER BY r.answer IS NULL DESC, r.n DESC"""
    ).fetchall()
    mine = [row for row in rows if row[0] in feeds]
    return {
        "of": len(mine),
        "unanswered": sum(not answer for *_, answer, _ in mine),
        "rows": [
            [lane, *(escaped(text or "", RAW) for text in (path, reason, detail)), answer, found]
            for lane, path, reason, detail, answer, found in mine[:REFUSED]
        ],
    }
