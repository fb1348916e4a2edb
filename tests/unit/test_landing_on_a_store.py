"""Landing on an object store: found by a listing, known by entity tags, read as copies."""

import io
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines import ingest, places
from pipelines.ingest import at_hand, row_groups, units
from pipelines.ingest.landing import contents
from pipelines.ingest.landing.bucket import walk
from pipelines.ingest.landing.folder import File
from pipelines.ingest.landing.news import outside
from pipelines.ingest.units import FilePart
from pipelines.lake.sequence import ARRIVALS
from pipelines.lake.store import Store
from pipelines.places import Remote, is_remote
from pipelines.spark.runner import HereRunner
from tests.support.lakes.landing_place import T0, Place, ticks
from tests.support.stores.proxy import Proxy
from tests.support.stores.servers import S3

NOW = 4_000_000_000_000_000
"""Long after everything in a store was changed, µs."""


def feed_on(place: Place, bucket: S3) -> Remote:
    source = places.place_of(bucket.uri("landing"), Path("/"))
    assert is_remote(source)
    place.declare("ticks", source=source)
    return source


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.make(tmp_path)


def put(source: places.Place, name: str, content: str | bytes) -> None:
    places.replace(source / name, content.encode() if isinstance(content, str) else content)


def test_an_object_is_loaded_as_soon_as_it_is_listed_and_once(place, moto_s3):
    source = feed_on(place, moto_s3)
    put(source, "a b+ü%20.csv", ticks(1, 2) + "no tuple\n")
    put(source, "day=2026-11-18/x.csv", ticks(3))
    put(source, "day=2026-11-18/_SUCCESS", "")
    put(source, "growing/x.csv", ticks(9))
    put(source, "_hidden.csv", ticks(8))
    put(source, "half.csv.tmp", ticks(8))
    report = place.ingest()
    assert report.waiting == {"ticks": ["_hidden.csv", "growing", "half.csv.tmp"]}
    assert [(r["path"], r["files"], r["state"]) for r in place.arrivals()] == [
        ("a b+ü%20.csv", ["a b+ü%20.csv"], "done"),
        ("day=2026-11-18", ["day=2026-11-18/x.csv"], "done"),
    ]
    assert [row["price"] for row in place.tuples()] == [1.0, 2.0, 3.0]
    assert [row["path"] for row in place.aside()] == ["a b+ü%20.csv"]
    assert (place.ingest().loaded, place.ingest().refused) == ([], [])
    assert outside(place.settings.feeds["ticks"], place.store.rows(ARRIVALS), T0).landed == 0
    assert [each.path for each in place.ingest(NOW).loaded] == ["growing"]


def test_a_repeat_and_a_change_are_known_by_the_entity_tag_and_nothing_is_read_for_it(
    place, watched_s3
):
    bucket, proxy = watched_s3
    source = feed_on(place, bucket)
    put(source, "a.csv", ticks(1))
    place.ingest()
    put(source, "b.csv", ticks(1))
    put(source, "a.csv", ticks(2))
    with proxy.counted():
        report = place.ingest()
    assert [(each.path, each.reason) for each in report.refused] == [
        ("a.csv", "changed"), ("b.csv", "repeat")
    ]  # fmt: skip
    assert proxy.counts() == {"LIST": 1}
    put(source, "b.csv", ticks(1))  # touched
    assert place.ingest().refused == []


def test_an_idle_look_is_a_listing_and_a_delivery_one_request_more(place, watched_s3):
    bucket, proxy = watched_s3
    source = feed_on(place, bucket)
    content = ticks(*range(1000))
    put(source, "a.csv", content)
    with proxy.counted():
        place.ingest()
    assert proxy.counts() == {"LIST": 1, "GET": 1}
    assert sum(each.received for each in proxy.seen if each.kind == "GET") == len(content)
    with proxy.counted():
        place.ingest()
    assert proxy.counts() == {"LIST": 1}


def test_a_large_parquet_file_is_read_in_parts_and_each_byte_once(place, watched_s3, monkeypatch):
    """Fetched are the row groups of each task, and the footer for each."""
    monkeypatch.setattr(units, "SMALL", 1 << 10)
    monkeypatch.setattr(units, "LEAST", 1 << 16)
    monkeypatch.setattr(units, "MOST", 1 << 16)
    monkeypatch.setattr(row_groups, "LEAST_TAIL", 1 << 10)
    count = 40_000
    rows = pa.table(
        {
            "stream_id": [f"s{k % 7}" for k in range(count)],
            "ts": [f"2026-11-18T11:{k // 1000:02}:{k % 60:02}Z" for k in range(count)],
            "price": [k * 0.37 for k in range(count)],
            "volume": [k * 1.21 for k in range(count)],
        }
    )
    stored = io.BytesIO()
    pq.write_table(rows, stored, row_group_size=4_000)
    bucket, proxy = watched_s3
    source = feed_on(place, bucket)
    put(source, "a.parquet", stored.getvalue())
    with proxy.counted():
        report = place.ingest()
    assert [each.tuples for each in report.loaded] == [count]
    assert sorted(row["price"] for row in place.tuples()) == rows["price"].to_pylist()
    gets = [each for each in proxy.seen if each.kind == "GET"]
    moved = sum(each.received for each in gets)
    assert len(gets) > 8, "a footer and a range for each of several tasks"
    assert moved <= 1.2 * len(stored.getvalue())


def test_an_object_rewritten_or_gone_after_it_was_found_is_refused_and_found_again(
    place, moto_s3, monkeypatch
):
    source = feed_on(place, moto_s3)
    put(source, "a.csv", ticks(1))
    put(source, "b.csv", ticks(2))

    def fetched(self: at_hand.Copies, landing: Remote, file: FilePart) -> Path:
        put(source, "a.csv", ticks(5))
        (source / "b.csv").unlink(missing_ok=True)
        return original(self, landing, file)

    original = at_hand.Copies._fetched
    monkeypatch.setattr(at_hand.Copies, "_fetched", fetched)
    assert [each.reason for each in place.ingest().refused] == ["rewritten", "vanished"]
    monkeypatch.undo()
    moto_s3.adopt(monkeypatch)
    assert [each.path for each in place.ingest().loaded] == ["a.csv"]
    assert [row["price"] for row in place.tuples()] == [5.0]


def test_what_a_store_refused_is_retried_from_there(place, moto_s3):
    source = feed_on(place, moto_s3)
    put(source, "a.parquet", "no Parquet")
    put(source, "b.csv", ticks(1) + "no tuple\n")
    place.ingest()
    put(source, "a.parquet", ticks(7))
    place.declare("ticks", form="csv")
    report = place.retry()
    assert [(each.path, each.tuples) for each in report.loaded] == [("a.parquet", 1), ("b.csv", 0)]
    assert [row["price"] for row in place.tuples()] == [1.0, 7.0]


def test_a_landing_folder_that_moved_to_a_store_is_known_there(place, moto_s3):
    place.land("a.csv", ticks(1))
    place.ingest()
    source = feed_on(place, moto_s3)
    put(source, "a.csv", ticks(1))
    put(source, "b.csv", ticks(2))
    report = place.ingest()
    assert ([each.path for each in report.loaded], report.refused) == (["b.csv"], [])


def test_where_entity_tags_are_of_versions_the_content_is_read(place, moto_s3, monkeypatch):
    monkeypatch.setattr(contents, "content_tag", lambda _source, _file: None)
    source = feed_on(place, moto_s3)
    put(source, "a.csv", ticks(1))
    put(source, "b.csv", ticks(1))
    assert [(each.path, each.reason) for each in place.ingest().refused] == [("b.csv", "repeat")]
    (first, _) = place.arrivals()
    put(place_on_disk(place), "a.csv", ticks(1))
    assert first["hashes"] == [contents.hash_of(place_on_disk(place), disk_file(place))]


def place_on_disk(place: Place) -> Path:
    folder = place.folder / "copy"
    folder.mkdir(exist_ok=True)
    return folder


def disk_file(place: Place) -> File:
    return contents.file_at(place_on_disk(place), "a.csv")


def test_what_consoles_make_for_folders_is_no_file(moto_s3):
    client = boto3.client("s3", endpoint_url=moto_s3.endpoint)
    for key in ("landing/", "landing/day/", "landing/day/deep/", "landing/empty/"):
        client.put_object(Bucket=moto_s3.bucket, Key=key, Body=b"")
    client.put_object(Bucket=moto_s3.bucket, Key="landing/day/deep/x.csv", Body=b"1")
    source = places.place_of(moto_s3.uri("landing"), Path("/"))
    assert is_remote(source)
    (landed,) = walk(source, int(timedelta(seconds=1).total_seconds()), NOW).landed
    assert [file.path for file in landed.complete] == ["day/deep/x.csv"]


def test_versions_of_one_second_and_size_are_told_apart(place, moto_s3):
    source = feed_on(place, moto_s3)
    put(source, "a.csv", ticks(1))
    place.ingest()
    put(source, "a.csv", ticks(2))
    assert [each.reason for each in place.ingest().refused] == ["changed"]


def test_a_store_that_loses_answers_of_reads_is_asked_again(place, watched_s3: tuple[S3, Proxy]):
    bucket, proxy = watched_s3
    source = feed_on(place, bucket)
    for k in range(10):
        put(source, f"{k}.csv", ticks(k))
    proxy.refused = 0.3
    place.ingest()
    proxy.refused = 0.0
    assert proxy.faults
    assert [row["price"] for row in place.tuples()] == [float(k) for k in range(10)]


def test_a_delta_table_on_a_store_is_a_source(place, moto_s3):
    from deltalake import write_deltalake

    source = feed_on(place, moto_s3)
    place.declare("ticks", form="delta")
    for k in range(2):
        rows = {"stream_id": ["s"], "ts": [f"2026-11-18T11:59:0{k}Z"], "price": [k], "volume": [1]}
        options = places.delta_options(source)
        write_deltalake(str(source), pa.table(rows), mode="append", storage_options=options)
    assert [each.tuples for each in place.ingest().loaded] == [1, 1]
    assert (place.ingest().loaded, place.ingest().refused) == ([], [])


def test_a_lake_on_a_store_takes_what_landed_on_a_store_in_few_requests(place, watched_s3):
    bucket, proxy = watched_s3
    source = feed_on(place, bucket)
    put(source, "a.csv", ticks(1, 2) + "no tuple\n")
    root = source.with_name("lake")
    place.settings = replace(place.settings, root=root)
    Store.create(root, place.settings.tables, buckets=4)
    place.store = Store.open(root, place.settings.tables)
    with proxy.counted():
        place.ingest()
    assert sum(proxy.counts().values()) <= 30, proxy.counts()
    assert [row["price"] for row in place.tuples()] == [1.0, 2.0]
    assert [row["path"] for row in place.aside()] == ["a.csv"]
    with proxy.counted():
        assert place.ingest().loaded == []
    assert sum(proxy.counts().values()) <= 5, proxy.counts()


def test_tasks_hash_what_is_much_and_the_hashes_are_the_same(place, monkeypatch):
    class Two(HereRunner):
        slots = 2
        tasks = 0

        def run(self, work, tasks):
            self.tasks += len(tasks) if work is hashing.hashes else 0
            return super().run(work, tasks)

    from pipelines.ingest import hashing

    monkeypatch.setattr(hashing, "MUCH", 1)
    for k in range(5):
        place.land(f"{k}.csv", ticks(k))
    runner = Two()
    ingest.ingest(place.store, place.settings, runner, T0)
    assert runner.tasks == 2
    feed = replace(place.settings.feeds["ticks"])
    monkeypatch.setattr(contents, "_made", {})
    for row in place.arrivals():
        file = contents.file_at(feed.source, row["path"])
        assert row["hashes"] == [contents.hash_of(feed.source, file)]
