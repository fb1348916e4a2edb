"""A near join as JSON gives it: the feeds, a distance, and perhaps the streams that it takes.

Law: a list of streams holds for both sides, and so does a pattern; by side they are an object with
`left` and `right`. Both feeds have a position, both on the earth or both on a plane.
"""

from collections.abc import Mapping, Sequence
from math import inf

from fencepost.errors import QueryFault
from fencepost.position import NOWHERE, Positions
from fencepost.queries.fields import NO_POSITION, Fields, kind_of
from fencepost.queries.joins.query import NEAR_JOIN, JoinQuery, SomeStreams
from fencepost.shapes.distances import parse_distance
from fencepost.text import shortened

_SIDES = ("left", "right")
_DISTANCE = 'a distance like "200m" or "0.5km", or a number of metres, or of units of a plane'
_FIELDS = ("streams", "streams_like")

BySide = tuple[SomeStreams | None, SomeStreams | None]
Places = tuple[tuple[int, int], tuple[int, int]]


def near_join(
    fields: Fields,
    query_id: str,
    axes_of: Mapping[str, Sequence[str]],
    positions: Positions = NOWHERE,
    *,
    feeds_may_be_absent: bool,
) -> JoinQuery:
    """Read the fields of a near join; what is wrong with them is noted there."""
    left, right = (
        fields.feed(side, axes_of, feeds_may_be_absent=feeds_may_be_absent) for side in _SIDES
    )
    places, earth = _places(fields, (left, right), axes_of, positions)
    return JoinQuery(
        id=query_id,
        kind=NEAR_JOIN,
        left=left,
        right=right,
        distance=_distance(fields),
        takes=_streams(fields),
        positions=places,
        earth=earth,
        owner=fields.free("owner"),
        tags=fields.tags(),
        note=fields.free("note"),
    )


def _places(
    fields: Fields,
    feeds: tuple[str, str],
    axes_of: Mapping[str, Sequence[str]],
    positions: Positions,
) -> tuple[Places | None, bool]:
    """Find the axes of both positions, and whether they are on the earth; None where unknown."""
    known = [feed for feed in dict.fromkeys(feeds) if feed in axes_of]
    for feed in known:
        if feed not in positions:
            fields.note(f"the feed '{shortened(feed)}' has no `position`", NO_POSITION)
    if not all(feed in positions and feed in axes_of for feed in feeds):
        return None, False
    left, right = (positions[feed] for feed in feeds)
    if left.earth != right.earth:
        there, here = feeds if left.earth else feeds[::-1]
        fields.note(
            f"`left` and `right` are not on one ground: '{there}' is on the earth, '{here}' on a "
            "plane",
            "say `position_in` of either feed",
        )
    return (left.axes, right.axes), left.earth


def _distance(fields: Fields) -> float | None:
    """Read the distance: in metres, or in units of a plane."""
    value = fields.obj.get("distance")
    if value is None:
        fields.note("`distance` is missing", _DISTANCE)
        return None
    if isinstance(value, str):
        try:
            return parse_distance(value)
        except ValueError as why:
            fields.note(f"`distance`: {why}")
        return None
    count = len(fields.faults)
    distance = fields.double(value, "`distance`")
    if len(fields.faults) == count and not 0.0 < distance < inf:
        fields.note(f"`distance` is {distance}: more than 0 was expected", _DISTANCE)
    return distance


def _streams(fields: Fields) -> BySide:
    """Read the streams that it takes on either side."""
    named, likes = (_by_side(fields, field) for field in _FIELDS)
    left, right = (
        None if one is None and other is None else SomeStreams(one or (), other or ())
        for one, other in zip(named, likes, strict=True)
    )
    return left, right


Names = tuple[str, ...] | None


def _by_side(fields: Fields, field: str) -> tuple[Names, Names]:
    """Read a field of streams, for both sides or by side."""
    value = fields.obj.get(field)
    if not isinstance(value, dict):
        both = _names(fields, field, value)
        return both, both
    for name in value:
        if name not in _SIDES:
            fields.note(f"`{field}` by side has `left` and `right`, not `{shortened(name)}`")
    left, right = (_names(fields, field, value.get(side)) for side in _SIDES)
    if left is None and right is None and value.keys() <= {*_SIDES}:
        fields.note(f"`{field}` is {kind_of(value)} without a side", "leave it out to take all")
    return left, right


def _names(fields: Fields, field: str, value: object) -> Names:
    alone = Fields({field: value})
    names = alone.streams() if field == "streams" else alone.patterns()
    faults: list[QueryFault] = alone.faults
    fields.faults += faults
    return names
