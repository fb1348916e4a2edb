"""Which tuples of a feed were accepted, when, and in which order their streams took them, in SQL.

Law: nothing of the engine's state is read. The order follows from deliveries and rows: a stream's
tuples of one instant go by their sequence where the feed declares one, then by delivery, and in one
delivery as they stand in its files.
"""

# ruff: noqa: S608  names of feeds and axes are declared, all else are numbers

from pipelines.checks.scope import CheckScope
from pipelines.ingest import delta_source
from pipelines.planning.rules import BY_STREAM
from pipelines.project.settings import Feed
from schemas.tuples import SEQUENCE


def accepted(scope: CheckScope, condition: str = "TRUE") -> str:
    """Write as CTEs, the last is `accepted`: the tuples of epochs in force, released, not rejected.

    The condition is on the row `t`, and takes a stream whole. Of a tuple there are stream and time,
    its values as v0, v1 and so on, and

    at     which of the lane's deliveries brought it, in the order in which they were evaluated
    epoch  of that delivery
    own    the first epoch in which its stream's own clock released it; null where no clock did
    """
    feed = scope.lane.settings.feeds[scope.feed]
    own = "NULL", ""
    if feed.name in scope.own_clocks:
        own = "r.epoch", _released("delivered", feed.name, condition)
    return f"""delivered AS (
    SELECT u.n, u.epoch, u.lateness, ROW_NUMBER() OVER (ORDER BY u.epoch, u.nth) AS at FROM (
        SELECT d.epoch, UNNEST(d.arrivals) AS n, UNNEST(RANGE(LEN(d.arrivals))) AS nth,
            {lateness(scope, feed.name)} AS lateness
        FROM done_epochs d WHERE d.lane = '{scope.feed}'
    ) u
), good AS (
    SELECT t.stream_id, t.ts, UNIX_MICROS(t.ts) AS us, {columns(feed)}, o.at, o.epoch
    FROM "{scope.feed}" t JOIN delivered o ON o.n = t.arrival
    WHERE {condition} AND {not_rejected(scope.feed)}
), accepted AS (
    SELECT g.*, {own[0]} AS own FROM good g {own[1]}
    WHERE own IS NOT NULL
        OR g.ts <= (SELECT MAX(d.watermark) FROM done_epochs d WHERE d.lane = '{scope.feed}')
)"""


def lateness(scope: CheckScope, feed: str) -> str:
    """Write as SQL how far a stream's clock is behind its newest tuple, by the record of `d`.

    Null where the record says that the feed has one clock for all.
    """
    if feed not in scope.own_clocks:
        return "NULL"
    by_stream = f"{_recorded(feed, 'lateness_by')} = '{BY_STREAM}'"
    return f"CASE WHEN {by_stream} THEN CAST({_recorded(feed, 'allowed_lateness')} AS BIGINT) END"


def behind(feed: Feed) -> str:
    """Write as SQL how far the feed's watermark is behind its newest tuple, by the record of `d`.

    By the declaration, where there is no record.
    """
    by_stream = f"{_recorded(feed.name, 'lateness_by')} = '{BY_STREAM}'"
    idle, late = (_recorded(feed.name, name) for name in ("idle", "allowed_lateness"))
    recorded = f"CAST(CASE WHEN {by_stream} THEN {idle} ELSE {late} END AS BIGINT)"
    return f"COALESCE({recorded}, {feed.allowed_lateness:d})"


def _recorded(feed: str, name: str) -> str:
    return f"JSON_EXTRACT_STRING(d.declared, '$.{feed}.{name}')"


def clocks(delivered: str, feed: str, condition: str) -> str:
    """Write as SELECT the clock of each stream after each delivery that brought tuples of it.

    `delivered` has n, at, epoch and lateness. A rejected tuple is never newer than all others.
    """
    return f"""WITH tops AS (
        SELECT t.stream_id, o.at, o.epoch, o.lateness, MAX(UNIX_MICROS(t.ts)) AS top
        FROM "{feed}" t JOIN {delivered} o ON o.n = t.arrival WHERE {condition}
        GROUP BY t.stream_id, o.at, o.epoch, o.lateness
    ), behind AS (
        SELECT s.*, MAX(s.top) OVER w - s.lateness AS clock FROM tops s
        WINDOW w AS (PARTITION BY s.stream_id ORDER BY s.at)
    )
    SELECT s.stream_id, s.at, s.epoch, MAX(s.clock) OVER w AS clock FROM behind s
    WHERE s.clock IS NOT NULL WINDOW w AS (PARTITION BY s.stream_id ORDER BY s.at)"""


def _released(delivered: str, feed: str, condition: str) -> str:
    """Write as SQL the join that finds for a tuple `g` when its stream's clock reached it."""
    return f"""ASOF LEFT JOIN (
        SELECT c.stream_id, c.clock, MIN(c.at) AS at, MIN(c.epoch) AS epoch
        FROM ({clocks(delivered, feed, condition)}) c GROUP BY c.stream_id, c.clock
    ) r ON r.stream_id = g.stream_id AND g.us <= r.clock"""


def released_in_lane(scope: CheckScope, feed: str, condition: str) -> tuple[str, str]:
    """Write as SQL where in a lane of joins the clock of its stream reached a tuple `g`; the join.

    `marked` is there.
    """
    if feed not in scope.own_clocks:
        return "NULL", ""
    delivered = "(SELECT m.n, m.place AS at, m.epoch, m.lateness FROM marked m)"
    return "r.at", _released(delivered, feed, condition)


def columns(feed: Feed) -> str:
    """Write as SQL the columns of a row `t` that its order depends on; values as v0, v1."""
    names = ["file", "line", *([SEQUENCE] if feed.sequence_column is not None else [])]
    values = (f"t.{axis} AS v{i}" for i, axis in enumerate(feed.axes))
    return ", ".join([*(f"t.{name}" for name in names), *values])


def not_rejected(feed: str) -> str:
    """Write as SQL: the row `t` is not in quarantine."""
    return f"""NOT EXISTS (
        SELECT 1 FROM quarantine q WHERE q.feed = '{feed}' AND q.epoch IS NOT NULL
            AND q.arrival = t.arrival AND q.file = t.file AND q.line = t.line
    )"""


def placed(scope: CheckScope, values: str) -> str:
    """Write as SELECT over `accepted`: these values of the rows `a`, with the place of each."""
    by = in_order(scope.lane.settings.feeds[scope.feed], "a.at")
    return f"""SELECT {values},
        ROW_NUMBER() OVER (PARTITION BY a.stream_id, a.ts ORDER BY {by}) - 1 AS place
    FROM accepted a"""


def in_order(feed: Feed, delivery: str, alias: str = "a") -> str:
    """Write as SQL what orders the tuples of a stream at one instant.

    A tuple from before a sequence was declared comes before those that have one. A version of a
    Delta table has no order of rows: its tuples go by their values.
    """
    first = [f"{alias}.{SEQUENCE} NULLS FIRST"] if feed.sequence_column is not None else []
    rows = ["file", "line"]
    if feed.form == delta_source.FORM:
        rows = [f"v{i}" for i in range(len(feed.axes))]
    return ", ".join([*first, delivery, *(f"{alias}.{name}" for name in rows)])
