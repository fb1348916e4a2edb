"""Checks of a feed, in SQL: is each row accounted for, do events alternate, is the state newest?

Each function gives a SELECT with one column `said`: a row for each thing that was checked, null
where all is well.
"""

# ruff: noqa: S608  names of feeds and axes are declared, all else are numbers

from collections.abc import Sequence

from pipelines.checks.admission import accepted, in_order
from pipelines.checks.scope import CheckScope
from schemas.epochs import COUNTS

AT_EVALUATION = ("late", "duplicate", "conflict")
TRANSITIONS = ("pass_through", "short_absence", "stay", "departure")


def deliveries(scope: CheckScope, _: Sequence[str]) -> str:
    """Compare what each delivery brought with the rows in the tables."""
    return f"""WITH brought AS (
    SELECT a.n, a.path, a.rows, a.tuples, a.malformed, a.future FROM arrivals a
    WHERE a.kind = 'delivery' AND a.state = 'done' AND a.lane = '{scope.feed}'
        AND {scope.deliveries("a.n")}
), loaded AS (
    SELECT t.arrival, COUNT(*) AS many FROM "{scope.feed}" t
    WHERE {scope.deliveries("t.arrival")} GROUP BY t.arrival
), rejected AS (
    SELECT q.arrival, {_counted("q.reason", ("malformed", "future"))} FROM quarantine q
    WHERE q.feed = '{scope.feed}' AND q.epoch IS NULL GROUP BY q.arrival
), counted AS (
    SELECT b.*, COALESCE(t.many, 0) AS many, COALESCE(q.malformed, 0) AS is_malformed,
        COALESCE(q.future, 0) AS is_future
    FROM brought b LEFT JOIN loaded t ON t.arrival = b.n LEFT JOIN rejected q ON q.arrival = b.n
)
SELECT CASE
    WHEN h.rows IS DISTINCT FROM h.tuples + h.malformed + h.future
        THEN 'delivery ' || h.n || ' (' || h.path || '): ' || COALESCE(h.rows, 0) || ' rows read, '
            || COALESCE(h.tuples + h.malformed + h.future, 0) || ' reported'
    WHEN h.tuples <> h.many OR h.malformed <> h.is_malformed OR h.future <> h.is_future
        THEN 'delivery ' || h.n || ' (' || h.path || '): ' || h.tuples || ' tuples, '
            || h.malformed || ' malformed and ' || h.future || ' future reported, '
            || h.many || ', ' || h.is_malformed || ' and ' || h.is_future || ' found'
    END AS said
FROM counted h"""


def readable(scope: CheckScope, _: Sequence[str]) -> str:
    """Name the refused deliveries that are unanswered, whatever the epochs."""
    return f"""SELECT CASE WHEN r.n IS NOT NULL AND r.answer IS NULL
    THEN '{scope.feed}/' || r.path || ': ' || r.reason || ': ' || COALESCE(r.detail, '') END AS said
FROM arrivals a LEFT JOIN refused_deliveries r ON r.n = a.n
WHERE a.kind = 'delivery' AND a.lane = '{scope.feed}'"""


def epochs(scope: CheckScope, _: Sequence[str]) -> str:
    """Compare the counts of each epoch with each other, its deliveries and its rows."""
    counts = ", ".join(f"d.{name}" for name in COUNTS)
    events = "COUNT(CASE WHEN e.type = 'I' THEN 1 END) AS entered, "
    events += "COUNT(CASE WHEN e.type = 'O' THEN 1 END) AS left"
    others = {
        "v": ("entered", "left"),
        "r": TRANSITIONS,
        "m": ("matched",),
        "q": AT_EVALUATION,
    }
    unlike = " || ".join(
        f"CASE WHEN COALESCE({alias}.{name}, 0) <> COALESCE(h.{name}, 0) THEN ', {name} ' "
        f"|| COALESCE(h.{name}, 0) || ' and ' || COALESCE({alias}.{name}, 0) || ' there' "
        "ELSE '' END"
        for alias, names in others.items()
        for name in names
    )
    mine = f"'{scope.feed}'"
    return f"""WITH ledger AS (
    SELECT d.epoch, {counts} FROM done_epochs d
    WHERE d.lane = {mine} AND {scope.epochs("d.epoch")}
), each_delivery AS (
    SELECT d.epoch, EXPLODE(d.arrivals) AS n FROM done_epochs d WHERE d.lane = {mine}
), brought AS (
    SELECT t.epoch, SUM(a.rows) AS rows FROM each_delivery t JOIN arrivals a ON a.n = t.n
    GROUP BY t.epoch
), v AS (
    SELECT e.epoch, {events} FROM events e
    WHERE e.feed = {mine} AND {scope.epochs("e.epoch")} GROUP BY e.epoch
), r AS (
    SELECT e.epoch, {_counted("e.type", TRANSITIONS)} FROM transitions e
    WHERE e.feed = {mine} AND {scope.epochs("e.epoch")} GROUP BY e.epoch
), m AS (
    SELECT e.epoch, COUNT(*) AS matched FROM matches e
    WHERE e.feed = {mine} AND {scope.epochs("e.epoch")} GROUP BY e.epoch
), q AS (
    SELECT e.epoch, {_counted("e.reason", AT_EVALUATION)} FROM quarantine e
    WHERE e.feed = {mine} AND {scope.epochs("e.epoch")} GROUP BY e.epoch
), compared AS (
    SELECT h.epoch, CASE WHEN NOT b.balanced THEN ', ' || h.rows || ' rows and '
            || b.waiting_before || ' that waited are not the sum of the others' ELSE '' END
        || CASE WHEN COALESCE(n.rows, 0) <> h.rows THEN ', rows ' || h.rows || ' and '
            || COALESCE(n.rows, 0) || ' of its deliveries' ELSE '' END
        || {unlike} AS wrong
    FROM ledger h
    LEFT JOIN epoch_accounting b ON b.lane = {mine} AND b.epoch = h.epoch
    LEFT JOIN brought n ON n.epoch = h.epoch
    LEFT JOIN v ON v.epoch = h.epoch LEFT JOIN r ON r.epoch = h.epoch
    LEFT JOIN m ON m.epoch = h.epoch LEFT JOIN q ON q.epoch = h.epoch
)
SELECT CASE WHEN t.wrong <> '' THEN 'epoch ' || t.epoch || ':' || SUBSTRING(t.wrong, 2) END AS said
FROM compared t"""


def ledger(scope: CheckScope, _: Sequence[str]) -> str:
    """Check the order of the epochs, and of the lake's sequence; all of both."""
    mine = f"'{scope.lane}'"
    return f"""WITH ordered AS (
    SELECT d.epoch, ROW_NUMBER() OVER w AS nth, d.watermark_before, d.watermark,
        LAG(d.watermark) OVER w AS before
    FROM done_epochs d WHERE d.lane = {mine} WINDOW w AS (ORDER BY d.epoch)
), each_delivery AS (
    SELECT d.epoch, EXPLODE(d.arrivals) AS n FROM done_epochs d WHERE d.lane = {mine}
), evaluated AS (
    SELECT t.n, COUNT(*) AS times, MIN(t.epoch) AS epoch FROM each_delivery t GROUP BY t.n
), numbered AS (
    SELECT a.n, LAG(a.n, 1, 0) OVER (ORDER BY a.n) AS before FROM arrivals a
)
SELECT CASE
    WHEN o.epoch <> o.nth THEN 'epoch ' || o.epoch || ' where ' || o.nth || ' was expected'
    WHEN o.watermark < o.before THEN 'epoch ' || o.epoch || ': the watermark goes back'
    WHEN o.nth > 1 AND o.watermark_before IS DISTINCT FROM o.before
        THEN 'epoch ' || o.epoch || ' does not begin at the watermark of the one before'
    END AS said
FROM ordered o
UNION ALL
SELECT CASE
    WHEN t.times > 1 THEN 'delivery ' || t.n || ' is in ' || t.times || ' epochs'
    WHEN a.n IS NULL OR a.state <> 'done' OR NOT {scope.of_lane("a.lane")}
        THEN 'epoch ' || t.epoch || ' took ' || t.n || ', which is no delivery that is done'
    END
FROM evaluated t LEFT JOIN arrivals a ON a.n = t.n
UNION ALL
SELECT CASE WHEN a.n <> a.before + 1
    THEN 'number ' || (a.before + 1) || ' of the sequence is missing' END
FROM numbered a"""


def _counted(column: str, values: Sequence[str]) -> str:
    return ", ".join(
        f"COUNT(CASE WHEN {column} = '{value}' THEN 1 END) AS {value}" for value in values
    )


def alternation(scope: CheckScope, _: Sequence[str]) -> str:
    """Compare each crossing in the scope with the one before of its (query, version, stream).

    They go by (ts, place). Two I may follow each other where the query was not active in an epoch
    between them: so the departure was not seen.
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
    SELECT e.query_id, e.query_version, e.stream_id, e.type, e.ts, e.place, e.epoch,
        LAG(e.type) OVER w AS before, LAG(e.epoch) OVER w AS epoch_before
    FROM events e WHERE {mine}{pairs}
    WINDOW w AS (PARTITION BY {pair} ORDER BY e.ts, e.place, e.epoch)
), repeated AS (
    SELECT s.* FROM steps s WHERE s.type = s.before
), excused AS (
    SELECT DISTINCT r.query_id, r.query_version, r.stream_id, r.ts, r.place
    FROM repeated r
    JOIN query_versions v ON v.id = r.query_id AND v.version = r.query_version
    JOIN done_epochs d ON d.lane = '{scope.feed}' AND d.epoch > r.epoch_before AND d.epoch < r.epoch
        AND (d.registry_version < v.registry_version
            OR d.registry_version >= v.until_registry_version)
)
SELECT CASE WHEN s.type = s.before AND x.ts IS NULL THEN s.query_id || ' v' || s.query_version
        || ', ' || s.stream_id || ': ' || s.type || ' at ' || s.ts
        || CASE WHEN s.place > 0 THEN ', place ' || s.place ELSE '' END
        || ' follows ' || s.before
    END AS said
FROM steps s LEFT JOIN excused x ON x.query_id = s.query_id
    AND x.query_version = s.query_version AND x.stream_id = s.stream_id AND x.ts = s.ts
    AND x.place = s.place
WHERE {scope.epochs("s.epoch")}"""


def newest(scope: CheckScope, axes: Sequence[str]) -> str:
    """Compare each stream's state with the newest accepted tuple of the stream.

    Tuples are read twice: the order of all that share an instant would take four times as long.
    """
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
    feed = scope.lane.settings.feeds[scope.feed]
    by = in_order(feed, "a.at")
    values = ", ".join(f"LAST(a.v{i} ORDER BY {by}) AS v{i}" for i in range(len(feed.axes)))
    unlike = " OR ".join(f"n.v{i} IS DISTINCT FROM s.{axis}" for i, axis in enumerate(axes))
    return f"""WITH {touched}{accepted(scope, among.format("t"))}, heads AS (
    SELECT a.stream_id, MAX(a.ts) AS ts FROM accepted a GROUP BY a.stream_id
), newest AS (
    SELECT a.stream_id, a.ts, COUNT(*) - 1 AS place, {values}
    FROM accepted a JOIN heads h ON h.stream_id = a.stream_id AND h.ts = a.ts
    GROUP BY a.stream_id, a.ts
), stands AS (
    SELECT s.* FROM stream_state s WHERE {mine} AND {among.format("s")}
)
SELECT CASE
    WHEN s.stream_id IS NULL THEN n.stream_id || ' has no state'
    WHEN n.stream_id IS NULL THEN s.stream_id || ' has a state and no tuple'
    WHEN s.ts <> n.ts THEN s.stream_id || ' stands at ' || s.ts || ', its newest tuple is of '
        || n.ts
    WHEN s.ts_place <> n.place THEN s.stream_id || ' stands at place ' || s.ts_place || ' of '
        || s.ts || ', its newest tuple has place ' || n.place
    WHEN {unlike} THEN s.stream_id || ' stands at other values than its tuple of ' || n.ts
    END AS said
FROM newest n FULL JOIN stands s ON s.stream_id = n.stream_id"""
