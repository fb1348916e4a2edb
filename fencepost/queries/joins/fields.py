"""Joins as JSON gives them: the fields of a window join, of a band join and of a near join.

Law: a join is accepted iff every field of it is what semantics says; `left` and `right` name
different feeds, or of a near join perhaps the same, and its conditions name axes that these have.
"""

from collections.abc import Mapping, Sequence
from math import inf

from fencepost.errors import QueryFault
from fencepost.position import NOWHERE, Position, Positions
from fencepost.queries.fields import Fields, kind_of
from fencepost.queries.joins.near import near_join
from fencepost.queries.joins.on import SIDES, Readings, parse_join
from fencepost.queries.joins.query import NEAR_JOIN, WINDOW_JOIN, Conjunct, JoinQuery
from fencepost.queries.joins.regions import OfSides, OnAxes, cut_conjuncts
from fencepost.shapes.shape import Shape
from fencepost.text import did_you_mean, shortened, wrong_with_id
from fencepost.times import parse_duration

LARGEST_COUNT = 2**53
_WINDOW = 'a time like "5m", or a count of tuples like 1000'
_BETWEEN = "the least and the largest left - right, as [-0.5, 0.5]; null for an open end"

AxesOf = Mapping[str, Sequence[str]]


def join_of(
    fields: Fields,
    query_id: str,
    kind: str,
    axes_of: AxesOf,
    positions: Positions = NOWHERE,
    *,
    feeds_may_be_absent: bool,
) -> JoinQuery:
    """Read the fields of a join; what is wrong with them is noted there."""
    if kind == NEAR_JOIN:
        return near_join(
            fields, query_id, axes_of, positions, feeds_may_be_absent=feeds_may_be_absent
        )
    if kind == WINDOW_JOIN:
        return _window_join(fields, query_id, axes_of, positions, feeds_may_be_absent)
    return _band_join(fields, query_id, axes_of, feeds_may_be_absent)


def _window_join(
    fields: Fields,
    query_id: str,
    axes_of: AxesOf,
    positions: Positions,
    feeds_may_be_absent: bool,
) -> JoinQuery:
    left, right = (
        fields.feed(side, axes_of, feeds_may_be_absent=feeds_may_be_absent)
        for side in ("left", "right")
    )
    _refuse_one_feed(fields, left, right)
    on, where, conjuncts = _condition(fields, (left, right), axes_of)
    regions, on_axes = _regions(fields, (left, right), positions, axes_of)
    if conjuncts and regions != (None, None):
        try:
            conjuncts = cut_conjuncts(conjuncts, regions, on_axes, len(axes_of[left]))
        except QueryFault as fault:
            fields.faults.append(fault)
    window, last = _window(fields)
    valid_from, valid_to = fields.validity()
    return JoinQuery(
        id=query_id,
        kind=WINDOW_JOIN,
        left=left,
        right=right,
        on=on,
        where=where,
        conjuncts=conjuncts,
        regions=regions,
        region_axes=on_axes,
        window=window,
        last=last,
        valid_from=valid_from,
        valid_to=valid_to,
        owner=fields.free("owner"),
        tags=fields.tags(),
        note=fields.free("note"),
    )


def _regions(
    fields: Fields, feeds: tuple[str, str], positions: Positions, axes_of: AxesOf
) -> tuple[OfSides, OnAxes]:
    """Read the region of each side, and the axes that it is on; faults are noted."""
    given = fields.obj.get("region")
    if given is None:
        return (None, None), (None, None)
    if not isinstance(given, dict) or not given:
        what = f"of a window join is an object with `left`, `right` or both, not {kind_of(given)}"
        fields.note(f"`region` {what}", "each is what tuples of that side must be in")
        return (None, None), (None, None)
    for name in given:
        if name not in SIDES:
            near = did_you_mean(name, SIDES).strip() or "it has `left` and `right`"
            fields.note(f"unknown side `{shortened(name)}` in `region`", near)
    regions: list[Shape | None] = []
    axes: list[tuple[int, int] | None] = []
    for side, feed in zip(SIDES, feeds, strict=True):
        place = positions.get(feed) if feed in axes_of else Position((0, 1), earth=False)
        region = fields.shape(given.get(side), place, f"`region`, {side}")
        regions.append(region)
        axes.append(None if region is None or place is None else place.axes)
    return (regions[0], regions[1]), (axes[0], axes[1])


def _band_join(
    fields: Fields, query_id: str, axes_of: AxesOf, feeds_may_be_absent: bool
) -> JoinQuery:
    (left, left_axis), (right, right_axis) = (
        _axis(fields, side, axes_of, feeds_may_be_absent) for side in ("left", "right")
    )
    _refuse_one_feed(fields, left, right)
    low, high = _between(fields)
    return JoinQuery(
        id=query_id,
        kind="band_join",
        left=left,
        right=right,
        left_axis=left_axis,
        right_axis=right_axis,
        low=low,
        high=high,
        owner=fields.free("owner"),
        tags=fields.tags(),
        note=fields.free("note"),
    )


def _refuse_one_feed(fields: Fields, left: str, right: str) -> None:
    if left and left == right:
        fields.note(
            f"`left` and `right` are both '{shortened(left)}'",
            "a join is of two different feeds",
        )


def _condition(
    fields: Fields, feeds: tuple[str, str], axes_of: AxesOf
) -> tuple[str | None, str | None, tuple[Conjunct, ...]]:
    """Read both texts; conjuncts come where both are right and the axes of both feeds known."""
    on, where = fields.condition("on"), fields.condition("where", optional=True)
    left, right = (axes_of.get(feed) for feed in feeds)
    if feeds[0] == feeds[1]:  # one of them is meant to be another
        left = right = None
    count = len(fields.faults)
    try:
        if on is not None and left is not None and right is not None:
            return on, where, parse_join(on, where, feeds, (left, right))
    except QueryFault:  # reported below, with what else is wrong
        pass
    readings = Readings(feeds, (left, right))
    read = []
    for text, reading in ((on, readings.on), (where, readings.where)):
        try:
            read += [] if text is None else [reading(text)]
        except QueryFault as fault:
            fields.faults.append(fault)
    texts = [text for text in (on, where) if text is not None]
    if len(fields.faults) == count and on is not None and None not in (left, right):
        try:
            readings.conjuncts(texts, read)
        except QueryFault as fault:
            fields.faults.append(fault)
    return on, where, ()


def _window(fields: Fields) -> tuple[int | None, int | None]:
    """Read the window: (a time, None) or (None, a count)."""
    window = fields.obj.get("window")
    if window is None:
        fields.note("`window` is missing", _WINDOW)
    elif isinstance(window, str):
        hint = "a count of tuples is a number without quotes" if window.isdigit() else None
        return fields.parsed("window", parse_duration, hint), None
    elif isinstance(window, bool) or not isinstance(window, int | float):
        fields.note(f"`window` must be a time or a count, not {kind_of(window)}", _WINDOW)
    elif isinstance(window, float) or not 1 <= window <= LARGEST_COUNT:
        fields.note("`window` is a count: an integer from 1 to 2**53 was expected", _WINDOW)
    else:
        return None, window
    return None, None


def _axis(fields: Fields, side: str, axes_of: AxesOf, feeds_may_be_absent: bool) -> tuple[str, str]:
    """Read `feed.axis`; the name of a feed holds no dot."""
    count = len(fields.faults)
    text = fields.required(side, "`feed.axis` was expected, as bids.price")
    feed, dot, axis = text.partition(".")
    wrong = wrong_with_id(feed) if dot else None
    if len(fields.faults) > count:
        return "", ""
    if not dot or not axis:
        hint = "of a feed its values are joined on one axis: bids.price"
        fields.note(f"`{side}` is '{shortened(text)}': `feed.axis` was expected", hint)
    elif wrong is not None:
        fields.note(f"the feed of `{side}` {wrong}")
    elif feed not in axes_of:
        if not feeds_may_be_absent:
            fields.is_feed(feed, axes_of)
        elif wrong := wrong_with_id(axis):
            fields.note(f"the axis of `{side}` {wrong}")
    elif axis not in axes_of[feed]:
        axes = axes_of[feed]
        hint = f"the feed '{feed}' has: {', '.join(axes)}.{did_you_mean(axis, axes)}"
        fields.note(f"unknown axis '{shortened(axis)}' in `{side}`", hint)
    return feed, axis


def _between(fields: Fields) -> tuple[float, float]:
    between = fields.obj.get("between")
    if between is None:
        fields.note("`between` is missing", _BETWEEN)
    elif not isinstance(between, list):
        fields.note(f"`between` must be a list of two numbers, not {kind_of(between)}", _BETWEEN)
    elif len(between) != 2:
        fields.note(f"`between` has {len(between)} members: two were expected", _BETWEEN)
    else:
        count = len(fields.faults)
        ends = zip(between, ("lower", "upper"), (-inf, inf), strict=True)
        low, high = (
            open_end if end is None else fields.double(end, f"the {which} end of `between`")
            for end, which, open_end in ends
        )
        if low > high and len(fields.faults) == count:
            fields.note(f"`between` is [{low}, {high}]: put the lower end first")
        return low, high
    return -inf, inf
