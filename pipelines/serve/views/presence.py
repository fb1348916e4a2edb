"""Which stream is inside which query, and since when; which was, and until when.

Law: the crossings of a (query, version, stream) alternate. A visit begins at an I. It ends at the O
that follows; else at the query's `valid_to` once the watermark has reached it, or at the lane's
watermark before the query was removed or changed, whichever comes first; else it goes on. An O with
no I before it ends a visit whose beginning was not seen.

A removal takes effect in a lane when every delivery before it has been evaluated: until then
crossings of the query may still be found. If a delivery arrives late for an earlier partition, a
query can be active, removed and active again along the epochs; then an I follows an I, and the
visit before ended, by removal, no later than the stream's tuple before the second I.
"""

# ruff: noqa: S608  a view's text is built from declared names alone

from pipelines.serve.views.registry import DONE_COMMITS
from pipelines.serve.views.view import View
from schemas import marts

# Only versions that end are read: those removed, those with a version after them, and those
# with a valid_to. `effects` has a row where such an end has taken effect in a lane.
ENDS = f"""lanes AS (
    SELECT d.lane, MAX(d.watermark) AS watermark FROM done_epochs d GROUP BY d.lane
), evaluated AS (
    SELECT d.lane, EXPLODE(d.arrivals) AS n FROM done_epochs d
), unevaluated AS (
    SELECT a.lane, MIN(a.n) AS n FROM arrivals a
    LEFT JOIN evaluated t ON t.lane = a.lane AND t.n = a.n
    WHERE a.kind = 'delivery' AND a.state <> 'refused' AND t.n IS NULL GROUP BY a.lane
), ends AS (
    SELECT x.id, x.version, MIN(x.n) AS n, MIN(x.registry_version) AS registry_version,
        MIN(x.valid_to) AS valid_to
    FROM (
        SELECT r.id, r.version, NULL AS n, NULL AS registry_version, r.valid_to
        FROM raw_queries r
        WHERE r.valid_to IS NOT NULL AND r.n IN ({DONE_COMMITS})
        UNION ALL
        SELECT r.id, CASE WHEN r.removed THEN r.version ELSE r.version - 1 END AS version,
            r.n, r.registry_version, NULL AS valid_to
        FROM raw_queries r
        WHERE (r.removed OR r.version > 1) AND r.n IN ({DONE_COMMITS})
    ) x GROUP BY x.id, x.version
), registries AS (
    SELECT l.lane, c.registry_version, MAX(d.watermark) AS watermark
    FROM lanes l
    CROSS JOIN (SELECT DISTINCT e.registry_version FROM ends e WHERE e.n IS NOT NULL) c
    JOIN done_epochs d ON d.lane = l.lane AND d.registry_version < c.registry_version
    GROUP BY l.lane, c.registry_version
), effects AS (
    SELECT l.lane, e.id, e.version, g.watermark AS removed_at,
        CASE WHEN e.valid_to <= l.watermark THEN e.valid_to END AS valid_to
    FROM ends e
    CROSS JOIN lanes l
    LEFT JOIN unevaluated u ON u.lane = l.lane
    LEFT JOIN registries g ON g.lane = l.lane AND g.registry_version = e.registry_version
        AND (u.n IS NULL OR e.n < u.n)
    WHERE g.watermark IS NOT NULL OR e.valid_to <= l.watermark
)"""

PAIRS = """pairs AS (
    SELECT e.feed, e.query_id, e.query_version, e.stream_id,
        COUNT(CASE WHEN e.type = 'I' THEN 1 END) AS times_entered,
        COUNT(CASE WHEN e.type = 'O' THEN 1 END) AS times_left,
        MIN(e.ts) AS first_ts, MAX(e.ts) AS last_ts,
        MAX(CASE WHEN e.type = 'I' THEN e.ts END) AS entered_ts,
        MAX(CASE WHEN e.type = 'O' THEN e.ts END) AS left_ts
    FROM events e GROUP BY e.feed, e.query_id, e.query_version, e.stream_id
)"""
"""Everything about a pair of query and stream, in one pass over the events."""

EFFECT_ON = "f.lane = {0}.feed AND f.id = {0}.query_id AND f.version = {0}.query_version"
IS_INSIDE = """p.entered_ts IS NOT NULL AND f.id IS NULL
    AND (p.left_ts IS NULL OR p.left_ts < p.entered_ts)"""

_BY_VALIDITY = "f.valid_to IS NOT NULL AND (f.removed_at IS NULL OR f.valid_to <= f.removed_at)"

VISITS = View(
    marts.VISITS.name,
    marts.VISITS.comment,
    marts.VISITS.columns,
    f"""WITH {ENDS}, steps AS (
    SELECT e.feed, e.query_id, e.query_version, e.stream_id, e.type, e.ts,
        LAG(e.type) OVER w AS type_before, LEAD(e.type) OVER w AS next_type,
        LEAD(e.ts) OVER w AS next_ts, LEAD(e.prev_ts) OVER w AS next_prev_ts
    FROM events e
    WINDOW w AS (PARTITION BY e.feed, e.query_id, e.query_version, e.stream_id ORDER BY e.ts)
), spans AS (
    SELECT s.feed, s.query_id, s.query_version, s.stream_id,
        CASE WHEN s.type = 'I' THEN s.ts END AS entered_ts,
        CASE WHEN s.type = 'O' THEN s.ts
            WHEN s.next_type = 'O' THEN s.next_ts
            WHEN s.next_type = 'I' THEN s.next_prev_ts
            WHEN {_BY_VALIDITY} THEN f.valid_to
            ELSE f.removed_at END AS left_ts,
        CASE WHEN s.type = 'O' OR s.next_type = 'O' THEN 'crossing'
            WHEN s.next_type = 'I' THEN 'removal'
            WHEN {_BY_VALIDITY} THEN 'valid_to'
            WHEN f.removed_at IS NOT NULL THEN 'removal' END AS ended_by
    FROM steps s LEFT JOIN effects f ON {EFFECT_ON.format("s")}
    WHERE s.type = 'I' OR s.type_before IS NULL OR s.type_before <> 'I'
)
SELECT v.feed, v.query_id, v.query_version, v.stream_id, v.entered_ts, v.left_ts, v.ended_by,
    (UNIX_MICROS(v.left_ts) - UNIX_MICROS(v.entered_ts)) / 1e6 AS duration
FROM spans v""",
)

INSIDE_NOW = View(
    marts.INSIDE_NOW.name,
    marts.INSIDE_NOW.comment,
    marts.INSIDE_NOW.columns,
    f"""WITH {ENDS}, {PAIRS}
SELECT p.feed, p.query_id, p.query_version, p.stream_id, p.entered_ts AS since
FROM pairs p LEFT JOIN effects f ON {EFFECT_ON.format("p")}
WHERE {IS_INSIDE}""",
)
