"""What stays the same when a story is told with other units, axes, cuts, names and indexes."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, pairwise, product
from math import inf, isinf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.doubles import next_double
from fencepost.queries import Box, StandingQuery, Tests
from fencepost.reference import (
    FeedDelivery,
    Registration,
    RunResult,
    Sighting,
    holds,
    run,
)
from fencepost.reference.crossings import covers
from tests.support.examples import HALF
from tests.support.oracles.oracles import assert_same_rows
from tests.support.stories.play import Way, play
from tests.support.stories.retelling import (
    ALL,
    HALFWAY,
    Region,
    Values,
    deliveries_of,
    retold,
    rows_in_words,
    ways,
    with_deliveries,
    with_regions,
)
from tests.support.stories.strategies import FEED, STREAMS, TICK, Story, stories


def ever(story: Story) -> list[StandingQuery]:
    """Every query that ever stands."""
    return [q for item in story.script if isinstance(item, Registration) for q in item.queries]


# ── M6, M7, M10: units, mirrors, axes ─────────────────────────────────────────────────────────────


@HALF
@given(
    story=stories(),
    one=ways(),
    other=ways(),
    away=st.sampled_from((0, 1, -8, 2**40)),
    power=st.sampled_from((-1000, -1, 0, 3, 900)),
    at_the_edge=st.booleans(),
)
def test_values_and_borders_moved_and_stretched_together_cross_alike(
    story: Story, one: Way, other: Way, away: int, power: int, at_the_edge: bool
) -> None:
    """At the edge of the doubles, ranges are wider than any double can say."""
    away, power = (0, 1022) if at_the_edge else (away, power)

    def moved(value: float) -> float:
        return (value + away) * 2.0**power

    def border(end: float) -> float:
        if isinf(end):
            return end
        on_grid = float(round(end))
        return moved(end) if end == on_grid else next_double(moved(on_grid))

    def values(at: Values) -> Values:
        return tuple(map(moved, at))

    def region(box: Box, tests: Tests) -> Iterator[Region]:
        yield tuple((border(lo), border(hi)) for lo, hi in box), tests

    elsewhere = retold(story, query=with_regions(region), values=values)
    expected = rows_in_words(play(story, one), values=values)
    assert_same_rows(expected, play(elsewhere, other), ALL)


@HALF
@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_a_mirrored_axis_gives_mirrored_rows(story: Story, one: Way, other: Way, data: Any) -> None:
    """The mirror image of [lo, hi) is (-hi, -lo], that is, [next(-hi), next(-lo)); x < y is y < x.

    Where two axes are compared, both are mirrored or none.
    """
    axes = range(len(story.axes))
    mirrored = set(axes)
    if not any(any(query.tests) for query in ever(story)):
        mirrored = data.draw(st.sets(st.sampled_from(axes), min_size=1))

    def after(end: float) -> float:
        return -end if isinf(end) else next_double(-end)

    def values(at: Values) -> Values:
        return tuple(-v if axis in mirrored else v for axis, v in enumerate(at))

    def region(box: Box, tests: Tests) -> Iterator[Region]:
        yield (
            tuple(
                (after(hi), after(lo)) if axis in mirrored else (lo, hi)
                for axis, (lo, hi) in enumerate(box)
            ),
            tuple((right, op, left) for left, op, right in tests),
        )

    mirror = retold(story, query=with_regions(region), values=values)
    expected = rows_in_words(play(story, one), values=values)
    assert_same_rows(expected, play(mirror, other), ALL)


@HALF
@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_axes_in_another_order_give_the_same_rows(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    order = data.draw(st.permutations(range(len(story.axes))))

    def values(at: Values) -> Values:
        return tuple(at[axis] for axis in order)

    def region(box: Box, tests: Tests) -> Iterator[Region]:
        place = order.index
        yield (
            tuple(box[axis] for axis in order),
            tuple((place(left), op, place(right)) for left, op, right in tests),
        )

    turned = retold(story, query=with_regions(region), values=values)
    expected = rows_in_words(play(story, one), values=values)
    assert_same_rows(expected, play(turned, other), ALL)


# ── M8: cuts ──────────────────────────────────────────────────────────────────────────────────────


def between(axis: int, low: float, high: float) -> Callable[[Box, Tests], Iterator[Region]]:
    """What of a region lies between two values of an axis."""

    def part(box: Box, tests: Tests) -> Iterator[Region]:
        lo, hi = max(box[axis][0], low), min(box[axis][1], high)
        if lo < hi:
            yield (*box[:axis], (lo, hi), *box[axis + 1 :]), tests

    return part


@HALF
@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_the_parts_of_a_query_cut_in_two_add_up_to_the_whole(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    """Where one part is left and the other entered, the whole is not crossed: +1 and -1 are 0."""
    axis = data.draw(st.integers(0, len(story.axes) - 1))
    at = data.draw(st.sampled_from(HALFWAY))

    def halves(query: StandingQuery) -> Iterator[StandingQuery]:
        for name, low, high in (("below", -inf, at), ("above", at, inf)):
            half = with_regions(between(axis, low, high))(query)
            if half.boxes:
                yield replace(half, id=f"{query.id} {name}")

    script = tuple(
        Registration(tuple(half for query in item.queries for half in halves(query)))
        if isinstance(item, Registration)
        else item
        for item in story.script
    )
    rows, in_parts = play(story, one), play(replace(story, script=script), other)
    whole, cut = Counter[object](), Counter[object]()
    for e in rows.events:
        whole[e._replace(type="")] += 1 if e.type == "I" else -1
    for e in in_parts.events:
        cut[e._replace(type="", query_id=e.query_id.split()[0])] += 1 if e.type == "I" else -1
    assert whole == cut  # a Counter's zero is the same as nothing
    of_parts = (m._replace(query_id=m.query_id.split()[0]) for m in in_parts.matches)
    assert Counter(rows.matches) == Counter(of_parts)


@HALF
@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_a_query_whose_boxes_are_cut_in_two_gives_the_same_rows(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    axis = data.draw(st.integers(0, len(story.axes) - 1))
    at = data.draw(st.sampled_from(HALFWAY))
    low, high = between(axis, -inf, at), between(axis, at, inf)
    cut = retold(story, query=with_regions(lambda *region: chain(low(*region), high(*region))))
    assert_same_rows(play(story, one), play(cut, other), ALL)


# ── M9: what crosses nothing ──────────────────────────────────────────────────────────────────────


def steps_of(story: Story) -> list[tuple[Sighting, Sighting, int]]:
    """Each step of each stream whose later tuple is taken, and the delivery in which that came."""
    rows = run(FEED, story.axes, story.script, story.rules)
    came: dict[Sighting, int] = {}
    for number, delivery in enumerate(deliveries_of(story)):
        for seen in delivery.tuples:
            came.setdefault(seen, number)
    by_stream: dict[str, list[Sighting]] = {}
    for _, seen in rows.accepted:
        by_stream.setdefault(seen.stream, []).append(seen)
    return [(p, c, came[c]) for walked in by_stream.values() for p, c in pairwise(walked)]


@HALF
@given(story=stories(most_axes=3), one=ways(), other=ways(), data=st.data())
def test_a_tuple_that_every_query_sees_like_the_one_before_changes_nothing_but_who_came_before(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    """Told the other way about: such a tuple may be dropped, if it is the first of no stream.

    Its own matches go with it.

    The law, for any lateness: let p and n be neighbours of a stream and put c between them, in the
    delivery of n. If every query that ever stands holds c just when it holds p, then only the step
    that n was the end of shows another tuple before it. Nothing else can have seen c: the watermark
    goes with n or a later tuple, and what comes at or before c would be late or refused without it.
    """
    known = steps_of(story)
    if not known:
        return
    p, n, number = data.draw(st.sampled_from(known))
    alike = [
        at
        for at in product(HALFWAY, repeat=len(story.axes))
        if all(holds(q, at) == holds(q, p.values) for q in ever(story))
    ]
    new = Sighting(p.stream, n.ts - TICK // 2, data.draw(st.sampled_from(alike)))
    more = deliveries_of(story)
    more[number] = FeedDelivery((*more[number].tuples, new))

    def unlinked(rows: RunResult) -> RunResult:
        return replace(
            rows,
            events=[e._replace(prev_ts=0, prev_values=()) for e in rows.events],
            matches=[m for m in rows.matches if (m.stream, m.ts) != (new.stream, new.ts)],
        )

    rows = play(with_deliveries(story, more), other)
    assert_same_rows(unlinked(play(story, one)), unlinked(rows), ALL)
    at_n = [e for e in rows.events if (e.stream, e.ts) == (n.stream, n.ts)]
    assert all((e.prev_ts, e.prev_values) == (new.ts, new.values) for e in at_n)


# ── M11, M14, M15: names, indexes, machines ───────────────────────────────────────────────────────


NOBODY = "nobody"


def by_name(query: StandingQuery) -> tuple[str, ...]:
    """The streams of a story that a query watches; one that never comes where it watches none."""
    return tuple(s for s in STREAMS if covers(query, s)) or (NOBODY,)


@HALF
@given(story=stories(), one=ways(), other=ways(), data=st.data())
@pytest.mark.fault(44, 60)
def test_names_are_only_names(story: Story, one: Way, other: Way, data: Any) -> None:
    fresh = ("a", "ü c", "b", "'; DROP", "\U0001f6a6", " ", "x" * 256)
    called = dict(zip(STREAMS, data.draw(st.permutations(fresh)), strict=False))
    called[NOBODY] = NOBODY

    def query(id: str) -> str:
        return f"{9 - int(id[1:])} of {id}"  # sorts the other way about

    def renamed(q: StandingQuery) -> StandingQuery:
        streams = tuple(called[s] for s in by_name(q)) if q.streams or q.streams_like else None
        return replace(q, id=query(q.id), streams=streams, streams_like=None)

    elsewhere = retold(story, query=renamed, stream=called.__getitem__)
    expected = rows_in_words(play(story, one), query=query, stream=called.__getitem__)
    assert_same_rows(expected, play(elsewhere, other), ALL)


@HALF
@given(story=stories(), way=ways(), striped=st.booleans(), few=st.booleans(), carried=st.booleans())
def test_the_kind_of_index_shows_nowhere(
    story: Story, way: Way, striped: bool, few: bool, carried: bool
) -> None:
    other = replace(way, striped=striped, many_stripes=few, incremental=carried)
    assert_same_rows(play(story, way), play(story, other), ALL)


@HALF
@given(story=stories(), one=ways(), other=ways())
def test_to_watch_all_streams_or_those_of_a_pattern_is_to_name_them(
    story: Story, one: Way, other: Way
) -> None:
    named = retold(story, query=lambda q: replace(q, streams=by_name(q), streams_like=None))
    assert_same_rows(play(story, one), play(named, other), ALL)


@HALF
@given(story=stories(), way=ways(), threads=st.sampled_from((1, 2, 3)))
@pytest.mark.fault(55)
def test_differential_kernels_and_twins_and_any_number_of_threads_give_the_same_rows(
    story: Story, way: Way, threads: int
) -> None:
    compiled = replace(way, fast=True, threads=threads)
    assert_same_rows(play(story, replace(way, fast=False)), play(story, compiled), ALL)
