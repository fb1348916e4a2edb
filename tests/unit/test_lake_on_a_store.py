"""A lake on an object store is the lake that it would be on a disk, and asks for little."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from fencepost.errors import LakeError, StoreUnavailable
from pipelines import places
from pipelines.lake import checksums, layout
from pipelines.lake.append import append_once
from pipelines.lake.data_files import GrowingFile, open_verified
from pipelines.lake.evidence import Evidence
from pipelines.lake.log import SEAL
from pipelines.lake.snapshot import of_delta, opened
from pipelines.lake.store import Store
from pipelines.places import Remote, connection, delta_options, place_of
from schemas import Table, all_tables, axes_only

TABLES = all_tables(axes_only({"ticks": ("price",)}))
NAME = "quarantine"
EVIDENCE = Evidence("evaluate", "p1", "ticks", 1, 2, 1, 1, 7)


def evidence(plan: str) -> Evidence:
    return Evidence("evaluate", plan, "ticks", 1, 2, 1, 1, 7)


def row(line: int) -> dict[str, object]:
    said = {"feed": "ticks", "arrival": 1, "reason": "late", "detail": "", "path": ""}
    return said | {"file": 0, "line": line, "raw": ""}


def remote(uri: str) -> Remote:
    place = place_of(uri, Path("/"))
    assert isinstance(place, Remote)
    return place


@pytest.fixture
def root(moto_s3) -> Remote:
    return remote(moto_s3.uri("deep/lake"))


def filled(root: places.Place, commits: int, tables: dict[str, Table] = TABLES) -> Store:
    store = Store.create(root, {NAME: tables[NAME]}, buckets=2)
    for n in range(commits):
        files = store.write_rows(NAME, [row(n)])
        store.append(NAME, store.version(NAME), files, evidence(f"p{n}"))
    return store


def lines(store: Store) -> list[int]:
    return sorted(store.rows(NAME)["line"].to_pylist())


def test_a_lake_on_a_store_has_the_tables_of_one_on_a_disk(root, tmp_path) -> None:
    stored = Store.create(root, TABLES, buckets=8)
    local = Store.create(tmp_path / "lake", TABLES, buckets=8)
    for name in TABLES:
        theirs, ours = stored.delta(name), local.delta(name)
        assert theirs.schema().to_json() == ours.schema().to_json()
        assert theirs.protocol().min_reader_version == ours.protocol().min_reader_version
        has, wants = theirs.metadata(), ours.metadata()
        assert (has.name, has.description) == (wants.name, wants.description)
        assert has.partition_columns == wants.partition_columns
        assert has.configuration.keys() == wants.configuration.keys()
    with pytest.raises(LakeError, match="there is a lake at s3://"):
        Store.create(root, TABLES, buckets=8)
    with pytest.raises(LakeError, match="there is no lake at s3://"):
        Store.to_read(root / "other", TABLES)


def test_rows_are_written_read_and_moved(root) -> None:
    store = filled(root, 3)
    reader = Store.to_read(root, {NAME: TABLES[NAME]})
    assert lines(store) == lines(reader) == [0, 1, 2]
    gone = store.files(NAME)
    came = store.write(NAME, pa.concat_tables([store.read(NAME, file) for file in gone]))
    store.rearrange(NAME, store.version(NAME), gone, came)
    assert lines(store) == lines(reader) == [0, 1, 2]
    assert [file.path for file in reader.files(NAME)] == [file.path for file in came]
    assert reader.log(NAME).rearrangements == 1
    delta = DeltaTable(str(root / NAME), storage_options=delta_options(root))
    assert sorted(delta.to_pyarrow_table()["line"].to_pylist()) == [0, 1, 2]
    assert all(checksums.OURS.fullmatch(each.path.rpartition("/")[2]) for each in came)


def test_a_log_says_what_delta_rs_says_with_and_without_a_checkpoint(root) -> None:
    store = filled(root, 2)
    for _ in range(3):
        ours = opened(root / NAME, TABLES[NAME])
        theirs = of_delta(root / NAME, store.delta(NAME), TABLES[NAME])
        assert ours.version == theirs.version
        assert ours.id == theirs.id
        assert ours.schema.to_json() == theirs.schema.to_json()
        assert list(ours.partitioned_by) == list(theirs.partitioned_by)
        assert {each.path: each for each in ours.files} == {e.path: e for e in theirs.files}
        assert ours.newest == theirs.newest
        store.delta(NAME).create_checkpoint()
        files = store.write_rows(NAME, [row(store.version(NAME))])
        store.append(NAME, store.version(NAME), files, evidence(str(store.version(NAME))))


def test_a_log_is_opened_from_its_checkpoint_when_older_commits_are_gone(root) -> None:
    store = filled(root, 3)
    store.delta(NAME).create_checkpoint()
    for version in range(3):
        layout.commit_path(root / NAME, version).unlink()
    later = Store.open(root, {NAME: TABLES[NAME]})
    assert (later.version(NAME), lines(later)) == (3, [0, 1, 2])
    assert layout.oldest_commit(root / NAME) == 3
    layout.commit_path(root / NAME, 3).unlink()
    assert Store.open(root, {NAME: TABLES[NAME]}).version(NAME) == 3


@pytest.mark.parametrize("what", ["a gap", "another table", "a broken seal", "a restore"])
def test_a_strange_table_is_refused_when_it_is_first_used(root, what) -> None:
    filled(root, 3)
    path = layout.commit_path(root / NAME, 2 if what == "a gap" else 3)
    actions = layout.read_commit(root / NAME, 3) or []
    if what == "a gap":
        path.unlink()
    elif what == "another table":
        note = layout.Note.read(root)
        note.with_id(NAME, "other").write(root)
    else:
        info = actions[0]["commitInfo"]
        info |= {SEAL: "0" * 16} if what == "a broken seal" else {"operation": "RESTORE"}
        places.replace(path, layout.as_commit(actions))
    said = {
        "a gap": "lacks some",
        "another table": "dropped and created again",
        "a broken seal": "is damaged",
        "a restore": "was restored",
    }
    store = Store.to_read(root, {NAME: TABLES[NAME]})
    with pytest.raises(LakeError, match=said[what]):
        store.version(NAME)


def test_a_flipped_byte_is_noticed(root) -> None:
    store = filled(root, 1)
    (file,) = store.files(NAME)
    path = root / NAME / file.path
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    places.replace(path, bytes(content))
    with pytest.raises(LakeError, match="missing or damaged: its checksum"):
        Store.to_read(root, store.tables).rows(NAME)
    path.unlink()
    with pytest.raises(LakeError, match="missing or damaged: there is no s3://"):
        Store.to_read(root, store.tables).rows(NAME)


def test_what_delta_rs_rewrites_is_checksummed(root) -> None:
    store = filled(root, 3)
    store.rewrite(NAME, lambda delta: delta.optimize.compact())
    (file,) = store.files(NAME)
    assert checksums.recorded(root / NAME, file.path) is not None
    assert lines(Store.to_read(root, store.tables)) == [0, 1, 2]
    content = bytearray((root / NAME / file.path).read_bytes())
    content[40] ^= 1
    places.replace(root / NAME / file.path, bytes(content))
    with pytest.raises(LakeError, match="its checksum"):
        Store.to_read(root, store.tables).rows(NAME)


def test_a_new_column_is_added_by_who_writes(root) -> None:
    filled(root, 1)
    wider = all_tables(axes_only({"ticks": ("price",)}))[NAME]
    fewer = replace(wider, columns=wider.columns[:-1])
    note = layout.Note.read(root)
    store = Store.create(root.parent / "older", {NAME: fewer}, buckets=2)
    assert note.buckets == 2
    assert Store.to_read(store.root, {NAME: wider}).rows(NAME).num_rows == 0
    assert len(store.delta(NAME).schema().fields) == len(wider.columns) - 1
    Store.open(store.root, {NAME: wider}).version(NAME)
    assert len(store.delta(NAME).schema().fields) == len(wider.columns)


def test_a_large_file_goes_up_in_parts_and_one_that_fails_leaves_nothing(root) -> None:
    table = TABLES["ticks"]
    n = 1 << 20
    rows = pa.table(
        {
            "stream_id": pa.array([f"s{k}" for k in range(n)]),
            "ts": pa.array(range(n), pa.timestamp("us", "UTC")),
            "price": pa.array([k * 0.37 for k in range(n)]),
            "arrival": pa.array([1] * n, pa.int64()),
            "file": pa.array([0] * n, pa.int32()),
            "line": pa.array(range(n), pa.int64()),
            "deleted": pa.nulls(n, pa.bool_()),
        }
    )
    with GrowingFile(root / "ticks", table, {"bucket": "-1"}) as file:
        file.add(rows)
    written = file.closed()
    assert written.size > 8 << 20
    assert open_verified(root / "ticks", written.path).metadata.num_rows == n
    with pytest.raises(ZeroDivisionError), GrowingFile(root / "t", table, {}) as half:
        half.add(rows.slice(0, 1 // 0))
    assert not (root / "t").is_dir()


def test_requests_of_a_commit(watched_s3) -> None:
    bucket, proxy = watched_s3
    store = filled(remote(bucket.uri("lake")), 2)
    proxy.clear()
    append_once(store, NAME, EVIDENCE, lambda: store.write_rows(NAME, [row(9)]), 2)
    assert proxy.counts() == {"GET": 1, "PUT": 2}
    proxy.clear()
    store.append(NAME, store.log(NAME).version, [], evidence("p9"))
    assert proxy.counts() == {"PUT": 1}
    proxy.clear()
    reader = Store.to_read(store.root, store.tables)
    assert lines(reader) == [0, 1, 9]
    assert proxy.counts() == {"LIST": 1, "GET": 1 + 1 + 5 + 3}  # note; pack?; commits; files
    proxy.clear()
    assert lines(reader) == [0, 1, 9]
    assert proxy.counts() == {"GET": 1}
    proxy.clear()
    file = store.files(NAME)[0]
    proxy.clear()
    store.read(NAME, file)
    assert proxy.counts() == {"GET": 1}
    assert proxy.moved <= 1.1 * file.size


def test_lost_answers_lose_and_double_nothing(watched_s3, monkeypatch) -> None:
    bucket, proxy = watched_s3
    store = filled(remote(bucket.uri("lake")), 1)
    proxy.lost, proxy.refused = 0.3, 0.1
    for n in range(1, 20):
        files = lambda n=n: store.write_rows(NAME, [row(n)])  # noqa: E731
        assert append_once(store, NAME, evidence(f"p{n}"), files, store.version(NAME))
    assert proxy.faults > 5
    proxy.lost = proxy.refused = 0.0
    assert lines(Store.to_read(store.root, store.tables)) == list(range(20))
    proxy.refused = 1.0
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    with pytest.raises(StoreUnavailable, match="did not answer"):
        append_once(store, NAME, evidence("x"), lambda: store.write_rows(NAME, [row(99)]), 20)
    proxy.refused = 0.0
    assert lines(store) == list(range(20))


def test_a_note_keeps_its_checksum(root) -> None:
    filled(root, 0)
    fields = json.loads((root / layout.NOTE).read_text())
    places.replace(root / layout.NOTE, json.dumps(fields | {"buckets": 3}).encode())
    with pytest.raises(LakeError, match="is damaged"):
        Store.to_read(root, TABLES)
