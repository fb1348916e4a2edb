"""An audit of what became of crossings: derived again, in SQL, for a bounded sample of pairs.

What the engine decides as deliveries come is derived here from the whole history at once. Of the
crossings e and then f of a pair, f answers e if it comes within t and no watermark before f's
delivery was past e's time; else e times out, if a watermark passed it while the query was active.
"""

# ruff: noqa: S608  a feed's name is one that is declared, all else are numbers

from collections.abc import Sequence

from pipelines.checks.admission import clocks, lateness
from pipelines.checks.scope import CheckScope

PAIRS = 2_000
"""Pairs of query and stream that are audited: those whose hashes are the smallest."""


def followed(scope: CheckScope, _: Sequence[str]) -> str:
    """Give a row for each crossing and transition of the pairs, as in `feed_sql`.

    Versions that were active, inactive and active again along the epochs are left out.
    """
    mine = f"'{scope.feed}'"
    before, last = (_watermark(scope, alias) for alias in "bl")
    return f"""WITH unfolded AS (
    SELECT d.epoch, d.registry_version, UNNEST(d.arrivals) AS n,
        UNNEST(d.watermarks) AS watermark, UNNEST(RANGE(LEN(d.arrivals))) AS place,
        {lateness(scope, scope.feed)} AS lateness
    FROM done_epochs d WHERE d.lane = {mine}
), deliveries AS (
    SELECT u.n, u.epoch, u.registry_version, u.watermark, u.lateness,
        ROW_NUMBER() OVER (ORDER BY u.epoch, u.place) AS at
    FROM unfolded u
), chosen AS (
    SELECT DISTINCT e.query_id, e.query_version, e.stream_id FROM events e
    JOIN query_versions v ON v.id = e.query_id AND v.version = e.query_version
    WHERE e.feed = {mine} AND v.within IS NOT NULL AND {scope.epochs("e.epoch")}
    ORDER BY HASH(e.query_id, e.query_version, e.stream_id) LIMIT {PAIRS:d}
), stood AS (
    SELECT v.id, v.version, v.within, v.valid_to, MAX(d.at) AS last_at
    FROM (SELECT DISTINCT c.query_id, c.query_version FROM chosen c) c
    JOIN query_versions v ON v.id = c.query_id AND v.version = c.query_version
    JOIN deliveries d ON d.registry_version >= v.registry_version
        AND (v.until_registry_version IS NULL OR d.registry_version < v.until_registry_version)
    GROUP BY v.id, v.version, v.within, v.valid_to
    HAVING COUNT(*) = MAX(d.at) - MIN(d.at) + 1
), pairs AS (
    SELECT c.*, s.within, s.valid_to, s.last_at FROM chosen c
    JOIN stood s ON s.id = c.query_id AND s.version = c.query_version
), crossed AS (
    SELECT p.*, e.type, e.ts, UNIX_MICROS(e.ts) + p.within AS due, d.at,
        e.place, LEAD(e.ts) OVER w AS next_ts, LEAD(e.place) OVER w AS next_place,
        LEAD(d.at) OVER w AS next_at
    FROM pairs p
    JOIN events e ON e.feed = {mine} AND e.query_id = p.query_id
        AND e.query_version = p.query_version AND e.stream_id = p.stream_id
    JOIN deliveries d ON d.n = e.arrival
    WINDOW w AS (
        PARTITION BY p.query_id, p.query_version, p.stream_id ORDER BY e.ts, e.place
    )
), weighed AS (
    SELECT c.*, COALESCE(UNIX_MICROS(c.valid_to) <= c.due, FALSE) AS is_dropped,
        COALESCE(c.next_at > c.at AND {before} > c.due, FALSE) AS was_overdue,
        COALESCE({last} > c.due, FALSE) AS is_overdue,
        UNIX_MICROS(c.next_ts) <= c.due AS in_time
    FROM crossed c
    LEFT JOIN deliveries b ON b.at = c.next_at - 1
    JOIN deliveries l ON l.at = c.last_at{_joined(scope)}
), expected AS (
    SELECT w.*, CASE WHEN w.next_ts IS NOT NULL AND NOT w.was_overdue AND w.in_time
            THEN CASE WHEN w.type = 'I' THEN 'pass_through' ELSE 'short_absence' END
        WHEN w.is_dropped THEN NULL
        WHEN w.next_ts IS NOT NULL OR w.is_overdue
            THEN CASE WHEN w.type = 'I' THEN 'stay' ELSE 'departure' END END AS became
    FROM weighed w
), timed AS (
    SELECT x.query_id, x.query_version, x.stream_id, x.ts AS from_ts, x.place, x.became,
        CASE WHEN x.became IN ('pass_through', 'short_absence') THEN UNIX_MICROS(x.next_ts)
            WHEN x.became IS NOT NULL THEN x.due END AS settled,
        CASE WHEN x.became IN ('pass_through', 'short_absence') THEN x.next_place END AS to_place
    FROM expected x
), found AS (
    SELECT p.query_id, p.query_version, p.stream_id, t.from_ts, t.from_place AS place, t.type,
        UNIX_MICROS(t.ts) AS settled, t.to_place
    FROM pairs p JOIN transitions t ON t.feed = {mine} AND t.query_id = p.query_id
        AND t.query_version = p.query_version AND t.stream_id = p.stream_id
)
SELECT CASE WHEN x.became IS DISTINCT FROM f.type OR x.settled IS DISTINCT FROM f.settled
        OR x.to_place IS DISTINCT FROM f.to_place
    THEN COALESCE(x.query_id, f.query_id) || ' v' || COALESCE(x.query_version, f.query_version)
        || ', ' || COALESCE(x.stream_id, f.stream_id) || ': the crossing at '
        || COALESCE(x.from_ts, f.from_ts)
        || CASE WHEN COALESCE(x.place, f.place) > 0
            THEN ', place ' || COALESCE(x.place, f.place) ELSE '' END
        || ' became ' || COALESCE(f.type, 'nothing')
        || CASE WHEN x.became = f.type AND x.settled = f.settled THEN ' by another tuple'
            WHEN x.became = f.type THEN ' at another time' ELSE ', expected '
            || COALESCE(x.became, 'nothing') END
    END AS said
FROM timed x FULL JOIN found f ON f.query_id = x.query_id AND f.query_version = x.query_version
    AND f.stream_id = x.stream_id AND f.from_ts = x.from_ts
    AND f.place = x.place"""


def any_within(scope: CheckScope) -> str:
    """Write as SQL: some query of the feed had a time `within`; else no crossing becomes anything.

    It spares 80 ms, which planning the audit takes. Any row of the registry counts, also of a
    commit that is not done: more queries are only more to look at.
    """
    return f"""EXISTS (
    SELECT 1 FROM raw_queries q WHERE q.feed = '{scope.feed}' AND q.within IS NOT NULL
)"""


def _joined(scope: CheckScope) -> str:
    """Write as SQL the joins that find a stream's clock after the deliveries `b` and `l`."""
    if scope.feed not in scope.own_clocks:
        return ""
    among = "t.stream_id IN (SELECT p.stream_id FROM pairs p)"
    each = clocks("deliveries", scope.feed, among)
    return f"""
    ASOF LEFT JOIN ({each}) of_b ON of_b.stream_id = c.stream_id AND c.next_at - 1 >= of_b.at
    ASOF LEFT JOIN ({each}) of_l ON of_l.stream_id = c.stream_id AND c.last_at >= of_l.at"""


def _watermark(scope: CheckScope, delivery: str) -> str:
    """Write as SQL the watermark of a stream after a delivery: the feed's, or its own."""
    mark = f"UNIX_MICROS({delivery}.watermark)"
    if scope.feed not in scope.own_clocks:
        return mark
    return f"GREATEST({mark}, of_{delivery}.clock)"
