"""The day of `make demo`: the same each time, as dirty as it says, and a day with much in it."""

import csv
import gzip
import io
import json
import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from examples.demo import day as demo_day
from examples.demo import rules as demo_rules
from examples.demo.day import DATE, HOUR, MIDNIGHT, DemoDay
from fencepost.errors import StateError
from fencepost.position import Position
from fencepost.queries import QuerySet, parted, read_queries_jsonl
from fencepost.times import parse_instant
from pipelines.project.settings import Settings
from pipelines.workloads import TownDay, town
from tests.support.lakes.on_disk import on_disk

SCALE = 0.02
AXES = {"ticks": ("price", "volume"), "locations": ("lon", "lat", "speed")}
PLACES = {"locations": Position((0, 1), earth=True)}


def project(folder: Path) -> Settings:
    feeds = {name: SimpleNamespace(source=folder / "landing" / name) for name in AXES}
    return cast("Settings", SimpleNamespace(feeds=feeds, queries=folder / "rules"))


def untold(doing: str, done: float) -> None:
    assert doing
    assert 0.0 <= done <= 1.0


@pytest.fixture(scope="module")
def laid_down(tmp_path_factory: pytest.TempPathFactory):
    settings = project(tmp_path_factory.mktemp("day"))
    return settings, demo_day.lay_down(DemoDay(SCALE), settings, untold)


def hours_of(settings: Settings, feed: str) -> dict[str, list[list[str]]]:
    """The rows of each hour's file as they stand, whatever is wrong with them."""
    found = {}
    for path in sorted(on_disk(settings.feeds[feed].source).iterdir()):
        header, *rows = csv.reader(io.StringIO(gzip.decompress(path.read_bytes()).decode()))
        assert header == ["stream_id", "ts", *AXES[feed]]
        found[path.name.removesuffix(".csv.gz")] = rows
    return found


def judged(hours: dict[str, list[list[str]]], axes: tuple[str, ...]) -> Counter[str]:
    """Judge every row as the semantics say, in plain Python: file by file, by time within each."""
    reasons: Counter[str] = Counter()
    last: dict[str, tuple[int, list[str]]] = {}
    for _, rows in sorted(hours.items()):
        good = []
        for row in rows:
            why = wrong(row, axes)
            if why is None:
                good.append((parse_instant(row[1]), row))
            else:
                reasons[why] += 1
        for ts, row in sorted(good, key=lambda each: each[0]):  # stable: the row decides
            before = last.get(row[0])
            if before is None or ts > before[0]:
                last[row[0]] = (ts, row)
                reasons["accepted"] += 1
            elif ts < before[0]:
                reasons["late"] += 1
            else:
                reasons["duplicate" if row == before[1] else "conflict"] += 1
    return reasons


def wrong(row: list[str], axes: tuple[str, ...]) -> str | None:
    if len(row) != 2 + len(axes) or not row[0] or any(not is_number(v) for v in row[2:]):
        return "malformed"
    try:
        ts = parse_instant(row[1])
    except ValueError:
        return "malformed"
    return "future" if ts > MIDNIGHT + 48 * HOUR else None


def is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


@pytest.mark.parametrize("feed", AXES)
def test_oracle_as_many_rows_go_wrong_as_the_record_says_and_for_these_reasons(laid_down, feed):
    settings, made = laid_down
    hours = hours_of(settings, feed)
    found = judged(hours, AXES[feed])
    said = made.feeds[feed]
    accepted = found.pop("accepted")
    assert dict(found) == {why: count for why, count in said.dirt.items() if count}
    assert sum(map(len, hours.values())) == said.rows == accepted + found.total()


def test_of_a_larger_day_rows_go_wrong_in_every_way():
    """Chosen, not written: that would take too long here."""
    day = DemoDay(0.1)
    for feed in AXES:
        dirt = day.landing(feed).dirt
        assert min(dirt.values()) > 0, feed
        assert dirt["late"] > dirt["duplicate"] > dirt["conflict"]


def test_the_same_scale_gives_the_same_bytes_and_another_one_others(laid_down, tmp_path):
    settings, made = laid_down
    again = project(tmp_path / "again")
    assert demo_day.lay_down(DemoDay(SCALE), again, untold) == made
    other = project(tmp_path / "other")
    assert demo_day.lay_down(DemoDay(SCALE / 2), other, untold) != made
    folder = demo_day.record(settings).parent
    for path in sorted(folder.rglob("*.gz")):
        same = demo_day.record(again).parent / path.relative_to(folder)
        assert same.read_bytes() == path.read_bytes(), path.name


def test_a_file_is_called_by_the_hour_that_its_rows_are_of(laid_down):
    settings, made = laid_down
    for feed, hours in (("ticks", range(8, 16)), ("locations", range(24))):
        expected = [f"{DATE}T{hour:02}" for hour in hours]
        assert made.keys(feed) == expected
        for key, rows in hours_of(settings, feed).items():
            own = sum(row[1].startswith(key) for row in rows if len(row) > 1)
            assert own / len(rows) > 0.99
            assert demo_day.NAME.fullmatch(f"{key}.csv.gz")


@pytest.mark.parametrize("feed", AXES)
def test_every_rule_is_one_that_can_be_registered(laid_down, feed):
    settings, made = laid_down
    path = settings.queries / f"{feed}.jsonl"
    with path.open("rb") as file:
        queries, _ = parted(read_queries_jsonl(file, path.name, AXES, PLACES))
    assert len({query.id for query in queries}) == len(queries) == made.feeds[feed].rules
    assert len(QuerySet.from_queries(feed, AXES[feed], queries).ids) == len(queries)


def test_at_full_size_there_are_the_rules_that_the_readme_tells_of():
    day = DemoDay()
    counts = {feed: len(day.rules(feed)) for feed in AXES}
    assert counts == {"ticks": 5_640, "locations": 560}


def test_a_rule_says_nothing_that_is_not_meant():
    given = demo_rules.rule("r", "ticks", "price > 1", None, tags=["a"])
    assert given == {"id": "r", "feed": "ticks", "where": "price > 1", "tags": ["a"]}


def test_who_finds_the_day_there_writes_nothing(laid_down):
    settings, made = laid_down
    files = [path for path in demo_day.record(settings).parent.rglob("*") if path.is_file()]
    before = {path: path.stat().st_mtime_ns for path in files}
    assert demo_day.lay_down(DemoDay(SCALE), settings, untold) == made
    assert {path: path.stat().st_mtime_ns for path in files} == before


def test_a_file_that_is_gone_is_written_again_as_it_was(tmp_path):
    settings = project(tmp_path)
    demo_day.lay_down(DemoDay(0.005), settings, untold)
    lost = settings.feeds["locations"].source / f"{DATE}T11.csv.gz"
    content = lost.read_bytes()
    lost.unlink()
    demo_day.lay_down(DemoDay(0.005), settings, untold)
    assert lost.read_bytes() == content


def test_who_ended_while_the_day_was_written_begins_again(tmp_path, monkeypatch):
    settings = project(tmp_path)
    whole = demo_day.write

    def ends(path: Path, content: bytes) -> None:
        if path.name == f"{DATE}T10.csv.gz":
            raise KeyboardInterrupt
        whole(path, content)

    monkeypatch.setattr(demo_day, "write", ends)
    with pytest.raises(KeyboardInterrupt):
        demo_day.lay_down(DemoDay(0.005), settings, untold)
    begun = demo_day.laid(settings)
    assert begun is not None
    assert not begun.feeds
    monkeypatch.undo()
    made = demo_day.lay_down(DemoDay(0.005), settings, untold)
    assert set(made.feeds) == set(AXES)


def test_another_day_in_the_same_place_is_refused_in_words(tmp_path):
    settings = project(tmp_path)
    demo_day.lay_down(DemoDay(0.005), settings, untold)
    with pytest.raises(
        StateError, match=r"holds a demo's day at scale 0\.005 .* folder of its own"
    ):
        demo_day.lay_down(DemoDay(0.01), settings, untold)
    record = demo_day.record(settings)
    for torn in ("{", "[]", json.dumps({"edition": 1, "scale": 1.0, "feeds": {"ticks": {}}})):
        record.write_text(torn)
        with pytest.raises(StateError, match="is no record of a demo's day"):
            demo_day.laid(settings)


# --- the town's day


@pytest.fixture(scope="module")
def day() -> tuple[TownDay, Any, Any]:
    roads = town(3)
    plan = TownDay(vehicles=300, seed=3)
    return plan, roads, plan.tuples(roads)


def standing_at(day: tuple[TownDay, Any, Any], hour: int) -> list[int]:
    """How many vehicles stand at a garage of each kind at the end of an hour."""
    plan, roads, tuples = day
    before = tuples.ts < plan.start + (hour + 1) * HOUR
    last = np.full(plan.vehicles, -1)
    last[tuples.stream[before]] = np.flatnonzero(before)
    x, y = tuples.values[:2, last]
    return [
        int(((x[:, None] == roads.x[at]) & (y[:, None] == roads.y[at])).any(axis=1).sum())
        for at in plan.garages_at(roads)
    ]


def test_garages_fill_by_day_in_the_evening_and_at_night_each_its_own(day):
    evening, at_work, night = zip(*(standing_at(day, hour) for hour in range(24)), strict=True)
    assert max(evening) == max(evening[17:21]) > 5 * max(evening[:14])
    assert max(at_work) == max(at_work[9:16]) > 5 * max(at_work[:5])
    assert max(night) > 5 * max(night[10:14])


def test_trackers_report_under_way_each_half_minute_and_at_rest_each_ten(day):
    plan, _, tuples = day
    order = np.lexsort((tuples.ts, tuples.stream))
    same = np.diff(tuples.stream[order]) == 0
    gap = np.diff(tuples.ts[order])[same]
    assert gap.min() == 30_000_000
    assert gap.max() == 600_000_000
    moves = tuples.values[2][order][1:][same] > 0
    after_rest = tuples.values[2][order][:-1][same] == 0
    assert (gap[moves & ~after_rest] == 30_000_000).all()
    assert set(tuples.stream) == set(range(plan.vehicles))
    assert (np.diff(tuples.ts) >= 0).all()


def test_at_rest_a_vehicle_stands_at_a_crossing(day):
    _, roads, tuples = day
    x, y, speed = tuples.values
    crossings = set(zip(roads.x.tolist(), roads.y.tolist(), strict=True))
    at_rest = set(zip(x[speed == 0].tolist(), y[speed == 0].tolist(), strict=True))
    assert at_rest <= crossings
    assert speed.max() <= 60.0


def test_a_days_garages_are_crossings_of_their_own(day):
    plan, roads, _ = day
    every = np.concatenate(plan.garages_at(roads))
    assert len(np.unique(every)) == len(every) == plan.garages
