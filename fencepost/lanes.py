"""What a lane is called: a feed has its own name, an ordered pair of feeds `left~right`.

A feed may be both: `vans~vans` are its joins with itself.

Names are joined and split nowhere else, in Python and in SQL.

Law: no feed's name looks like a pair's.
"""

_BETWEEN = "~"


def lane_of(left: str, right: str) -> str:
    """Name the lane of an ordered pair of feeds."""
    return f"{left}{_BETWEEN}{right}"


def sides_of(lane: str) -> tuple[str, str] | None:
    """Return the feeds of such a lane; None for the lane of one feed."""
    left, parted, right = lane.partition(_BETWEEN)
    return (left, right) if parted else None


def pair_of(lane: str) -> tuple[str, str]:
    """Return the left and the right feed of a lane that is known to be a pair."""
    left, _, right = lane.partition(_BETWEEN)
    return left, right


def feeds_of(lane: str) -> tuple[str, ...]:
    """Return the feeds of any lane, each once: one, or the two that are joined."""
    return tuple(dict.fromkeys(sides_of(lane) or (lane,)))


def feed_of_lane_sql(feed: str, lane: str) -> str:
    """Write in SQL that a feed is one of a lane's; both are expressions."""
    return f"{feed} IN ({_part_sql(lane, 1)}, {_part_sql(lane, 2)})"


def left_of_lane_sql(feed: str, lane: str) -> str:
    """Write in SQL that a feed is the left one of a pair, or the feed itself."""
    return f"{feed} = {_part_sql(lane, 1)}"


def _part_sql(lane: str, part: int) -> str:
    return f"SPLIT_PART({lane}, '{_BETWEEN}', {part:d})"
