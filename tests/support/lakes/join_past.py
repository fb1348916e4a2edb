"""A lake of two feeds with a past, from files: joins, deliveries of both, and faults in them.

A past is a list of what happened. `reference` reads it as the contract says, `play` replays it on
a lake; `told` gives the lake's rows in the form of the reference's.

Law: however a past is cut into runs and epochs, and in whichever runner, a lake has the same rows.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fencepost.queries import read_queries_jsonl
from fencepost.queries.joins import BAND_JOIN, JoinQuery
from fencepost.reference import (
    FeedDelivery,
    JoinRegistration,
    JoinRunResult,
    SideDelivery,
    Sighting,
    run_joins,
)
from pipelines.epochs.drive import Lake
from pipelines.planning.plan import Limits
from pipelines.project.settings import Settings
from pipelines.spark.runner import Runner
from tests.support.lakes import builder
from tests.support.lakes.builder import SECOND, Rule, evaluate, instant, rows_of
from tests.support.lakes.join_story_lake import (
    FEEDS,
    LANE,
    JoinWay,
    places,
    shared_out,
    told_changes,
    told_pairs,
    us,
    with_a_delivery,
)
from tests.support.stories.join_stories import rules_of

BEGIN = 1_767_225_600 * SECOND  # 2026-01-01T00:00:00Z
NOW = BEGIN + 86_400 * SECOND
AXES = (("price", "volume"), ("price",))
AXES_OF = dict(zip(FEEDS, AXES, strict=True))
STREAMS = ("AAPL", "ACME", "naïve ' id")
BOTH_LATE = (2 * SECOND, SECOND)

PAIRED: Rule = {"kind": "window_join", "left": "bids", "right": "asks"}
BANDED: Rule = {"kind": "band_join", "left": "bids.price", "right": "asks.price"}

RULES: tuple[Rule, ...] = (
    {"id": "at once", **PAIRED, "on": "left.price = right.price", "window": "0s"},
    {
        "id": "near",
        **PAIRED,
        "on": "left.price >= right.price - 0.5 AND left.price <= right.price + 0.5",
        "where": "left.volume > 20 OR right.price < 100",
        "window": "8s",
    },
    {"id": "one's; DROP", **PAIRED, "on": "left.price > right.price", "window": 3},
    {"id": "spread", **BANDED, "between": [-0.5, 0.5]},
    {"id": "over", **BANDED, "between": [1, None]},
    {"id": "large", **BANDED, "left": "bids.volume", "between": [None, -40]},
)
LATER: tuple[Rule, ...] = (
    {"id": "near", **PAIRED, "on": "left.price = right.price + 0.5", "window": "5s"},
    {"id": "spread", **BANDED, "between": [0, 0.5]},
    {"id": "fresh", **BANDED, "between": [-1, -1]},
    {"id": "bounded", **PAIRED, "on": "left.price <= right.price", "window": 2},
)
REMOVED = ("over",)


@dataclass(frozen=True)
class Landing:
    """A file, and what it brings: the well-formed rows in their order."""

    feed: str
    name: str
    text: str
    delivery: SideDelivery


@dataclass(frozen=True)
class Commit:
    """A registry commit: what is given, and what is removed."""

    given: Sequence[Rule] = ()
    removed: Sequence[str] = ()


Past = Sequence[Landing | Commit]


def past(count: int = 14, rows: int = 9, seed: int = 2, whose: str = "bbaabaabab") -> list[Any]:
    """Make a past: rules, files, other rules half-way, more files; `whose`, b or a by turns."""
    rng = np.random.default_rng(seed)
    price = {feed: dict.fromkeys(STREAMS, 100.0) for feed in FEEDS}
    found: list[Landing | Commit] = [Commit(RULES)]
    clock = BEGIN
    for number in range(count):
        side = "ba".index(whose[number % len(whose)])
        feed = FEEDS[side]
        tuples: list[Sighting] = []
        lines: list[str] = []
        gone: list[int] = []
        for _ in range(rows):
            clock += int(rng.integers(0, 2)) * SECOND
            stream = STREAMS[rng.integers(0, len(STREAMS))]
            moved = price[feed][stream] + float(rng.choice([-0.5, 0, 0.5]))
            price[feed][stream] = min(max(moved, 98.5), 101.5)
            ts = clock - int(rng.choice([0, 0, 0, 1, 3])) * SECOND
            values = (price[feed][stream], *([float(rng.integers(1, 100))] * (side == 0)))
            again = 1 + (rng.random() < 0.1)
            mark = str(rng.choice(["", "no", "false", "true"], p=[0.4, 0.2, 0.25, 0.15]))
            if mark == "true":
                gone += [len(tuples) + k for k in range(again)]
            tuples += [Sighting(stream, ts, values)] * again
            lines += [f"{stream},{instant(ts)},{','.join(map(str, values))},{mark}"] * again
        if number % 3 == 0:
            lines += [f"{STREAMS[0]},{instant(clock)},NaN,1,", ",,,,", f"x,{instant(NOW * 2)},1,1,"]
        header = "stream_id,ts," + ",".join(AXES[side]) + ",gone"
        gone = gone if side else []  # bids have such a column, and do not declare it
        text = "\n".join([header, *lines]) + "\n"
        name = f"2026-01-01T{number // 4:02}-{number:03}.csv"
        delivery = SideDelivery(side, FeedDelivery(tuple(tuples)), frozenset(gone))
        found.append(Landing(feed, name, text, delivery))
        if number == count // 2:
            found += [Commit(LATER), Commit(removed=REMOVED)]
    return found


# ── as the contract says ──────────────────────────────────────────────────────────────────────────


def reference(happened: Past, lateness: tuple[int, int] = (0, 0)) -> JoinRunResult:
    """Read a past as the reference does."""
    return run_joins(AXES, with_a_delivery([*_script(happened)]), rules_of(lateness))


def _script(happened: Past) -> Iterator[SideDelivery | JoinRegistration]:
    standing: dict[str, JoinQuery] = {}
    versions: Counter[str] = Counter()
    for item in happened:
        if isinstance(item, Landing):
            yield item.delivery
            continue
        lines = [json.dumps(rule).encode() for rule in item.given]
        for query in read_queries_jsonl(lines, "rules", AXES_OF):
            assert isinstance(query, JoinQuery)
            versions[query.id] += 1
            standing[query.id] = replace(query, version=versions[query.id])
        for name in item.removed:
            del standing[name]
        yield JoinRegistration(tuple(standing.values()))


def standing_bands(happened: Past) -> set[tuple[str, int]]:
    """Name the band joins that are active in the end, and their versions."""
    last = [item for item in _script(happened) if isinstance(item, JoinRegistration)][-1]
    return {(query.id, query.version) for query in last.queries if query.kind == BAND_JOIN}


# ── as a lake says ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Way:
    """How a past is cut and carried out."""

    run_every: int | None = None  # deliveries between two runs; None: one run in the end
    limits: Limits = Limits()  # noqa: RUF009  it is frozen
    tasks: int = 1


def new_lake(
    folder: Path,
    lateness: tuple[int, int] = (0, 0),
    way: Way = Way(),
    runner: Runner | None = None,
) -> Lake:
    """Make a lake with nothing in it; the feed `asks` has a column that marks who is gone."""
    options: dict[str, dict[str, Any]] = {
        name: {"allowed_lateness": late, "ties": "first", "settle": 0, "partition": "hour"}
        for name, late in zip(FEEDS, lateness, strict=True)
    }
    for each in options.values():
        each["partition_in_path"] = True
    options["asks"]["deleted"] = "gone"
    settings = builder.settings_of(folder, AXES_OF, options, buckets=2)
    return builder.new_lake(settings, runner, way.limits)


def play(
    folder: Path,
    happened: Past,
    way: Way = Way(),
    lateness: tuple[int, int] = (0, 0),
    runner: Runner | None = None,
) -> Lake:
    """Let a past happen on a new lake."""
    lake = new_lake(folder, lateness, way, runner)
    arrived = 0
    with shared_out(JoinWay(tasks=way.tasks)):
        for number, item in enumerate(happened):
            happen(lake, item, NOW + number * SECOND)
            arrived += isinstance(item, Landing)
            if way.run_every and isinstance(item, Landing) and arrived % way.run_every == 0:
                evaluate(lake, LANE)
        evaluate(lake, LANE)
    return lake


def happen(lake: Lake, item: Landing | Commit, now: int) -> None:
    """Let one thing happen: rules are registered, or a file lands and is loaded."""
    if isinstance(item, Landing):
        land(lake.settings, item)
        builder.ingest(lake, now)
    else:
        builder.register(lake, item.given, now, item.removed)


def land(settings: Settings, item: Landing) -> None:
    """Put a file into its landing folder, as if it had been there for long."""
    builder.land(settings.feeds[item.feed], item.name, item.text, BEGIN)


def of_lane(lake: Lake, view: str) -> list[dict[str, Any]]:
    """Return the rows of a view that are the lane's."""
    return [row for row in rows_of(lake, f"from {view}") if row["lane"] == LANE]


def assert_told(lake: Lake, happened: Past, lateness: tuple[int, int] = (0, 0)) -> None:
    """Fail unless a lake's tables and views have the rows of the reference."""
    expected, place = reference(happened, lateness), places(lake)
    affected = [
        (
            place[row["arrival"]],
            us(row["ts"]),
            FEEDS.index(row["feed"]),
            row["stream_id"],
            row["query_id"],
        )
        for row in of_lane(lake, "affected_queries")
    ]
    stands = standing_bands(happened)
    result: Counter[Any] = Counter()
    for change in expected.changes:
        if (change.query_id, change.version) in stands:
            result[change.query_id, change.version, change.left, change.right] += change.change
    in_now = [
        (r["query_id"], r["query_version"], r["left_stream_id"], r["right_stream_id"])
        for r in of_lane(lake, "band_pairs")
    ]
    members = [(r["feed"], r["stream_id"]) for r in of_lane(lake, "set_members")]
    present = [(f, s) for f, feed in zip(FEEDS, expected.feeds, strict=True) for s in feed.members]
    for name, wanted, found in (
        ("pairs", expected.pairs, told_pairs(lake)),
        ("changes", expected.changes, told_changes(lake)),
        ("affected", expected.affected, affected),
        ("band_pairs", list((+result).elements()), in_now),
        ("set_members", present, members),
    ):
        missing, extra = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
        assert not missing + extra, f"{name}: {missing=}\n{extra=}"
