"""Ingest killed at any of its points, and files that go or change beneath it: no row comes twice,
none is lost that could be read, and the ledger says what became of each delivery."""

import gzip
import itertools
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fencepost.errors import LakeError
from fencepost.row_hashes import content_hash
from pipelines.files.read import csv_records
from pipelines.files.read.delivery import DeliveryFile, look_at
from pipelines.files.read.rows import Declared
from pipelines.ingest import task, units
from pipelines.ingest.deliveries import Planned
from pipelines.project.settings import Feed
from tests.support.crashes import Killed, killed_at
from tests.support.lakes.landing_place import AT, HEAD, T0, Place, ticks
from tests.support.lakes.on_disk import on_disk

POINTS = ("ingest.planned", "ingest.quarantine", "ingest.tuples", "ingest.done")
FEEDS = (
    Feed("ticks", ("price", "volume"), Path("ticks")),
    Feed("places", ("x",), Path("places"), stream_column="device", ts_unit="s"),
)


def landed(folder: Path) -> Place:
    """A lake with deliveries of two feeds: good, bad, from the future, unreadable, a repeat."""
    place = Place.make(folder, *FEEDS)
    place.land("a.csv", ticks(1, 2) + "nonsense\ns,2099-01-01T00:00:00Z,1,1\n")
    place.land("b/1.csv", ticks(3, stream="b"))
    place.land("b/2.csv.gz", gzip.compress((ticks(4, 5, stream="c") + "?\n").encode(), mtime=0))
    place.land("c.csv", ticks(1, 2) + "nonsense\ns,2099-01-01T00:00:00Z,1,1\n")
    place.land("d.csv", "stream_id,ts\n")
    place.land("a.csv", f"device,ts,x\nd,{T0 // 1_000_000},1\nd,x,2\n", feed="places")
    return place


@pytest.fixture(scope="module")
def uncrashed(tmp_path_factory) -> Place:
    place = landed(tmp_path_factory.mktemp("uncrashed"))
    place.ingest()
    return place


@pytest.mark.parametrize(("name", "time"), [*((name, 1) for name in POINTS), ("ingest.tuples", 2)])
@pytest.mark.fault(1, 4, 5)
def test_killed_at_any_point_and_recovered_the_tables_are_those_of_a_run_without(
    tmp_path, uncrashed, name, time
):
    place = landed(tmp_path)
    with killed_at(name, time), pytest.raises(Killed):
        place.ingest()
    report = place.recovered()
    assert place.content() == uncrashed.content()
    for table in ("arrivals", "ticks", "places", "quarantine"):
        assert place.commits(table) == uncrashed.commits(table)
    assert len(report.loaded) == (0 if name == "ingest.done" else 3)
    assert (place.recovered().loaded, place.ingest().loaded) == ([], [])
    assert place.content() == uncrashed.content()


@pytest.mark.fault(5)
def test_a_version_with_other_messages_finishes_what_an_older_one_began(
    tmp_path, uncrashed, monkeypatch
):
    place = landed(tmp_path)
    with killed_at("ingest.quarantine"), pytest.raises(Killed):
        place.ingest()
    monkeypatch.setattr(csv_records, "counted", lambda count, _: f"other words, {count}")
    place.recovered()
    assert place.content() == uncrashed.content()
    assert place.commits("quarantine") == uncrashed.commits("quarantine")


def test_other_rows_in_quarantine_are_no_other_words(tmp_path, monkeypatch):
    place = landed(tmp_path)
    with killed_at("ingest.quarantine"), pytest.raises(Killed):
        place.ingest()
    honest = task._PartReader._aside

    def changed(*arguments):
        rows = honest(*arguments)
        raw = pa.array(["?"] * len(rows), pa.string())
        return rows.set_column(rows.column_names.index("raw"), "raw", raw)

    monkeypatch.setattr(task._PartReader, "_aside", changed)
    with pytest.raises(LakeError, match="another content"):
        place.recovered()


@pytest.mark.fault(7)
def test_killed_again_and_again_while_recovering_it_ends_the_same(tmp_path, uncrashed):
    place = landed(tmp_path)
    with killed_at("ingest.planned"), pytest.raises(Killed):
        place.ingest()
    for name in ("ingest.quarantine", "ingest.tuples", "ingest.quarantine"):
        with killed_at(name), pytest.raises(Killed):
            place.recovered()
    place.recovered()
    assert place.content() == uncrashed.content()


@pytest.mark.fault(2)
def test_what_landed_after_the_crash_gets_later_numbers(tmp_path, uncrashed):
    place = landed(tmp_path)
    with killed_at("ingest.tuples"), pytest.raises(Killed):
        place.ingest()
    place.land("0.csv", ticks(9))
    place.recovered()
    assert place.content() == uncrashed.content()
    assert [(taken.n, taken.path) for taken in place.ingest().loaded] == [(6, "0.csv")]


def test_a_plan_that_is_written_twice_has_the_same_rows_and_hash(tmp_path):
    place = Place.make(tmp_path)
    place.land("a.csv", ticks(1, 2, 3) + "?\n")
    with killed_at("ingest.planned"), pytest.raises(Killed):
        place.ingest()
    (row,) = place.arrivals()
    feed = place.settings.feeds["ticks"]
    file = units.FilePart(0, "a.csv", row["sizes"][0], row["mtimes"][0])
    job = units.ReadJob(Planned(row), (file,))
    (unit,) = units.cut(place.store.root, feed, 4, [job], 1)
    first, second = (task.UnitResult.from_json(task.work(unit.to_json())) for _ in range(2))
    assert first.outcomes == second.outcomes
    assert {file.path for file in first.tuples}.isdisjoint(file.path for file in second.tuples)
    assert place.tuples() == []


@pytest.mark.fault(12)
def test_the_evidence_of_a_commit_is_the_hash_of_the_rows_that_stand(uncrashed):
    own = ("bucket", "deleted")
    for table, beside in (("ticks", own), ("places", own), ("quarantine", ())):
        rows = uncrashed.store.rows(table)
        (said,) = uncrashed.store.evidence(table, 0)
        assert (said.rows, said.hash) == (rows.num_rows, content_hash(rows, beside))


def test_a_file_that_vanished_before_it_was_read_refuses_its_delivery_only(tmp_path):
    place = Place.make(tmp_path)
    gone = place.land("a.csv", ticks(1))
    place.land("b.csv", ticks(2))
    with killed_at("ingest.planned"), pytest.raises(Killed):
        place.ingest()
    gone.unlink()
    report = place.recovered()
    assert [(each.path, each.reason) for each in report.refused] == [("a.csv", "vanished")]
    assert "'a.csv' was found and is not there any more: No such" in report.refused[0].detail
    assert [row["price"] for row in place.tuples()] == [2.0]
    assert [row["state"] for row in place.arrivals()] == ["refused", "done"]


def test_a_file_written_to_after_it_was_found_is_refused_and_found_anew(tmp_path):
    place = Place.make(tmp_path)
    place.land("a.csv", ticks(1))
    with killed_at("ingest.planned"), pytest.raises(Killed):
        place.ingest()
    place.land("a.csv", ticks(1, 2))
    assert [each.reason for each in place.recovered().refused] == ["rewritten"]
    assert place.tuples() == []
    assert [(taken.n, taken.tuples) for taken in place.ingest().loaded] == [(2, 2)]


def test_a_file_that_was_only_touched_is_taken(tmp_path):
    place = Place.make(tmp_path)
    path = place.land("a.csv", ticks(1))
    with killed_at("ingest.planned"), pytest.raises(Killed):
        place.ingest()
    os.utime(path)
    assert [taken.tuples for taken in place.recovered().loaded] == [1]


def test_a_file_that_goes_while_it_is_looked_at_is_refused(tmp_path, monkeypatch):
    place = Place.make(tmp_path)
    path = place.land("a.csv", ticks(1))

    def look_and_lose(source: str, declared: Declared) -> DeliveryFile:
        looked = look_at(source, declared)
        path.unlink()
        return looked

    monkeypatch.setattr("pipelines.ingest.task.look_at", look_and_lose)
    assert [each.reason for each in place.ingest().refused] == ["vanished"]
    assert place.tuples() == []


def test_rows_that_stand_are_counted_when_their_file_has_vanished_since(tmp_path, uncrashed):
    place = landed(tmp_path)
    with killed_at("ingest.tuples", 2), pytest.raises(Killed):  # both feeds stand
        place.ingest()
    for feed in FEEDS:
        for path in on_disk(place.settings.feeds[feed.name].source).rglob("*.csv*"):
            path.unlink()
    place.recovered()
    told, expected = place.content(), uncrashed.content()
    assert {name: told[name] for name in ("ticks", "places", "quarantine")} == {
        name: expected[name] for name in ("ticks", "places", "quarantine")
    }
    counts = ("n", "path", "rows", "tuples", "malformed", "future", "max_ts")
    done = [[row[k] for k in counts] for row in told["arrivals"] if row["state"] == "done"]
    wanted = [[row[k] for k in counts] for row in expected["arrivals"] if row["state"] == "done"]
    assert done == wanted
    assert place.commits("ticks") == uncrashed.commits("ticks")


def test_half_committed_and_vanished_the_feed_that_stands_is_done_the_other_refused(tmp_path):
    place = landed(tmp_path)
    with killed_at("ingest.tuples", 1), pytest.raises(Killed):  # places stand, ticks do not
        place.ingest()
    (place.settings.feeds["places"].source / "a.csv").unlink()
    (place.settings.feeds["ticks"].source / "a.csv").unlink()
    place.recovered()
    told = {(row["lane"], row["path"]): row for row in place.arrivals()}
    assert told["places", "a.csv"]["state"] == "done"
    assert told["places", "a.csv"]["rows"] == 2
    assert told["ticks", "a.csv"]["reason"] == "vanished"
    assert told["ticks", "b"]["state"] == "done"
    assert {row["arrival"] for row in place.tuples()} == {told["ticks", "b"]["n"]}


def test_a_declaration_that_changed_between_crash_and_recovery_holds_for_what_comes_next(tmp_path):
    place = Place.make(tmp_path)
    place.land("a.csv", ticks(1) + "s,2026-11-18T12:00:01Z,7,1\n")
    with killed_at("ingest.tuples"), pytest.raises(Killed):
        place.ingest()
    place.declare("ticks", max_skew=0)
    assert [taken.tuples for taken in place.recovered().loaded] == [2]
    place.land("b.csv", ticks(2) + "s,2026-11-18T12:00:01Z,7,1\n")
    assert [(taken.tuples, taken.future) for taken in place.ingest().loaded] == [(1, 1)]


@pytest.fixture
def cut_small(monkeypatch) -> None:
    """Deliveries are large from a few hundred bytes on, and units small."""
    monkeypatch.setattr(units, "SMALL", 300)
    monkeypatch.setattr(units, "LEAST", 300)
    monkeypatch.setattr(units, "MOST", 4000)


@pytest.mark.usefixtures("cut_small")
def test_a_large_delivery_in_many_units_is_the_same_rows(tmp_path):
    place = Place.make(tmp_path)
    n = 5000
    table = pa.table(
        {
            "stream_id": [f"s{k % 97}" for k in range(n)],
            "ts": pa.array(np.arange(n) + T0, pa.timestamp("us", "UTC")),
            "price": [float("nan") if k % 1000 == 7 else float(k) for k in range(n)],
            "volume": np.ones(n),
        }
    )
    pq.write_table(table, place.land("a.parquet", b""), row_group_size=300)
    place.left_alone(
        on_disk(place.settings.feeds["ticks"].source) / "a.parquet", tmp_path / "ticks"
    )
    for name in ("x", "y", "z"):
        place.land(f"b/{name}.csv", ticks(*range(20), stream=name))
    report = place.ingest()
    assert [(taken.rows, taken.tuples) for taken in report.loaded] == [(n, n - 5), (60, 60)]
    assert len(place.store.files("ticks")) > 4
    rows = place.tuples()
    assert [(row["line"], row["price"]) for row in rows[: n - 5]] == [
        (k + 1, float(k)) for k in range(n) if k % 1000 != 7
    ]
    assert [row["line"] for row in place.aside()] == [k + 1 for k in range(n) if k % 1000 == 7]
    assert '"price": "nan"' in place.aside()[0]["raw"]


@pytest.mark.usefixtures("cut_small")
def test_a_large_delivery_damaged_in_one_file_leaves_no_row_of_the_others(tmp_path):
    place = Place.make(tmp_path)
    place.land("a/1.csv", ticks(*range(30)))
    place.land("a/2.csv.gz", gzip.compress(os.urandom(600))[:-9])
    place.land("a/3.csv", ticks(*range(30), stream="b") + "?\n")
    place.land("b.csv", ticks(7))
    report = place.ingest()
    assert [(each.path, each.reason) for each in report.refused] == [("a", "unreadable")]
    assert [row["price"] for row in place.tuples()] == [7.0]
    assert place.aside() == []


@pytest.mark.fault(3)
def test_a_delivery_of_more_rows_than_are_held_leaves_no_row_when_it_breaks_off(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(task, "MOST_ROWS", 3)
    place = Place.make(tmp_path)
    place.land("a/1.csv", ticks(*range(9)))
    place.land("a/2.csv.gz", gzip.compress(HEAD.encode())[:-9])
    place.land("b/1.csv", ticks(*range(5), stream="b"))
    report = place.ingest()
    assert [(each.path, each.reason) for each in report.refused] == [("a", "unreadable")]
    assert [(taken.path, taken.tuples) for taken in report.loaded] == [("b", 5)]
    assert {row["stream_id"] for row in place.tuples()} == {"b"}


def test_many_deliveries_make_several_plans_and_a_crash_costs_only_its_own(tmp_path, monkeypatch):
    from pipelines.ingest import run as ingest_run

    monkeypatch.setattr(ingest_run, "MOST_DELIVERIES", 2)
    place = Place.make(tmp_path)
    for k in range(5):
        place.land(f"{k}.csv", ticks(k))
    with killed_at("ingest.planned", 2), pytest.raises(Killed):
        place.ingest()
    assert [row["state"] for row in place.arrivals()] == ["done"] * 2 + ["planned"] * 2
    place.recovered()
    place.ingest()
    assert [row["n"] for row in place.arrivals()] == [1, 2, 3, 4, 5]
    assert [row["path"] for row in place.arrivals()] == [f"{k}.csv" for k in range(5)]
    assert [row["price"] for row in place.tuples()] == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_every_bucket_has_its_own_file_once_a_unit_is_large(tmp_path, monkeypatch):
    from pipelines.ingest import write
    from pipelines.lake.buckets import buckets_of

    monkeypatch.setattr(write, "FEW", 50)
    place = Place.make(tmp_path)
    streams = [f"s{k}" for k in range(40)]
    rows = [f"{s},{AT.format(k)},{k},1\n" for k, s in itertools.product(range(3), streams)]
    place.land("a.csv", HEAD + "".join(rows))
    place.land("b.csv", ticks(1))
    place.ingest()
    table = place.store.rows("ticks")
    wanted = buckets_of(table["stream_id"].combine_chunks(), 4).tolist()
    assert table["bucket"].to_pylist() == wanted
    assert len(place.store.files("ticks")) == len(set(wanted)) == 4
    assert len(place.tuples()) == 121
    for file in place.store.files("ticks"):
        read = pq.read_table(place.store.folder("ticks") / file.path, partitioning=None)
        places = list(zip(*(read[c].to_pylist() for c in ("arrival", "line")), strict=True))
        assert places == sorted(places)
