"""A lane of joins: pairs, pairs of streams that came in and went out, those in a band or near now.

Law: counts are of the scope; what is in a band now is of the newest epoch, whatever the scope.
Changes by a registration have its time, not that of a tuple: they are counted apart.
"""

# ruff: noqa: S608  whole numbers and declared names alone

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from fencepost.lanes import pair_of
from fencepost.queries.joins import JOINS
from fencepost.text import escaped
from pipelines.lanes import Lane, lane_named
from pipelines.project.settings import Settings
from pipelines.registry.text import condition_text, window_text
from pipelines.serve.report.scope import ReportScope
from pipelines.serve.report.tallies import TOP, CountOverTime, counts_over_time
from pipelines.serve.report.thin import short
from schemas.joins import LEFT, RIGHT

HOLDING = 20
"""Current pairs that are listed, the newest."""

WORDS = 200
"""Characters of a join's condition."""

DELIVERED = "t.arrival IN (SELECT a.n FROM arrivals a WHERE a.kind = 'delivery')"

Session = duckdb.DuckDBPyConnection
Row = dict[str, Any]


def lanes_of(session: Session, settings: Settings, feeds: Sequence[str]) -> list[Lane]:
    """Give the lanes of joins with one of these feeds as a side, and both sides declared."""
    rows = session.execute(
        f"SELECT DISTINCT v.feed FROM query_versions v WHERE v.kind IN {JOINS} ORDER BY 1"
    ).fetchall()
    lanes = [lane_named(settings, name) for (name,) in rows]
    return [
        lane
        for lane in lanes
        if not lane.missing and any(side in feeds for side in lane.feed_names)
    ]


def of_lane(session: Session, scope: ReportScope, settings: Settings) -> Row:
    """Gather a lane's results. O(its pairs and changes in the scope), a few passes."""
    left, right = pair_of(scope.feed)
    _count_results(session, scope)
    paired, came, went = _counts(session)
    standing = dict(
        session.execute(
            f"SELECT q.kind, COUNT(*) FROM queries q WHERE q.feed = '{scope.feed}' GROUP BY q.kind"
        ).fetchall()
    )
    return {
        "name": scope.feed,
        "left": left,
        "right": right,
        "standing": standing,
        "pairs": paired,
        "came_in": came,
        "went_out": went,
        "by_registration": _by_registration(session, scope),
        "pairs_over_time": counts_over_time(
            session, CountOverTime("pairs", "COUNT(*)", None, scope.found)
        ),
        "changes_over_time": counts_over_time(
            session,
            CountOverTime(
                "__changes",
                "COUNT(*) FILTER (t.change = 1)",
                "COUNT(*) FILTER (t.change = -1)",
                f"{scope.found} AND {DELIVERED}",
            ),
        ),
        "queries": _busiest(session, scope.feed),
        "couples": _couples(session),
        "now": _holding(session, scope.feed, settings),
        "near": _near(session, scope),
    }


def _count_results(session: Session, scope: ReportScope) -> None:
    """Create the table `__joined`: counts by query and pair of streams.

    The view `__changes` has those of band joins and of near joins.
    """
    key = "t.query_id, t.query_version, t.left_stream_id, t.right_stream_id"
    change = f"{key}, t.lane, t.change, t.ts, t.arrival, t.epoch, t.generation"
    session.execute(
        f"""CREATE OR REPLACE TEMP VIEW __changes AS
        SELECT {change} FROM band_changes t UNION ALL SELECT {change} FROM near_changes t"""
    )
    session.execute(
        f"""CREATE OR REPLACE TEMP TABLE __joined AS
        SELECT {key}, COUNT(*) AS paired, 0 AS came_in, 0 AS went_out, MAX(t.ts) AS last_ts
        FROM pairs t WHERE {scope.found} GROUP BY {key}
        UNION ALL
        SELECT {key}, 0, COUNT(*) FILTER (t.change = 1), COUNT(*) FILTER (t.change = -1),
            MAX(t.ts)
        FROM __changes t WHERE {scope.found} GROUP BY {key}"""
    )


def _counts(session: Session) -> tuple[int, ...]:
    sums = ", ".join(
        f"COALESCE(SUM(j.{name}), 0)::BIGINT" for name in ("paired", "came_in", "went_out")
    )
    return tuple(session.execute(f"SELECT {sums} FROM __joined j").fetchall()[0])


def _by_registration(session: Session, scope: ReportScope) -> int:
    by_registration = f"SELECT COUNT(*) FROM __changes t WHERE {scope.found} AND NOT {DELIVERED}"
    return int(session.execute(by_registration).fetchall()[0][0])


def _busiest(session: Session, lane: str) -> Row:
    """List the joins that are active or have results, the busiest first."""
    answer = session.execute(
        f"""WITH found AS (
            SELECT j.query_id, j.query_version, SUM(j.paired) AS paired,
                SUM(j.came_in) AS came_in, SUM(j.went_out) AS went_out,
                COUNT(DISTINCT j.left_stream_id) AS lefts,
                COUNT(DISTINCT j.right_stream_id) AS rights
            FROM __joined j GROUP BY 1, 2
        ), holds AS (
            SELECT b.query_id, b.query_version, COUNT(*) AS n FROM (
                SELECT * FROM band_pairs UNION ALL SELECT * FROM near_pairs
            ) b WHERE b.lane = '{lane}' GROUP BY 1, 2
        )
        SELECT v.*, v.until_n IS NOT NULL AS ended, COUNT(*) OVER () AS many,
            COALESCE(f.paired, 0)::BIGINT AS paired, COALESCE(f.came_in, 0)::BIGINT AS came_in,
            COALESCE(f.went_out, 0)::BIGINT AS went_out, COALESCE(h.n, 0) AS in_now,
            COALESCE(f.lefts, 0) AS lefts, COALESCE(f.rights, 0) AS rights
        FROM query_versions v
        LEFT JOIN found f ON f.query_id = v.id AND f.query_version = v.version
        LEFT JOIN holds h ON h.query_id = v.id AND h.query_version = v.version
        WHERE v.feed = '{lane}' AND (f.query_id IS NOT NULL OR v.until_n IS NULL)
        ORDER BY paired + came_in + went_out DESC, v.id, v.version LIMIT {TOP}"""
    )
    names = [column[0] for column in answer.description]
    rows = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
    return {"of": rows[0]["many"] if rows else 0, "rows": [_query(row) for row in rows]}


def _query(row: Mapping[str, Any]) -> Row:
    counts = ("paired", "came_in", "went_out", "in_now", "lefts", "rights")
    return {
        "id": row["id"],
        "version": row["version"],
        "kind": row["kind"],
        "asks": escaped(condition_text(row, {}), WORDS),
        "window": window_text(row),
        "ended": row["ended"],
        **{name: row[name] for name in counts},
    }


def _couples(session: Session) -> Row:
    """List the pairs of streams with most pairs and changes."""
    rows = session.execute(
        f"""SELECT j.left_stream_id, j.right_stream_id, COUNT(DISTINCT j.query_id),
            SUM(j.paired)::BIGINT, SUM(j.came_in)::BIGINT, SUM(j.went_out)::BIGINT,
            COUNT(*) OVER ()
        FROM __joined j GROUP BY 1, 2 ORDER BY SUM(j.paired + j.came_in + j.went_out) DESC, 1, 2
        LIMIT {TOP}"""
    ).fetchall()
    return {"of": rows[0][-1] if rows else 0, "rows": [list(row[:-1]) for row in rows]}


def _holding(session: Session, lane: str, settings: Settings) -> Row:
    """List the pairs of streams in the result of a band join, with their current values."""
    sides = [*zip((LEFT, RIGHT), pair_of(lane), strict=True)]
    values = ", ".join(
        f"{_value(side, settings.feeds[feed].axes)} AS {side}_value" for side, feed in sides
    )
    members = " ".join(
        f"LEFT JOIN set_members {side}_m ON {side}_m.lane = b.lane AND {side}_m.feed = '{feed}' "
        f"AND {side}_m.stream_id = b.{side}_stream_id"
        for side, feed in sides
    )
    rows = session.execute(
        f"""SELECT b.query_id, b.left_stream_id, b.right_stream_id, epoch_us(b.since), {values},
            q.left_axis, q.right_axis, b.many
        FROM (
            SELECT p.*, COUNT(*) OVER () AS many FROM band_pairs p WHERE p.lane = '{lane}'
            ORDER BY p.since DESC, p.query_id, p.left_stream_id, p.right_stream_id
            LIMIT {HOLDING}
        ) b JOIN queries q ON q.id = b.query_id {members}
        ORDER BY b.since DESC, b.query_id, b.left_stream_id, b.right_stream_id"""
    ).fetchall()
    units = [settings.feeds[feed].units for _, feed in sides]
    return {
        "of": rows[0][-1] if rows else 0,
        "rows": [_current_pair(row[:-1], units) for row in rows],
    }


def _near(session: Session, scope: ReportScope) -> Row:
    """List the pairs of streams that are near each other, the newest; and count the changes."""
    counted = f"SELECT COUNT(*) FROM near_changes t WHERE {scope.found}"
    rows = session.execute(
        f"""SELECT p.query_id, p.left_stream_id, p.right_stream_id, epoch_us(p.since),
            COUNT(*) OVER ()
        FROM near_pairs p WHERE p.lane = '{scope.feed}'
        ORDER BY p.since DESC, 1, 2, 3 LIMIT {HOLDING}"""
    ).fetchall()
    return {
        "changes": int(session.execute(counted).fetchall()[0][0]),
        "of": rows[0][-1] if rows else 0,
        "rows": [list(row[:-1]) for row in rows],
    }


def _value(side: str, axes: Sequence[str]) -> str:
    """Write in SQL the value of the axis that a band join compares."""
    cases = " ".join(f"WHEN '{axis}' THEN {side}_m.\"{axis}\"" for axis in axes)
    return f"CASE q.{side}_axis {cases} END"


def _current_pair(row: Sequence[Any], units: Sequence[Mapping[str, str]]) -> list[Any]:
    """Give the pair, since when, both values with their units, and their difference."""
    *pair, left_value, right_value, left_axis, right_axis = row
    both = left_value is not None and right_value is not None
    difference = left_value - right_value if both else None
    values = [None if v is None else short(v) for v in (left_value, right_value, difference)]
    of = [own.get(axis) for own, axis in zip(units, (left_axis, right_axis), strict=True)]
    return [*pair, *values, *of]
