"""Stories in which most queries have a region, on the grid that all values are from.

So tuples are on corners and edges, and exactly a radius away, all the time.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import chain

from hypothesis import strategies as st

from fencepost.errors import QueryFault
from fencepost.queries import StandingQuery
from fencepost.queries.joins import WINDOW_JOIN, JoinQuery
from fencepost.queries.joins.regions import cut_conjuncts
from fencepost.queries.region import cut_to
from fencepost.reference import JoinRegistration, Registration
from fencepost.shapes.parse import shape_of
from fencepost.shapes.shape import Shape
from tests.support.stories.join_stories import JoinStory, judged_join_stories
from tests.support.stories.strategies import Story, judged_stories

ON = (0, 1)
POLYGONS = (
    "POLYGON ((-1 -1, 1 -1, 1 1, -1 1, -1 -1))",
    "POLYGON ((1 -1, 2 -1, 2 1, 1 1, 1 -1))",  # it shares an edge with the one above
    "POLYGON ((-2 -2, 3 -2, 0 3, -2 -2))",
    "POLYGON ((-2 -2, 3 -2, 3 3, -2 3, -2 -2), (0 0, 2 0, 2 2, 0 2, 0 0))",
    "POLYGON ((0 0, 2 2, 2 0, 0 2, 0 0))",  # it crosses itself
    "POLYGON ((-2 0, 0 0, 0 0, 1 0, 1 1, 0 1, 0 0, -2 0))",  # there and back, and a vertex twice
    "MULTIPOLYGON (((-2 -2, 0 -2, 0 0, -2 -2)), ((0 0, 1 0, 1 3, 0 3, 0 0)))",
)
ROUND = (
    {"circle": {"center": [0, 0], "radius": 1}},
    {"circle": {"center": [1.0, 0.5], "radius": 1.5}},
    {"corridor": {"line": [[-2, -2], [1, 1], [3, 1]], "width": 2}},
)
ON_EARTH = (
    {"circle": {"center": [0, 0], "radius": "112km"}},
    {"circle": {"center": [2, 1], "radius": "160km"}},
    {"corridor": {"line": [[-2, -2], [1, 1], [3, 1]], "width": "100nmi"}},
)


@lru_cache
def regions(*, earth: bool) -> tuple[Shape, ...]:
    """All of them, on the earth or on a plane."""
    given = chain(POLYGONS, ON_EARTH if earth else ROUND)
    return tuple(shape_of(each, earth=earth) for each in given)


@st.composite
def regional_stories(draw: st.DrawFn, most_axes: int = 3) -> Story:
    """A story in which three queries of four have a region beside their condition."""
    story = draw(judged_stories(most_axes, least_axes=2))
    some = regions(earth=draw(st.booleans()))
    chosen: dict[tuple[str, int], Shape | None] = {}

    def placed(query: StandingQuery) -> StandingQuery:
        key = query.id, query.version
        if key not in chosen:
            chosen[key] = draw(st.sampled_from(some)) if draw(st.integers(0, 3)) else None
        return query if chosen[key] is None else in_region(query, chosen[key])

    script = tuple(
        Registration(tuple(map(placed, item.queries))) if isinstance(item, Registration) else item
        for item in story.script
    )
    return replace(story, script=script)


def in_region(query: StandingQuery, region: Shape | None) -> StandingQuery:
    """The query with a region; as it is, where the two never hold together."""
    if region is None:
        return query
    try:
        boxes, tests = cut_to(region, ON, query.boxes, query.tests)
    except QueryFault:
        return query
    return replace(query, boxes=boxes, tests=tests, region=region, position=ON)


@st.composite
def regional_join_stories(draw: st.DrawFn) -> JoinStory:
    """A story of two feeds in which window joins have regions on sides of two axes and more."""
    story = draw(judged_join_stories())
    some = regions(earth=False)
    chosen: dict[tuple[str, int], list[Shape | None]] = {}

    def placed(query: JoinQuery) -> JoinQuery:
        if query.kind != WINDOW_JOIN:
            return query
        key = query.id, query.version
        if key not in chosen:
            chosen[key] = [
                draw(st.sampled_from((None, *some, *some))) if len(axes) > 1 else None
                for axes in story.axes
            ]
        left, right = chosen[key]
        on = (ON if left else None, ON if right else None)
        try:
            cut = cut_conjuncts(query.conjuncts, (left, right), on, len(story.axes[0]))
        except QueryFault:
            return query
        return replace(query, conjuncts=cut, regions=(left, right), region_axes=on)

    script = tuple(
        JoinRegistration(tuple(map(placed, item.queries)))
        if isinstance(item, JoinRegistration)
        else item
        for item in story.script
    )
    return replace(story, script=script)
