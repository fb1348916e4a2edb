"""Scripts of two feeds and their joins, drawn; join_play.py plays them.

Law: values, ends of boxes and bands, times and windows come from one coarse grid, so that in every
few examples a pair is exactly a window apart, a difference exactly a bound, a tuple comes twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, nextafter
from random import Random
from typing import Any

from hypothesis import strategies as st

from fencepost.order import OrderRules, Ties
from fencepost.queries.joins import (
    BAND_JOIN,
    NEAR_JOIN,
    WINDOW_JOIN,
    Conjunct,
    JoinQuery,
    JoinTest,
    SomeStreams,
)
from fencepost.reference import (
    FeedDelivery,
    JoinRegistration,
    SideDelivery,
    Sighting,
)
from tests.support.stories.strategies import FIRST, JUDGINGS, Judging

FEEDS = ("bids", "asks")
TICK = 1_000_000
ORIGIN = 1_790_000_000 * TICK
STREAMS = (("a", "b", "ü c"), ("a", "z", "b"))
GRID = (-1.0, 0.0, 1.0, 2.0)
MANY = 10**9

Axes = tuple[tuple[str, ...], tuple[str, ...]]
Item = SideDelivery | JoinRegistration


@dataclass(frozen=True)
class JoinStory:
    """The arguments of `run_joins(story.axes, story.script, story.rules, one=story.one)`."""

    axes: Axes
    script: tuple[Item, ...]
    lateness: tuple[int, int]
    ties: Ties = "first"
    idle: tuple[int | None, int | None] = (None, None)
    feeds: tuple[str, str] = FEEDS

    @property
    def one(self) -> bool:
        """Whether a feed is joined with itself."""
        return self.feeds[0] == self.feeds[1]

    @property
    def rules(self) -> tuple[OrderRules, OrderRules]:
        """How the tuples of both feeds are ordered and judged."""
        return rules_of(self.lateness, self.ties, self.idle)


def rules_of(
    lateness: tuple[int, int] = (0, 0),
    ties: Ties = "first",
    idle: tuple[int | None, int | None] = (None, None),
) -> tuple[OrderRules, OrderRules]:
    """The rules of both feeds, the left one first."""
    left, right = zip(lateness, idle, strict=True)
    return OrderRules(ties, *left), OrderRules(ties, *right)


def window_join(id: str, axes: Axes, **more: Any) -> JoinQuery:
    """A window join of the two feeds; without conjuncts every pair satisfies it."""
    every = ((-inf, inf),) * (len(axes[0]) + len(axes[1]))
    given = {"conjuncts": (Conjunct(every),), "on": "ALL", **more}
    return JoinQuery(id=id, kind=WINDOW_JOIN, left=FEEDS[0], right=FEEDS[1], **given)


def band_join(id: str, low: float, high: float, **more: Any) -> JoinQuery:
    """A band join of the first axis of both feeds, unless others are named."""
    given = {"left_axis": "x", "right_axis": "x", **more}
    return JoinQuery(
        id=id, kind=BAND_JOIN, left=FEEDS[0], right=FEEDS[1], low=low, high=high, **given
    )


def near_join(
    id: str, distance: float, axes: Axes, feeds: tuple[str, str] = FEEDS, **more: Any
) -> JoinQuery:
    """A near join on a plane: of one axis a feed's streams are on its diagonal."""
    left, right = ((0, len(own) - 1) for own in axes)
    return JoinQuery(
        id=id, kind=NEAR_JOIN, left=feeds[0], right=feeds[1], distance=distance,
        positions=(left, right), **more,
    )  # fmt: skip


WINDOWS = st.sampled_from(
    [
        *(("window", ticks * TICK) for ticks in (3, 1, 0)),
        *(("last", count) for count in (4, 1, 2, MANY)),
    ]
)

# ── drawing ───────────────────────────────────────────────────────────────────────────────────────

ends = st.sampled_from([(a, b) for a in (*GRID, -inf) for b in (inf, *GRID[::-1]) if a <= b])


@st.composite
def conjuncts(draw: st.DrawFn, axes: Axes) -> Conjunct:
    """A box, most axes of it unbounded, and up to two tests; both ends of a range count."""
    d = len(axes[0]) + len(axes[1])
    box = []
    for _ in range(d):
        lo, hi = draw(ends) if draw(st.integers(0, 3)) == 3 else (-inf, inf)
        box.append((lo, hi if hi == inf else nextafter(hi, inf)))
    number = st.sampled_from((0.0, 0.0, 1.0, -1.0, 0.1))
    test = st.builds(
        JoinTest,
        st.integers(0, d - 1),
        number,
        st.sampled_from(("<", "<=", "=")),
        st.integers(0, d - 1),
        number,
    )
    return Conjunct(tuple(box), tuple(draw(st.lists(test, max_size=1))))


some_streams = st.none() | st.builds(
    SomeStreams,
    st.lists(st.sampled_from(("a", "b", "z")), min_size=1, max_size=2).map(tuple),
    st.sampled_from(((), ("*",), ("[!a]*", "ü ?"))),
)


@st.composite
def near_joins(
    draw: st.DrawFn, axes: Axes, id: str, version: int = 1, feeds: tuple[str, str] = FEEDS
) -> JoinQuery:
    """A near join, of all streams or of some."""
    distance = draw(st.sampled_from((1.0, 2.0**0.5, 2.0, 0.1, 5.0)))
    takes = draw(some_streams), draw(some_streams)
    earth = draw(st.integers(0, 4)) == 4
    length = distance * 111_195.0 if earth else distance
    return near_join(id, length, axes, feeds, takes=takes, earth=earth, version=version)


@st.composite
def joins(draw: st.DrawFn, axes: Axes, id: str, version: int = 1) -> JoinQuery:
    """A join of any kind."""
    if draw(st.integers(0, 2)) == 2:
        return draw(near_joins(axes, id, version))
    if draw(st.booleans()):
        low, high = draw(ends)
        if draw(st.integers(0, 4)) == 0:
            low, high = (0.1, 0.30000000000000004) if low == high else (low / 3, high)
        left, right = draw(st.sampled_from(axes[0])), draw(st.sampled_from(axes[1]))
        return band_join(
            id, min(low, high), high, left_axis=left, right_axis=right, version=version
        )
    begin = draw(st.sampled_from((None, None, None, 0, 2)))
    length = draw(st.sampled_from((None, None, None, 1, 4)))
    kind, size = draw(WINDOWS)
    return window_join(
        id,
        axes,
        conjuncts=tuple(draw(st.lists(conjuncts(axes), min_size=1, max_size=2))),
        valid_from=None if begin is None else ORIGIN + begin * TICK,
        valid_to=None if length is None else ORIGIN + ((begin or 0) + length) * TICK,
        version=version,
        **{kind: size},
    )


@st.composite
def side_deliveries(
    draw: st.DrawFn,
    axes: Axes,
    side: int,
    tick: int,
    known: Sequence[Sighting],
    numbers: tuple[int, ...] | tuple[str, ...] = (),
) -> SideDelivery:
    """Up to six tuples round the tick, some repeated, some of them gone; with sequences, or not."""
    rows: list[Sighting] = []
    for _ in range(draw(st.sampled_from((4, 3, 5, 6, 0)))):
        before = [*known, *rows]
        values = tuple(draw(st.sampled_from((*GRID, 0.1, 0.3, -0.0))) for _ in axes[side])
        if before and draw(st.integers(0, 9)) == 9:
            again = before[draw(st.integers(0, len(before) - 1))]
            rows.append(replace(again, values=values) if draw(st.booleans()) else again)
        else:
            ts = ORIGIN + (tick + draw(st.sampled_from((1, 2, 0, 1, 2, -1)))) * TICK
            number = numbers[draw(st.integers(0, len(numbers) - 1))] if numbers else None
            rows.append(Sighting(draw(st.sampled_from(STREAMS[side])), ts, values, number))
    gone = frozenset(row for row in range(len(rows)) if draw(st.integers(0, 9)) == 9)
    return SideDelivery(side, FeedDelivery(tuple(rows)), gone)


def join_stories() -> st.SearchStrategy[JoinStory]:
    """A registration, then deliveries of both sides, or of one alone, and more registrations."""
    return told_joins(FIRST, FIRST, st.none())


@st.composite
def judged_join_stories(draw: st.DrawFn) -> JoinStory:
    """The same under any rules: ties all or first, or sequences; each stream by its own clock."""
    left = draw(JUDGINGS)
    right = draw(st.sampled_from([(left[0], ()), left]))
    return draw(told_joins(left, right, st.sampled_from((None, None, 0, 2 * TICK, 9 * TICK))))


@st.composite
def one_feed_stories(draw: st.DrawFn) -> JoinStory:
    """A feed that is joined with itself, under any rules."""
    ties, numbers = draw(JUDGINGS)
    feeds = (FEEDS[0], FEEDS[0])
    own = ("x", "y")[: draw(st.integers(1, 2))]
    axes: Axes = (own, own)
    script: list[Item] = []
    present: dict[str, JoinQuery] = {}
    known: list[Sighting] = []
    for n in range(draw(st.sampled_from((9, 7, 5, 3, 1)))):
        if n == 0 or draw(st.integers(0, 4)) == 4:
            for _ in range(draw(st.integers(1, 2))):
                id = f"q{draw(st.integers(0, 3))}"
                version = present[id].version + 1 if id in present else n + 1
                present[id] = draw(near_joins(axes, id, version, feeds))
            script.append(JoinRegistration(tuple(present.values())))
        delivery = draw(side_deliveries(axes, 0, n, known, numbers))
        known.extend(delivery.delivery.tuples)
        script.append(delivery)
    late = draw(st.sampled_from((0, 0, TICK, 3 * TICK)))
    idle = draw(st.sampled_from((None, None, 0, 2 * TICK)))
    return JoinStory(axes, tuple(script), (late, late), ties, (idle, idle), feeds)


@st.composite
def told_joins(
    draw: st.DrawFn, left: Judging, right: Judging, idle: st.SearchStrategy[int | None]
) -> JoinStory:
    """A story of two feeds that are judged so."""
    d = draw(st.tuples(st.integers(1, 2), st.integers(1, 2)))
    axes = (("x", "y")[: d[0]], ("x", "w")[: d[1]])

    versions = {f"q{n}": 1 for n in range(draw(st.sampled_from((5, 6, 4, 3, 1))))}

    def edited(present: dict[str, JoinQuery], changes: int) -> JoinRegistration:
        for _ in range(changes):
            id = f"q{draw(st.integers(0, 7))}"
            if id in present and draw(st.integers(0, 2)) == 2:
                del present[id]
            else:
                versions[id] = versions.get(id, 0) + 1
                present[id] = draw(joins(axes, id, versions[id]))
        return JoinRegistration(tuple(present.values()))

    queries = {id: draw(joins(axes, id)) for id in versions}
    script: list[Item] = [JoinRegistration(tuple(queries.values()))]
    known: tuple[list[Sighting], list[Sighting]] = ([], [])
    whose = draw(st.sampled_from(((0, 1), (1, 0), (0, 1), (1, 0), (0, 1), (0,), (1,))))
    tick = 0
    for n in range(draw(st.sampled_from((9, 8, 7, 5, 3, 1)))):
        if draw(st.integers(0, 5)) == 5:
            script.append(edited(queries, draw(st.integers(1, 2))))
            continue
        side = whose[n % len(whose)] if draw(st.booleans()) else draw(st.sampled_from(whose))
        delivery = draw(side_deliveries(axes, side, tick, known[side], (left, right)[side][1]))
        known[side].extend(delivery.delivery.tuples)
        script.append(delivery)
        tick += draw(st.integers(0, 2))
    late = st.sampled_from((0, 0, TICK, 3 * TICK))
    lateness = draw(late), draw(late)
    return JoinStory(axes, tuple(script), lateness, left[0], (draw(idle), draw(idle)))


def long_story(seed: int, lateness: tuple[int, int] = (0, 0)) -> JoinStory:
    """A history longer than what is drawn: forty deliveries over one axis, many of each thing."""
    random = Random(seed)  # noqa: S311  the same story each time
    versions = {f"q{n}": 1 for n in range(12)}
    axes: Axes = (("x",), ("x",))

    def query(id: str) -> JoinQuery:
        low = random.randint(-8, 8) / 4
        if random.random() < 0.5:
            return band_join(id, low, low + random.randint(0, 4) / 4, version=versions[id])
        apart = random.choice((0.0, 0.25, 1.0))
        tests = (JoinTest(0, apart, "<=", 1, 0.0), JoinTest(1, 0.0, "<=", 0, apart + 0.5))
        within = {"window": random.randint(0, 6) * TICK} if low < 0 else {"last": 1 + int(low * 4)}
        box = Conjunct(((-inf, inf), (-inf, inf)), tests)
        return window_join(id, axes, conjuncts=(box,), version=versions[id], **within)

    def rows(side: int, tick: int) -> SideDelivery:
        seen = []
        for _ in range(random.randint(0, 12)):
            stream = f"{FEEDS[side][0]}{random.randint(0, 9)}"
            ts = ORIGIN + (tick + random.randint(-2, 3)) * TICK
            seen.append(Sighting(stream, ts, (random.randint(-8, 8) / 4,)))
        gone = frozenset(row for row in range(len(seen)) if random.random() < 0.1)
        return SideDelivery(side, FeedDelivery(tuple(seen)), gone)

    queries = {id: query(id) for id in versions}
    script: list[Item] = [JoinRegistration(tuple(queries.values()))]
    for tick in range(40):
        if random.random() < 0.1:
            for id in random.sample(sorted(versions), 3):
                versions[id] += 1
                queries[id] = query(id)
            queries.pop(random.choice(sorted(queries)))
            script.append(JoinRegistration(tuple(queries.values())))
        script.append(rows(random.randint(0, 1), tick))
    return JoinStory(axes, tuple(script), lateness)
