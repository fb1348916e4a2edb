"""Two feeds against each other, or one against itself: pairs and changes come out.

Law: one delivery after the other, one tuple after the other. A new tuple is compared with
every tuple accepted earlier of the other feed under every window join; the result of every band
join and of every near join is computed again, whole, after every update, and what differs from
before are its changes. A feed that is joined with itself is the left one, and has no other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fencepost.order_rules import AS_THEY_COME, OrderRules
from fencepost.queries.joins import (
    BAND_JOIN,
    WINDOW_JOIN,
    Conjunct,
    JoinQuery,
)
from fencepost.reference import order, shapes
from fencepost.reference.crossings import COMPARES
from fencepost.reference.near import NearChange, NearResult, near_changes, near_result_of
from fencepost.reference.order import Arrival, FeedDelivery, Head, Sighting

LEFT, RIGHT = 0, 1


@dataclass(frozen=True)
class SideDelivery:
    """A delivery of one of the two feeds; `gone` are its rows that take their stream out."""

    side: int
    delivery: FeedDelivery
    gone: frozenset[int] = frozenset()


@dataclass(frozen=True)
class JoinRegistration:
    """A registry commit: the whole set of joins in force for the deliveries after it."""

    queries: tuple[JoinQuery, ...]


class AcceptedTuple(NamedTuple):
    """An accepted tuple, its place among those of its feed, and the registry then in force.

    `ts_place` is its place among those of its stream and ts.
    """

    sighting: Sighting
    place: int
    registry: int
    ts_place: int


class Pair(NamedTuple):
    """A window join's pair, reported at the ts of the later of the two."""

    query_id: str
    version: int
    ts: int
    left: Sighting
    right: Sighting
    delivery: int
    left_place: int = 0
    right_place: int = 0


class Change(NamedTuple):
    """A pair that came into a band join's result (+1), or left it (-1), with its values then.

    Of a registration there is no ts and no place, and the delivery is -1.
    """

    query_id: str
    version: int
    change: int
    left: str
    right: str
    left_value: float
    right_value: float
    ts: int | None
    delivery: int
    place: int | None = None


BandPair = tuple[str, int, str, str]
"""Query id and version, left stream, right stream."""

Result = dict[BandPair, tuple[float, float]]
"""The pairs in the band joins' results, and the values of both streams."""


@dataclass
class FeedHistory:
    """One of the two feeds on its way. `members`: the current values, by stream."""

    axes: tuple[str, ...]
    rules: OrderRules
    heads: dict[str, Head] = field(default_factory=dict)
    members: dict[str, tuple[float, ...]] = field(default_factory=dict)
    waiting: list[Arrival] = field(default_factory=list)
    gone: set[tuple[int, int]] = field(default_factory=set)
    accepted: list[AcceptedTuple] = field(default_factory=list)
    watermark: int | None = None


@dataclass
class JoinRunResult:
    """What a run leaves behind, in the order in which it came about.

    accepted, rejected  by side: (delivery, tuple), (delivery, row, reason)
    affected            (delivery, ts, side, stream, query id): an update and whom it changed
    """

    feeds: tuple[FeedHistory, FeedHistory]
    pairs: list[Pair] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    near_changes: list[NearChange] = field(default_factory=list)
    affected: list[tuple[int, int, int, str, str]] = field(default_factory=list)
    accepted: tuple[list[tuple[int, Sighting]], ...] = field(default_factory=lambda: ([], []))
    rejected: tuple[list[tuple[int, int, str]], ...] = field(default_factory=lambda: ([], []))
    watermarks: list[int | None] = field(default_factory=list)
    result: Result = field(default_factory=dict)
    near_result: NearResult = field(default_factory=dict)


def run_joins(
    axes: tuple[Sequence[str], Sequence[str]],
    script: Iterable[SideDelivery | JoinRegistration],
    rules: tuple[OrderRules, OrderRules] = (AS_THEY_COME, AS_THEY_COME),
    *,
    one: bool = False,
) -> JoinRunResult:
    """Take a script in order, in O(tuples² × queries) and no hurry; of `one` feed its left side."""
    left, right = (FeedHistory(tuple(a), its) for a, its in zip(axes, rules, strict=True))
    rows = JoinRunResult((left, right))
    queries: tuple[JoinQuery, ...] = ()
    registered: dict[tuple[str, int], int] = {}
    registry = number = 0
    for item in script:
        if isinstance(item, JoinRegistration):
            registry += 1
            queries = item.queries
            known = {(q.id, q.version): registry for q in queries}
            registered = {name: registered.get(name, now) for name, now in known.items()}
            register(rows, queries)
            continue
        mark = lowest(rows.feeds, one=one)
        before = tuple(len(feed.accepted) for feed in rows.feeds)
        judge(rows, item, number)
        for sighting, is_gone in release(rows.feeds[item.side]):
            place = headed(rows.feeds[item.side], sighting)
            new = AcceptedTuple(sighting, len(rows.feeds[item.side].accepted), registry, place)
            others = rows.feeds[1 - item.side].accepted
            rows.pairs += [
                pair_of(query, item.side, new, other, number)
                for other in others
                for query in queries
                if query.kind == WINDOW_JOIN
                and joins(query, item.side, new, other)
                and other.registry >= registered[query.id, query.version]
                and in_window(query, new, other, mark, before[1 - item.side])
            ]
            rows.feeds[item.side].accepted.append(new)
            rows.accepted[item.side].append((number, sighting))
            update(rows, queries, item.side, new, number, is_gone=is_gone)
        rows.watermarks.append(lowest(rows.feeds, one=one))
        number += 1
    return rows


# ── admission ─────────────────────────────────────────────────────────────────────────────────────


def judge(rows: JoinRunResult, item: SideDelivery, number: int) -> None:
    """A good tuple waits, for those judged after it too; a faulty one is set aside."""
    feed = rows.feeds[item.side]
    arrivals = [Arrival(s.ts, number, row, s) for row, s in enumerate(item.delivery.tuples)]
    for arrival in sorted(arrivals, key=order.turn):
        seen = arrival.sighting
        reason = order.fault(seen, feed.waiting, feed.heads.get(seen.stream), feed.rules)
        if reason is not None:
            rows.rejected[item.side].append((number, arrival.row, reason))
            continue
        feed.waiting.append(arrival)
        if arrival.row in item.gone:
            feed.gone.add((number, arrival.row))
    good = [arrival for arrival in feed.waiting if arrival.delivery == number]
    feed.watermark = order.moved(feed.watermark, good, feed.rules)


def release(feed: FeedHistory) -> list[tuple[Sighting, bool]]:
    """What its watermark has reached comes in turn; of one ts, if it may wait, by stream."""
    ready = [a for a in feed.waiting if order.is_released(a, mark_of(feed, a.sighting.stream))]
    feed.waiting = [a for a in feed.waiting if a not in ready]
    ready.sort(key=order.turn)
    if feed.rules.lateness:
        ready.sort(key=lambda a: (a.ts, a.sighting.stream))
    return [(a.sighting, (a.delivery, a.row) in feed.gone) for a in ready]


def mark_of(feed: FeedHistory, stream: str) -> int | None:
    """The watermark of a stream: its feed's, or its own."""
    last = feed.heads.get(stream)
    return order.of_stream(stream, feed.watermark, feed.waiting, last, feed.rules)


def headed(feed: FeedHistory, seen: Sighting) -> int:
    """A released tuple is its stream's last; give its place among those of its stream and ts."""
    head = feed.heads[seen.stream] = order.headed(feed.heads.get(seen.stream), seen)
    return head.place


def lowest(feeds: tuple[FeedHistory, FeedHistory], *, one: bool) -> int | None:
    """The lane's watermark is the smaller of its feeds', and none before both have one."""
    if one:
        return feeds[LEFT].watermark
    marks = [feed.watermark for feed in feeds if feed.watermark is not None]
    return min(marks) if len(marks) == len(feeds) else None


# ── window joins ──────────────────────────────────────────────────────────────────────────────────


def joins(query: JoinQuery, side: int, later: AcceptedTuple, earlier: AcceptedTuple) -> bool:
    """A pair joins where the later one is in the query's validity and a conjunct holds for both.

    Each tuple's position is in the region for its side, where there is one.
    """
    begun = query.valid_from is None or query.valid_from <= later.sighting.ts
    ended = query.valid_to is not None and query.valid_to <= later.sighting.ts
    left, right = in_sides(side, later.sighting, earlier.sighting)
    values = (*left.values, *right.values)
    here = all(
        region is None
        or position is None
        or shapes.holds(region, *(seen.values[at] for at in position))
        for region, position, seen in zip(
            query.regions, query.region_axes, (left, right), strict=True
        )
    )
    return begun and not ended and here and any(satisfies(c, values) for c in query.conjuncts)


def satisfies(conjunct: Conjunct, values: Sequence[float]) -> bool:
    """A conjunct holds in its box, where each of its comparisons holds of sums rounded once."""
    return all(lo <= v < hi for (lo, hi), v in zip(conjunct.box, values, strict=True)) and all(
        COMPARES[t.op](plus(values[t.axis], t.plus), plus(values[t.other], t.other_plus))
        for t in conjunct.tests
    )


def plus(value: float, number: float) -> float:
    """With nothing to add a value is itself."""
    return value + number if number else value


def in_window(
    query: JoinQuery, later: AcceptedTuple, earlier: AcceptedTuple, mark: int | None, count: int
) -> bool:
    """The earlier one is in its window: by time, where the watermark counts too, or by count."""
    if query.last is not None and count - earlier.place > query.last:
        return False
    if query.window is None:
        return True
    apart = abs(later.sighting.ts - earlier.sighting.ts)
    is_past = mark is not None and mark > earlier.sighting.ts + query.window
    return apart <= query.window and not is_past


def pair_of(
    query: JoinQuery, side: int, later: AcceptedTuple, earlier: AcceptedTuple, number: int
) -> Pair:
    """A pair names its left tuple first, whichever came later."""
    bare = (replace(each.sighting, sequence=None) for each in (later, earlier))
    left, right = in_sides(side, *bare)
    places = (later.ts_place, earlier.ts_place)[:: 1 if side == LEFT else -1]
    return Pair(query.id, query.version, later.sighting.ts, left, right, number, *places)


def in_sides(side: int, own: Sighting, other: Sighting) -> tuple[Sighting, Sighting]:
    """The tuple of the left feed first."""
    return (own, other) if side == LEFT else (other, own)


# ── band joins ────────────────────────────────────────────────────────────────────────────────────


def register(rows: JoinRunResult, queries: Sequence[JoinQuery]) -> None:
    """Who is new begins with every pair then in; the result of who is gone goes without a word."""
    names = {(q.id, q.version) for q in queries}
    before = {pair: values for pair, values in rows.result.items() if pair[:2] in names}
    rows.result = result_of(rows.feeds, queries)
    rows.changes += changes(before, rows.result, None, -1, None)
    near = {pair: values for pair, values in rows.near_result.items() if pair[:2] in names}
    rows.near_result = near_result(rows.feeds, queries)
    rows.near_changes += near_changes(near, rows.near_result, None, -1, None)


def update(
    rows: JoinRunResult,
    queries: Sequence[JoinQuery],
    side: int,
    new: AcceptedTuple,
    number: int,
    *,
    is_gone: bool,
) -> None:
    """A tuple puts its stream at a new value, or takes it out; the results tell what that did."""
    now, members = new.sighting, rows.feeds[side].members
    members.pop(now.stream, None)
    if not is_gone:
        members[now.stream] = now.values
    before, rows.result = rows.result, result_of(rows.feeds, queries)
    found = changes(before, rows.result, now.ts, number, new.ts_place)
    rows.changes += found
    near, rows.near_result = rows.near_result, near_result(rows.feeds, queries)
    rows.near_changes += near_changes(near, rows.near_result, now.ts, number, new.ts_place)
    changed = dict.fromkeys(change.query_id for change in found)
    rows.affected += [(number, now.ts, side, now.stream, query) for query in changed]


def near_result(feeds: tuple[FeedHistory, FeedHistory], queries: Sequence[JoinQuery]) -> NearResult:
    """Every pair of streams whose current positions are within the distance of a near join."""
    return near_result_of(feeds[LEFT].members, feeds[RIGHT].members, queries)


def result_of(feeds: tuple[FeedHistory, FeedHistory], queries: Sequence[JoinQuery]) -> Result:
    """Every pair of current values whose difference lies in the band, both ends closed."""
    result: Result = {}
    for query in queries:
        if query.kind != BAND_JOIN:
            continue
        rs = current(feeds[LEFT], query.left_axis)
        ss = current(feeds[RIGHT], query.right_axis)
        for left, r in rs.items():
            for right, s in ss.items():
                if query.low <= r - s <= query.high:
                    result[query.id, query.version, left, right] = (r, s)
    return result


def current(feed: FeedHistory, axis: str | None) -> Mapping[str, float]:
    """The current value of every stream on one axis."""
    place = feed.axes.index(axis or "")
    return {stream: values[place] for stream, values in feed.members.items()}


def changes(
    before: Result, after: Result, ts: int | None, number: int, place: int | None
) -> list[Change]:
    """What was in and is not any more, and what is in and was not; what stayed is no change."""
    lost = [(-1, pair, before[pair]) for pair in before if pair not in after]
    gained = [(+1, pair, after[pair]) for pair in after if pair not in before]
    return [
        Change(id, version, change, left, right, r, s, ts, number, place)
        for change, (id, version, left, right), (r, s) in lost + gained
    ]
