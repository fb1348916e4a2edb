"""The shared strategies draw what is hard, often enough that no property over them is vacuous."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fencepost.queries import StandingQuery
from fencepost.reference import (
    FeedDelivery,
    Registration,
    holds,
    holds_by_text,
    run,
)
from tests.support.stories.hard_things import found_in, judged_in
from tests.support.stories.strategies import (
    FEED,
    Story,
    axis_names,
    judged_stories,
    matches,
    queries,
    stories,
)

pytestmark = pytest.mark.xdist_group("strategies")  # one process draws for all
DRAWS = 400
OFTEN = 4  # of the draws, at the least

HARD = {
    "six axes",
    "one axis",
    "several deliveries",
    "an empty delivery",
    "a lateness",
    "a value on a lower end",
    "a value on an upper end",
    "a leap over a box",
    "a leap over a box that holds on another axis",
    "a move from box to box of one query",
    "an entry",
    "an exit",
    "an entry at first sight",
    "a first sight inside that is silent",
    "a crossing of a query for named streams",
    "a crossing of a query for streams of a pattern",
    "a step between two tuples of one delivery",
    "a step between two deliveries",
    "a step onto valid_from",
    "a step into the validity",
    "a step out of the validity that would have crossed",
    "a query added while a stream is inside",
    "a query removed while a stream is inside",
    "a query changed",
    "a query that came back",
    "a duplicate in a delivery",
    "a duplicate across deliveries",
    "a conflict in a delivery",
    "a conflict across deliveries",
    "a late tuple",
    "a repeat of a waiting tuple",
    "a tuple released by a later delivery",
    "two streams released out of the order of arrival",
    "a tuple that waits at the end",
    "a pass_through",
    "a short_absence",
    "a stay",
    "a departure",
    "a pair exactly t apart",
    "a pair more than t apart",
    "a time-out by the watermark",
    "a time that ends on the watermark",
    "a time that ends on valid_to",
    "an answer after the time-out",
    "a t of zero",
    "a pending crossing at the end",
    "a pending crossing forgotten with its query",
    "a pair over two deliveries",
    "a match",
    "a match of a query for named streams",
    "a match of a query for streams of a pattern",
    "a match by a second box",
    "a tuple that several queries match",
    "a tuple in a box that fails its test",
    "two axes that are equal and compared",
    "a match that became a crossing",
    "a crossing that became a match",
}


@pytest.fixture(scope="module")
def counted() -> Counter[str]:
    """In how many of the draws each hard thing occurs."""
    counts: Counter[str] = Counter()

    @settings(
        max_examples=DRAWS,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(stories())
    def draw(story: Story) -> None:
        counts.update(found_in(story))

    draw()
    return counts


@pytest.mark.parametrize("thing", sorted(HARD))
def test_what_is_hard_is_drawn_often(counted, thing):
    assert counted[thing] >= OFTEN


@pytest.fixture(scope="module")
def judged() -> Counter[str]:
    """The same of stories under any rules."""
    counts: Counter[str] = Counter()

    @settings(
        max_examples=DRAWS,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(judged_stories())
    def draw(story: Story) -> None:
        counts.update(judged_in(story))

    draw()
    return counts


@pytest.mark.parametrize(
    "thing",
    [
        "a crossing at a later place",
        "a match at a later place",
        "a pair within one instant",
        "a time-out of a crossing at a later place",
        "a pending crossing at a later place",
        "tuples of one instant that wait",
        "a lower sequence",
        "a duplicate by sequence",
        "a conflict by sequence",
        "a release by a stream's own clock",
        "a time-out by a stream's own clock",
    ],
)
def test_what_is_hard_about_places_and_clocks_is_drawn_often(judged, thing):
    assert judged[thing] >= OFTEN


def test_nothing_is_found_that_is_not_asked_for(counted):
    assert set(counted) <= HARD


@given(
    axis_names(3).flatmap(
        lambda axes: st.tuples(st.just(axes), queries(axes) | matches(axes), st.data())
    )
)
def test_oracle_a_drawn_query_holds_by_its_boxes_where_it_holds_by_its_text(drawn):
    axes, query, data = drawn
    values = data.draw(st.tuples(*[st.floats(-4, 4) | st.integers(-3, 4).map(float) for _ in axes]))
    assert holds(query, values) == holds_by_text(query, axes, values)


@given(judged_stories())
def test_every_row_of_a_story_is_accepted_or_waiting_or_rejected(story):
    rows = run(FEED, story.axes, story.script, story.rules)
    read = sum(len(item.tuples) for item in story.script if isinstance(item, FeedDelivery))
    assert read == len(rows.accepted) + len(rows.waiting) + len(rows.rejected)


@given(stories())
def test_an_id_and_version_never_mean_two_queries(story):
    known: dict[tuple[str, int], StandingQuery] = {}
    for item in story.script:
        if isinstance(item, Registration):
            for query in item.queries:
                assert known.setdefault((query.id, query.version), query) == query
