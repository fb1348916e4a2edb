"""What was turned away is taken up again where it can be, and no row twice."""

import shutil
from pathlib import Path

import pytest

from fencepost.errors import InputError
from pipelines.project.settings import Feed
from tests.support.crashes import Killed, killed_at
from tests.support.lakes.landing_place import AT, HEAD, T0, Place, ticks

DAY = 86_400_000_000


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A lake whose feed has integer times and no unit for them yet."""
    place = Place.make(tmp_path, Feed("ticks", ("price",), Path("ticks")))
    lines = [
        "stream_id,ts,price",
        f"a,{AT.format(0)},1",
        "b,1795003200,2",
        "c,?,3",
        "d,1795003200,4",
    ]
    place.land("a.csv", "\n".join(lines) + "\n")
    place.ingest()
    return place


def test_rows_turned_away_are_taken_under_a_new_number_and_only_these(place):
    place.declare("ticks", ts_unit="s")
    report = place.retry()
    assert [(t.n, t.path, t.rows, t.tuples, t.malformed) for t in report.loaded] == [
        (2, "a.csv", 3, 2, 1)
    ]
    assert [(r["arrival"], r["line"], r["price"]) for r in place.tuples()] == [
        (1, 2, 1.0), (2, 3, 2.0), (2, 5, 4.0)
    ]  # fmt: skip
    first, second = place.arrivals()
    assert (first["lines"], second["lines"]) == (None, ["[[3, 5]]"])
    assert second["content"] == first["content"]


@pytest.mark.fault(32)
def test_no_row_is_taken_twice_however_often_it_is_asked_for(place):
    place.declare("ticks", ts_unit="s")
    place.retry()
    for n in (3, 4):
        report = place.retry()
        assert [(t.n, t.rows, t.tuples, t.malformed) for t in report.loaded] == [(n, 1, 0, 1)]
    assert len(place.tuples()) == 3
    assert place.arrivals()[-1]["lines"] == ["[[4, 4]]"]
    assert place.ingest().loaded == []


@pytest.mark.fault(5)
def test_a_crash_while_it_is_taken_up_takes_nothing_twice(place):
    place.declare("ticks", ts_unit="s")
    with killed_at("ingest.tuples"), pytest.raises(Killed):
        place.retry()
    place.recovered()
    assert sorted(row["price"] for row in place.tuples()) == [1.0, 2.0, 4.0]
    assert [taken.rows for taken in place.retry().loaded] == [1]


def test_a_row_from_the_future_is_taken_once_its_time_has_come(tmp_path):
    place = Place.make(tmp_path)
    place.land("a.csv", HEAD + "s,2026-11-20T00:00:00Z,1,1\ns,x,2,1\n")
    place.ingest()
    assert [t.future for t in place.retry(reasons=["future"]).loaded] == [1]
    assert [t.tuples for t in place.retry(T0 + DAY, reasons=["future"]).loaded] == [1]
    assert place.retry(T0 + DAY, reasons=["future"]).loaded == []
    assert [(row["line"], row["arrival"]) for row in place.tuples()] == [(2, 3)]


def test_rows_of_a_file_that_is_gone_or_changed_stay_and_are_told(place):
    source = place.settings.feeds["ticks"].source
    place.declare("ticks", ts_unit="s")
    shutil.move(source / "a.csv", source.parent / "a.csv")
    report = place.retry()
    assert report.loaded == []
    (told,) = report.passed_over["ticks"]
    assert told.startswith("delivery 1, a.csv: 'a.csv' was found and is not there any more")
    shutil.move(source.parent / "a.csv", source / "a.csv")
    assert [taken.tuples for taken in place.retry().loaded] == [2]


def test_of_a_folder_only_the_files_that_are_there_give_rows(tmp_path):
    place = Place.make(tmp_path)
    for name in "xyz":
        place.land(f"d/{name}.csv", ticks(1, stream=name) + "?\n")
    place.land("d/w.csv", ticks(1, stream="w"))
    place.ingest()
    (place.settings.feeds["ticks"].source / "d/y.csv").unlink()
    report = place.retry()
    assert [(t.rows, t.malformed) for t in report.loaded] == [(2, 2)]
    assert place.arrivals()[-1]["lines"] == ["[]", "[[3, 3]]", "[]", "[[3, 3]]"]
    assert [(r["arrival"], r["file"]) for r in place.aside()] == [
        (1, 1), (1, 2), (1, 3), (2, 1), (2, 3)
    ]  # fmt: skip


def test_a_refused_delivery_is_taken_once_what_it_lacked_is_declared(tmp_path):
    place = Place.make(tmp_path, Feed("ticks", ("price",), Path("ticks")))
    place.land("a.csv", f"device,ts,price\ns,{AT.format(0)},1\n")
    place.ingest()
    assert place.retry().refused[0].reason == "unreadable"
    place.declare("ticks", stream_column="device")
    assert [(t.n, t.tuples) for t in place.retry().loaded] == [(3, 1)]
    assert (place.retry().loaded, place.ingest().loaded) == ([], [])
    assert len(place.tuples()) == 1


def test_a_refused_file_that_was_found_anew_meanwhile_is_not_taken_up(tmp_path):
    place = Place.make(tmp_path)
    place.land("d/a.csv", "stream_id\n")
    place.land("d/b.csv", ticks(1))
    place.ingest()
    place.land("d/a.csv", ticks(2))
    assert [(t.path, t.tuples) for t in place.ingest().loaded] == [("d", 1)]
    assert [(t.path, t.tuples) for t in place.retry().loaded] == [("d", 1)]
    assert sorted(row["price"] for row in place.tuples()) == [1.0, 2.0]


def test_a_vanished_file_is_taken_when_it_is_back(tmp_path):
    place = Place.make(tmp_path)
    path = place.land("a.csv", ticks(1))
    with killed_at("ingest.planned"), pytest.raises(Killed):
        place.ingest()
    shutil.move(path, tmp_path / "a.csv")
    place.recovered()
    assert "cannot be read" in place.retry().passed_over["ticks"][0]
    shutil.move(tmp_path / "a.csv", path)
    assert [taken.tuples for taken in place.retry().loaded] == [1]


def test_repeats_and_changed_files_are_taken_only_where_that_is_said(tmp_path):
    place = Place.make(tmp_path)
    place.land("a.csv", ticks(1))
    place.ingest()
    place.land("a.csv", ticks(2))
    place.land("b.csv", ticks(1))
    place.ingest()
    assert place.retry().loaded == []
    assert [t.path for t in place.retry(reasons=["changed"]).loaded] == ["a.csv"]
    assert [t.path for t in place.retry(reasons=["repeat"]).loaded] == ["b.csv"]
    assert place.retry(reasons=["repeat", "changed"]).loaded == []


def test_a_row_keeps_the_hour_of_its_path_where_paths_name_it(tmp_path):
    declared = Feed("ticks", ("price",), Path("ticks"), partition_in_path=True)
    place = Place.make(tmp_path, declared)
    place.land("2026-01-02.csv", "stream_id,ts,price\ns,?,1\n")
    place.ingest()
    place.retry()
    assert [row["partition_key"] for row in place.arrivals()] == ["2026-01-02"] * 2


def test_what_cannot_be_retried_is_said(place):
    with pytest.raises(InputError, match=r"unknown reason 'malfromed'.*Did you mean 'malformed'"):
        place.retry(reasons=["malfromed"])
    with pytest.raises(InputError, match="'late' cannot be retried: a late tuple stays out"):
        place.retry(reasons=["late"])
    with pytest.raises(InputError, match=r"unknown feed 'tick'.*Did you mean 'ticks'"):
        place.retry(feed="tick")
