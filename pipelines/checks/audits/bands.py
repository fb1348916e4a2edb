"""An audit of band joins: what their changes add up to, compared with the members of the sets.

The engine never looks at all pairs; here every right member is subtracted from some left streams'
values, and the pairs in the band must be those that came in and did not go out.

Law: no index or kernel of the engine is used; members are read from `set_members`.
"""

# ruff: noqa: S608  names of feeds and axes are declared, all else are numbers

from typing import TYPE_CHECKING

import numpy as np

from fencepost.queries.joins import BAND_JOIN
from fencepost.queries.joins.query import JoinQuery
from pipelines.checks.audits.join_sample import audited_joins
from pipelines.checks.results import SAMPLES, FaultCount
from pipelines.checks.scope import CheckScope
from pipelines.project.settings import Settings

if TYPE_CHECKING:
    import duckdb

    from fencepost.arrays import Doubles

STREAMS = 64
QUERIES = 100
DIFFERENCES = 200_000_000
"""The most left streams and band joins, and differences, all in all."""

BandPair = tuple[str, int, str, str]
"""Query and version, left stream, right stream."""


def run(session: "duckdb.DuckDBPyConnection", settings: Settings, scope: CheckScope) -> FaultCount:
    """Compare the results of the sample with the members; O(left streams · members · queries)."""
    registry, right_members = _stands(session, scope)
    most = min(QUERIES, max(1, DIFFERENCES // max(1, STREAMS * right_members)))
    queries, _ = audited_joins(session, settings, scope, BAND_JOIN, registry, most)
    if not queries:
        return FaultCount(0, 0, [])
    session.execute(f"CREATE OR REPLACE TEMP TABLE audited AS {_left_streams(scope)}")
    expected = _in_bands(session, settings, scope, queries)
    found = _added_up(session, scope)
    wrong = [f"missing: {_in_words(each)}" for each in sorted(expected - found.keys())]
    for pair, total in sorted(found.items()):
        if pair not in expected:
            wrong.append(f"not in the band: {_in_words(pair)}")
        elif total != 1:
            wrong.append(f"in it {total} times: {_in_words(pair)}")
    return FaultCount(len(expected | found.keys()), len(wrong), wrong[:SAMPLES])


def _stands(session: "duckdb.DuckDBPyConnection", scope: CheckScope) -> tuple[int, int]:
    """Give the registry of the lane's last epoch, and how many right members there are."""
    registry, members = session.execute(f"""SELECT
    (SELECT COALESCE(ARG_MAX(d.registry_version, d.epoch), 0) FROM done_epochs d
        WHERE d.lane = '{scope.lane}'),
    (SELECT COUNT(*) FROM set_members m
        WHERE m.lane = '{scope.lane}' AND m.feed = '{scope.sides[1]}')""").fetchall()[0]
    return int(registry), int(members)


def _left_streams(scope: CheckScope) -> str:
    """Write as SQL: some of the left streams that are members, or that have changes."""
    return f"""SELECT s.stream_id FROM (
    SELECT m.stream_id FROM set_members m
    WHERE m.lane = '{scope.lane}' AND m.feed = '{scope.sides[0]}' AND {scope.epochs("m.epoch")}
    UNION
    SELECT c.left_stream_id FROM band_changes c
    JOIN audited_joins q ON q.id = c.query_id AND q.version = c.query_version
    WHERE c.lane = '{scope.lane}' AND {scope.epochs("c.epoch")}
) s ORDER BY HASH(s.stream_id) LIMIT {STREAMS:d}"""


def _in_bands(
    session: "duckdb.DuckDBPyConnection",
    settings: Settings,
    scope: CheckScope,
    queries: list[JoinQuery],
) -> set[BandPair]:
    """Compute every difference, and select those in a band."""
    among = "JOIN audited a ON a.stream_id = m.stream_id"
    left_ids, left = _members(session, settings, scope, 0, among)
    right_ids, right = _members(session, settings, scope, 1, "")
    axes = [settings.axes[feed] for feed in scope.sides]
    found = set()
    for query in queries:
        r = left[:, axes[0].index(query.left_axis or "")]
        s = right[:, axes[1].index(query.right_axis or "")]
        for k, value in enumerate(r):
            apart = value - s
            for j in np.flatnonzero((query.low <= apart) & (apart <= query.high)).tolist():
                found.add((query.id, query.version, left_ids[k], right_ids[j]))
    return found


def _members(
    session: "duckdb.DuckDBPyConnection",
    settings: Settings,
    scope: CheckScope,
    side: int,
    among: str,
) -> tuple[list[str], "Doubles"]:
    """Read members of a side: their names, and a row of values for each."""
    feed = scope.sides[side]
    values = ", ".join(f"m.{axis} AS v{i}" for i, axis in enumerate(settings.axes[feed]))
    rows = session.execute(
        f"SELECT m.stream_id, {values} FROM set_members m {among} "
        f"WHERE m.lane = '{scope.lane}' AND m.feed = '{feed}'"
    ).to_arrow_table()
    columns = [rows[f"v{i}"].to_numpy() for i in range(len(settings.axes[feed]))]
    return rows["stream_id"].to_pylist(), np.stack(columns, axis=1)


def _added_up(session: "duckdb.DuckDBPyConnection", scope: CheckScope) -> dict[BandPair, int]:
    """Add up the changes of the sample; pairs that sum to zero are left out."""
    by = "c.query_id, c.query_version, c.left_stream_id, c.right_stream_id"
    rows = session.execute(f"""SELECT {by}, CAST(SUM(c.change) AS BIGINT) FROM band_changes c
JOIN audited_joins q ON q.id = c.query_id AND q.version = c.query_version
JOIN audited a ON a.stream_id = c.left_stream_id
WHERE c.lane = '{scope.lane}' GROUP BY {by} HAVING SUM(c.change) <> 0""").fetchall()
    return {(query, version, left, right): total for query, version, left, right, total in rows}


def _in_words(pair: BandPair) -> str:
    query, version, left, right = pair
    return f"{left} and {right} in {query} v{version}"
