"""The results of joins, and their state between epochs: windows, and members of the sets."""

from schemas.events import DAY, PLACE, RAW
from schemas.logs import EPOCH, NTH, RAW_LOG, SEQUENCE, SNAPSHOT, STREAM, TS_PLACE
from schemas.table import Column, Feeds, Table, axis_columns
from schemas.tuples import ARRIVAL

LANE = Column("lane", "string", "the ordered pair of feeds: left~right")
QUERY = (
    Column("query_id", "string", "the query"),
    Column("query_version", "integer", "its version"),
)
BY = tuple(column.name for column in QUERY)
CLUSTERED = ("query_id", "left_stream_id", "right_stream_id")
FEED = Column("feed", "string", "the feed, one of the lane's two")
LEFT, RIGHT, REGISTRATION = "left", "right", "registration"
SIDE = Column(
    "side",
    "string",
    "what changed it: a tuple of the left or the right feed, or a registration; null: not recorded",
    nullable=True,
)
"""Stands behind the columns that a table had without it."""


def pairs(feeds: Feeds) -> Table:
    """Declare the pairs of window joins: in force, at most one a query version and two tuples."""
    return Table(
        "pairs",
        "Pairs of tuples that satisfied a window join, each once." + RAW,
        (
            LANE,
            *QUERY,
            Column("ts", "timestamp", "of the tuple that was processed later"),
            Column("left_stream_id", "string", "the stream of the left feed"),
            Column("left_ts", "timestamp", "time of its tuple"),
            *axis_columns(feeds, "left_"),
            Column("right_stream_id", "string", "the stream of the right feed"),
            Column("right_ts", "timestamp", "time of its tuple"),
            *axis_columns(feeds, "right_"),
            ARRIVAL,
            *EPOCH,
            DAY,
            Column("left_place", "integer", "place of the left tuple at left_ts; null: 0", True),
            Column("right_place", "integer", "place of the right one at right_ts; null: 0", True),
        ),
        role="found",
        owner="join",
        key=(
            *BY,
            "left_stream_id",
            "left_ts",
            "left_place",
            "right_stream_id",
            "right_ts",
            "right_place",
        ),
        partitioned_by=("day",),  # delta-rs finds no file below a folder named left~right
        sorted_by=("query_id", "ts"),
        clustered_by=CLUSTERED,
    )


def _changes(name: str, comment: str, pair: tuple[Column, ...]) -> Table:
    """Declare the changes of the results of one kind of joins; `pair` says between whom."""
    return Table(
        name,
        comment + RAW,
        (
            LANE,
            *QUERY,
            *pair,
            Column("ts", "timestamp", "time of the tuple that changed it, or of the registration"),
            Column("arrival", "long", "the delivery or registry commit that did it: arrivals.n"),
            *EPOCH,
            DAY,
            SIDE,
            PLACE,
        ),
        role="found",
        owner="join",
        key=(*BY, "left_stream_id", "right_stream_id", "ts", "arrival", "place"),
        partitioned_by=("day",),
        sorted_by=("query_id", "ts"),
        clustered_by=CLUSTERED,
        checks={"change_is_known": "change = 1 OR change = -1"},
    )


def band_changes() -> Table:
    """Declare the changes of the results of band joins."""
    return _changes(
        "band_changes",
        "Changes of the results of band joins: a pair of streams entered (+1) or left (-1); "
        "their sum is the result.",
        (
            Column("change", "integer", "+1: the pair entered, -1: it left"),
            Column("left_stream_id", "string", "the stream of the left feed"),
            Column("right_stream_id", "string", "the stream of the right feed"),
            Column("left_value", "double", "the left value of the pair while it is, or was, in"),
            Column("right_value", "double", "the right value of the pair"),
        ),
    )


def near_changes() -> Table:
    """Declare the changes of the results of near joins."""
    return _changes(
        "near_changes",
        "Changes of the results of near joins: two streams came within the distance (+1) or left "
        "it (-1); their sum is the result.",
        (
            Column("change", "integer", "+1: they came near, -1: they went away"),
            Column(
                "left_stream_id",
                "string",
                "the stream of the left feed; where a feed is joined with itself the lesser id",
            ),
            Column("right_stream_id", "string", "the other stream"),
            Column("left_x", "double", "where the left one is, or was while they were near"),
            Column("left_y", "double", "on the earth x is the longitude and y the latitude"),
            Column("right_x", "double", "where the right one is, or was"),
            Column("right_y", "double", "likewise"),
            Column("distance", "double", "between these places: metres, or units of a plane"),
        ),
    )


def set_members(feeds: Feeds) -> Table:
    """Declare the log of each stream's last tuple: the sets of band joins and near joins."""
    return Table(
        "set_members",
        "The current value of every stream of a lane's feeds: what band and near joins join."
        + RAW_LOG,
        (
            LANE,
            FEED,
            STREAM,
            Column("ts", "timestamp", "time of its last tuple"),
            *axis_columns(feeds),
            Column("member", "boolean", "false: its last tuple removed it from the sets"),
            *EPOCH,
            SNAPSHOT,
            TS_PLACE,
            SEQUENCE,
        ),
        role="log",
        owner="join",
        key=("feed", "stream_id"),
        sorted_by=("epoch",),
    )


def live_windows(feeds: Feeds) -> Table:
    """Declare the log of tuples that later ones may still be joined with."""
    return Table(
        "live_windows",
        "Tuples in the windows of joins, and those that wait for the watermark." + RAW_LOG,
        (
            LANE,
            FEED,
            STREAM,
            Column("ts", "timestamp", "time of the tuple"),
            *axis_columns(feeds),
            Column(
                "place",
                "long",
                "order of processing in its feed; null: it waits",
                True,
            ),
            Column("registry", "long", "the registry version in force when it was processed"),
            Column("deleted", "boolean", "true: it removes its stream from the sets", True),
            *EPOCH,
            SNAPSHOT,
            TS_PLACE,
            NTH,
            SEQUENCE,
        ),
        role="log",
        owner="join",
        key=("feed", "stream_id", "ts", "ts_place", "nth"),
        sorted_by=("epoch",),
    )
