"""What joins found: pairs, changes, the current results, and the tuples that changed them.

Law: `band_pairs` is the sum of `band_changes` over the active joins, and `near_pairs` that of
`near_changes`; `affected_queries` has a band join once for each tuple that changed its result.
"""

# ruff: noqa: S608  a view's text is built from declared names alone

from collections.abc import Iterator, Mapping

from fencepost.lanes import left_of_lane_sql
from pipelines.serve.views.tables import CURRENT, IS_CURRENT, of_epochs, placed
from pipelines.serve.views.view import View, chosen, count, select_list, without
from schemas import Column, Table
from schemas.joins import LEFT

COMMENTS = {
    "pairs": "Pairs of tuples that satisfied a window join, each once.",
    "band_changes": "Changes in the results of band joins: +1, a pair came in; -1, it went out.",
    "near_changes": "Changes in the results of near joins: +1, two streams came within the "
    "distance; -1, they left it.",
}


def joined(tables: Mapping[str, Table]) -> Iterator[View]:
    """Declare the views over the tables of join lanes."""
    for table in tables.values():
        if table.owner == "join" and table.role == "found":
            yield View(table.name, COMMENTS[table.name], table.columns, of_epochs(table))
    yield _results("band_pairs", "band", tables["band_changes"])
    yield _results("near_pairs", "near", tables["near_changes"])
    yield _affected_queries(tables["band_changes"])
    yield _join_activity(tables["band_changes"])
    yield _set_members(tables["set_members"])
    yield _live_windows(tables["live_windows"])


def _results(name: str, kind: str, changes: Table) -> View:
    key = chosen(
        changes.columns, "lane", "query_id", "query_version", "left_stream_id", "right_stream_id"
    )
    by = select_list("c", key)
    return View(
        name,
        f"The current results of active {kind} joins: pairs of streams.",
        (*key, Column("since", "timestamp", "when it came in")),
        # A pair goes in and out by turns, so the sum of its changes is 1 where the last one is +1.
        f"""SELECT {by}, c.ts AS since FROM (
    SELECT b.*, ROW_NUMBER() OVER (
        PARTITION BY {select_list("b", key)}
        ORDER BY b.epoch DESC, b.arrival DESC, b.ts DESC, b.place DESC
    ) AS nth
    FROM {changes.name} b
) c
JOIN queries q ON q.id = c.query_id AND q.version = c.query_version
WHERE c.nth = 1 AND c.change = 1""",
    )


def _affected_queries(changes: Table) -> View:
    which = chosen(changes.columns, "query_id", "query_version", "ts", "arrival", "epoch", "place")
    # Before format 5 a change did not name its side; its lane does.
    stream = f"""CASE WHEN c.side = '{LEFT}' OR (
        c.side IS NULL AND {left_of_lane_sql("a.lane", "c.lane")}
    ) THEN c.left_stream_id ELSE c.right_stream_id END"""
    return View(
        "affected_queries",
        "Band joins whose result a tuple changed: once per tuple, whatever the number of pairs.",
        (
            *chosen(changes.columns, "lane"),
            Column("feed", "string", "the feed of the tuple"),
            Column("stream_id", "string", "its stream"),
            *which,
            count("came_in", "pairs that came in"),
            count("went_out", "pairs that went out"),
        ),
        f"""SELECT c.lane, a.lane AS feed, {stream} AS stream_id, {select_list("c", which)},
    COUNT(CASE WHEN c.change = 1 THEN 1 END) AS came_in,
    COUNT(CASE WHEN c.change = -1 THEN 1 END) AS went_out
FROM band_changes c JOIN arrivals a ON a.n = c.arrival AND a.kind = 'delivery'
GROUP BY c.lane, a.lane, {stream}, {select_list("c", which)}""",
    )


def _join_activity(changes: Table) -> View:
    key = chosen(changes.columns, "lane", "query_id", "query_version")
    streams = chosen(changes.columns, "left_stream_id", "right_stream_id", "ts")
    same = " AND ".join(f"h.{column.name} = f.{column.name}" for column in key)
    return View(
        "join_activity",
        "What each version of a join found; versions that found nothing are left out.",
        (
            *key,
            count("pairs", "pairs of tuples that a window join found"),
            count("came_in", "pairs of streams that came into its result (band, near join)"),
            count("went_out", "pairs of streams that went out of its result"),
            count("in_now", "pairs of streams in its result now"),
            count("left_streams", "streams of the left feed involved"),
            count("right_streams", "streams of the right feed involved"),
            Column("first_ts", "timestamp", "first pair or change"),
            Column("last_ts", "timestamp", "last pair or change"),
        ),
        f"""WITH found AS (
    SELECT {select_list("p", (*key, *streams))}, 1 AS paired, 0 AS change FROM pairs p
    UNION ALL
    SELECT {select_list("b", (*key, *streams))}, 0, b.change FROM band_changes b
    UNION ALL
    SELECT {select_list("n", (*key, *streams))}, 0, n.change FROM near_changes n
), holds AS (
    SELECT {select_list("i", key)}, COUNT(*) AS n FROM band_pairs i GROUP BY {select_list("i", key)}
    UNION ALL
    SELECT {select_list("i", key)}, COUNT(*) AS n FROM near_pairs i GROUP BY {select_list("i", key)}
)
SELECT {select_list("f", key)},
    CAST(SUM(f.paired) AS BIGINT) AS pairs,
    COUNT(CASE WHEN f.change = 1 THEN 1 END) AS came_in,
    COUNT(CASE WHEN f.change = -1 THEN 1 END) AS went_out,
    COALESCE(MAX(h.n), 0) AS in_now,
    COUNT(DISTINCT f.left_stream_id) AS left_streams,
    COUNT(DISTINCT f.right_stream_id) AS right_streams,
    MIN(f.ts) AS first_ts, MAX(f.ts) AS last_ts
FROM found f LEFT JOIN holds h ON {same}
GROUP BY {select_list("f", key)}""",
    )


def _set_members(table: Table) -> View:
    columns = without(table.columns, "snapshot", "member")
    sql = f"""WITH {CURRENT}
SELECT {placed("t", table, "snapshot", "member")} FROM (
    SELECT r.*, ROW_NUMBER() OVER (
        PARTITION BY r.lane, {", ".join(f"r.{name}" for name in table.key)} ORDER BY r.epoch DESC
    ) AS newest_first
    FROM raw_set_members r WHERE {IS_CURRENT.format("r", table.lane_column)}
) t WHERE t.newest_first = 1 AND t.member"""
    comment = "The current tuple of every stream that takes part in band joins."
    return View("set_members", comment, columns, sql)


def _live_windows(table: Table) -> View:
    columns = without(table.columns, "snapshot", "deleted", "place")
    sql = f"""WITH {CURRENT}, newest AS (
    SELECT d.lane, MAX(d.epoch) AS epoch FROM done_epochs d GROUP BY d.lane
)
SELECT {placed("r", table, "snapshot", "deleted", "place")}, r.place IS NULL AS waits
FROM raw_live_windows r
JOIN newest w ON w.lane = r.lane AND (r.place IS NOT NULL OR r.epoch = w.epoch)
WHERE {IS_CURRENT.format("r", table.lane_column)}"""
    comment = (
        "The tuples in windows, and those that wait for the watermark. Tuples that have left their "
        "window since stay until the next snapshot of the state."
    )
    waits = Column("waits", "boolean", "not evaluated yet: it waits for the watermark")
    return View("live_windows", comment, (*columns, waits), sql)
