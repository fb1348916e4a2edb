"""The tuples of one feed: `ticks`, `locations`, or any other that is declared."""

from schemas.table import Column, FeedColumns, Table, payload_columns

BUCKET = Column(
    "bucket",
    "integer",
    "share of the streams, by a hash of stream_id: the modulus << 16 | the residue; below 65536 a "
    "residue by the lake's first modulus; -1: a small file of all shares",
)
ARRIVAL = Column("arrival", "long", "the delivery that brought it: arrivals.n")
DELETED = Column(
    "deleted",
    "boolean",
    "true: this row removes its stream from the sets of band joins; null: it does not",
    nullable=True,
)
"""Last, where a table that was created without it gets it; behind it what the feed declares."""
SEQUENCE = "sequence"


def tuples(feed: str, own: FeedColumns) -> Table:
    """Declare the tuple table of a feed: its well-formed rows, as they arrived."""
    return Table(
        feed,
        f"Tuples of the feed {feed} as they arrived, well-formed ones only. Some may "
        "since have been rejected as late, duplicate or conflict: see quarantine. While deliveries "
        "are loaded it may be ahead by these.",
        (
            Column("stream_id", "string", "whose tuple: a ticker, a device, a vehicle"),
            Column("ts", "timestamp", "when it happened, UTC"),
            *(Column(axis, "double", f"axis {axis}, a finite number") for axis in own.axes),
            ARRIVAL,
            Column("file", "integer", "which file of the delivery, from 0: arrivals.files"),
            Column("line", "long", "which row of that file, from 1"),
            BUCKET,
            DELETED,
            *_sequence(own),
            *payload_columns({feed: own}),
        ),
        role="tuples",
        owner="feed",
        key=("arrival", "file", "line"),
        partitioned_by=("bucket",),
        sorted_by=("arrival", "file", "line"),
        checks={"an_id_has_characters": "stream_id <> ''"},
    )


def _sequence(own: FeedColumns) -> tuple[Column, ...]:
    """Declare the column that orders tuples of one instant, if the feed has one."""
    text = "what orders the tuples of one stream and ts; null: loaded before it was declared"
    return () if own.sequence is None else (Column(SEQUENCE, own.sequence, text, nullable=True),)
