"""What a lane is called: a feed has its own name, an ordered pair of feeds `left~right`.

Law: no feed has a name like a pair's.
"""

_BETWEEN = "~"


def lane_of(left: str, right: str) -> str:
    """Name the lane of an ordered pair of feeds."""
    return f"{left}{_BETWEEN}{right}"


def sides_of(lane: str) -> tuple[str, str] | None:
    """Give the feeds of such a lane; None for the lane of one feed."""
    left, parted, right = lane.partition(_BETWEEN)
    return (left, right) if parted else None


def feeds_of(lane: str) -> tuple[str, ...]:
    """Give the feeds of any lane: one, or the two that are joined."""
    return sides_of(lane) or (lane,)
