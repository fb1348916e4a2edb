"""Two small stories on real lakes, stage by stage: the same rows however often they are cut off.

Queries are registered; files land, with malformed rows, rows from the future, duplicates, conflicts
and late ones; epochs go in several groups, with tuples that wait and crossings that pend; the
registry changes; a delivery comes late into an old partition; the lake is maintained. In the one
story a feed is crossed, leapt through and matched, by ranges and by regions, in the other two feeds
are joined: in windows, by bands and by how near their streams are.

Many tuples share an instant: those of `ticks` have a sequence, and each stream its own clock; of
`bids` each is a step, of `asks` the first counts.

Law: every stage may be done again after a crash, as a user would.
"""

import os
import random
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from fencepost.times import format_instant, parse_instant
from pipelines import places
from pipelines.execute import task
from pipelines.execute.joins import task as joined
from pipelines.lake.store import Store
from pipelines.project.settings import Settings, load
from pipelines.registry import set_files
from pipelines.registry.changes import QueryChanges
from pipelines.registry.commit import register
from pipelines.registry.query_files import given_one
from pipelines.runs.maintain import maintain
from pipelines.runs.run import run, writing
from pipelines.spark.runner import HereRunner
from tests.support.lakes.builder import new_store
from tests.support.lakes.on_disk import on_disk
from tests.support.stores.servers import S3

NOW = parse_instant("2026-01-09T00:00:00Z")
LAKE = """\
[lake]
path = "lake"
buckets = 2
epoch_rows = {rows}
group = 2
snapshot_every = 2

[run]
runner = "{runner}"
"""
FEED = """
[feeds.{name}]
source = "landing/{name}"
settle = "0s"
partition_in_path = true
{more}
"""
Rules = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Story:
    """What is told: of which feeds, with which rules, and which files land in which stage."""

    feeds: Mapping[str, str]  # and what is declared of each beside the usual
    rules: Rules
    changed: Rules
    removed: tuple[str, ...]
    landings: Mapping[str, Sequence[str]]
    epoch_rows: int = 24

    @property
    def toml(self) -> str:
        """The declaration; who does the work is left open."""
        feeds = [FEED.format(name=name, more=more) for name, more in self.feeds.items()]
        return LAKE.replace("{rows}", str(self.epoch_rows)) + "".join(feeds)


PLACE = 'axes = ["price", "lot"]\nposition = ["price", "lot"]\n'
HOLED = "POLYGON ((1 0, 7 0, 7 5, 1 5, 1 0), (3 1, 5 1, 5 3, 3 3, 3 1))"
CIRCLE = {"circle": {"center": [4, 2], "radius": 2}}
STRIP = {"corridor": {"line": [[0, 0], [8, 5]], "width": 2}}
CROSSED = Story(
    {
        "ticks": PLACE + 'allowed_lateness = "2m"\nlateness_by = "stream"\nidle = "1h"\n'
        'sequence_column = "seq"\npayload = {mark = "long"}'
    },
    {
        "low": {"feed": "ticks", "where": "price < 3", "within": "2m"},
        "middle": {
            "feed": "ticks",
            "where": "price >= 3 AND price < 6",
            "within": "4m",
            "on_first": "enter",
            "leaps": True,
        },
        "high": {"feed": "ticks", "where": "price >= 6"},
        "even": {"feed": "ticks", "kind": "match", "where": "price = 2 OR price = 4"},
        "zone": {"feed": "ticks", "region": HOLED, "within": "3m"},
        "ring": {"feed": "ticks", "kind": "match", "where": "lot > 0", "region": CIRCLE},
    },
    {
        "low": {"feed": "ticks", "where": "price < 2", "within": "2m"},
        "edge": {"feed": "ticks", "where": "price = 5"},
        "even": {"feed": "ticks", "kind": "match", "where": "price = 4 OR price = 6"},
        "zone": {"feed": "ticks", "region": CIRCLE, "within": "3m"},
        "lane": {"feed": "ticks", "region": STRIP, "leaps": True},
    },
    ("high",),
    {
        "taken-in": tuple(f"ticks/2026-01-0{day}-{part}.csv" for day in (1, 2) for part in "ab"),
        "late": (
            "ticks/2026-01-02-c.csv",
            "ticks/2026-01-01-late.csv",
            "ticks/2026-01-03-a.csv",
        ),
    },
)
PAIRED: dict[str, Any] = {"kind": "window_join", "left": "bids", "right": "asks"}
BANDED: dict[str, Any] = {"kind": "band_join", "left": "bids.price", "right": "asks.price"}
BESIDE: dict[str, Any] = {"kind": "near_join", "left": "bids", "right": "asks"}
JOINED = Story(
    {
        "bids": PLACE + 'allowed_lateness = "2m"\nties = "all"',
        "asks": PLACE + 'deleted = "gone"\nties = "first"',
    },
    {
        "near": {**PAIRED, "on": "left.price <= right.price + 2", "window": "9m"},
        "last": {**PAIRED, "on": "left.price > right.price", "window": 3},
        "spread": {**BANDED, "between": [-1, 1]},
        "over": {**BANDED, "between": [2, None]},
        "beside": {**BESIDE, "distance": 2},
    },
    {
        "near": {**PAIRED, "on": "left.price <= right.price + 2", "window": "2m"},
        "spread": {**BANDED, "between": [0, 1]},
        "under": {**BANDED, "between": [None, -2]},
        "beside": {**BESIDE, "distance": 3, "streams": ["u", "v"]},
    },
    ("over",),
    {
        "taken-in": tuple(
            f"{feed}/2026-01-0{day}-{part}.csv"
            for day in (1, 2)
            for feed in ("bids", "asks")
            for part in "ab"
        ),
        "late": (
            "bids/2026-01-02-c.csv",
            "asks/2026-01-01-late.csv",
            "bids/2026-01-03-a.csv",
            "asks/2026-01-03-a.csv",
        ),
    },
    epoch_rows=40,
)
STORIES = {"crossed": CROSSED, "joined": JOINED}
STAGES = ("registered", "taken-in", "registered-again", "late", "maintained")
OWN = ("plan", "bases", "at", "seconds", "code", "found_at", "mtimes", "fingerprint", "choice")
"""Columns that say when, by whom and from where a row was written."""


Tables = Mapping[str, Sequence[str]]


def make(folder: Path, runner: str = "here", story: Story = CROSSED) -> Settings:
    """Make a project with an empty lake."""
    folder.mkdir(parents=True)
    for feed in story.feeds:
        (folder / "landing" / feed).mkdir(parents=True)
    (folder / "fencepost.toml").write_text(story.toml.replace("{runner}", runner))
    settings = load(folder)
    new_store(on_disk(settings.root), settings.axes, settings.buckets)
    return settings


def make_on_store(
    folder: Path, bucket: S3, story: Story = CROSSED, runner: str = "here"
) -> Settings:
    """Make a project whose lake and landing folders are in a bucket."""
    folder.mkdir(parents=True)
    text = story.toml.replace("{runner}", runner)
    text = text.replace('path = "lake"', f'path = "{bucket.uri("lake")}"')
    text = text.replace('source = "', f'source = "{bucket.uri()}/')
    (folder / "fencepost.toml").write_text(text)
    settings = load(folder)
    Store.create(settings.root, settings.tables, buckets=settings.buckets)
    return settings


def told_in(settings: Settings) -> Story:
    """Say which story a project is of."""
    return next(each for each in STORIES.values() if [*each.feeds] == [*settings.feeds])


def do(folder: Path, stage: str) -> None:
    """Do a stage, as a process of its own would: nothing is left over from before."""
    set_files._checked.clear()
    for built in (task._indexes, task._matchers, joined._indexes):
        built.clear()
    settings, runner = load(folder), HereRunner()
    if stage.startswith("registered"):
        story = told_in(settings)
        first = stage == "registered"
        rules, gone = (story.rules, ()) if first else (story.changed, story.removed)
        rows = [
            given_one({"id": name, **fields}, "test", settings.axes, settings.positions)
            for name, fields in rules.items()
        ]
        changes = QueryChanges(pa.concat_tables(rows), pa.array(gone, pa.string()))
        with writing(settings, "test", runner) as (lake, _):
            register(lake.store, settings, changes, NOW)
    elif stage == "maintained":
        with writing(settings, "test", runner) as (lake, _):
            maintain(lake.store, settings, keep_states=1, keep_files=timedelta(days=7))
    else:
        land(folder, stage)
        run(settings, runner)


def land(folder: Path, stage: str) -> None:
    """Let the files of a stage land; those that are there are left alone."""
    settings = load(folder)
    for name in told_in(settings).landings[stage]:
        feed, file = name.split("/")
        path = settings.feeds[feed].source / file
        if not path.exists():
            places.replace(path, "".join(_lines(feed, file)).encode())
            if not places.is_remote(path):
                os.utime(path, ns=(NOW * 1000, NOW * 1000))


def _lines(feed: str, name: str) -> Iterator[str]:
    """Write a file's rows: most are good, some in every way not; of asks some end their stream."""
    draw = random.Random(name if feed == "ticks" else feed + name)  # noqa: S311  the same each time
    begin = parse_instant(f"{name[:10]}T09:00:00Z") + (ord(name[11]) % 4) * 180_000_000
    marked, numbered = feed == "asks", feed == "ticks"
    yield "stream_id,ts,price" + ",gone" * marked + ",lot" + ",seq,mark" * numbered + "\n"
    for k in range(5):
        stream, price = draw.choice("uvw"), draw.randint(0, 8)
        ts = format_instant(begin + draw.randint(-2, 5) * 60_000_000)
        rest = f",{str(draw.random() < 0.2).lower()}" if marked else ""
        rest += f",{(5 * price + k) % 6}"
        rest += f",{draw.randint(0, 9)},{k}" if numbered else ""
        if k % 2 == 0:
            yield f"{stream},{ts},{8 - price}{_next(rest) if numbered else rest}\n"  # a tie
        yield f"{stream},{ts},{price}{rest}\n"
        if k == 1:
            yield f"{stream},{ts},{price}{rest}\n"  # a duplicate
            yield f"{stream},{ts},{price + 1}{rest}\n"  # a conflict
        if k == 2:
            yield f"{stream},{ts},no number{rest}\n"
            yield f"{stream},2100-01-01T00:00:00Z,1{rest}\n"


def _next(numbers: str) -> str:
    """Give the sequence after this one."""
    _, lot, number, mark = numbers.split(",")
    return f",{lot},{int(number) + 1},{mark}"


def rows_of(folder: Path, but: Collection[str] = ()) -> dict[str, list[str]]:
    """Give all rows of all tables, those of a user and of each epoch and generation.

    `but`: columns that are left out, beside those that say when, by whom and from where.

    A registration that was cut off before its rows stood leaves its number behind; so numbers of
    arrivals and registry versions are counted here among those that are done.
    """
    settings = load(folder)
    store = Store.open(settings.root, settings.tables)
    arrivals = store.rows("arrivals").to_pylist()
    abandoned = {row["n"] for row in arrivals if row["reason"] == "abandoned"}
    kept = [row for row in arrivals if row["n"] not in abandoned]
    numbers = {n: k for k, n in enumerate(sorted({row["n"] for row in kept}))}
    versions = {row["registry_version"] for row in kept if row["kind"] == "registry"}
    ranks = {version: k for k, version in enumerate(sorted(versions), 1)}
    counted = _Counted(numbers, {0: 0, None: None, **ranks}, {*OWN, *but})
    tables = {name: store.rows(name).to_pylist() for name in store.tables}
    tables["arrivals"] = kept
    return {name: sorted(map(counted.told, rows)) for name, rows in tables.items()}


class _Counted:
    def __init__(
        self, numbers: dict[int, int], versions: dict[int | None, int | None], but: Collection[str]
    ) -> None:
        self.but = but
        self.numbers = numbers
        self.versions = versions

    def told(self, row: dict[str, Any]) -> str:
        """Write a row down, without what differs from run to run."""
        row = {name: value for name, value in row.items() if name not in self.but}
        if row.get("reason") == "future":
            del row["detail"]  # how far ahead of the clock
        for name in ("n", "arrival"):
            if name in row:
                row[name] = self.numbers[row[name]]
        if "arrivals" in row:
            row["arrivals"] = [self.numbers[n] for n in row["arrivals"]]
        for name in ("registry_version", "registry"):
            if name in row:
                row[name] = self.versions[row[name]]
        return repr(row)


def copied(folder: Path, target: Path) -> Path:
    """Copy a project, times of files and all."""
    return Path(shutil.copytree(folder, target))


def differing(one: Tables, other: Tables) -> list[str]:
    """Name rows that stand on one side only: at most one of each table."""
    found = []
    for name, rows in one.items():
        apart = [*(set(rows) ^ set(other[name]))]
        if apart or len(rows) != len(other[name]):
            found.append(f"{name}: {len(rows)} and {len(other[name])} rows, {apart[:2]}")
    return found
