"""A standing query, registered once and evaluated until removed, and its form in JSON.

Law: an object is accepted iff every field of it is what semantics says, and then nothing in it was
guessed: an unknown field, a wrong type or a second meaning is a fault. All faults of an object are
reported at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from fencepost.errors import QueryFault
from fencepost.position import NOWHERE, Position, Positions
from fencepost.queries.columns import CROSSING, MATCH
from fencepost.queries.condition import Box, Tests
from fencepost.queries.fields import NO_EVENTS, Fields, kind_of
from fencepost.queries.joins.fields import join_of
from fencepost.queries.joins.query import JOINS, JoinQuery
from fencepost.queries.region import Boxes, cut_to
from fencepost.queries.where import parse_match, parse_where, read_where
from fencepost.shapes.shape import Shape
from fencepost.text import shortened
from fencepost.times import parse_duration

__all__ = [
    "NO_EVENTS",
    "ON_FIRST",
    "Query",
    "StandingQuery",
    "check_query",
    "parted",
    "query_from_json",
]

AxesOf = Mapping[str, Sequence[str]]
"""The axes of every feed known."""

SOMEWHERE = Position((0, 1), earth=False)
"""Where a feed is whose axes are not known: of a region, its form can be checked."""

OnFirst = Literal["silent", "enter"]

ON_FIRST: tuple[OnFirst, ...] = ("silent", "enter")


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingQuery:
    """One version of one query, times in µs. Without the axes of its feed, its boxes are ().

    `tests` is () or has one tuple for each box: a match holds for what is in a box and passes all
    of the box's tests. A crossing has none. With a `region` it holds for what is in a box and,
    with its values on the two axes of `position`, in the region; its boxes are cut to the region's
    bounds.
    """

    id: str
    feed: str
    kind: str = "crossing"
    where: str
    boxes: tuple[Box, ...]
    tests: tuple[Tests, ...] = ()
    region: Shape | None = None
    position: tuple[int, int] | None = None
    leaps: bool = False
    streams: tuple[str, ...] | None = None
    streams_like: tuple[str, ...] | None = None
    within: int | None = None
    on_first: OnFirst = "silent"
    valid_from: int | None = None
    valid_to: int | None = None
    owner: str | None = None
    tags: tuple[str, ...] = ()
    note: str | None = None
    version: int = 1


Query = StandingQuery | JoinQuery
"""A query of any kind: one that watches a feed, or a join of two."""


def parted(queries: Iterable[Query]) -> tuple[list[StandingQuery], list[JoinQuery]]:
    """Part those that watch a feed from the joins, each in their order."""
    watching: list[StandingQuery] = []
    joins: list[JoinQuery] = []
    for query in queries:
        if isinstance(query, JoinQuery):
            joins.append(query)
        else:
            watching.append(query)
    return watching, joins


def query_from_json(obj: object, axes_of: AxesOf, positions: Positions = NOWHERE) -> StandingQuery:
    """Read a crossing or a match from JSON; raise the first fault. A join is one.

    check_query lists all of them, and reads joins too.
    """
    query, faults = check_query(obj, axes_of, positions)
    if query is None:
        raise faults[0]
    if isinstance(query, JoinQuery):
        raise QueryFault(f"`kind` is '{query.kind}': a query of one feed was expected")
    return query


def check_query(
    obj: object,
    axes_of: AxesOf,
    positions: Positions = NOWHERE,
    *,
    feeds_may_be_absent: bool = False,
) -> tuple[Query | None, list[QueryFault]]:
    """Read a query from JSON: (query, []), or (None, all that is wrong with it).

    `axes_of` gives the axes of every feed known, `positions` which two of them are a place. Where
    feeds may be absent, a query of another feed is accepted too: of its conditions the syntax is
    checked, any name is an axis, and its boxes or conjuncts are left empty.
    """
    if not isinstance(obj, dict):
        fault = QueryFault(f"a query is a JSON object, not {kind_of(obj)}")
        return None, [fault]
    fields = Fields(obj)
    kind = fields.kind()
    fields.refuse_others(kind or "")
    query_id = fields.name("id")
    query: Query | None = None
    if kind in JOINS:
        query = join_of(
            fields, query_id, kind, axes_of, positions, feeds_may_be_absent=feeds_may_be_absent
        )
    elif kind is not None:
        query = _watching(
            fields, query_id, kind, axes_of, positions, feeds_may_be_absent=feeds_may_be_absent
        )
    return (None, fields.faults) if fields.faults else (query, [])


def _watching(
    fields: Fields,
    query_id: str,
    kind: str,
    axes_of: AxesOf,
    positions: Positions,
    *,
    feeds_may_be_absent: bool,
) -> StandingQuery:
    """Read the fields of a crossing or a match."""
    feed = fields.feed("feed", axes_of, feeds_may_be_absent=feeds_may_be_absent)
    place = positions.get(feed) if feed in axes_of else SOMEWHERE
    region = fields.region(place)
    where, (boxes, tests) = _where(fields, feed, kind, axes_of)
    if boxes and region is not None and place is not None:
        boxes, tests = _cut(fields, region, place, boxes, tests)
    valid_from, valid_to = fields.validity()
    return StandingQuery(
        id=query_id,
        feed=feed,
        kind=kind,
        where=where,
        boxes=boxes,
        tests=tests,
        region=region,
        position=None if region is None or place is None else place.axes,
        leaps=fields.flag("leaps") if kind == CROSSING else False,
        streams=fields.streams(),
        streams_like=fields.patterns(),
        within=fields.parsed("within", parse_duration) if kind == CROSSING else None,
        on_first=_on_first(fields) if kind == CROSSING else "silent",
        valid_from=valid_from,
        valid_to=valid_to,
        owner=fields.free("owner"),
        tags=fields.tags(),
        note=fields.free("note"),
    )


def _where(fields: Fields, feed: str, kind: str, axes_of: AxesOf) -> tuple[str, Boxes]:
    """Read the condition into boxes and their tests; of an unknown feed, its syntax.

    With a region it may be left out: the region is all the condition there is.
    """
    has_region = fields.obj.get("region") is not None
    where = fields.condition("where", optional=has_region)
    if where is None:
        if not has_region or fields.obj.get("where") is not None:
            return "", ((), ())
        where = "ALL"
    try:
        if feed not in axes_of:
            read_where(where, None, feed, compares_axes=kind == MATCH)
        elif kind == MATCH:
            return where, parse_match(where, axes_of[feed], feed)
        else:
            return where, (parse_where(where, axes_of[feed], feed), ())
    except QueryFault as fault:
        fields.faults.append(fault)
    return where, ((), ())


def _cut(
    fields: Fields,
    region: Shape,
    place: Position,
    boxes: tuple[Box, ...],
    tests: tuple[Tests, ...],
) -> Boxes:
    try:
        return cut_to(region, place.axes, boxes, tests)
    except QueryFault as fault:
        fields.faults.append(fault)
        return boxes, tests


def _on_first(fields: Fields) -> OnFirst:
    value = fields.text("on_first")
    if value is None:
        return "silent"
    if value not in ON_FIRST:
        fields.note(f"`on_first` is '{shortened(value)}': 'silent' or 'enter' was expected")
    return cast("OnFirst", value)
