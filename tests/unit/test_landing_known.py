"""What was taken is not taken again, whatever it is called and whatever becomes of it."""

import os
from dataclasses import asdict
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.times import DAY
from pipelines.ingest.landing import Known, Looked, Refusal, contents, folder, look
from pipelines.project.settings import Feed
from tests.support.lakes.landing_folder import LONG_AGO, NOON, known, land, ledger, paths, refusals


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    """A feed whose files are taken when they were left alone for 2 s."""
    source = tmp_path / "landing"
    source.mkdir()
    return Feed("ticks", ("price",), source)


def test_nothing_is_found_twice_planned_or_done(feed):
    for name in ("a.csv", "b/1.csv", "b/2.csv"):
        land(feed, name)
    looked = look(feed, Known(), NOON)
    for state in ("planned", "done"):
        assert look(feed, known(feed, looked, state=state), NOON) == Looked()
    assert len(look(feed, Known.of(ledger(looked.found), "locations"), NOON).found) == 2


def test_a_known_file_is_not_even_opened(feed):
    path = land(feed, "a.csv", "1")
    after = known(feed, look(feed, Known(), NOON))
    status = path.stat()
    path.write_text("2")
    os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    assert look(feed, after, NOON) == Looked()


def test_a_file_that_was_only_touched_is_known_and_read_once(feed):
    path = land(feed, "a.csv", "1")
    after = known(feed, look(feed, Known(), NOON))
    os.utime(path, ns=(NOON, NOON))
    assert look(feed, after, NOON) == Looked()
    with mock.patch.object(Path, "open", side_effect=AssertionError):
        assert look(feed, after, NOON) == Looked()


def test_a_large_file_that_was_hashed_whole_by_an_older_version_is_known(feed, monkeypatch):
    path = land(feed, "a.csv", b"1" * 300)
    before = look(feed, Known(), NOON)  # all of it at once, as older versions hashed every file
    monkeypatch.setattr(contents, "PART", 100)
    os.utime(path, ns=(NOON, NOON))
    assert look(feed, known(feed, before), NOON) == Looked()
    land(feed, "b.csv", b"1" * 300)
    land(feed, "c.csv", b"2" * 300)
    land(feed, "d.csv", b"2" * 301)
    after = look(feed, known(feed, before), NOON)
    assert refusals(after) == [(("b.csv",), "repeat")]
    whole, in_parts = (each.content for each in after.found)
    assert (whole.startswith("parts:"), in_parts.startswith("parts:")) == (False, True)


def test_the_same_content_under_another_name_is_refused_once_as_a_repeat(feed):
    land(feed, "a.csv", "1")
    first = look(feed, Known(), NOON)
    path = land(feed, "b.csv", "1")
    second = look(feed, known(feed, first), NOON)
    assert (second.found, refusals(second)) == ([], [(("b.csv",), "repeat")])
    (refusal,) = second.refused
    assert refusal.detail == "'b.csv' holds the same as 'a.csv' of delivery 1, which was loaded"
    assert refusal.partition_key == ""
    after = known(feed, first, second)
    assert look(feed, after, NOON) == Looked()
    os.utime(path, ns=(NOON, NOON))
    assert look(feed, after, NOON) == Looked()


def test_of_the_same_content_twice_the_first_by_path_is_taken(feed):
    for name in ("b/3", "b/2", "b/1", "b/4", "a"):
        land(feed, name, "1")
    land(feed, "b/5", "5")
    looked = look(feed, Known(), NOON)
    assert paths(looked.found) == [("a",), ("b/5",)]
    assert refusals(looked) == [(("b/1", "b/2", "b/3", "b/4"), "repeat")]
    (refusal,) = looked.refused
    assert refusal.detail.startswith(
        "'b/1' holds the same as 'a' beside it, which was loaded; 'b/2'"
    )
    assert refusal.detail.endswith("; and 1 more")
    assert look(feed, known(feed, looked), NOON) == Looked()


def test_new_content_under_a_taken_name_is_refused_once_for_each_content(feed):
    land(feed, "a.csv", "1")
    first = look(feed, Known(), NOON)
    land(feed, "a.csv", "22")
    second = look(feed, known(feed, first), NOON)
    assert refusals(second) == [(("a.csv",), "changed")]
    assert "loaded with other content as 'a.csv' of delivery 1" in second.refused[0].detail
    assert look(feed, known(feed, first, second), NOON) == Looked()
    land(feed, "a.csv", "333")
    third = look(feed, known(feed, first, second), NOON)
    assert refusals(third) == [(("a.csv",), "changed")]
    land(feed, "a.csv", "1", at=NOON - DAY // 2)
    assert look(feed, known(feed, first, second, third), NOON) == Looked()
    land(feed, "b.csv", "333")
    fourth = look(feed, known(feed, first, second, third), NOON)
    assert paths(fourth.found) == [("b.csv",)]


def test_a_refused_delivery_is_found_anew_when_its_file_has_changed(feed):
    land(feed, "a.csv", "no header")
    looked = look(feed, Known(), NOON)
    why = {"reason": "unreadable", "detail": "no column 'ts'"}
    refused = Looked(refused=[Refusal(**{**asdict(looked.found[0]), **why})])
    after = known(feed, refused)
    assert look(feed, after, NOON) == Looked()
    path = land(feed, "a.csv", "a header")
    assert paths(look(feed, after, NOON).found) == [("a.csv",)]
    land(feed, "a.csv", "no header")
    os.utime(path, ns=(NOON, NOON))
    assert paths(look(feed, after, NOON).found) == [("a.csv",)]


def test_a_retry_brings_no_file_of_the_landing_folder(feed):
    land(feed, "a.csv")
    rows = ledger(look(feed, Known(), NOON).found)
    place = rows.column_names.index("lines")
    retry = rows.set_column(place, "lines", pa.array([["[1]"]] * len(rows), pa.list_(pa.string())))
    assert len(look(feed, Known.of(retry, "ticks"), NOON).found) == 1


@given(steps=st.lists(st.tuples(st.sampled_from(["a", "b", "d/a", "d/b"]), st.integers(0, 2))))
def test_whatever_lands_no_name_and_no_content_is_taken_twice(steps, tmp_path_factory):
    feed = Feed("ticks", ("price",), tmp_path_factory.mktemp("landing"))
    looks: list[Looked] = []
    for number, (name, content) in enumerate(steps):
        land(feed, name, str(content), at=LONG_AGO + number)
        looks.append(look(feed, known(feed, *looks), NOON))
        assert look(feed, known(feed, *looks), NOON) == Looked()
    found = [one for each in looks for one in each.found]
    files = [file for one in found for file in one.files]
    hashes = [each for one in found for each in one.hashes]
    assert len(files) == len(set(files))
    assert len(hashes) == len(set(hashes))
    told = {each for one in looks for refusal in one.refused for each in refusal.hashes}
    assert len(told.union(hashes)) == len({content for _, content in steps})


@pytest.mark.fault(58)
def test_who_looks_again_and_again_stats_what_is_new_and_the_others_in_turn(feed, monkeypatch):
    monkeypatch.setattr("pipelines.ingest.landing.known.IN_TURN", 3)
    for k in range(20):
        land(feed, f"{k:02}.csv", str(k))
    known = Known.of(ledger(look(feed, Known(), NOON).found), feed.name)
    asked: list[str] = []
    why_not = folder._Walk._why_not

    def asking(walk, entry, status):
        asked.append(entry.name)
        return why_not(walk, entry, status)

    monkeypatch.setattr(folder._Walk, "_why_not", asking)
    assert not look(feed, known, NOON).found
    assert len(asked) == 20
    land(feed, "new.csv", "new")
    land(feed, "05.csv", "something else", at=NOON - DAY // 2)
    reasons = []
    for _ in range(7):
        asked.clear()
        looked = look(feed, known, NOON)
        assert [one.path for one in looked.found] == ["new.csv"]
        assert len(asked) <= 5
        reasons.append([one.reason for one in looked.refused])
    assert reasons[0] == []
    assert ["changed"] in reasons
