"""The state between epochs, as logs: the streams' last tuples, what waits, what is pending.

The newest row of a key counts. A row belongs to an epoch, so the state as of any epoch is a filter;
`snapshot` rows hold all of it at once, so that a reader need not go back to the beginning.
"""

from schemas.table import Column, Feeds, Table, axis_columns, payload_columns
from schemas.tuples import BUCKET

FEED = Column("feed", "string", "the feed, its lane")
STREAM = Column("stream_id", "string", "the stream")
EPOCH = (
    Column("epoch", "long", "the epoch that wrote it: epochs.epoch"),
    Column("generation", "integer", "of that epoch; a row counts if the generation is in force"),
)
SNAPSHOT = Column("snapshot", "boolean", "true: a row of the whole state as of this epoch")
GONE = Column("gone", "boolean", "true: from this epoch on it is no more")
RAW_LOG = " A log of the epochs in force, and of the group that is evaluated; see the views."

TS_PLACE = Column("ts_place", "integer", "its place among those of its ts; null: 0", True)
NTH = Column("nth", "integer", "order of arrival among those of its ts that wait; null: 0", True)
SEQUENCE = Column("sequence", "string", "its sequence as text; null: none was declared", True)
"""These stand last, where tables that were made without them get them."""


def stream_state(feeds: Feeds) -> Table:
    """Declare the log of each stream's last tuple and its place among the posts."""
    return Table(
        "stream_state",
        "Where every stream stood: its last tuple, and its pointers into the index." + RAW_LOG,
        (
            FEED,
            STREAM,
            Column("ts", "timestamp", "time of its last tuple"),
            *axis_columns(feeds),
            Column("place", "array<integer>", "per axis: begins and ends at or below the value"),
            Column("index", "string", "the index that `place` belongs to, by fingerprint"),
            *EPOCH,
            SNAPSHOT,
            BUCKET,
            TS_PLACE,
            SEQUENCE,
        ),
        role="log",
        owner="feed",
        key=("stream_id",),
        partitioned_by=("feed", "bucket"),
        sorted_by=("epoch",),
    )


def reorder(feeds: Feeds) -> Table:
    """Declare the log of tuples that wait for the watermark."""
    return Table(
        "reorder",
        "Tuples that wait for earlier ones, where a feed allows lateness." + RAW_LOG,
        (
            FEED,
            STREAM,
            Column("ts", "timestamp", "time of the tuple"),
            *axis_columns(feeds),
            GONE,
            *EPOCH,
            SNAPSHOT,
            BUCKET,
            NTH,
            SEQUENCE,
            *payload_columns(feeds),
        ),
        role="log",
        owner="feed",
        key=("stream_id", "ts", "nth"),
        partitioned_by=("feed", "bucket"),
        sorted_by=("epoch",),
    )


def pending() -> Table:
    """Declare the log of events that are not yet decided."""
    return Table(
        "pending",
        "Crossings of queries with `within` that have become no transition yet." + RAW_LOG,
        (
            FEED,
            Column("query_id", "string", "the query"),
            Column("query_version", "integer", "its version"),
            STREAM,
            Column("type", "string", "I or O"),
            Column("ts", "timestamp", "when it crossed"),
            GONE,
            *EPOCH,
            SNAPSHOT,
            BUCKET,
            Column("place", "integer", "of the tuple that crossed, at its ts; null: 0", True),
        ),
        role="log",
        owner="feed",
        key=("query_id", "query_version", "stream_id"),
        partitioned_by=("feed", "bucket"),
        sorted_by=("epoch",),
        checks={"type_is_known": "type = 'I' OR type = 'O'"},
    )
