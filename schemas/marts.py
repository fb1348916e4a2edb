"""The marts: what the views of the same names show, written as tables for other engines.

A BI tool, a notebook or another engine opens `<lake>/marts/<name>` like any Delta table; it needs
no session of ours, and no knowledge of epochs. A view has the columns of its mart.

Law: a mart's rows of a feed are all those that the view showed at one moment.
"""

from schemas.events import TRANSITIONS
from schemas.table import Column, Table

PAIR = (
    Column("feed", "string", "the feed, its lane"),
    Column("query_id", "string", "the query"),
    Column("query_version", "integer", "its version"),
    Column("stream_id", "string", "the stream"),
)
MEMBER = ("query_id", "query_version", "stream_id")
AS_OF = " As of the last refresh: its commit says at which epoch that was."


def _place(name: str, of: str) -> Column:
    """Declare which of the stream's tuples at one instant; last, where older marts get it."""
    means = f"place of {of} among the stream's tuples at that instant; null: there is none"
    return Column(name, "integer", means, nullable=True)


INSIDE_NOW = Table(
    "inside_now",
    "Which stream is inside which query at the lane's watermark, of those that were seen entering.",
    (
        *PAIR,
        Column("since", "timestamp", "when it entered"),
        _place("since_place", "the I at `since`"),
    ),
    role="mart",
    owner="lake",
    key=MEMBER,
    partitioned_by=("feed",),
    sorted_by=("query_id", "query_version", "stream_id"),
)

VISITS = Table(
    "visits",
    "Each stay of a stream inside a query: from an I to an O, or to the query's end.",
    (
        *PAIR,
        Column(
            "entered_ts",
            "timestamp",
            "time of the I; null: it was not seen entering",
            nullable=True,
        ),
        Column("left_ts", "timestamp", "when it ended; null: it is inside", nullable=True),
        Column("ended_by", "string", "crossing, removal, valid_to; null: inside", nullable=True),
        Column("duration", "double", "seconds; null: either end is not known", nullable=True),
        _place("entered_place", "the I"),
        _place("left_place", "the O that ended it"),
    ),
    role="mart",
    owner="lake",
    key=(*MEMBER, "entered_ts", "entered_place", "left_ts", "left_place"),
    partitioned_by=("feed",),
    sorted_by=(*MEMBER, "entered_ts", "entered_place", "left_ts", "left_place"),
)

DAILY_SUMMARY = Table(
    "daily_summary",
    "What each version of a query saw on each day, UTC; without the days on which it saw nothing.",
    (
        PAIR[0],
        Column("day", "date", "the day, UTC"),
        *PAIR[1:3],
        Column("times_entered", "long", "events I"),
        Column("times_left", "long", "events O"),
        *(Column(kind, "long", "transitions of this type, settled then") for kind in TRANSITIONS),
        Column("streams", "long", "streams that crossed it"),
        Column("visits_begun", "long", "visits that began"),
        Column("visits_ended", "long", "visits that ended, by a crossing or otherwise"),
        Column("mean_duration", "double", "seconds, of those that ended; null: not known", True),
        Column("longest_duration", "double", "seconds, of those; null: not known", True),
        Column("inside", "long", "streams inside at the day's end, or now if that is to come"),
    ),
    role="mart",
    owner="lake",
    key=("day", "query_id", "query_version"),
    partitioned_by=("feed",),
    sorted_by=("day", "query_id", "query_version"),
)

MARTS = {table.name: table for table in (INSIDE_NOW, VISITS, DAILY_SUMMARY)}
"""Every mart, by its name."""
