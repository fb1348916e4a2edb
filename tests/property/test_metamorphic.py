"""What stays the same when a story is told differently: other epochs, names, units, axes, cuts.

Law: a relation needs no oracle. It holds the engine to itself, so it also catches what engine and
reference could both get wrong. Each test retells a drawn story and says what its rows become; both
tellings are played in ways drawn apart.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import inf, isinf
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fencepost.doubles import next_double
from fencepost.queries import Box, StandingQuery
from fencepost.reference import (
    Delivery,
    Event,
    Pending,
    Registration,
    Rows,
    Sighting,
    Transition,
    holds,
    run,
)
from tests.oracles import assert_same_rows
from tests.play import Way, play
from tests.strategies import FEED, GRID, STREAMS, TICK, Story, queries, stories

ALL = ("events", "transitions", "rejected", "pending", "heads", "waiting", "watermark")
Values = tuple[float, ...]
Boxes = tuple[Box, ...]
FAR = 1000.0
HALFWAY = (-2.5, *(g + half for g in GRID for half in (0.0, 0.5)))


def same(value: Any) -> Any:
    """Where a telling changes nothing."""
    return value


def cuts() -> st.SearchStrategy[frozenset[int] | None]:
    """Where epochs begin; None: at every delivery."""
    return st.none() | st.frozensets(st.integers(0, 9), max_size=4)


def ways() -> st.SearchStrategy[Way]:
    """Any way to play."""
    flag = st.booleans()
    return st.builds(
        Way,
        fast=flag,
        threads=st.sampled_from((1, 2)),
        striped=flag,
        many_stripes=flag,
        incremental=flag,
        reloaded=flag,
        cuts=cuts(),
    )


# ── retelling ─────────────────────────────────────────────────────────────────────────────────────


def retold(
    story: Story,
    *,
    query: Callable[[StandingQuery], StandingQuery] = same,
    values: Callable[[Values], Values] = same,
    stream: Callable[[str], str] = same,
) -> Story:
    """The same story with every query and every tuple put in other words."""

    def item(told: Delivery | Registration) -> Delivery | Registration:
        if isinstance(told, Registration):
            return Registration(tuple(query(q) for q in told.queries))
        rows = (Sighting(stream(s.stream), s.ts, values(s.values)) for s in told.tuples)
        return Delivery(tuple(rows))

    return replace(story, script=tuple(item(told) for told in story.script))


def rows_in_words(
    rows: Rows,
    *,
    query: Callable[[str], str] = same,
    values: Callable[[Values], Values] = same,
    stream: Callable[[str], str] = same,
) -> Rows:
    """The same rows in those words."""

    def event(e: Event) -> Event:
        before = None if e.prev_values is None else values(e.prev_values)
        return e._replace(
            query_id=query(e.query_id),
            stream=stream(e.stream),
            values=values(e.values),
            prev_values=before,
        )

    def sighting(s: Sighting) -> Sighting:
        return Sighting(stream(s.stream), s.ts, values(s.values))

    return replace(
        rows,
        events=[event(e) for e in rows.events],
        transitions=[
            t._replace(query_id=query(t.query_id), stream=stream(t.stream))
            for t in rows.transitions
        ],
        pending=[
            p._replace(query_id=query(p.query_id), stream=stream(p.stream)) for p in rows.pending
        ],
        heads={stream(name): (ts, values(at)) for name, (ts, at) in rows.heads.items()},
        waiting=[a._replace(sighting=sighting(a.sighting)) for a in rows.waiting],
    )


def with_boxes(change: Callable[[Boxes], Boxes]) -> Callable[[StandingQuery], StandingQuery]:
    """Put other boxes into a query; its text is left behind, for nobody reads it again."""
    return lambda q: replace(q, boxes=change(q.boxes))


def rows_without(rows: Rows, *, query: str | None = None, stream: str | None = None) -> Rows:
    """The rows of all but one query, or all but one stream."""

    def is_of_others(row: Event | Transition | Pending) -> bool:
        return row.query_id != query and row.stream != stream

    return replace(
        rows,
        events=[e for e in rows.events if is_of_others(e)],
        transitions=[t for t in rows.transitions if is_of_others(t)],
        pending=[p for p in rows.pending if is_of_others(p)],
        heads={name: head for name, head in rows.heads.items() if name != stream},
        waiting=[a for a in rows.waiting if a.sighting.stream != stream],
    )


def deliveries_of(story: Story) -> list[Delivery]:
    return [item for item in story.script if isinstance(item, Delivery)]


def with_deliveries(story: Story, deliveries: Sequence[Delivery]) -> Story:
    """The story with its deliveries replaced one by one."""
    left = iter(deliveries)
    return replace(
        story, script=tuple(next(left) if isinstance(i, Delivery) else i for i in story.script)
    )


# ── M1 to M4: epochs, rows, registrations, repeats ────────────────────────────────────────────────


@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_any_grouping_of_the_same_deliveries_gives_the_same_rows(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    regrouped = replace(other, cuts=data.draw(st.frozensets(st.integers(0, 9))))
    assert_same_rows(play(story, one), play(story, regrouped), ALL)


@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_rows_of_a_delivery_may_come_in_any_order_where_no_times_of_a_stream_are_equal(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    single = [
        Delivery(tuple({(s.stream, s.ts): s for s in delivery.tuples}.values()))
        for delivery in deliveries_of(story)
    ]
    shuffled = [Delivery(tuple(data.draw(st.permutations(d.tuples)))) for d in single]

    def told(deliveries: Sequence[Delivery], way: Way) -> Rows:
        rows = play(with_deliveries(story, deliveries), way)
        turned = [(d, deliveries[d].tuples[row], why) for d, row, why in rows.rejected]
        return replace(rows, rejected=turned)  # type: ignore[arg-type]

    assert_same_rows(told(single, one), told(shuffled, other), ALL)


@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_the_order_in_which_queries_are_registered_changes_nothing(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    shuffled = tuple(
        Registration(tuple(data.draw(st.permutations(item.queries))))
        if isinstance(item, Registration)
        else item
        for item in story.script
    )
    assert_same_rows(play(story, one), play(replace(story, script=shuffled), other), ALL)


@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_a_query_that_comes_and_goes_leaves_no_trace_on_the_others(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    guest = data.draw(queries(story.axes, "guest"))
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(story.script))] * 2)))
    script: list[Delivery | Registration] = []
    registered = Registration(())
    for place, item in enumerate([*story.script, None]):
        if place in (begin, end):
            guests = (guest,) if place == begin < end else ()
            script.append(Registration((*registered.queries, *guests)))
        if isinstance(item, Registration):
            registered = item
            guests = (guest,) if begin <= place < end else ()
            script.append(Registration((*guests, *item.queries)))
        elif item is not None:
            script.append(item)
    rows = play(replace(story, script=tuple(script)), other)
    assert_same_rows(play(story, one), rows_without(rows, query="guest"), ALL)
    stayed = range(
        sum(isinstance(item, Delivery) for item in story.script[:begin]),
        sum(isinstance(item, Delivery) for item in story.script[:end]),
    )
    assert all(e.delivery in stayed for e in rows.events if e.query_id == "guest")
    if end < len(story.script):
        assert all(e.query_id != "guest" for e in rows.pending)


@given(story=stories(), one=ways(), other=ways())
def test_a_delivery_with_every_tuple_twice_gives_the_same_rows_and_that_many_duplicates(
    story: Story, one: Way, other: Way
) -> None:
    once = deliveries_of(story)
    rows = play(story, one)
    doubled = play(with_deliveries(story, [Delivery(d.tuples * 2) for d in once]), other)
    why = {(d, row): reason for d, row, reason in rows.rejected}
    again = [
        (d, len(delivery.tuples) + row, why.get((d, row), "duplicate"))
        for d, delivery in enumerate(once)
        for row in range(len(delivery.tuples))
    ]
    assert_same_rows(replace(rows, rejected=[*rows.rejected, *again]), doubled, ALL)


# ── M5: what is far away ──────────────────────────────────────────────────────────────────────────


@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_queries_far_away_change_nothing(story: Story, one: Way, other: Way, data: Any) -> None:
    free = ((-inf, inf),) * (len(story.axes) - 1)
    axis = data.draw(st.integers(0, len(story.axes) - 1))
    far = tuple(
        replace(
            data.draw(queries(story.axes, f"far {n}")),
            boxes=((*free[:axis], (low, high), *free[axis:]),),
        )
        for n, (low, high) in enumerate([(FAR, FAR + 1), (FAR, inf), (-inf, -FAR)])
    )
    script = tuple(
        Registration((*far, *item.queries)) if isinstance(item, Registration) else item
        for item in story.script
    )
    assert_same_rows(play(story, one), play(replace(story, script=script), other), ALL)


@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_a_stream_far_away_changes_nothing_of_the_others(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    """Its times are some of those that arrive with it, so that it does not move the watermark."""
    beside = []
    for delivery in deliveries_of(story):
        times = {s.ts for s in delivery.tuples}
        chosen = data.draw(st.sets(st.sampled_from(sorted(times)))) if times else set()
        far = tuple(Sighting("far", ts, (FAR,) * len(story.axes)) for ts in sorted(chosen))
        beside.append(Delivery(delivery.tuples + far))
    rows = play(with_deliveries(story, beside), other)
    assert all(e.prev_ts is None for e in rows.events if e.stream == "far")
    mine = [len(delivery.tuples) for delivery in deliveries_of(story)]
    others = rows_without(rows, stream="far")
    others = replace(others, rejected=[r for r in rows.rejected if r[1] < mine[r[0]]])
    assert_same_rows(play(story, one), others, ALL)


# ── M6, M7, M10: units, mirrors, axes ─────────────────────────────────────────────────────────────


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

    def boxes(all_: Boxes) -> Boxes:
        return tuple(tuple((border(lo), border(hi)) for lo, hi in box) for box in all_)

    elsewhere = retold(story, query=with_boxes(boxes), values=values)
    expected = rows_in_words(play(story, one), values=values)
    assert_same_rows(expected, play(elsewhere, other), ALL)


@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_a_mirrored_axis_gives_mirrored_rows(story: Story, one: Way, other: Way, data: Any) -> None:
    """The mirror image of [lo, hi) is (-hi, -lo], that is, [next(-hi), next(-lo))."""
    mirrored = data.draw(st.sets(st.sampled_from(range(len(story.axes))), min_size=1))

    def after(end: float) -> float:
        return -end if isinf(end) else next_double(-end)

    def values(at: Values) -> Values:
        return tuple(-v if axis in mirrored else v for axis, v in enumerate(at))

    def boxes(all_: Boxes) -> Boxes:
        return tuple(
            tuple(
                (after(hi), after(lo)) if axis in mirrored else (lo, hi)
                for axis, (lo, hi) in enumerate(box)
            )
            for box in all_
        )

    mirror = retold(story, query=with_boxes(boxes), values=values)
    expected = rows_in_words(play(story, one), values=values)
    assert_same_rows(expected, play(mirror, other), ALL)


@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_axes_in_another_order_give_the_same_rows(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    order = data.draw(st.permutations(range(len(story.axes))))

    def values(at: Values) -> Values:
        return tuple(at[axis] for axis in order)

    def boxes(all_: Boxes) -> Boxes:
        return tuple(tuple(box[axis] for axis in order) for box in all_)

    turned = retold(story, query=with_boxes(boxes), values=values)
    expected = rows_in_words(play(story, one), values=values)
    assert_same_rows(expected, play(turned, other), ALL)


# ── M8: cuts ──────────────────────────────────────────────────────────────────────────────────────


def parts(boxes: Boxes, axis: int, at: float) -> tuple[Boxes, Boxes]:
    """What of some boxes lies below a cut, and what at it or above."""

    def within(box: Box, low: float, high: float) -> Boxes:
        lo, hi = max(box[axis][0], low), min(box[axis][1], high)
        return ((*box[:axis], (lo, hi), *box[axis + 1 :]),) if lo < hi else ()

    below = tuple(part for box in boxes for part in within(box, -inf, at))
    return below, tuple(part for box in boxes for part in within(box, at, inf))


@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_the_parts_of_a_query_cut_in_two_add_up_to_the_whole(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    """Where one part is left and the other entered, the whole is not crossed: +1 and -1 are 0."""
    axis = data.draw(st.integers(0, len(story.axes) - 1))
    at = data.draw(st.sampled_from(HALFWAY))

    def halves(query: StandingQuery) -> tuple[StandingQuery, ...]:
        low, high = parts(query.boxes, axis, at)
        named = ((f"{query.id} below", low), (f"{query.id} above", high))
        return tuple(replace(query, id=id, boxes=boxes) for id, boxes in named if boxes)

    script = tuple(
        Registration(tuple(half for query in item.queries for half in halves(query)))
        if isinstance(item, Registration)
        else item
        for item in story.script
    )
    whole, cut = Counter[object](), Counter[object]()
    for e in play(story, one).events:
        whole[e._replace(type="")] += 1 if e.type == "I" else -1
    for e in play(replace(story, script=script), other).events:
        cut[e._replace(type="", query_id=e.query_id.split()[0])] += 1 if e.type == "I" else -1
    assert whole == cut  # a Counter's zero is the same as nothing


@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_a_query_whose_boxes_are_cut_in_two_gives_the_same_rows(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    axis = data.draw(st.integers(0, len(story.axes) - 1))
    at = data.draw(st.sampled_from(HALFWAY))
    cut = retold(story, query=with_boxes(lambda boxes: sum(parts(boxes, axis, at), ())))
    assert_same_rows(play(story, one), play(cut, other), ALL)


# ── M9: what crosses nothing ──────────────────────────────────────────────────────────────────────


def steps_of(story: Story) -> list[tuple[Sighting, Sighting, int]]:
    """Each step of each stream whose later tuple is taken, and the delivery in which that came."""
    rows = run(FEED, story.axes, story.script, story.lateness)
    came: dict[Sighting, int] = {}
    for number, delivery in enumerate(deliveries_of(story)):
        for seen in delivery.tuples:
            came.setdefault(seen, number)
    by_stream: dict[str, list[Sighting]] = {}
    for _, seen in rows.accepted:
        by_stream.setdefault(seen.stream, []).append(seen)
    return [(p, c, came[c]) for walked in by_stream.values() for p, c in pairwise(walked)]


@given(story=stories(most_axes=3), one=ways(), other=ways(), data=st.data())
def test_a_tuple_that_every_query_sees_like_the_one_before_changes_nothing_but_who_came_before(
    story: Story, one: Way, other: Way, data: Any
) -> None:
    """Told the other way about: such a tuple may be dropped, if it is the first of no stream.

    The law, for any lateness: let p and n be neighbours of a stream and put c between them, in the
    delivery of n. If every query that ever stands holds c just when it holds p, then only the step
    that n was the end of shows another tuple before it. Nothing else can have seen c: the watermark
    goes with n or a later tuple, and what comes at or before c would be late or refused without it.
    """
    known = steps_of(story)
    if not known:
        return
    p, n, number = data.draw(st.sampled_from(known))
    ever = [q for item in story.script if isinstance(item, Registration) for q in item.queries]
    alike = [
        at
        for at in product(HALFWAY, repeat=len(story.axes))
        if all(holds(q, at) == holds(q, p.values) for q in ever)
    ]
    between = Sighting(p.stream, n.ts - TICK // 2, data.draw(st.sampled_from(alike)))
    more = deliveries_of(story)
    more[number] = Delivery((*more[number].tuples, between))

    def unlinked(rows: Rows) -> Rows:
        return replace(rows, events=[e._replace(prev_ts=0, prev_values=()) for e in rows.events])

    rows = play(with_deliveries(story, more), other)
    assert_same_rows(unlinked(play(story, one)), unlinked(rows), ALL)
    at_n = [e for e in rows.events if (e.stream, e.ts) == (n.stream, n.ts)]
    assert all((e.prev_ts, e.prev_values) == (between.ts, between.values) for e in at_n)


# ── M11, M14, M15: names, indexes, machines ───────────────────────────────────────────────────────


@given(story=stories(), one=ways(), other=ways(), data=st.data())
def test_names_are_only_names(story: Story, one: Way, other: Way, data: Any) -> None:
    fresh = ("a", "ü c", "b", "'; DROP", "\U0001f6a6", " ", "x" * 256)
    called = dict(zip(STREAMS, data.draw(st.permutations(fresh)), strict=False))

    def query(id: str) -> str:
        return f"{9 - int(id[1:])} of {id}"  # sorts the other way about

    def renamed(q: StandingQuery) -> StandingQuery:
        streams = None if q.streams is None else tuple(called[s] for s in q.streams)
        return replace(q, id=query(q.id), streams=streams)

    elsewhere = retold(story, query=renamed, stream=called.__getitem__)
    expected = rows_in_words(play(story, one), query=query, stream=called.__getitem__)
    assert_same_rows(expected, play(elsewhere, other), ALL)


@given(story=stories(), way=ways())
def test_the_kind_of_index_shows_nowhere(story: Story, way: Way) -> None:
    rows = play(story, way)
    for kind in (
        replace(way, striped=False, many_stripes=False),
        replace(way, striped=True, many_stripes=True),
        replace(way, incremental=not way.incremental),
    ):
        assert_same_rows(rows, play(story, kind), ALL, note=str(kind))


@given(story=stories(), one=ways(), other=ways())
def test_to_watch_everywhere_is_to_name_every_stream(story: Story, one: Way, other: Way) -> None:
    named = retold(story, query=lambda q: replace(q, streams=q.streams or STREAMS))
    assert_same_rows(play(story, one), play(named, other), ALL)


@given(story=stories(), way=ways())
def test_differential_kernels_and_twins_and_any_number_of_threads_give_the_same_rows(
    story: Story, way: Way
) -> None:
    rows = play(story, replace(way, fast=False))
    for threads in (1, 2, 3):
        other = replace(way, fast=True, threads=threads)
        assert_same_rows(rows, play(story, other), ALL, note=f"{threads} threads")
