"""Histories of a lane, drawn: what was registered, delivered, crossed, evaluated, re-evaluated.

A history is kept as what happened, in order; `laid_out` writes it as the rows that a lake would
have, and adds what must not count: epochs planned and not done, generations that were replaced,
registry commits that never finished.

`visits_of` reads the visits off a history as semantics.md defines them.

Law of what is drawn: the crossings of a (query, version, stream) alternate, a stream's times rise,
no crossing is beyond the watermark of its delivery or its query's validity, and a query crosses
nothing while it is not active.
"""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.support.lakes.ledger import Ledger, at

Visit = tuple[str, int, str, int | None, int | None, str | None]
"""Query, version, stream, entered, left, ended by."""

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
    prev_ts: int


@dataclass
class Standing:
    """A version that is, or was, active."""

    version: int
    valid_to: int | None
    removed: bool = False


@dataclass
class Step:
    """A registry commit (`rows`), or a delivery: its crossings and the watermark after it."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    is_delivery: bool = False
    state: str = "done"
    crossings: list[Crossing] = field(default_factory=list)
    watermark: int = 0
    epoch: int = 0  # 0: it has not been evaluated


@dataclass
class History:
    """What happened, in order; how many epochs are in force; where a newer generation began."""

    steps: list[Step]
    epochs: int
    redone_from: int | None

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
    times = dict.fromkeys(STREAMS, 0)
    watermark = 0
    for _ in range(draw(st.integers(1, 12))):
        if draw(st.integers(0, 3)) == 0:
            steps.append(Step(rows=_registered(draw, stands, watermark)))
            continue
        watermark += draw(st.integers(1, 3))
        step = Step(is_delivery=True, watermark=watermark)
        step.state = draw(st.sampled_from(["done"] * 6 + ["refused"]))
        steps.append(step)
        if step.state == "refused":
            watermark = (
                steps[-2].watermark if len(steps) > 1 and steps[-2].is_delivery else watermark
            )
            continue
        step.crossings = _crossed(draw, stands, last, times, watermark)
    return _evaluated(draw, steps)


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
    times: dict[str, int],
    watermark: int,
) -> list[Crossing]:
    found = []
    for stream in STREAMS:
        if times[stream] == watermark:
            continue
        before, times[stream] = times[stream], draw(st.integers(times[stream] + 1, watermark))
        for query, standing in stands.items():
            out = standing.valid_to is not None and times[stream] >= standing.valid_to
            if standing.removed or out or not draw(st.booleans()):
                continue
            key = query, standing.version, stream
            type_ = {"I": "O", "O": "I"}.get(last.get(key, "")) or draw(st.sampled_from("IO"))
            last[key] = type_
            found.append(Crossing(type_, *key, times[stream], before))
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
    marks: dict[int, int] = {}
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
        for c in step.crossings:
            own = {"query_version": c.version, "prev_ts": at(c.prev_ts), "price": float(c.ts)}
            own |= {"epoch": step.epoch, "generation": generation, "arrival": n}
            ledger.event(c.type, c.query, c.stream, c.ts, **own)
    for epoch, arrivals in members.items():
        more: dict[str, Any] = {"watermark": at(marks[epoch])}
        more["registry_version"] = registries[epoch]
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
    walk = _Walk()
    for step in history.steps:
        if step.is_delivery:
            walk.deliver(step)
        for row in step.rows:
            walk.register(row)
    for query, version in walk.valid_to:
        walk.end(query, version)
    return [*walk.told, *((*key, since, None, None) for key, since in walk.inside.items())]


@dataclass
class _Walk:
    """A walk through a history; `held_up`: a delivery has been passed that is not evaluated."""

    told: list[Visit] = field(default_factory=list)
    inside: dict[tuple[str, int, str], int] = field(default_factory=dict)
    valid_to: dict[tuple[str, int], int | None] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)
    watermark: int = 0
    held_up: bool = False

    def deliver(self, step: Step) -> None:
        if not step.epoch:
            self.held_up |= step.state == "done"
            return
        self.watermark = step.watermark
        for c in step.crossings:
            key = c.query, c.version, c.stream
            if c.type == "I":
                self.inside[key] = c.ts
            else:
                self.told.append((*key, self.inside.pop(key, None), c.ts, "crossing"))

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
        over = until is not None and until <= self.watermark
        for key in [key for key in self.inside if key[:2] == (query, version)]:
            if over or removed:
                left, how = (until, "valid_to") if over else (self.watermark, "removal")
                self.told.append((*key, self.inside.pop(key), left, how))
