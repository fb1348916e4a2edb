"""What audits of current results share: members, what changes add up to, and how both compare.

The engine never looks at all pairs. An audit takes some left streams and some joins, looks at every
right member, and compares what should be in the result with what came in and did not go out.

Law: members are read from `set_members`; no index or kernel of the engine is used.
"""

# ruff: noqa: S608  names of feeds, axes and tables are declared, all else are numbers

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

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

ResultPair = tuple[str, int, str, str]
"""Query and version, left stream, right stream."""


@dataclass(frozen=True)
class Members:
    """Members of a side: their names, and a row of values for each."""

    names: list[str]
    values: "Doubles"


Expecting = Callable[[list[JoinQuery], Members, Members], set[ResultPair]]
"""Give the pairs that joins have, of the left streams of a sample and all right members."""


@dataclass(frozen=True)
class ResultAudit:
    """An audit of the results of one kind of joins, which are the sums of a table's changes.

    `looks`: the most pairs that are looked at, all in all. `outside`: what a pair is that should
    not be in.
    """

    kind: str
    table: str
    looks: int
    outside: str

    def run(
        self,
        session: "duckdb.DuckDBPyConnection",
        settings: Settings,
        scope: CheckScope,
        expecting: Expecting,
    ) -> FaultCount:
        """Compare a sample; O(left streams · members · queries)."""
        registry, right_members = _stands(session, scope)
        most = min(QUERIES, max(1, self.looks // max(1, STREAMS * right_members)))
        queries, _ = audited_joins(session, settings, scope, self.kind, registry, most)
        if not queries:
            return FaultCount(0, 0, [])
        left_streams = _left_streams(scope, self.table)
        session.execute(f"CREATE OR REPLACE TEMP TABLE audited AS {left_streams}")
        among = "JOIN audited a ON a.stream_id = m.stream_id"
        left = _members(session, settings, scope.lane.name, scope.sides[0], among)
        right = _members(session, settings, scope.lane.name, scope.sides[-1], "")
        expected = expecting(queries, left, right)
        found = _added_up(session, scope, self.table)
        wrong = [f"missing: {_in_words(each)}" for each in sorted(expected - found.keys())]
        for pair, total in sorted(found.items()):
            if pair not in expected:
                wrong.append(f"{self.outside}: {_in_words(pair)}")
            elif total != 1:
                wrong.append(f"in it {total} times: {_in_words(pair)}")
        return FaultCount(len(expected | found.keys()), len(wrong), wrong[:SAMPLES])


def _stands(session: "duckdb.DuckDBPyConnection", scope: CheckScope) -> tuple[int, int]:
    """Give the registry of the lane's last epoch, and how many right members there are."""
    registry, members = session.execute(f"""SELECT
    (SELECT COALESCE(ARG_MAX(d.registry_version, d.epoch), 0) FROM done_epochs d
        WHERE d.lane = '{scope.lane}'),
    (SELECT COUNT(*) FROM set_members m
        WHERE m.lane = '{scope.lane}' AND m.feed = '{scope.sides[-1]}')""").fetchall()[0]
    return int(registry), int(members)


def _left_streams(scope: CheckScope, table: str) -> str:
    """Write as SQL: some of the left streams that are members, or that have changes."""
    return f"""SELECT s.stream_id FROM (
    SELECT m.stream_id FROM set_members m
    WHERE m.lane = '{scope.lane}' AND m.feed = '{scope.sides[0]}' AND {scope.epochs("m.epoch")}
    UNION
    SELECT c.left_stream_id FROM {table} c
    JOIN audited_joins q ON q.id = c.query_id AND q.version = c.query_version
    WHERE c.lane = '{scope.lane}' AND {scope.epochs("c.epoch")}
) s ORDER BY HASH(s.stream_id) LIMIT {STREAMS:d}"""


def _members(
    session: "duckdb.DuckDBPyConnection", settings: Settings, lane: str, feed: str, among: str
) -> Members:
    values = ", ".join(f"m.{axis} AS v{i}" for i, axis in enumerate(settings.axes[feed]))
    rows = session.execute(
        f"SELECT m.stream_id, {values} FROM set_members m {among} "
        f"WHERE m.lane = '{lane}' AND m.feed = '{feed}'"
    ).to_arrow_table()
    columns = [rows[f"v{i}"].to_numpy() for i in range(len(settings.axes[feed]))]
    return Members(rows["stream_id"].to_pylist(), np.stack(columns, axis=1))


def _added_up(
    session: "duckdb.DuckDBPyConnection", scope: CheckScope, table: str
) -> dict[ResultPair, int]:
    """Add up the changes of the sample; pairs that sum to zero are left out."""
    by = "c.query_id, c.query_version, c.left_stream_id, c.right_stream_id"
    rows = session.execute(f"""SELECT {by}, CAST(SUM(c.change) AS BIGINT) FROM {table} c
JOIN audited_joins q ON q.id = c.query_id AND q.version = c.query_version
JOIN audited a ON a.stream_id = c.left_stream_id
WHERE c.lane = '{scope.lane}' GROUP BY {by} HAVING SUM(c.change) <> 0""").fetchall()
    return {(query, version, left, right): total for query, version, left, right, total in rows}


def _in_words(pair: ResultPair) -> str:
    query, version, left, right = pair
    return f"{left} and {right} in {query} v{version}"
