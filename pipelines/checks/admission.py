"""Which tuples of a feed were accepted, when, and in which order their streams took them, in SQL.

Law: nothing of the engine's state is read. The order follows from deliveries and rows: a stream's
tuples of one instant go by their sequence where the feed declares one, then by delivery, and in one
delivery as they stand in its files.
"""

# ruff: noqa: S608  names of feeds and axes are declared, all else are numbers

from pipelines.checks.scope import CheckScope
from pipelines.ingest import delta_source
from pipelines.project.settings import Feed
from schemas.tuples import SEQUENCE

BY_STREAM = "stream"
"""What `lateness_by` says where each stream waits for its own clock."""


def accepted(scope: CheckScope, condition: str = "TRUE") -> str:
    """Write as CTEs, the last is `accepted`: the tuples of epochs in force, released, not rejected.

    The condition is on the row `t`, and takes a stream whole. Of a tuple there are stream and time,
    its values as v0, v1 and so on, and

    at     which of the lane's deliveries brought it, in the order in which they were evaluated
    epoch  of that delivery
    own    the first epoch in which its stream's own clock released it; null where no clock did
    """
    feed = scope.lane.settings.feeds[scope.feed]
    return f"""delivered AS (
    SELECT u.n, u.epoch, ROW_NUMBER() OVER (ORDER BY u.epoch, u.nth) AS at FROM (
        SELECT d.epoch, UNNEST(d.arrivals) AS n, UNNEST(RANGE(LEN(d.arrivals))) AS nth
        FROM done_epochs d WHERE d.lane = '{scope.feed}'
    ) u
), good AS (
    SELECT t.stream_id, t.ts, {columns(feed)}, o.at, o.epoch,
        {by_own_clock(feed, "o.epoch", "UNIX_MICROS(t.ts)")} AS own
    FROM "{scope.feed}" t JOIN delivered o ON o.n = t.arrival
    WHERE {condition} AND {not_rejected(scope.feed)}
), accepted AS (
    SELECT g.* FROM good g WHERE g.own IS NOT NULL
        OR g.ts <= (SELECT MAX(d.watermark) FROM done_epochs d WHERE d.lane = '{scope.feed}')
)"""


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


def by_own_clock(feed: Feed, what: str, us: str) -> str:
    """Write as SQL over good rows `t`: the least of these at which the stream's clock passed it.

    A tuple is released by its stream when a good one is newer by the allowed lateness, or is the
    newest itself. Null where the feed has one clock for all.
    """
    if feed.lateness_by != BY_STREAM:
        return "NULL"
    return f"""MIN({what}) OVER (
        PARTITION BY t.stream_id ORDER BY {us} DESC
        RANGE BETWEEN UNBOUNDED PRECEDING AND {feed.allowed_lateness:d} PRECEDING
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
