"""Do the crossings alternate, and does the state say where every stream stands?

Each function gives a SELECT with one column `said`, as in `accounting`.
"""

# ruff: noqa: S608  names of feeds and axes are declared, all else are numbers

from collections.abc import Sequence

from pipelines.checks.scope import Scope

ACCEPTED = """accepted AS (
    SELECT t.* FROM "{feed}" t
    WHERE {condition}
        AND t.arrival IN (SELECT EXPLODE(d.arrivals) FROM done_epochs d WHERE d.lane = '{feed}')
        AND t.ts <= (SELECT MAX(d.watermark) FROM done_epochs d WHERE d.lane = '{feed}')
        AND NOT EXISTS (
            SELECT 1 FROM quarantine q WHERE q.feed = '{feed}' AND q.epoch IS NOT NULL
                AND q.arrival = t.arrival AND q.file = t.file AND q.line = t.line
        )
)"""
"""The tuples of a feed that were taken: of epochs in force, released, not turned away."""


def alternation(scope: Scope, _: Sequence[str]) -> str:
    """Hold each crossing in the scope against the one before of its (query, version, stream).

    Two I may follow each other where the query did not stand in an epoch between them: then nobody
    saw the stream leave.
    """
    mine = f"e.feed = '{scope.feed}'"
    pair = "query_id, query_version, stream_id"
    pairs = ""
    if scope.runs is not None:
        pairs = f""" AND ({pair}) IN (
        SELECT (i.query_id, i.query_version, i.stream_id) FROM events i
        WHERE i.feed = '{scope.feed}' AND {scope.epochs("i.epoch")}
    )"""
    return f"""WITH steps AS (
    SELECT e.query_id, e.query_version, e.stream_id, e.type, e.ts, e.epoch,
        LAG(e.type) OVER w AS before, LAG(e.epoch) OVER w AS epoch_before
    FROM events e WHERE {mine}{pairs}
    WINDOW w AS (PARTITION BY {pair} ORDER BY e.ts, e.epoch)
), repeated AS (
    SELECT s.* FROM steps s WHERE s.type = s.before
), excused AS (
    SELECT DISTINCT r.query_id, r.query_version, r.stream_id, r.ts FROM repeated r
    JOIN query_versions v ON v.id = r.query_id AND v.version = r.query_version
    JOIN done_epochs d ON d.lane = '{scope.feed}' AND d.epoch > r.epoch_before AND d.epoch < r.epoch
        AND (d.registry_version < v.registry_version
            OR d.registry_version >= v.until_registry_version)
)
SELECT CASE WHEN s.type = s.before AND x.ts IS NULL THEN s.query_id || ' v' || s.query_version
        || ', ' || s.stream_id || ': ' || s.type || ' at ' || s.ts || ' follows ' || s.before
    END AS said
FROM steps s LEFT JOIN excused x ON x.query_id = s.query_id
    AND x.query_version = s.query_version AND x.stream_id = s.stream_id AND x.ts = s.ts
WHERE {scope.epochs("s.epoch")}"""


def newest(scope: Scope, axes: Sequence[str]) -> str:
    """Hold each stream's state against the newest tuple of the stream that was taken."""
    mine = f"s.feed = '{scope.feed}'"
    touched, among = "", "TRUE"
    if scope.runs is not None:
        among = "{0}.stream_id IN (SELECT m.stream_id FROM touched m)"
        touched = f"""touched AS (
    SELECT s.stream_id FROM stream_state s WHERE {mine} AND {scope.epochs("s.epoch")}
    UNION
    SELECT t.stream_id FROM "{scope.feed}" t WHERE t.arrival IN (
        SELECT EXPLODE(d.arrivals) FROM done_epochs d
        WHERE d.lane = '{scope.feed}' AND {scope.epochs("d.epoch")}
    )
), """
    accepted = ACCEPTED.format(feed=scope.feed, condition=among.format("t"))
    values = ", ".join(f"ARG_MAX(a.{axis}, a.ts) AS v{i}" for i, axis in enumerate(axes))
    unlike = " OR ".join(f"n.v{i} IS DISTINCT FROM s.{axis}" for i, axis in enumerate(axes))
    return f"""WITH {touched}{accepted}, newest AS (
    SELECT a.stream_id, MAX(a.ts) AS ts, {values} FROM accepted a GROUP BY a.stream_id
), stands AS (
    SELECT s.* FROM stream_state s WHERE {mine} AND {among.format("s")}
)
SELECT CASE
    WHEN s.stream_id IS NULL THEN n.stream_id || ' has no state'
    WHEN n.stream_id IS NULL THEN s.stream_id || ' has a state and no tuple'
    WHEN s.ts <> n.ts THEN s.stream_id || ' stands at ' || s.ts || ', its newest tuple is of '
        || n.ts
    WHEN {unlike} THEN s.stream_id || ' stands at other values than its tuple of ' || n.ts
    END AS said
FROM newest n FULL JOIN stands s ON s.stream_id = n.stream_id"""
