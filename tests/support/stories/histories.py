"""Histories of a lane, drawn: what was registered, delivered, crossed, evaluated, re-evaluated.

A history is kept as what happened, in order; `laid_out` writes it as the rows that a lake would
have, and adds what must not count: epochs planned and not done, generations that were replaced,
registry commits that never finished.

`visits_of` reads the visits off a history as semantics.md defines them.

Law of what is drawn: the crossings of a (query, version, stream) alternate, a stream's tuples rise
in (ts, place), often at one instant, no crossing is beyond the watermark of its delivery or its
query's validity, and a query crosses nothing while it is not active. Where each stream has its own
clock, a tuple of it has come that is newer by the allowed lateness.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.support.lakes.ledger import Ledger, at

Visit = tuple[str, int, str, int | None, int | None, str | None, int | None, int | None]
"""Query, version, stream, entered, left, ended by; the places of the I and of the O."""

Tuple = tuple[int, int]
"""Of a stream: ts and place."""

STREAMS = ("a", "b")
IDS = ("p", "q")
FEED = "ticks"


@dataclass(frozen=True)
class Crossing:
    """One event of a delivery."""

    type: str
    query: str
    version: int
    stream: str
    ts: int
    place: int
    prev_ts: int


@dataclass
class Standing:
    """A version that is, or was, active."""

    version: int
    valid_to: int | None
    removed: bool = False


@dataclass(frozen=True)
class OwnClocks:
    """Each stream waits for its own clock: its newest tuple's time less the lateness."""

    lateness: int
    idle: int

    @property
    def declared(self) -> str:
        """The record of an epoch that was judged so."""
        own = {"ties": "all", "allowed_lateness": self.lateness * 10**6}
        return json.dumps({FEED: own | {"lateness_by": "stream", "idle": self.idle * 10**6}})


@dataclass
class Step:
    """A registry commit (`rows`), or a delivery: its crossings and the watermark after it.

    `newest` are the times of the tuples that it brought, where streams have clocks of their own.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    is_delivery: bool = False
    state: str = "done"
    crossings: list[Crossing] = field(default_factory=list)
    newest: list[tuple[str, int]] = field(default_factory=list)
    watermark: int | None = 0
    epoch: int = 0  # 0: it has not been evaluated


@dataclass
class History:
    """What happened, in order; how many epochs are in force; where a newer generation began."""

    steps: list[Step]
    epochs: int
    redone_from: int | None
    clocks: OwnClocks | None = None

    @property
    def in_force(self) -> list[Crossing]:
        """The crossings that count."""
        return [c for step in self.steps if step.epoch for c in step.crossings]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw a history of up to twelve steps."""
    steps: list[Step] = []
    stands: dict[str, Standing] = {}
    last: dict[tuple[str, int, str], str] = {}
    times: dict[str, Tuple] = dict.fromkeys(STREAMS, (0, 0))
    watermark = largest = 0
    clocks = draw(st.none() | st.builds(OwnClocks, st.integers(0, 2), st.integers(0, 4)))
    for _ in range(draw(st.integers(1, 12))):
        if draw(st.integers(0, 3)) == 0:
            steps.append(Step(rows=_registered(draw, stands, watermark)))
            continue
        further = watermark + draw(st.integers(1, 3))
        step = Step(is_delivery=True, watermark=further)
        step.state = draw(st.sampled_from(["done"] * 6 + ["refused"]))
        steps.append(step)
        if step.state == "refused":
            continue
        watermark = further
        step.crossings = _crossed(draw, stands, last, times, watermark)
        if clocks is not None:
            seen = {c.stream: c.ts + clocks.lateness for c in step.crossings}
            ahead = draw(st.lists(st.sampled_from(STREAMS), unique=True))
            step.newest = [*seen.items(), *((name, watermark + clocks.lateness) for name in ahead)]
            largest = max([largest, *(ts for _, ts in step.newest)])
            step.watermark = largest - clocks.idle
    history = _evaluated(draw, steps)
    history.clocks = clocks
    return history


def _registered(
    draw: st.DrawFn, stands: dict[str, Standing], watermark: int
) -> list[dict[str, Any]]:
    rows = []
    for query in draw(st.sets(st.sampled_from(IDS), min_size=1)):
        known = stands.get(query)
        does = draw(st.sampled_from(["put", "edit", "remove"]))
        if known is None or known.removed or does == "put":
            valid_to = draw(st.none() | st.integers(watermark + 1, watermark + 6))
            stands[query] = known = Standing((known.version if known else 0) + 1, valid_to)
        elif does == "remove":
            known.removed = True
        row = {"id": query, "version": known.version, "removed": known.removed}
        rows.append({**row, "valid_to": at(known.valid_to), "note": draw(st.sampled_from("xyz"))})
    return rows


def _crossed(
    draw: st.DrawFn,
    stands: dict[str, Standing],
    last: dict[tuple[str, int, str], str],
    times: dict[str, Tuple],
    watermark: int,
) -> list[Crossing]:
    found = []
    for stream in draw(st.lists(st.sampled_from(STREAMS), max_size=5)):
        before, place = times[stream]
        ts = draw(st.just(before) | st.integers(before, watermark))
        times[stream] = ts, place + 1 if ts == before else 0
        for query, standing in stands.items():
            out = standing.valid_to is not None and ts >= standing.valid_to
            if standing.removed or out or not draw(st.booleans()):
                continue
            key = query, standing.version, stream
            type_ = {"I": "O", "O": "I"}.get(last.get(key, "")) or draw(st.sampled_from("IO"))
            last[key] = type_
            found.append(Crossing(type_, *key, *times[stream], before))
    return found


def _evaluated(draw: st.DrawFn, steps: list[Step]) -> History:
    """Put deliveries into epochs, in order, none of which spans a registration; stop somewhere."""
    epochs, open_ = 0, False
    for step in steps:
        if not step.is_delivery:
            open_ = False
        elif step.state == "done":
            if not open_ or draw(st.booleans()):
                if draw(st.integers(0, 7)) == 0:
                    break
                epochs, open_ = epochs + 1, True
            step.epoch = epochs
    redone = draw(st.none() | st.integers(1, epochs)) if epochs else None
    return History(steps, epochs, redone)


def laid_out(history: History) -> Ledger:
    """Write a history as the rows of a lake, with much beside it that does not count."""
    ledger = Ledger({FEED: ("price",)})
    members: dict[int, list[int]] = {}
    marks: dict[int, int | None] = {}
    registries: dict[int, int] = {}
    for step in history.steps:
        if not step.is_delivery:
            ledger.register(*step.rows)
            continue
        n = ledger.arrive(FEED, step.state)
        if not step.epoch:
            continue
        members.setdefault(step.epoch, []).append(n)
        marks[step.epoch] = step.watermark
        registries.setdefault(step.epoch, ledger.registry)
        generation = _generation(history, step.epoch)
        for stream, ts in step.newest:
            ledger.add(FEED, stream_id=stream, ts=at(ts), arrival=n)
        for c in step.crossings:
            own = {"query_version": c.version, "prev_ts": at(c.prev_ts), "price": float(c.ts)}
            own["place"] = c.place or (None if c.ts % 2 else 0)
            own |= {"epoch": step.epoch, "generation": generation, "arrival": n}
            ledger.event(c.type, c.query, c.stream, c.ts, **own)
    for epoch, arrivals in members.items():
        more: dict[str, Any] = {"watermark": at(marks[epoch])}
        more["registry_version"] = registries[epoch]
        more["declared"] = history.clocks and history.clocks.declared
        ledger.epoch(FEED, epoch, arrivals, _generation(history, epoch), **more)
        if history.redone_from is not None and epoch >= history.redone_from:
            ledger.epoch(FEED, epoch, arrivals, **more)
            _nonsense(ledger, epoch, generation=1)
    _add_unfinished(ledger, history)
    return ledger


def _generation(history: History, epoch: int) -> int:
    redone = history.redone_from
    return 1 if redone is None or epoch < redone else 2


def _nonsense(ledger: Ledger, epoch: int, generation: int) -> None:
    for type_, second in (("I", 0.25), ("O", 0.75)):
        for query in IDS:
            ledger.event(type_, query, "a", 90 + second, epoch=epoch, generation=generation)


def _add_unfinished(ledger: Ledger, history: History) -> None:
    """An epoch that was planned and is not done, and a registry commit that never finished."""
    epoch = history.epochs + 1
    generation = _generation(history, epoch)
    ledger.epoch(FEED, epoch, [], generation, watermark=at(99), state="planned")
    _nonsense(ledger, epoch, generation)
    for state in ("refused", "planned"):
        gone = [{"id": query, "version": 1, "removed": True} for query in IDS]
        ledger.register(*gone, state=state)


def visits_of(history: History) -> list[Visit]:
    """Walk through a history, and note who is inside what from when to when."""
    walk = _Walk(history.clocks)
    for step in history.steps:
        if step.is_delivery:
            walk.deliver(step)
        for row in step.rows:
            walk.register(row)
    for query, version in walk.valid_to:
        walk.end(query, version)
    inside = walk.inside.items()
    return [*walk.told, *((*key, ts, None, None, place, None) for key, (ts, place) in inside)]


@dataclass
class _Walk:
    """A walk through a history; `held_up`: a delivery has been passed that is not evaluated."""

    clocks: OwnClocks | None
    told: list[Visit] = field(default_factory=list)
    newest_of: dict[str, int] = field(default_factory=dict)
    inside: dict[tuple[str, int, str], Tuple] = field(default_factory=dict)
    valid_to: dict[tuple[str, int], int | None] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)
    watermark: int | None = 0
    held_up: bool = False

    def deliver(self, step: Step) -> None:
        if not step.epoch:
            self.held_up |= step.state == "done"
            return
        self.watermark = step.watermark
        for stream, ts in step.newest:
            self.newest_of[stream] = max(ts, self.newest_of.get(stream, ts))
        for c in step.crossings:
            key = c.query, c.version, c.stream
            if c.type == "I":
                self.inside[key] = c.ts, c.place
            else:
                entered, place = self.inside.pop(key, (None, None))
                self.told.append((*key, entered, c.ts, "crossing", place, c.place))

    def register(self, row: dict[str, Any]) -> None:
        query, version = row["id"], row["version"]
        known = self.newest.get(query)
        ends = known is not None and (row["removed"] or version > known)
        if known is not None and ends and not self.held_up:
            self.end(query, known, removed=True)
        self.newest[query] = version
        until = row["valid_to"]
        self.valid_to[query, version] = until and int((until - at(0)).total_seconds())

    def end(self, query: str, version: int, *, removed: bool = False) -> None:
        """End the visits to a version that was removed, or whose validity is over."""
        until = self.valid_to[query, version]
        for key in [key for key in self.inside if key[:2] == (query, version)]:
            mark = self.mark_of(key[2])
            over = until is not None and until <= mark
            if over or removed:
                left, how = (until, "valid_to") if over else (mark, "removal")
                entered, place = self.inside.pop(key)
                self.told.append((*key, entered, left, how, place, None))

    def mark_of(self, stream: str) -> int:
        """The watermark of a stream that has crossed: the lane's, or its own if that is further."""
        assert self.watermark is not None
        if self.clocks is None:
            return self.watermark
        return max(self.watermark, self.newest_of[stream] - self.clocks.lateness)
