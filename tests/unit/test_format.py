"""A lake of an older format becomes one of this one, and what it holds stays what it was."""

import contextlib
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from assets.resources import LakeAccess
from fencepost.errors import LakeError
from fencepost.reference import FeedDelivery, Sighting
from fencepost.times import to_microseconds
from pipelines.epochs import drive
from pipelines.lake.evidence import Evidence
from pipelines.lake.layout import NOTE, Note
from pipelines.lake.lock import hold
from pipelines.lake.store import Store
from pipelines.project.settings import Settings, load
from pipelines.registry import commit
from pipelines.registry.changes import QueryChanges
from pipelines.registry.queries import standing
from pipelines.runs.watch import Watch
from pipelines.serve.views.duckdb import duckdb_session
from pipelines.spark.runner import HereRunner
from schemas import FORMAT, FeedColumns, Table, all_tables, axes_only
from schemas.epochs import COUNTS
from tests.support.commands.commands import fencepost
from tests.support.commands.files import written
from tests.support.lakes.ledger import Ledger, at
from tests.support.lakes.registry_lake import AXES, Lake, query, said
from tests.support.lakes.story_lake import deliver

ADDED: dict[int, dict[str, set[str]]] = {
    2: {"queries": {"tests"}, "epochs": {"matched", "choice"}},
    3: {
        "queries": {
            "joined_on",
            "window_us",
            "window_count",
            "left_axis",
            "right_axis",
            "at_least",
            "at_most",
        },
        "epochs": {"paired", "came_in", "went_out"},
        "ticks": {"deleted"},
        "locations": {"deleted"},
    },
    5: {"band_changes": {"side"}},
    6: {
        "arrivals": {"declared"},
        "epochs": {"declared"},
        "queries": {"streams_like"},
        "stream_state": {"ts_place", "sequence"},
        "reorder": {"nth", "sequence"},
        "pending": {"place"},
        "events": {"place"},
        "transitions": {"from_place", "to_place"},
        "matches": {"place"},
        "pairs": {"left_place", "right_place"},
        "band_changes": {"place"},
        "set_members": {"ts_place", "sequence"},
        "live_windows": {"ts_place", "nth", "sequence"},
    },
    8: {
        "queries": {
            *("region", "wkb", "region_on", "on_earth", "leaps"),
            *("distance", "right_streams", "right_streams_like"),
        },
        "epochs": {"came_near", "went_away"},
    },
}
"""Columns that each format added to tables that were there."""

MADE = {
    2: ("matches",),
    3: ("pairs", "band_changes", "live_windows", "set_members"),
    4: ("dismissals",),
    5: (),
    6: (),
    7: (),
    8: ("leaps", "near_changes"),
}
"""Tables that each format added."""

TUPLES = 7
TOML = """
[run]
runner = "here"

[lake]
path = "lake"

[feeds.ticks]
axes = ["price", "volume"]
source = "landing/ticks"

[feeds.locations]
axes = ["x", "y", "speed"]
source = "landing/locations"
"""
READERS = [
    ("queries", "list"),
    ("queries", "show", "q"),
    ("queries", "export"),
    ("partitions", "ticks"),
    ("explain",),
    ("explain", "ticks", "--json"),
    ("status",),
]


def tables_of(older: int) -> dict[str, Table]:
    """The tables as a format had them."""
    tables = all_tables(axes_only(AXES))
    for later in range(FORMAT, older, -1):
        for name, added in ADDED.get(later, {}).items():
            kept = tuple(c for c in tables[name].columns if c.name not in added)
            tables[name] = replace(tables[name], columns=kept)
        for name in MADE[later]:
            del tables[name]
    return tables


def lake_of(folder: Path, older: int) -> Path:
    """A lake of an older format with a query, and a delivery evaluated in an epoch."""
    tables = tables_of(older)
    root = folder / "lake"
    store = Store.create(root, tables, buckets=4)
    ledger = Ledger(AXES)
    ledger.tables = tables
    ledger.register({"id": "q", "lo": [2.0, float("-inf")], "hi": [5.0, float("inf")]})
    known = {column.name for column in tables["epochs"].columns}
    key, counts = "2026-11-18", dict.fromkeys(known & set(COUNTS), 0) | {"accepted": TUPLES}
    told: dict[str, Any] = {"rows": TUPLES, "tuples": TUPLES, "malformed": 0, "future": 0}
    taken = [ledger.arrive("ticks", partition_key=key, max_ts=at(TUPLES), **told)]
    for k in range(TUPLES):
        ledger.add(
            "ticks", stream_id=f"s{k}", ts=at(k + 1), price=float(k), arrival=taken[0], line=k + 1
        )
    done = {"state": "done", "bases": "{}", "partition_key": key, "arrivals": taken, **counts}
    ledger.add("epochs", lane="ticks", epoch=1, generation=1, first=1, last=1, **done)
    for name, rows in ledger.rows.items():
        evidence = Evidence("made", "by hand", name, 1, 1, 0, len(rows), 0)
        store.append(name, store.version(name), store.write_rows(name, rows), evidence)
    note = json.loads((root / NOTE).read_text()) | {"format": older}
    del note["check"]  # which older versions did not write
    (root / NOTE).write_text(json.dumps(note))
    return root


@pytest.fixture
def old(tmp_path):
    """A lake of format 1."""
    return lake_of(tmp_path, 1)


@pytest.mark.parametrize("older", [1, 2, 3, 4, 5])
@pytest.mark.fault(31)
def test_an_upgraded_lake_joins_what_it_held_with_what_comes(older, tmp_path):
    root = lake_of(tmp_path, older)
    lake = Lake(root)
    assert Note.read(root).format == FORMAT
    assert set(MADE[3]) <= set(Note.read(root).ids)
    for later in range(older + 1, FORMAT + 1):
        for name, added in ADDED.get(later, {}).items():
            assert added <= {field.name for field in lake.store.delta(name).schema().fields}
    assert lake.store.rows("ticks")["deleted"].to_pylist() == [None] * TUPLES
    band = {"left": "ticks.price", "right": "locations.x", "between": [0, 1]}
    window = {"left": "ticks", "right": "locations", "on": "left.price >= right.x", "window": "1h"}
    lake.put(
        query("b", feed=None, where=None, kind="band_join", **band),
        query("w", feed=None, where=None, kind="window_join", **window),
    )
    assert lake.ids() == ["q", "b", "w"]
    driven = drive.Lake(lake.store, lake.settings, HereRunner())
    for feed, value in (("locations", 2.0), ("ticks", 3.5)):
        values = (value,) * len(AXES[feed])
        seen = Sighting("new", to_microseconds(at(60)) or 0, values)
        deliver(driven, FeedDelivery((seen,)), "2026-11-19", feed)
        deliver(driven, FeedDelivery((seen,)), "2026-11-19", feed)  # again: it is a duplicate
    for lane in driven.lanes():
        list(drive.advance(driven, lane))
    with duckdb_session(root, lake.settings.tables) as session:
        told = "SELECT change, left_stream_id, left_value FROM band_changes ORDER BY 2"
        assert session.execute(told).fetchall() == [(1, "s2", 2.0), (1, "s3", 3.0)]
        pairs = session.execute("SELECT left_stream_id, left_price, right_x FROM pairs").fetchall()
        assert pairs == [("new", 3.5, 2.0)]
        waiting = "SELECT lane, accepted, duplicate FROM epoch_accounting WHERE balanced"
        assert session.execute(f"{waiting} AND lane = 'ticks~locations'").fetchall() == [
            ("ticks~locations", 7, 0),
            ("ticks~locations", 2, 2),
        ]


@pytest.mark.fault(31)
def test_a_lake_of_format_1_gets_what_it_lacks_and_keeps_its_rows(old):
    store = Store.open(old, all_tables(axes_only(AXES)))
    assert Note.read(old).format == FORMAT
    assert "matches" in Note.read(old).ids
    (row,) = standing(store).to_pylist()
    assert (row["id"], row["kind"], row["tests"]) == ("q", "crossing", None)
    (epoch,) = store.rows("epochs").to_pylist()
    assert (epoch["accepted"], epoch["matched"], epoch["choice"]) == (7, None, None)
    for later in (2, 3):
        for name, added in ADDED[later].items():
            assert added <= {field.name for field in store.delta(name).schema().fields}


@pytest.mark.fault(31)
def test_an_upgraded_lake_takes_matches_beside_the_crossings_it_had(old):
    Store.open(old, all_tables(axes_only(AXES)))
    lake = Lake(old)
    assert said(lake.put(query("m", kind="match", where="price > volume"))) == {"added": 1}
    assert lake.set().ids.to_pylist() == ["q"]
    assert lake.set(kind="match").tests.tolist() == [[1, 0, 0]]


def test_who_only_reads_a_lake_of_format_1_leaves_it_so(old):
    with duckdb_session(old, all_tables(axes_only(AXES))) as session:
        assert session.execute("SELECT count(*) FROM raw_matches").fetchone() == (0,)
        assert session.execute("SELECT id, tests FROM raw_queries").fetchall() == [("q", None)]
        assert session.execute("SELECT matched FROM raw_epochs").fetchall() == [(None,)]
    assert Note.read(old).format == 1


@pytest.fixture
def settings(old, monkeypatch) -> Settings:
    """The project of that lake."""
    monkeypatch.delenv("FENCEPOST_LAKE", raising=False)
    for feed in AXES:
        (old.parent / "landing" / feed).mkdir(parents=True)
    return load(written(old.parent, "fencepost.toml", TOML))


def files_of(root: Path) -> dict[str, bytes]:
    """Whatever lies in a lake."""
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_a_command_that_reads_a_lake_of_format_1_answers_and_changes_no_file(settings, command):
    before = files_of(settings.root)
    with contextlib.chdir(settings.root.parent), hold(settings.root, "another"):
        said = fencepost(*command)
    assert said.code == 0, said.err
    assert said.out
    after = files_of(settings.root)
    assert {name: after[name] for name in after if not name.startswith("_lock")} == before


def test_dagster_and_a_watch_not_begun_read_a_lake_of_format_1_and_change_no_file(settings):
    before = files_of(settings.root)
    store = LakeAccess(settings).store()
    Watch(settings, HereRunner(), 0.1, lambda _: None)
    assert (store.rows("matches").num_rows, store.version("matches")) == (0, -1)
    assert store.rows("epochs")["matched"].to_pylist() == [None]
    assert store.evidence("matches", -1) == []
    assert files_of(settings.root) == before


def test_who_is_asked_before_removing_and_says_no_leaves_a_lake_of_format_1_so(settings):
    before = files_of(settings.root)

    def no(count: int) -> None:
        assert count == 1
        raise PermissionError

    with pytest.raises(PermissionError):
        commit.replace(settings, "a test", QueryChanges().given, None, no)
    assert files_of(settings.root) == before


def test_a_watch_upgrades_only_once_it_holds_the_lake(settings):
    watch = Watch(settings, HereRunner(), 0.01, lambda _: watch.stop_requested.set())
    with ThreadPoolExecutor(1) as pool:
        with hold(settings.root, "another"):
            watching = pool.submit(watch.until_stopped)
            waiting = settings.root / "_waiting"
            while not (waiting.is_dir() and any(waiting.iterdir())) and not watching.done():
                time.sleep(0.01)
            assert not watching.done()
            assert Note.read(settings.root).format == 1
        watching.result(timeout=60)
    assert Note.read(settings.root).format == FORMAT


@pytest.mark.fault(31)
def test_of_writers_at_once_one_upgrades_and_the_others_find_it_done(settings):
    begun = Barrier(4, timeout=30)

    def watched() -> None:
        begun.wait()
        watch = Watch(settings, HereRunner(), 0.01, lambda _: watch.stop_requested.set())
        watch.until_stopped()

    def registered() -> int:
        begun.wait()
        return commit.put(settings, "a test", QueryChanges().given).registry_version

    with ThreadPoolExecutor(4) as pool:
        watching = [pool.submit(watched) for _ in range(2)]
        registering = [pool.submit(registered) for _ in range(2)]
        for each in watching:
            each.result(timeout=60)
        assert [each.result(timeout=60) for each in registering] == [1, 1]
    store = Store.to_read(settings.root, settings.tables)
    added = {name: store.delta(name).history() for name in (*ADDED[2], *ADDED[3])}
    for commits in added.values():
        assert [commit["operation"] for commit in commits].count("ADD COLUMN") == 1
    assert Note.read(settings.root).format == FORMAT


@pytest.mark.fault(31)
def test_a_lake_cut_off_in_its_upgrade_is_upgraded_by_the_next_who_opens_it(old):
    partly = all_tables(axes_only(AXES)) | {"epochs": tables_of(1)["epochs"]}
    Store.open(old, partly)
    Note(1, 4, Note.read(old).ids).write(old)
    store = Store.open(old, all_tables(axes_only(AXES)))
    assert store.rows("epochs")["matched"].to_pylist() == [None]
    assert Note.read(old).format == FORMAT


@pytest.mark.fault(31)
def test_a_lake_of_a_newer_format_is_refused_in_words(old):
    Note(FORMAT + 1, 4, Note.read(old).ids).write(old)
    with pytest.raises(LakeError, match=f"format {FORMAT + 1}, this Fencepost knows up to"):
        Store.open(old, all_tables(axes_only(AXES)))


def test_a_feed_that_declares_more_gets_its_columns_behind_those_its_tables_have(tmp_path):
    root, axes = tmp_path / "lake", ("price",)
    Store.create(root, all_tables({"ticks": FeedColumns(axes)}), buckets=4)
    declared = FeedColumns(axes, (("trip", "text"), ("size", "long")), "long")
    store = Store.open(root, all_tables({"ticks": declared}))
    turned = replace(declared, payload=declared.payload[::-1])
    Store.open(root, all_tables({"ticks": turned}))
    Store.open(root, all_tables({"ticks": FeedColumns(axes)}))
    for name in ("ticks", "events", "reorder"):
        has = [field.name for field in store.delta(name).schema().fields]
        assert has[-2:] == ["payload_trip", "payload_size"]
    assert "sequence" in [field.name for field in store.delta("ticks").schema().fields]


def test_a_column_that_is_declared_of_another_kind_is_refused_in_words(tmp_path):
    root, axes = tmp_path / "lake", ("price",)
    tables = all_tables({"ticks": FeedColumns(axes, (("size", "long"),), "long")})
    Store.create(root, tables, buckets=4)
    for other in (FeedColumns(axes, (("size", "text"),), "long"), FeedColumns(axes, (), "string")):
        with pytest.raises(LakeError, match="has the type long, and is declared as string"):
            Store.open(root, all_tables({"ticks": other}))


def test_a_payload_column_in_another_spelling_is_refused_in_words_and_changes_nothing(tmp_path):
    root, axes = tmp_path / "lake", ("price",)
    tables = all_tables({"ticks": FeedColumns(axes, (("Side", "text"),))})
    store = Store.create(root, tables, buckets=4)
    before = {name: store.version(name) for name in tables}
    with pytest.raises(LakeError, match="payload_Side, and payload_side is declared, one name in"):
        Store.open(root, all_tables({"ticks": FeedColumns(axes, (("side", "text"),))}))
    assert {name: Store.open(root, tables).version(name) for name in tables} == before


def test_the_tables_have_what_a_feed_declares_to_travel_along(settings):
    declared = 'payload = {trip = "text", size = "long"}\nsequence_column = "seq"\n'
    toml = TOML.replace('axes = ["price", "volume"]\n', f'axes = ["price", "volume"]\n{declared}')
    again = load(written(settings.root.parent, "fencepost.toml", toml))
    own = again.feeds["ticks"].in_tables
    assert own == FeedColumns(("price", "volume"), (("trip", "text"), ("size", "long")), "long")
    store = Store.open(again.root, again.tables)
    rows = store.rows("ticks").select(["sequence", "payload_trip", "payload_size"])
    assert rows.to_pylist() == [dict.fromkeys(rows.column_names)] * TUPLES
