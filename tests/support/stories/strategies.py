"""What property tests draw: queries, deliveries, and whole scripts of both.

Law: values, ends of ranges and times all come from one coarse grid, so that in every few examples a
value sits on a border, a range is leapt over, a pair of crossings is exactly t apart, a tuple comes
twice. That it is so is itself a test: unit/test_strategies.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Any, Literal, TypeVar

from hypothesis import strategies as st

from fencepost.errors import QueryFault
from fencepost.order import OrderRules, Ties
from fencepost.queries import CROSSING, MATCH, StandingQuery, parse_match, parse_where
from fencepost.reference import FeedDelivery, Registration, Sighting

FEED = "grid"
TICK = 1_000_000  # µs
ORIGINS = (0, -5 * TICK, 1_790_000_000 * TICK)
STREAMS = ("a", "b", "ü c")
BEHIND = {"a": 0, "b": 0, "ü c": 5}  # ticks: what the slow stream answers may have timed out before
NAMED = (("a",), ("ü c", "b"))
LIKE = ((None, ("?",)), (("a",), ("ü*", "x[!b]")), (None, ("[!a]*",)), (None, ("[b-z]", "A")))
WATCHED = (*((None, None),) * 3, *((names, None) for names in NAMED), *LIKE)
"""What queries watch: named streams, and those of patterns."""
GRID = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0)  # 0 is inside: a border may be 0.0 and a value -0.0
ALL_AXES = ("x", "y", "z", "u", "v", "w")
VALUES = (*GRID, -0.0)
TERMS = (
    "{axis} >= {lo:g} AND {axis} < {hi:g}",
    "{axis} > {lo:g} AND {axis} <= {hi:g}",
    "{axis} BETWEEN {lo:g} AND {hi:g}",
    "{axis} >= {lo:g}",
    "{axis} > {lo:g}",
    "{axis} < {hi:g}",
    "{axis} <= {hi:g}",
    "{axis} = {lo:g}",
)

Judging = tuple[Ties, tuple[int, ...] | tuple[str, ...]]
"""What becomes of ties, and the sequences that tuples have, if they have any."""
FIRST: Judging = ("first", ())
JUDGINGS = st.sampled_from(
    (FIRST, ("all", ()), ("all", ()), ("all", (2, 1, 3, 1, 2, -4)), ("all", ("9", "10", "ü", "9")))
)

T = TypeVar("T")


@dataclass(frozen=True)
class Story:
    """The arguments of a run: `run(FEED, story.axes, story.script, story.rules)`."""

    axes: tuple[str, ...]
    script: tuple[FeedDelivery | Registration, ...]
    lateness: int
    ties: Ties = "first"
    idle: int | None = None

    @property
    def rules(self) -> OrderRules:
        """How its tuples are ordered and judged."""
        return OrderRules(self.ties, self.lateness, self.idle)


def standing_query(
    id: str,
    where: str,
    axes: Sequence[str] = ("x",),
    *,
    feed: str = FEED,
    kind: str = CROSSING,
    streams: tuple[str, ...] | None = None,
    streams_like: tuple[str, ...] | None = None,
    within: int | None = None,
    on_first: Literal["silent", "enter"] = "silent",
    valid_from: int | None = None,
    valid_to: int | None = None,
    version: int = 1,
) -> StandingQuery:
    """A query as the registry would hold it; times are µs."""
    boxes, tests = (
        parse_match(where, tuple(axes)) if kind == MATCH else (parse_where(where, tuple(axes)), ())
    )
    return StandingQuery(
        id=id,
        feed=feed,
        kind=kind,
        where=where,
        boxes=boxes,
        tests=tests,
        streams=streams,
        streams_like=streams_like,
        within=within,
        on_first=on_first,
        valid_from=valid_from,
        valid_to=valid_to,
        version=version,
    )


def axis_names(most: int = len(ALL_AXES), least: int = 1) -> st.SearchStrategy[tuple[str, ...]]:
    """`least` to `most` axes."""
    return st.integers(least, most).map(lambda d: ALL_AXES[:d])


# A strategy costs more to build than to draw from. So what is drawn are choices, small tuples out
# of strategies that are built once for each tuple of axes, and plain functions make the domain's
# words of them: with strategies built on the way a story cost 24 ms to draw, now it costs 10.


def several(item: st.SearchStrategy[T], least: int, most: int) -> st.SearchStrategy[tuple[T, ...]]:
    """From `least` to `most` items, rather more than fewer: plain lists are mostly very short."""
    of_size = [st.tuples(*[item] * n) for n in range(most + 1)]
    sizes = [*range(least, most + 1), *range((least + most) // 2, most + 1)]
    return st.sampled_from(sizes).flatmap(of_size.__getitem__)


@cache
def terms(axes: tuple[str, ...]) -> st.SearchStrategy[tuple[str, str]]:
    """An axis, and a condition on it that some value satisfies."""
    ends = st.sampled_from([{"lo": lo, "hi": hi} for hi in GRID for lo in GRID if lo < hi])
    choices = st.tuples(st.sampled_from(axes), st.sampled_from(TERMS), ends)
    return choices.map(lambda c: (c[0], c[1].format(axis=c[0], **c[2])))


@cache
def conjunctions(axes: tuple[str, ...]) -> st.SearchStrategy[str]:
    """A condition on one to three of the axes: of more, hardly a tuple would satisfy all."""
    some = st.lists(terms(axes), min_size=1, max_size=3, unique_by=lambda term: term[0])
    return some.map(lambda chosen: " AND ".join(text for _, text in chosen))


@cache
def wheres(axes: tuple[str, ...]) -> st.SearchStrategy[str]:
    """One box, two or three joined by OR, the outside of a range, or ALL."""
    boxes = st.lists(conjunctions(axes), min_size=2, max_size=3)
    return st.one_of(
        conjunctions(axes),
        boxes.map(lambda parts: " OR ".join(f"({part})" for part in parts)),
        terms(axes).map(lambda term: f"NOT ({term[1]})"),
        st.just("ALL"),
    )


@cache
def comparisons(axes: tuple[str, ...]) -> st.SearchStrategy[str]:
    """A comparison of two axes, or of one with itself where there is only one."""
    ops = st.sampled_from((">", ">=", "=", "<", "<=", "<"))
    pairs = [(a, b) for a in axes for b in axes if a != b] or [(axes[0], axes[0])]
    return st.tuples(st.sampled_from(pairs), ops).map(lambda c: f"{c[0][0]} {c[1]} {c[0][1]}")


@cache
def match_wheres(axes: tuple[str, ...]) -> st.SearchStrategy[str]:
    """What crossings say, and comparisons of axes: alone, beside ranges, either of two, negated."""
    compared = comparisons(axes)
    either = st.tuples(st.sampled_from(("AND", "AND", "OR")), compared, conjunctions(axes))
    written = st.one_of(
        wheres(axes),
        compared,
        either.map(lambda c: f"{c[1]} {c[0]} {c[2]}"),
        st.tuples(compared, compared).map(lambda c: f"NOT ({c[0]} AND {c[1]})"),
    )
    return written.filter(lambda where: satisfiable(where, axes))


@lru_cache(maxsize=4096)
def satisfiable(where: str, axes: tuple[str, ...]) -> bool:
    """Whether the `where` of a match holds for any value: `x < x` does not."""
    try:
        return bool(parse_match(where, axes))
    except QueryFault:
        return False


@cache
def query_choices(axes: tuple[str, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    """What makes a query beside its name: most are valid always, watch all, and have a t."""
    return st.tuples(
        wheres(axes),
        st.sampled_from(WATCHED),
        st.sampled_from((2, None, 0, 1, 2, 3, 4)),
        st.sampled_from(("silent", "enter")),
        st.sampled_from((None, None, None, 0, 2, 4, 6)),
        st.sampled_from((None, None, None, 2, 4, 6, 9)),
    )


@st.composite
def queries(
    draw: st.DrawFn, axes: Sequence[str], id: str = "q", version: int = 1, origin: int = 0
) -> StandingQuery:
    """Any crossing query over the axes."""
    where, (streams, like), within, on_first, begin, length = draw(query_choices(tuple(axes)))
    end = None if length is None else (begin or 0) + length
    return standing_query(
        id,
        where,
        axes,
        streams=streams,
        streams_like=like,
        within=None if within is None else within * TICK,
        on_first=on_first,
        valid_from=None if begin is None else origin + begin * TICK,
        valid_to=None if end is None else origin + end * TICK,
        version=version,
    )


@st.composite
def matches(
    draw: st.DrawFn, axes: Sequence[str], id: str = "m", version: int = 1, origin: int = 0
) -> StandingQuery:
    """Any match query over the axes."""
    _, (streams, like), _, _, begin, length = draw(query_choices(tuple(axes)))
    end = None if length is None else (begin or 0) + length
    return standing_query(
        id,
        draw(match_wheres(tuple(axes))),
        axes,
        kind=MATCH,
        streams=streams,
        streams_like=like,
        valid_from=None if begin is None else origin + begin * TICK,
        valid_to=None if end is None else origin + end * TICK,
        version=version,
    )


@st.composite
def either_kind(
    draw: st.DrawFn, axes: Sequence[str], id: str, version: int = 1, origin: int = 0
) -> StandingQuery:
    """A crossing query, or one time in four a match."""
    kind = matches if draw(st.integers(0, 3)) == 3 else queries
    return draw(kind(axes, id, version, origin))


@st.composite
def query_sets(
    draw: st.DrawFn, axes: Sequence[str], origin: int = 0, most: int = 6
) -> tuple[StandingQuery, ...]:
    """Up to `most` queries q0, q1, … of either kind."""
    count = draw(st.integers(0, most) | st.integers(most // 2, most))
    return tuple(draw(either_kind(axes, f"q{n}", origin=origin)) for n in range(count))


@cache
def row_choices(d: int, most: int, *, ties: bool) -> st.SearchStrategy[tuple[tuple[Any, ...], ...]]:
    """What makes the rows of a delivery: a stream, a time, a move on each axis, or a look back."""
    moves = st.tuples(*[st.sampled_from((*VALUES, None, None))] * d)
    times = st.sampled_from((0, 0, 0, 1, 0, 1, 2, -1) if ties else (0, 1, 2, 0, 1, 2, 3, -1))
    is_new = st.sampled_from((True, True, True, True, True, False))
    names = (*STREAMS, "ü c", *(("a", "a") if ties else ()))
    row = st.tuples(is_new, st.sampled_from(names), times, moves, st.integers(0, 5))
    return several(row, 0, most)


@st.composite
def deliveries(
    draw: st.DrawFn,
    axes: Sequence[str],
    known: Sequence[Sighting] = (),
    tick: int = 0,
    origin: int = 0,
    most: int = 8,
    judging: Judging = FIRST,
) -> FeedDelivery:
    """Up to `most` tuples round the tick, in any order; some repeat or contradict a known one.

    Where every tuple of an instant is a step, or they have sequences, many share one.
    """
    rows: list[Sighting] = []
    ties, numbers = judging
    choices = row_choices(len(axes), most, ties=ties == "all")
    for is_new, stream, later, moves, back in draw(choices):
        before = [*known, *rows]
        if is_new or not before:
            ts = origin + (tick + later - BEHIND[stream]) * TICK
            here = next((s.values for s in reversed(before) if s.stream == stream), moves)
            number = numbers[back % len(numbers)] if numbers else None
            rows.append(Sighting(stream, ts, moved(here, moves), number))
        else:
            again = before[-1 - back % len(before)]
            rows.append(replace(again, values=moved(again.values, moves if later > 1 else ())))
    return FeedDelivery(tuple(rows))


def moved(here: Sequence[float | None], moves: Sequence[float | None]) -> tuple[float, ...]:
    """Where a stream is after it moved along some axes and stayed put along the others."""
    steps = zip_longest(here, moves)
    return tuple((old or 0.0) if new is None else new for old, new in steps)


@cache
def paces(most: int) -> st.SearchStrategy[tuple[int | None, ...]]:
    """What comes in a script: a delivery and the ticks after it, or None, a registration."""
    return several(st.sampled_from((1, 2, 3, 1, 2, 0, None)), 1, most)


@st.composite
def registrations(
    draw: st.DrawFn,
    axes: Sequence[str],
    before: Registration,
    versions: dict[str, int],
    origin: int = 0,
) -> Registration:
    """The set before with one or two queries added, removed or changed; a change is a new version.

    What changes may be the kind, too.

    `versions` holds the last version of every id there ever was, and is kept up to date: a query
    that comes back after its removal comes back as a new version too.
    """
    present = {query.id: query for query in before.queries}
    for _ in range(draw(st.integers(1, 2))):
        id = f"q{draw(st.integers(0, len(versions)))}"
        if id in present and draw(st.booleans()):
            del present[id]
        else:
            versions[id] = versions.get(id, 0) + 1
            kind = draw(st.sampled_from((queries, matches)))
            present[id] = draw(kind(axes, id, versions[id], origin))
    return Registration(tuple(present.values()))


@st.composite
def scripts(
    draw: st.DrawFn, axes: Sequence[str], most: int = 9, judging: Judging = FIRST
) -> tuple[FeedDelivery | Registration, ...]:
    """A registration, then up to `most` deliveries and further registrations in any order."""
    origin = draw(st.sampled_from(ORIGINS))
    registered = Registration(draw(query_sets(axes, origin)))
    versions = {query.id: query.version for query in registered.queries}
    script: list[FeedDelivery | Registration] = [registered]
    known: list[Sighting] = []
    tick = 0
    for ticks in draw(paces(most)):
        if ticks is None:
            registered = draw(registrations(axes, registered, versions, origin))
            script.append(registered)
        else:
            delivery = draw(deliveries(axes, known, tick, origin, judging=judging))
            script.append(delivery)
            known += delivery.tuples
            tick += ticks
    return tuple(script)


LATENESSES = st.sampled_from((0, 0, 1, 2, 3))


@st.composite
def stories(draw: st.DrawFn, most_axes: int = len(ALL_AXES)) -> Story:
    """A script over 1 to `most_axes` axes, and an allowed lateness of none to three ticks."""
    axes = draw(axis_names(most_axes))
    lateness = draw(LATENESSES) * TICK
    return Story(axes, draw(scripts(axes)), lateness)


@st.composite
def judged_stories(draw: st.DrawFn, most_axes: int = len(ALL_AXES), least_axes: int = 1) -> Story:
    """A script under any rules: ties all or first, or sequences; each stream by its own clock."""
    axes = draw(axis_names(most_axes, least_axes))
    judging = draw(JUDGINGS)
    idle = draw(st.sampled_from((None, None, 0, 2, 4, 30)))
    idle = None if idle is None else idle * TICK
    script = draw(scripts(axes, judging=judging))
    return Story(axes, script, draw(LATENESSES) * TICK, judging[0], idle)
