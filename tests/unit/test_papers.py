"""The worked examples of the two papers, by name, through the engine in each way of playing it.

S0 is BMQ-Index (MDM 2006), S1 the journal's BMQ-Processor. Their figures print some comparisons as
strict and one set wrong; what their definitions say is what is tested.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fencepost.crossings import BorderIndex
from fencepost.queries import StandingQuery
from fencepost.reference import FeedDelivery, Registration, RunResult, Sighting
from tests.support.oracles.oracles import query_set_of
from tests.support.stories.play import Way, play
from tests.support.stories.strategies import FEED, TICK, Story, standing_query

WAYS = {
    "twins": Way(),
    "kernels": Way(fast=True),
    "twins, one epoch": Way(cuts=()),
    "kernels, one epoch": Way(fast=True, cuts=()),
    "border lists of the papers": Way(fast=True, striped=False),
}
LAYOUT = {"Q1": (1, 3), "Q2": (1, 6), "Q3": (1, 4), "Q4": (2, 7), "Q5": (5, 8)}
DOMAIN = (0, 9)
FIVE = tuple(standing_query(id, f"x >= {lo} AND x < {hi}") for id, (lo, hi) in LAYOUT.items())
PARK = standing_query("park", "x >= 2 AND x < 5 AND y >= 1 AND y < 4", ("x", "y"))


@pytest.fixture(params=list(WAYS.values()), ids=list(WAYS))
def way(request: pytest.FixtureRequest) -> Way:
    """How the engine is played."""
    played: Way = request.param
    return played


def walked(
    way: Way, queries: Iterable[StandingQuery], *places: float | tuple[float, ...], late: int = 0
) -> RunResult:
    """One stream, a tuple a tick and a delivery; before the last, `late` silent ticks go by."""
    values = [p if isinstance(p, tuple) else (float(p),) for p in places]
    times = [*range(len(values) - 1), len(values) - 1 + late]
    walk = (FeedDelivery((Sighting("s", t * TICK, v),)) for t, v in zip(times, values, strict=True))
    script: list[FeedDelivery | Registration] = [Registration(tuple(queries)), *walk]
    rows = play(Story(("x", "y")[: len(values[0])], tuple(script), 0), way)
    rows.events.sort(key=lambda e: e.ts)
    rows.transitions.sort(key=lambda t: t.ts)
    return rows


def differential_sets(rows: RunResult) -> tuple[set[str], set[str]]:
    """QSet+ and QSet-: who was entered, and who was left."""
    entered = {e.query_id for e in rows.events if e.type == "I"}
    return entered, {e.query_id for e in rows.events if e.type == "O"}


def segment(number: int) -> float:
    """A value inside region segment N of the figure, which covers [N - 1, N)."""
    return number - 0.5


# ── S0 Fig. 2, S1 Fig. 3: five queries ────────────────────────────────────────────────────────────


def test_s1_figure_3_five_queries_make_nine_region_segments() -> None:
    index = BorderIndex.build(query_set_of(FEED, ("x",), Registration(FIVE)))
    (posts,) = index.layers[0].plain
    borders = {
        *DOMAIN,
        *posts.begin_posts[: posts.begins].tolist(),
        *posts.end_posts[: posts.ends].tolist(),
    }
    assert sorted(borders) == list(range(10))  # nine segments lie between ten borders
    assert posts.begins == posts.ends == 5  # a query is stored exactly twice


def test_s1_figure_3_nobody_begins_where_n5_begins_and_q3_ends_there() -> None:
    index = BorderIndex.build(query_set_of(FEED, ("x",), Registration(FIVE)))
    (posts,) = index.layers[0].plain
    ids = np.array([query.id for query in FIVE])
    begins = ids[posts.begin_ids[: posts.begins][posts.begin_posts[: posts.begins] == 4]]
    ends = ids[posts.end_ids[: posts.ends][posts.end_posts[: posts.ends] == 4]]
    assert (begins.tolist(), ends.tolist()) == ([], ["Q3"])


def test_s0_figure_2_from_segment_5_to_8_enters_q5_and_leaves_q2_and_q4(way: Way) -> None:
    rows = walked(way, FIVE, segment(5), segment(8))
    assert differential_sets(rows) == ({"Q5"}, {"Q2", "Q4"})


def test_s0_figure_2_from_segment_5_to_2_enters_q3_and_q1_and_leaves_q4(way: Way) -> None:
    """S0 prints {Q5} where S1's {Q3} is right: both Q1 and Q3 hold in [1, 2)."""
    rows = walked(way, FIVE, segment(5), segment(2))
    assert differential_sets(rows) == ({"Q3", "Q1"}, {"Q4"})


def test_a_step_between_any_two_segments_gives_the_difference_of_their_sets(way: Way) -> None:
    """There and back, from inside a segment to inside another and to its lower border."""

    def holding(value: float) -> set[str]:
        return {id for id, (lo, hi) in LAYOUT.items() if lo <= value < hi}

    inside = [segment(n) for n in range(1, 10)]
    walk = [v for j in inside for h in inside for v in (j, h, j, h - 0.5)]
    seen = tuple(Sighting("s", t * TICK, (v,)) for t, v in enumerate(walk))
    rows = play(Story(("x",), (Registration(FIVE), FeedDelivery(seen)), 0), way)
    for t, (before, now) in enumerate(pairwise(walk), 1):
        found = differential_sets(
            replace(rows, events=[e for e in rows.events if e.ts == t * TICK])
        )
        expected = holding(now) - holding(before), holding(before) - holding(now)
        assert found == expected, (before, now)


# ── S1 §3 and §4: steps ───────────────────────────────────────────────────────────────────────────


def test_s1_section_4_a_price_that_walks_inside_its_range_is_no_event(way: Way) -> None:
    ibm = standing_query("Q1", "x > 70 AND x < 75")
    assert walked(way, [ibm], 72, 71, 73, 74).events == []


def test_s1_definition_2_the_first_tuple_gives_no_event_and_the_second_is_a_step(way: Way) -> None:
    ibm = standing_query("Q1", "x > 70 AND x < 75")
    assert walked(way, [ibm], 72).events == []
    (event,) = walked(way, [ibm], 72, 75).events
    assert (event.type, event.ts, event.prev_ts, event.prev_values) == ("O", TICK, 0, (72.0,))


def test_s0_definition_1_the_first_tuple_enters_where_that_is_asked_for(way: Way) -> None:
    ibm = standing_query("Q1", "x > 70 AND x < 75", on_first="enter")
    (event,) = walked(way, [ibm], 72).events
    assert (event.type, event.prev_ts, event.prev_values) == ("I", None, None)


@pytest.mark.fault(41)
def test_a_range_leapt_over_cancels_out(way: Way) -> None:
    """The query is in both unions of +DQSets and -DQSets."""
    assert walked(way, FIVE, 0, 8).events == []
    assert walked(way, FIVE, 8, 0).events == []
    assert differential_sets(walked(way, FIVE, 0, 6)) == ({"Q4", "Q5"}, set())


@pytest.mark.fault(40)
def test_both_ends_of_a_range_are_where_the_law_says(way: Way) -> None:
    q = [standing_query("q", "x >= 2 AND x < 5")]
    before = float(np.nextafter(5, 0))
    up = walked(way, q, float(np.nextafter(2, 0)), 2, before, 5)
    down = walked(way, q, 6, 5, before, 2, float(np.nextafter(2, 0)))
    assert [(e.type, e.values) for e in up.events] == [("I", (2,)), ("O", (5,))]
    assert [(e.type, e.prev_values) for e in down.events] == [("I", (5,)), ("O", (2,))]


# ── S0 Fig. 5, S1 Fig. 6: the cross-check ─────────────────────────────────────────────────────────


@pytest.mark.fault(42)
def test_entering_x_while_y_sits_on_its_lower_border_is_an_event(way: Way) -> None:
    """The figures test yl < vy < yh, which would lose it."""
    rows = walked(way, [PARK], (0, 1), (3, 1))
    assert [(e.type, e.query_id) for e in rows.events] == [("I", "park")]


def test_leaving_x_after_y_sat_on_its_lower_border_is_an_event(way: Way) -> None:
    rows = walked(way, [PARK], (3, 1), (0, 9))
    assert [(e.type, e.query_id) for e in rows.events] == [("O", "park")]


def test_y_on_its_upper_border_is_outside(way: Way) -> None:
    assert walked(way, [PARK], (0, 4), (3, 4), (0, 4)).events == []


@pytest.mark.fault(42)
def test_a_corner_cut_in_one_step_is_one_event(way: Way) -> None:
    """Both axes find the query; it is reported once."""
    rows = walked(way, [PARK], (0, 0), (3, 2), (9, 9))
    assert [e.type for e in rows.events] == ["I", "O"]


@pytest.mark.fault(42)
def test_a_corner_passed_by_is_no_event(way: Way) -> None:
    """From left of the box to above it: x came in, y went out."""
    assert walked(way, [PARK], (0, 2), (3, 9)).events == []
    assert walked(way, [PARK], (3, 9), (0, 2)).events == []


@pytest.mark.fault(41, 42)
def test_a_box_leapt_over_across_one_axis_or_both_is_no_event(way: Way) -> None:
    assert walked(way, [PARK], (0, 2), (9, 2)).events == []
    assert walked(way, [PARK], (0, 0), (9, 9)).events == []


# ── S1 §6: the parking garage ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("walk", "late", "transitions"),
    [
        ([OUT := (0, 0), IN := (3, 2), OUT], 0, ["pass_through"]),
        ([IN, OUT, IN], 0, ["short_absence"]),
        ([OUT, IN, IN], 3, ["stay"]),
        ([IN, OUT, OUT], 3, ["departure"]),
        ([OUT, IN, OUT], 2, ["pass_through"]),  # exactly t apart
        ([OUT, IN, OUT], 3, ["stay"]),  # a tick too late, whoever notices
        ([OUT, IN, OUT, IN], 0, ["pass_through", "short_absence"]),
        ([OUT, IN, IN], 2, []),  # the watermark is at the end of t, not past it
    ],
)  # fmt: skip
def test_s1_section_6_a_garage_sees_all_four_transitions(
    way: Way, walk: list[tuple[float, float]], late: int, transitions: list[str]
) -> None:
    """Three ticks are the garage's t. A match is used up: it is not told as a stay later."""
    garage = standing_query("garage", PARK.where, ("x", "y"), within=3 * TICK)
    rows = walked(way, [garage], *walk, late=late)
    assert [t.type for t in rows.transitions] == transitions
