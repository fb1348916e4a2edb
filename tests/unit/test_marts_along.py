"""Marts along the life of a lake: refreshed now and then, cut off, and refreshed again.

Two feeds get epochs in turn; queries end; epochs are evaluated again from an earlier one on, with
other crossings. After each refresh that came to its end a mart holds what its view shows then, and
one that was cut off left all of the rows before or all of the rows after.
"""

import random
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest

from pipelines.lake.crash_points import on_point
from pipelines.serve.marts import MartReport, refresh
from schemas.marts import MARTS
from tests.support.lakes.ledger import AXES, Ledger, at
from tests.support.lakes.mart_lake import Town

QUERIES = {"ticks": ("p", "q"), "locations": ("z",)}
STREAMS = ("a", "b", "c", "d")
POINTS = ("written", "committed")


class Cut(BaseException):
    """A refresh ends here, as if it was killed."""


class Life:
    """A lake whose rows are drawn, and written as they come."""

    def __init__(self, root: Path, seed: int) -> None:
        self.draw = random.Random(seed)  # noqa: S311
        self.ledger = Ledger()
        self.clock = 0.0
        self.epochs: dict[str, list[tuple[int, list[int]]]] = {feed: [] for feed in QUERIES}
        self.crossings: dict[str, list[tuple[int, str, str, str, float]]] = {f: [] for f in QUERIES}
        self.ends: set[str] = set()
        self.ledger.register(
            *(
                {"id": q, "feed": f, "valid_to": at(30) if q == "q" else None}
                for f, ids in QUERIES.items()
                for q in ids
            )
        )
        self.ledger.written(root)
        self.written = {name: len(rows) for name, rows in self.ledger.rows.items()}
        self.town = Town(root)

    def write(self) -> None:
        """Append what is new, the ledgers last."""
        for name in sorted(self.ledger.rows, key=lambda name: name in ("arrivals", "epochs")):
            rows = self.ledger.rows[name][self.written.get(name, 0) :]
            if rows:
                more = Ledger()
                more.rows[name] = rows
                self.town.append(name, more)
                self.written[name] = len(self.ledger.rows[name])

    def epoch(self, feed: str) -> None:
        """One more epoch, with a few crossings or none."""
        number = len(self.epochs[feed]) + 1
        generation = self.epochs[feed][-1][0] if self.epochs[feed] else 1
        inside = {c[1:3] for c in self.inside(feed)}
        for _ in range(self.draw.randrange(5)):
            self.clock += 1.0
            query, stream = self.draw.choice(QUERIES[feed]), self.draw.choice(STREAMS)
            if query in self.ends or (query == "q" and self.clock >= 30):
                continue
            type_ = "O" if (query, stream) in inside or self.draw.random() < 0.1 else "I"
            inside ^= {(query, stream)} if type_ == "I" or (query, stream) in inside else set()
            self.crossings[feed].append((number, query, stream, type_, self.clock))
        self.happened(feed, number, generation, [self.ledger.arrive(feed)])

    def happened(self, feed: str, number: int, generation: int, arrivals: list[int]) -> None:
        """Write down an epoch, and its crossings of these days."""
        self.epochs[feed][number - 1 :] = [(generation, arrivals)]
        for epoch, query, stream, type_, ts in self.crossings[feed]:
            if epoch == number:
                own = {"epoch": epoch, "generation": generation, "arrival": arrivals[0]}
                self.ledger.event(type_, query, stream, ts, feed=feed, **own)
        self.clock += 0.5
        self.ledger.epoch(feed, number, arrivals, generation, watermark=at(self.clock))

    def inside(self, feed: str) -> list[tuple[int, str, str, str, float]]:
        """The last crossings that are an I."""
        last = {c[1:3]: c for c in self.crossings[feed]}
        return [c for c in last.values() if c[3] == "I"]

    def again(self, feed: str) -> None:
        """Evaluate again, from some epoch on: a stream crosses nothing any more."""
        if not self.epochs[feed]:
            return
        since, gone = self.draw.randint(1, len(self.epochs[feed])), self.draw.choice(STREAMS)
        self.crossings[feed] = [c for c in self.crossings[feed] if c[0] < since or c[2] != gone]
        former = self.epochs[feed][since - 1 :]
        for place, (generation, arrivals) in enumerate(former):
            self.happened(feed, since + place, generation + 1, arrivals)

    def end(self) -> None:
        """Remove a query."""
        query = self.draw.choice(["p", "z"])
        if query not in self.ends:
            self.ends.add(query)
            feed = next(f for f, ids in QUERIES.items() if query in ids)
            self.ledger.register({"id": query, "feed": feed, "removed": True})

    def refresh(self, feed: str) -> list[MartReport]:
        return refresh(self.town.settings, feed, self.draw.sample([*MARTS], len(MARTS)))

    def agrees(self, feed: str) -> bool:
        pairs = [(mart, feed) for mart in MARTS]
        return [self.town.holds(*pair) for pair in pairs] == self.town.all_shown(*pairs)


def cut(life: Life, feed: str) -> None:
    """Refresh until a point; each mart then has the rows before or the rows after."""
    town, place = life.town, f"marts.{life.draw.choice([*MARTS])}.{life.draw.choice(POINTS)}"
    before = {mart: town.holds(mart, feed) for mart in MARTS}
    after = dict(zip(MARTS, town.all_shown(*((mart, feed) for mart in MARTS)), strict=True))

    def hook(name: str) -> None:
        if name == place:
            raise Cut

    off = on_point(hook)
    try:
        with suppress(Cut):
            life.refresh(feed)
    finally:
        off()
    for mart in MARTS:
        assert town.holds(mart, feed) in (before[mart], after[mart]), (mart, place)


def goes_on(root: Path, seed: int, rounds: int) -> list[str]:
    """Let a life go on; give what each refresh read."""
    life, hows = Life(root, seed), []
    for feed in AXES:
        life.refresh(feed)
    with mock.patch("pipelines.serve.marts.content.FAN", 3):
        for _ in range(rounds):
            for _ in range(life.draw.randint(1, 2)):
                what = life.draw.choice([life.epoch] * 8 + [life.again])
                what(life.draw.choice([*AXES]))
            if life.draw.random() < 0.15:
                life.end()
            life.write()
            feed = life.draw.choice([*AXES])
            if life.draw.random() < 0.3:
                cut(life, feed)
            hows += [report.how for report in life.refresh(feed)]
            assert life.agrees(feed), hows
    return hows


def test_along_a_life_marts_hold_what_their_views_show(tmp_path):
    assert any("came after" in how for how in goes_on(tmp_path / "lake", 1, rounds=4))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 30))
def test_along_many_lives_marts_hold_what_their_views_show(tmp_path, seed):
    assert any("came after" in how for how in goes_on(tmp_path / "lake", seed, rounds=9))
