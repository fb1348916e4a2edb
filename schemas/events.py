"""The results of a feed: crossings, what became of them, and matches."""

from functools import partial

from schemas.logs import EPOCH, FEED
from schemas.table import Column, Feeds, Table, axis_columns, payload_columns
from schemas.tuples import ARRIVAL

RAW = (
    " It holds what is in force, and may be ahead by the group of epochs that is being evaluated; "
    "the view of the same name does not show that."
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
PLACE = Column(
    "place", "integer", "of the tuple among its stream's accepted ones of that ts; null: 0", True
)
"""Stands behind what a table had without it, like all columns that came later."""

_found = partial(
    Table,
    role="found",
    owner="feed",
    key=(*BY, "ts", "place"),
    partitioned_by=("feed", "day"),
    sorted_by=("query_id", "stream_id", "ts"),
    clustered_by=("query_id", "stream_id"),
)
"""Declares a table of results: at most one row in force for a query and a stream's tuple."""


def events(feeds: Feeds) -> Table:
    """Declare the crossings: at most one in force for a query version and a stream's tuple."""
    return _found(
        "events",
        "Crossings: a stream entered (I) or left (O) a query." + RAW,
        (
            FEED,
            Column("type", "string", "I: entered, O: left"),
            *WHO,
            Column("ts", "timestamp", "time of the crossing tuple"),
            *axis_columns(feeds),
            Column("prev_ts", "timestamp", "of the tuple before; null for a first one", True),
            *axis_columns(feeds, "prev_"),
            ARRIVAL,
            *EPOCH,
            DAY,
            PLACE,
            *payload_columns(feeds),
        ),
        checks={"type_is_known": "type = 'I' OR type = 'O'"},
    )


def transitions() -> Table:
    """Declare what became of the crossings of queries with `within`."""
    return _found(
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
            Column("from_place", "integer", "of the first crossing at from_ts; null: 0", True),
            Column("to_place", "integer", "of the one that answered it, at to_ts", True),
        ),
        key=(*BY, "from_ts", "from_place"),
        checks={"type_is_known": " OR ".join(f"type = '{kind}'" for kind in TRANSITIONS)},
    )


def matches() -> Table:
    """Declare the matches: at most one in force for a query version and a stream's tuple."""
    return _found(
        "matches",
        "Matches: a tuple satisfied a query of the kind `match`." + RAW,
        (
            FEED,
            *WHO,
            Column("ts", "timestamp", "time of the tuple"),
            ARRIVAL,
            *EPOCH,
            DAY,
            PLACE,
        ),
    )


def leaps(feeds: Feeds) -> Table:
    """Declare the leaps: at most one in force for a query version and a stream's tuple."""
    return _found(
        "leaps",
        "Steps through a query with `leaps`, which holds at neither end of them." + RAW,
        (
            FEED,
            *WHO,
            Column("ts", "timestamp", "time of the tuple that the step led to"),
            *axis_columns(feeds),
            Column("prev_ts", "timestamp", "of the tuple that it began at"),
            *axis_columns(feeds, "prev_"),
            Column("enter_ts", "timestamp", "when the straight way was first inside"),
            Column("leave_ts", "timestamp", "and when last"),
            Column("enter_share", "double", "the share of the way behind it then"),
            Column("leave_share", "double", "likewise"),
            ARRIVAL,
            *EPOCH,
            DAY,
            PLACE,
        ),
    )
