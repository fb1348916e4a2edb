"""Is every row accounted for, do the ledgers have no gaps, is nothing stale?

Each function gives a SELECT with one column `said`: a row for each thing that was looked at, null
where all is well.
"""

# ruff: noqa: S608  a feed's name is one that is declared, all else are numbers

from collections.abc import Sequence

from pipelines.checks.scope import Scope
from schemas.epochs import COUNTS

AT_EVALUATION = ("late", "duplicate", "conflict")
TRANSITIONS = ("pass_through", "short_absence", "stay", "departure")


def deliveries(scope: Scope, _: Sequence[str]) -> str:
    """Hold what each delivery brought against the rows that stand in the tables."""
    return f"""WITH brought AS (
    SELECT a.n, a.path, a.rows, a.tuples, a.malformed, a.future FROM arrivals a
    WHERE a.kind = 'delivery' AND a.state = 'done' AND a.lane = '{scope.feed}'
        AND {scope.deliveries("a.n")}
), taken AS (
    SELECT t.arrival, COUNT(*) AS many FROM "{scope.feed}" t
    WHERE {scope.deliveries("t.arrival")} GROUP BY t.arrival
), turned AS (
    SELECT q.arrival, {_counted("q.reason", ("malformed", "future"))} FROM quarantine q
    WHERE q.feed = '{scope.feed}' AND q.epoch IS NULL GROUP BY q.arrival
), held AS (
    SELECT b.*, COALESCE(t.many, 0) AS many, COALESCE(q.malformed, 0) AS is_malformed,
        COALESCE(q.future, 0) AS is_future
    FROM brought b LEFT JOIN taken t ON t.arrival = b.n LEFT JOIN turned q ON q.arrival = b.n
)
SELECT CASE
    WHEN h.rows IS DISTINCT FROM h.tuples + h.malformed + h.future
        THEN 'delivery ' || h.n || ' (' || h.path || '): ' || COALESCE(h.rows, 0) || ' rows read, '
            || COALESCE(h.tuples + h.malformed + h.future, 0) || ' told of'
    WHEN h.tuples <> h.many OR h.malformed <> h.is_malformed OR h.future <> h.is_future
        THEN 'delivery ' || h.n || ' (' || h.path || '): ' || h.tuples || ' tuples, '
            || h.malformed || ' malformed and ' || h.future || ' future were told, '
            || h.many || ', ' || h.is_malformed || ' and ' || h.is_future || ' are there'
    END AS said
FROM held h"""


def readable(scope: Scope, _: Sequence[str]) -> str:
    """Name the refused deliveries that nobody has answered, whichever epochs are asked for."""
    return f"""SELECT CASE WHEN r.n IS NOT NULL AND r.answer IS NULL
    THEN '{scope.feed}/' || r.path || ': ' || r.reason || ': ' || COALESCE(r.detail, '') END AS said
FROM arrivals a LEFT JOIN refused_deliveries r ON r.n = a.n
WHERE a.kind = 'delivery' AND a.lane = '{scope.feed}'"""


def epochs(scope: Scope, _: Sequence[str]) -> str:
    """Hold the counts of each epoch against each other, its deliveries and its rows."""
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
    return f"""WITH held AS (
    SELECT d.epoch, {counts} FROM done_epochs d
    WHERE d.lane = {mine} AND {scope.epochs("d.epoch")}
), each_taken AS (
    SELECT d.epoch, EXPLODE(d.arrivals) AS n FROM done_epochs d WHERE d.lane = {mine}
), brought AS (
    SELECT t.epoch, SUM(a.rows) AS rows FROM each_taken t JOIN arrivals a ON a.n = t.n
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
), told AS (
    SELECT h.epoch, CASE WHEN NOT b.balanced THEN ', ' || h.rows || ' rows and '
            || b.waiting_before || ' that waited are not the sum of the others' ELSE '' END
        || CASE WHEN COALESCE(n.rows, 0) <> h.rows THEN ', rows ' || h.rows || ' and '
            || COALESCE(n.rows, 0) || ' of its deliveries' ELSE '' END
        || {unlike} AS wrong
    FROM held h
    LEFT JOIN epoch_accounting b ON b.lane = {mine} AND b.epoch = h.epoch
    LEFT JOIN brought n ON n.epoch = h.epoch
    LEFT JOIN v ON v.epoch = h.epoch LEFT JOIN r ON r.epoch = h.epoch
    LEFT JOIN m ON m.epoch = h.epoch LEFT JOIN q ON q.epoch = h.epoch
)
SELECT CASE WHEN t.wrong <> '' THEN 'epoch ' || t.epoch || ':' || SUBSTRING(t.wrong, 2) END AS said
FROM told t"""


def ledger(scope: Scope, _: Sequence[str]) -> str:
    """Hold the epochs against their order, and the lake's sequence against its own; all of both."""
    mine = f"'{scope.lane}'"
    return f"""WITH ordered AS (
    SELECT d.epoch, ROW_NUMBER() OVER w AS nth, d.watermark_before, d.watermark,
        LAG(d.watermark) OVER w AS before
    FROM done_epochs d WHERE d.lane = {mine} WINDOW w AS (ORDER BY d.epoch)
), each_taken AS (
    SELECT d.epoch, EXPLODE(d.arrivals) AS n FROM done_epochs d WHERE d.lane = {mine}
), taken AS (
    SELECT t.n, COUNT(*) AS times, MIN(t.epoch) AS epoch FROM each_taken t GROUP BY t.n
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
FROM taken t LEFT JOIN arrivals a ON a.n = t.n
UNION ALL
SELECT CASE WHEN a.n <> a.before + 1
    THEN 'number ' || (a.before + 1) || ' of the sequence is missing' END
FROM numbered a"""


def _counted(column: str, values: Sequence[str]) -> str:
    return ", ".join(
        f"COUNT(CASE WHEN {column} = '{value}' THEN 1 END) AS {value}" for value in values
    )
