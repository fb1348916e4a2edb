"""The day that `make demo` plays: a market's trades, a town's vehicles, the rules that watch them.

It is 2026-11-17: the market is open from 8 to 16 o'clock, the vehicles are out for 24 hours. A file
holds an hour. A few rows are as rows are in life: late, twice, contradictory, torn, or from a clock
that is decades ahead.

Law: the same scale gives the same rows, and `dirt` says how many of them end in quarantine, and
why. A file is whole or it is not there, and the record of the day is complete when the day is.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from examples.demo import rules as demo_rules
from examples.demo.rules import scaled
from fencepost.errors import StateError
from fencepost.times import SECOND, parse_instant
from fencepost.tuples import Bools, Int64s, TupleBatch
from pipelines.disk.atomic import replacing
from pipelines.files.write.target import opened
from pipelines.files.write.text import csv_pieces
from pipelines.progress import Progress
from pipelines.project.settings import Settings
from pipelines.workloads import Market, RoadNetwork, TownDay, town
from pipelines.workloads.draws import Draws
from pipelines.workloads.files import rounded
from pipelines.workloads.globe import tuples_on_earth

DATE = "2026-11-17"
MIDNIGHT = parse_instant(f"{DATE}T00:00:00Z")
HOUR = 3600 * SECOND
OPENS, CLOSES = 8, 16
SYMBOLS, VEHICLES, GARAGES = 300, 2_000, 60
TRADES = 8_000
"""Of a symbol in the day, a few more or less."""

FEEDS = ("ticks", "locations")
SEED = 17
LATE, DUPLICATE, CONFLICT = 400, 85, 10
"""So many in a million."""

TORN = 3
"""Malformed rows in a file, and as many from clocks that are ahead."""

AHEAD = "2062"
NAME = re.compile(rf"{DATE}T\d\d\.csv\.gz")
"""How the files of an hour are called."""

RECORD = ".demo.json"
EDITION = 2
"""Counts up when the day's rows change."""


@dataclass(frozen=True)
class HourFile:
    """An hour of a feed as it lands: its name, its content, and how many rows it has."""

    name: str
    content: bytes
    rows: int


@dataclass(frozen=True)
class Feed:
    """What was made of a feed: rows by what is to become of them, streams, rules, and the files."""

    rows: int
    streams: int
    rules: int
    dirt: Mapping[str, int]
    files: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Laid:
    """The record of a day whose files were written."""

    edition: int
    scale: float
    feeds: Mapping[str, Feed]

    def keys(self, feed: str) -> list[str]:
        """Give the hours of a feed, as partitions are called."""
        return sorted(name.removesuffix(".csv.gz") for name in self.feeds[feed].files)


@dataclass(frozen=True)
class DemoDay:
    """The day at a scale: 1 is 2.4 million trades of 300 symbols and 1.2 million positions.

    files   10 s for all of them, 45 MB

    scale   the part of the symbols, vehicles and rules; a stream has as many tuples at any scale
    """

    scale: float = 1.0

    @cached_property
    def roads(self) -> RoadNetwork:
        """The town's roads."""
        return town(SEED)

    @cached_property
    def market(self) -> Market:
        """Who trades, and how."""
        return Market(
            symbols=max(4, scaled(SYMBOLS, self.scale)),
            length=TRADES,
            interval=(CLOSES - OPENS) * HOUR // TRADES,
            start=MIDNIGHT + OPENS * HOUR,
            seed=SEED,
        )

    @cached_property
    def town(self) -> TownDay:
        """Who drives, and where the garages are."""
        return TownDay(
            vehicles=max(20, scaled(VEHICLES, self.scale)),
            garages=max(5, scaled(GARAGES, self.scale)),
            start=MIDNIGHT,
            seed=SEED,
        )

    def tuples(self, feed: str) -> TupleBatch:
        """The good rows of a feed, in time order, as they would be without any dirt."""
        if feed == "locations":
            return tuples_on_earth(rounded(self.town.tuples(self.roads), 2))
        traded = self.market.tuples()
        return traded.take(traded.ts < MIDNIGHT + CLOSES * HOUR)

    def rules(self, feed: str) -> list[demo_rules.Rule]:
        """The rules that watch a feed."""
        if feed == "locations":
            return list(demo_rules.of_locations(self.town, self.roads, self.scale, SEED))
        return list(demo_rules.of_ticks(self.market, self.scale, SEED))

    def landing(self, feed: str) -> "Landing":
        """The files of a feed, with their dirt."""
        return Landing(self.tuples(feed), self.scale)


class Landing:
    """A feed's rows parted into the files of its hours, and what is wrong with some of them."""

    def __init__(self, tuples: TupleBatch, scale: float) -> None:
        """Choose the rows that go wrong, each in one way."""
        self.tuples = tuples
        self.draws = Draws(SEED, f"dirt of {tuples.feed}")
        self.hour = (tuples.ts - MIDNIGHT) // HOUR
        self.hours = list(range(int(self.hour[0]), int(self.hour[-1]) + 1))
        self.torn = scaled(TORN, scale)
        wrong = [len(tuples) * part // 10**6 for part in (LATE, DUPLICATE, CONFLICT)]
        chosen = self.draws.order(len(tuples))[: sum(wrong)]
        late, self.duplicate, self.conflict = np.split(chosen, np.cumsum(wrong)[:2])
        self.late = late[self._can_be_late(late)]

    @property
    def dirt(self) -> dict[str, int]:
        """Say how many rows are to end in quarantine, by reason."""
        return {
            "late": len(self.late),
            "duplicate": len(self.duplicate),
            "conflict": len(self.conflict),
            "malformed": self.torn * len(self.hours),
            "future": self.torn * len(self.hours),
        }

    @property
    def rows(self) -> int:
        """Say how many rows the files have."""
        more = self.dirt
        return len(self.tuples) + sum(more[why] for why in more if why != "late")

    def files(self) -> Iterator[HourFile]:
        """Give each hour's file."""
        is_late = np.zeros(len(self.tuples), np.bool_)
        is_late[self.late] = True
        for hour in self.hours:
            own = np.flatnonzero((self.hour == hour) & ~is_late)
            before = np.flatnonzero((self.hour == hour - 1) & is_late)
            lines = self._with_torn(self._lines(np.concatenate([before, own])), hour)
            yield HourFile(f"{DATE}T{hour:02}.csv.gz", b"".join(lines), len(lines) - 1)

    def _can_be_late(self, rows: Int64s) -> Bools:
        """Say which rows have a later one of their stream in the same hour, and an hour to follow.

        Another row that goes wrong may be that later one; it is accepted all the same, or at least
        its equal is, unless it is late itself. So the stream's last four of an hour are left alone.
        """
        of_hour = self.tuples.stream.astype(np.int64) * 24 + self.hour
        order = np.argsort(of_hour[::-1], kind="stable")  # the last of each first
        sorted_rows = len(of_hour) - 1 - order
        group = of_hour[sorted_rows]
        begins = np.r_[True, group[1:] != group[:-1]]
        first = np.maximum.accumulate(np.where(begins, np.arange(len(group)), 0))
        from_last = np.empty(len(group), np.int64)
        from_last[sorted_rows] = np.arange(len(group)) - first
        return np.asarray((from_last[rows] >= 4) & (self.hour[rows] < self.hours[-1]), np.bool_)

    def _lines(self, rows: Int64s) -> list[bytes]:
        """Write rows, those that come twice and those that contradict themselves."""
        twice = np.isin(rows, self.duplicate)
        other = np.isin(rows, self.conflict)
        repeated = np.repeat(rows, 1 + twice + other)
        again = np.r_[False, repeated[1:] == repeated[:-1]]
        contradicts = again & np.repeat(other, 1 + twice + other)
        tuples = self.tuples
        values = tuples.values[:, repeated]
        values[0, contradicts] += 1.0
        columns = {
            "stream_id": tuples.names.take(pa.array(tuples.stream[repeated])),
            "ts": pa.array(tuples.ts[repeated]).cast(pa.timestamp("us", tz="UTC")),
        }
        columns |= {
            axis: pa.array(column) for axis, column in zip(tuples.axes, values, strict=True)
        }
        return b"".join(csv_pieces(pa.table(columns))).splitlines(keepends=True)

    def _with_torn(self, lines: list[bytes], hour: int) -> list[bytes]:
        """Put in rows that cannot be read, and some of the wrong century, here and there."""
        for k, place in enumerate(self.draws.below(len(lines) - 1, 2 * self.torn).tolist()):
            given = lines[1 + place].rstrip(b"\n").split(b",")
            bad = _ahead(given) if k < self.torn else _torn(given, k + hour)
            lines.insert(2 + place, b",".join(bad) + b"\n")
        return lines


def _ahead(fields: list[bytes]) -> list[bytes]:
    stream, ts, *values = fields
    return [stream, AHEAD.encode() + ts[4:], *values]


def _torn(fields: list[bytes], kind: int) -> list[bytes]:
    """Tear a row in one of five ways."""
    stream, ts, first, *others = fields
    ways = (
        [stream, ts, b"", *others],
        [stream, ts, b"NaN", *others],
        [b"", ts, first, *others],
        [stream, ts[:10], first, *others],
        [stream, ts, first],
    )
    return ways[kind % len(ways)]


def lay_down(day: DemoDay, settings: Settings, progress: Progress) -> Laid:
    """Write the files of the day where they land, and the rules, unless they exist already.

    StateError where the files of another day, or of this one at another scale, exist.
    """
    before = laid(settings)
    if before is not None and is_all_there(before, settings, day.scale):
        return before
    feeds: dict[str, Feed] = {}
    write_record(settings, Laid(EDITION, day.scale, feeds))  # so that these files have an owner
    for name in FEEDS:
        progress(f"making a day of {name}", 0.0)
        landing = day.landing(name)
        files = {}
        for done, file in enumerate(landing.files(), 1):
            path = _folder(settings, name) / file.name
            write(path, file.content)
            files[file.name] = path.stat().st_size
            progress(f"writing a day of {name}", done / len(landing.hours))
        rules = day.rules(name)
        write(rules_folder(settings) / f"{name}.jsonl", demo_rules.lines(iter(rules)))
        streams = len(landing.tuples.names)
        feeds[name] = Feed(landing.rows, streams, len(rules), landing.dirt, files)
    made = Laid(EDITION, day.scale, feeds)
    write_record(settings, made)
    return made


def laid(settings: Settings) -> Laid | None:
    """Read the record of the day whose files are in a project."""
    try:
        said = json.loads(record(settings).read_bytes())
        feeds = {name: Feed(**given) for name, given in said["feeds"].items()}
        return Laid(said["edition"], said["scale"], feeds)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as why:
        raise StateError(
            f"{record(settings)} is no record of a demo's day: {why}. Delete it, and the day is "
            "written anew"
        ) from None


def is_all_there(made: Laid, settings: Settings, scale: float) -> bool:
    """Say whether every file of a record is still there; refuse a record of another day."""
    if (made.edition, made.scale) != (EDITION, scale):
        raise StateError(
            f"{record(settings).parent} holds a demo's day at scale {made.scale:g} (edition "
            f"{made.edition}), and scale {scale:g} (edition {EDITION}) is asked for: give a folder "
            "of its own, as in `make demo ARGS=another-folder`"
        )
    paths = [
        (_folder(settings, name) / file, size)
        for name, feed in made.feeds.items()
        for file, size in feed.files.items()
    ]
    rules = [rules_folder(settings) / f"{name}.jsonl" for name in FEEDS]
    return (
        set(made.feeds) == set(FEEDS)
        and all(path.is_file() for path in rules)
        and all(path.is_file() and path.stat().st_size == size for path, size in paths)
    )


def record(settings: Settings) -> Path:
    """Give the path of the record: beside the landing folders, where ingest ignores it."""
    return _folder(settings, "ticks").parent / RECORD


def _folder(settings: Settings, feed: str) -> Path:
    """Give where a feed's files land, which in the demo is a folder."""
    source = settings.feeds[feed].source
    assert isinstance(source, Path)
    return source


def rules_folder(settings: Settings) -> Path:
    """Give the folder of the project's rules."""
    if settings.queries is None:
        raise StateError('[lake] queries: the demo needs a folder for its rules, as in "rules"')
    return settings.queries


def write_record(settings: Settings, made: Laid) -> None:
    """Write the record; without feeds while the files are still being written."""
    write(record(settings), json.dumps(asdict(made), indent=1).encode())


def write(path: Path, content: bytes) -> None:
    """Write a file under a name that ingest passes over, then give it its own; .gz is packed."""
    packed = path.suffix == ".gz"
    with replacing(path) as (passing,), opened(passing, packed=packed, level=1) as file:
        file.write(content)
