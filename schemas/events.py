"""The results of a feed: crossings, what became of them, and matches."""

from schemas.logs import EPOCH, FEED, Axes
from schemas.table import Column, Table, axis_columns
from schemas.tuples import ARRIVAL

RAW = (
    " This raw table also has rows of epochs that are unfinished or superseded; the view of the "
    "same name does not."
)
WHO = (
    Column("query_id", "string", "the query"),
    Column("query_version", "integer", "its version"),
    Column("stream_id", "string", "the stream"),
)
BY = tuple(column.name for column in WHO)
TRANSITIONS = ("pass_through", "short_absence", "stay", "departure")
"""The types of transitions."""
DAY = Column("day", "date", "the day of ts, UTC")


def events(axes: Axes) -> Table:
    """Declare the crossings: at most one in force for a query version, stream and ts."""
    return Table(
        "events",
        "Crossings: a stream entered (I) or left (O) a query." + RAW,
        (
            FEED,
            Column("type", "string", "I: entered, O: left"),
            *WHO,
            Column("ts", "timestamp", "time of the crossing tuple"),
            *axis_columns(axes),
            Column("prev_ts", "timestamp", "of the tuple before; null for a first one", True),
            *axis_columns(axes, "prev_"),
            ARRIVAL,
            *EPOCH,
            DAY,
        ),
        role="found",
        owner="feed",
        key=(*BY, "ts"),
        partitioned_by=("feed", "day"),
        sorted_by=("query_id", "stream_id", "ts"),
        clustered_by=("query_id", "stream_id"),
        checks={"type_is_known": "type = 'I' OR type = 'O'"},
    )


def transitions() -> Table:
    """Declare what became of the crossings of queries with `within`."""
    return Table(
        "transitions",
        "What a crossing turned into within the time t of its query." + RAW,
        (
            FEED,
            Column("type", "string", ", ".join(TRANSITIONS)),
            *WHO,
            Column("ts", "timestamp", "when it was decided"),
            Column("from_ts", "timestamp", "time of the first crossing"),
            Column("to_ts", "timestamp", "of the crossing that answered it; null: none", True),
            ARRIVAL,
            *EPOCH,
            DAY,
        ),
        role="found",
        owner="feed",
        key=(*BY, "from_ts"),
        partitioned_by=("feed", "day"),
        sorted_by=("query_id", "stream_id", "ts"),
        clustered_by=("query_id", "stream_id"),
        checks={"type_is_known": " OR ".join(f"type = '{kind}'" for kind in TRANSITIONS)},
    )


def matches() -> Table:
    """Declare the matches: at most one in force for a query version, stream and ts."""
    return Table(
        "matches",
        "Matches: a tuple satisfied a query of the kind `match`." + RAW,
        (
            FEED,
            *WHO,
            Column("ts", "timestamp", "time of the tuple"),
            ARRIVAL,
            *EPOCH,
            DAY,
        ),
        role="found",
        owner="feed",
        key=(*BY, "ts"),
        partitioned_by=("feed", "day"),
        sorted_by=("query_id", "stream_id", "ts"),
        clustered_by=("query_id", "stream_id"),
    )
