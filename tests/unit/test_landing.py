"""What has landed becomes deliveries, when it is complete: with real files, and real times."""

import hashlib
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.times import DAY, SECOND
from pipelines.ingest.landing import (
    Known,
    Looked,
    NewDelivery,
    contents,
    key_in_path,
    key_of_time,
    look,
)
from pipelines.project.settings import Feed
from tests.support.lakes.landing_folder import NOON, known, land, paths, refusals


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    """A feed whose files are taken when they were left alone for 2 s."""
    source = tmp_path / "landing"
    source.mkdir()
    return Feed("ticks", ("price",), source)


# What is a delivery


def test_a_file_is_a_delivery_with_all_that_the_ledger_keeps_of_it(feed):
    path = land(feed, "a.csv", "rows")
    content = hashlib.blake2b(b"rows", digest_size=20).hexdigest()
    assert look(feed, Known(), NOON) == Looked(
        found=[
            NewDelivery(
                feed="ticks",
                path="a.csv",
                files=("a.csv",),
                sizes=(4,),
                mtimes=(path.stat().st_mtime_ns,),
                hashes=(content,),
                content=content,
                partition_key="2026-11-18",
            )
        ]
    )


def test_a_sub_folder_is_one_delivery_with_all_that_lies_in_it(feed):
    for name in ("b/2.csv", "b/1.csv", "b/in/0.csv", "b-.csv", "a.csv"):
        land(feed, name)
    found = look(feed, Known(), NOON).found
    assert paths(found) == [("a.csv",), ("b/1.csv", "b/2.csv", "b/in/0.csv"), ("b-.csv",)]
    assert [one.path for one in found] == ["a.csv", "b", "b-.csv"]
    assert found[1].content not in found[1].hashes
    assert len({one.content for one in found}) == 3


def test_found_together_they_are_ordered_by_path_bytewise(feed):
    names = ["B", "Z.csv", "a", "a b.csv", "ä.csv", "z.csv", "ｚ.csv", "😀.csv"]
    for name in names:
        land(feed, name + "/x.csv" if len(name) == 1 else name)
    found = [one.path for one in look(feed, Known(), NOON).found]
    assert found == sorted(names, key=str.encode) != sorted(names, key=str.casefold)


@given(order=st.randoms(use_true_random=False))
def test_the_order_in_which_a_folder_lists_its_files_does_not_matter(order, tmp_path_factory):
    source = tmp_path_factory.mktemp("landing")
    feed = Feed("ticks", ("price",), source, partition_in_path=True)
    for name in ("d-20261117/1", "d-20261117/2", "2026-11-18.csv", "nokey.csv", "x/2026-11-16/1"):
        land(feed, name, "same" if name.endswith("1") else name)
    listed = look(feed, Known(), NOON)
    scan = os.scandir

    @contextmanager
    def shuffled(path: Path) -> Iterator[list["os.DirEntry[str]"]]:
        with scan(path) as entries:
            every = list(entries)
        order.shuffle(every)
        yield every

    with mock.patch("os.scandir", shuffled):
        assert look(feed, Known(), NOON) == listed
    assert len(listed.found) == 2
    assert refusals(listed) == [(("nokey.csv",), "no_key"), (("x/2026-11-16/1",), "repeat")]


# What waits


@pytest.mark.parametrize("name", [".a.csv", "_a.csv", "a.csv.tmp", "a.part", "_b/a.csv", "b.tmp/a"])
def test_what_is_not_under_its_final_name_waits(feed, name):
    land(feed, name)
    looked = look(feed, Known(), NOON)
    top = name.partition("/")[0]
    assert looked == Looked(waiting=[] if name.startswith(".") else [top])


def test_within_a_sub_folder_they_wait_too_and_the_others_are_taken(feed):
    for name in ("b/a.csv", "b/.c.csv", "b/_d.csv", "b/e.tmp", "b/_f/g.csv", "b/h.part/i.csv"):
        land(feed, name)
    assert paths(look(feed, Known(), NOON).found) == [("b/a.csv",)]


def test_a_file_waits_until_it_was_left_alone(feed):
    land(feed, "a.csv", at=NOON)
    soon = NOON + 2 * SECOND
    assert look(feed, Known(), soon - 1) == Looked(waiting=["a.csv"])
    assert paths(look(feed, Known(), soon).found) == [("a.csv",)]
    at_once = replace(feed, settle=0)
    assert paths(look(at_once, Known(), NOON).found) == [("a.csv",)]
    assert look(at_once, Known(), NOON - 1).found == []


@pytest.mark.fault(53)
def test_a_file_whose_time_lies_ahead_of_the_clock_waits_as_long_as_any(feed):
    written = time.time_ns() // 1000
    land(feed, "a.csv", at=written + 400 * DAY)
    os.utime(feed.source)
    assert look(feed, Known(), written + SECOND).waiting == ["a.csv"]
    assert paths(look(feed, Known(), written + 60 * SECOND).found) == [("a.csv",)]


@pytest.mark.parametrize("fresh", ["b/2.csv", "b/in/2.csv", "b/2.csv.part", "b/.2.csv"])
def test_a_sub_folder_waits_as_long_as_anything_in_it_changes(feed, fresh):
    land(feed, "b/1.csv")
    path = land(feed, fresh)
    os.utime(path, ns=(NOON * 1000, NOON * 1000))
    assert look(feed, Known(), NOON) == Looked(waiting=["b"])
    assert len(look(feed, Known(), NOON + 2 * SECOND).found) == 1


def test_a_sub_folder_waits_when_a_file_was_put_in_under_an_old_time(feed):
    land(feed, "b/1.csv")
    os.utime(feed.source / "b", ns=(NOON * 1000, NOON * 1000))
    assert look(feed, Known(), NOON) == Looked(waiting=["b"])


def test_a_mark_of_success_speaks_for_the_files_that_are_not_newer(feed):
    land(feed, "b/1.csv", at=NOON - 9)
    land(feed, "b/_SUCCESS", "", at=NOON - 5)
    first = look(feed, Known(), NOON)
    assert paths(first.found) == [("b/1.csv",)]
    land(feed, "b/2.csv", at=NOON - 1)
    after = known(feed, first)
    assert look(feed, after, NOON) == Looked(waiting=["b"])
    later = look(feed, after, NOON + 2 * SECOND)
    assert [(one.path, one.files) for one in later.found] == [("b", ("b/2.csv",))]


def test_files_that_come_later_make_a_further_delivery_of_only_those(feed):
    land(feed, "b/1.csv")
    first = look(feed, Known(), NOON)
    land(feed, "b/0.csv")
    land(feed, "b/in/2.csv")
    second = look(feed, known(feed, first), NOON)
    assert [(one.path, one.files) for one in second.found] == [("b", ("b/0.csv", "b/in/2.csv"))]
    assert look(feed, known(feed, first, second), NOON) == Looked()


def test_a_job_that_is_still_at_it_keeps_its_folder_waiting(feed):
    land(feed, "b/1.csv")
    land(feed, "b/_temporary/0/2.csv")
    assert look(feed, Known(), NOON) == Looked(waiting=["b"])


def test_a_file_that_changes_while_it_is_read_waits(feed):
    land(feed, "a.csv", b"1" * (contents.PIECE + 1))
    hash_of = hashlib.blake2b
    took: list[int] = []

    class Meanwhile:
        """A hash during which someone appends to the file."""

        def __init__(self, *, digest_size: int) -> None:
            self.hash = hash_of(digest_size=digest_size)

        def update(self, piece: bytes) -> None:
            if not took:
                with (feed.source / "a.csv").open("ab") as file:
                    file.write(b"2")
            took.append(len(piece))

        def digest(self) -> bytes:
            return b"of what was read"

    with mock.patch("hashlib.blake2b", Meanwhile):
        assert look(feed, Known(), NOON) == Looked(waiting=["a.csv"])
    assert len(took) > 1


def test_a_large_file_has_the_hash_of_the_hashes_of_its_parts(feed, monkeypatch):
    monkeypatch.setattr(contents, "PART", 100)
    texts = {"a": b"7" * 199, "b": b"7" * 200, "c": b"7" * 299 + b"8"}
    for name, text in texts.items():
        land(feed, name, text)

    def blake(text: bytes) -> bytes:
        return hashlib.blake2b(text, digest_size=20).digest()

    parts = {name: [text[at : at + 100] for at in (0, 100, 200)] for name, text in texts.items()}
    by_parts = {name: blake(b"".join(map(blake, filter(None, parts[name])))) for name in "bc"}
    expected = [blake(texts["a"]).hex(), *(f"parts:{each.hex()}" for each in by_parts.values())]
    assert [found.content for found in look(feed, Known(), NOON).found] == expected


# What is passed over


@pytest.mark.fault(61)
def test_what_is_no_file_of_the_folder_is_passed_over_and_told(feed):
    os.mkfifo(feed.source / "pipe.csv")
    (feed.source / "out.csv").symlink_to(feed.source.parent / "secret.csv")
    (feed.source.parent / "secret.csv").write_text("s")
    (feed.source / "nothing.csv").symlink_to("nowhere")
    (feed.source / "loop").symlink_to(".")
    (feed.source / ".hidden").symlink_to("nowhere")
    (feed.source / "odd\nname.csv").write_text("o")
    (feed.source / "d").mkdir()
    (feed.source / "d" / "out.csv").symlink_to("../../secret.csv")
    Path(os.fsdecode(os.fsencode(feed.source) + b"/latin\xe9.csv")).write_text("l")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(feed.source / "socket"))
    looked = look(replace(feed, settle=0), Known(), NOON + 9999 * DAY)
    assert looked.found == []
    assert looked.passed_over == [
        "d/out.csv: is a link out of the landing folder",
        "latin�.csv: its name is not UTF-8",
        "loop: is a link to a folder",
        "nothing.csv: is a link to nothing",
        "odd�name.csv: its name holds a control character, U+000A, as character 4",
        "out.csv: is a link out of the landing folder",
        "pipe.csv: is neither a file nor a folder",
        "socket: is neither a file nor a folder",
    ]


def test_a_link_within_the_folder_is_a_file_like_any(feed):
    land(feed, "_store/a.csv")
    (feed.source / "now.csv").symlink_to("_store/a.csv")
    assert paths(look(feed, Known(), NOON).found) == [("now.csv",)]


def test_a_delta_table_is_not_taken_for_files(feed):
    land(feed, "b/in/_delta_log/0.json")
    land(feed, "b/in/1.parquet")
    looked = look(feed, Known(), NOON)
    assert looked == Looked(passed_over=["b: holds a Delta table, which is no delivery"])
    land(feed, "_delta_log/0.json")
    (told,) = look(feed, Known(), NOON).passed_over
    assert 'declare format = "delta"' in told


def test_a_landing_folder_that_is_not_there_is_told(feed):
    (told,) = look(replace(feed, source=feed.source / "none"), Known(), NOON).passed_over
    assert (
        told == f"{feed.source / 'none'}: there is no such folder: make it, and put files into it"
    )
    land(feed, "a.csv")
    (told,) = look(replace(feed, source=feed.source / "a.csv"), Known(), NOON).passed_over
    assert "cannot be read: Not a directory" in told


# Which partition it belongs to


@pytest.mark.parametrize(
    ("path", "day", "hour"),
    [
        ("2026-11-18.csv", "2026-11-18", None),
        ("ticks-20261118.csv", "2026-11-18", None),
        ("ticks_2026_11_18_09.csv.gz", "2026-11-18", "2026-11-18T09"),
        ("20261118T09", "2026-11-18", "2026-11-18T09"),
        ("20261118-091500.csv", "2026-11-18", "2026-11-18T09"),
        ("2026-11-18T09:15:00Z.json", "2026-11-18", "2026-11-18T09"),
        ("2026-11-18 09.csv", "2026-11-18", "2026-11-18T09"),
        ("2026-11-18/09/part-0", "2026-11-18", "2026-11-18T09"),
        ("2026/11/18/23", "2026-11-18", "2026-11-18T23"),
        ("dt=2026-11-18/hr=09/0.csv", "2026-11-18", "2026-11-18T09"),
        ("year=2026/month=11/day=18/hour=09/0.csv", "2026-11-18", "2026-11-18T09"),
        ("2026-11-18/ticks-2026-11-18T09.csv", "2026-11-18", "2026-11-18T09"),
        ("2026-11-18-24.csv", "2026-11-18", None),
        ("2026-11-18-091.csv", "2026-11-18", None),
        ("2026-02-30/2026-03-01", "2026-03-01", None),
        ("2024-02-29.csv", "2024-02-29", None),
        ("2026-11/18.csv", None, None),
        ("2026-1-18.csv", None, None),
        ("1763456789012.csv", None, None),
        ("202611180.csv", None, None),
        ("٢٠٢٦-١١-١٨.csv", None, None),
        ("a.csv", None, None),
    ],
)
def test_a_key_is_the_first_date_and_hour_of_the_calendar_in_the_path(path, day, hour):
    assert (key_in_path(path, "day"), key_in_path(path, "hour")) == (day, hour)


def test_without_a_key_in_the_path_it_is_that_of_the_arrival(feed):
    assert (key_of_time(NOON, "day"), key_of_time(NOON, "hour")) == ("2026-11-18", "2026-11-18T12")
    land(feed, "2020-01-01.csv")
    (found,) = look(replace(feed, partition="hour"), Known(), NOON).found
    assert found.partition_key == "2026-11-18T12"


@pytest.mark.fault(53)
def test_the_partition_never_goes_back_though_the_clock_does(feed):
    land(feed, "a.csv")
    first = look(feed, Known(), NOON)
    land(feed, "b.csv")
    (found,) = look(feed, known(feed, first), NOON - DAY // 2 - 1).found
    assert found.partition_key == "2026-11-18"
    (found,) = look(feed, known(feed, first), NOON + DAY).found
    assert found.partition_key == "2026-11-19"


def test_a_key_in_the_path_may_be_an_earlier_one(feed):
    feed = replace(feed, partition_in_path=True)
    for name in ("2026-11-17.csv", "d 2026-11-16/2026-11-18.csv", "nokey/a.csv", "b.csv"):
        land(feed, name)
    looked = look(feed, Known(_keys=Counter(["2026-11-18"])), NOON)
    keys = [(one.path, one.partition_key) for one in looked.found]
    assert keys == [("2026-11-17.csv", "2026-11-17"), ("d 2026-11-16", "2026-11-16")]
    assert refusals(looked) == [(("b.csv",), "no_key"), (("nokey/a.csv",), "no_key")]
    assert looked.refused[0].detail == (
        "'b.csv' does not name a day like 2026-11-18 or 20261118, as partition_in_path says it does"
    )
    assert look(feed, known(feed, looked), NOON) == Looked()
    (touched,) = feed.source.glob("b.csv")
    os.utime(touched, ns=(NOON, NOON))
    after = replace(feed, partition_in_path=False)
    assert paths(look(after, known(feed, looked), NOON).found) == [("b.csv",)]


def test_where_only_the_files_paths_name_their_hours_each_hour_is_a_delivery(feed):
    feed = replace(feed, partition="hour", partition_in_path=True)
    for name in ("hr=10/0.csv", "hr=09/0.csv", "hr=09/in/1.csv", "0.csv"):
        land(feed, f"dt=2026-11-18/{name}")
    looked = look(feed, Known(), NOON)
    assert [(one.path, one.partition_key, len(one.files)) for one in looked.found] == [
        ("dt=2026-11-18/hr=09", "2026-11-18T09", 2),
        ("dt=2026-11-18/hr=10", "2026-11-18T10", 1),
    ]
    assert refusals(looked) == [(("dt=2026-11-18/0.csv",), "no_key")]
    assert look(feed, known(feed, looked), NOON) == Looked()
