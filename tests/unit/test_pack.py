"""A pack spares requests; whatever is wrong with it, the rows are those of the log."""

import io
import random
import zipfile
from pathlib import Path

import pytest

from fencepost.errors import LakeError
from pipelines import places
from pipelines.lake import layout, log
from pipelines.lake.append import Conflict
from pipelines.lake.evidence import Evidence
from pipelines.lake.lock import hold
from pipelines.lake.log import SEAL
from pipelines.lake.pack import PACK, SMALL
from pipelines.lake.store import Store
from pipelines.places import Remote, place_of
from schemas import all_tables, axes_only
from tests.support.stores.proxy import Proxy
from tests.support.stores.servers import S3

NAME = "quarantine"
TABLES = {NAME: all_tables(axes_only({"ticks": ("price",)}))[NAME]}
STATE = f"tables/{NAME}"


def row(line: int, raw: str = "") -> dict[str, object]:
    said = {"feed": "ticks", "arrival": 1, "reason": "late", "detail": "", "path": ""}
    return said | {"file": 0, "line": line, "raw": raw}


def grown(store: Store, *numbers: int) -> Store:
    for n in numbers:
        evidence = Evidence("evaluate", f"p{n}", "ticks", 1, 2, 1, 1, n)
        store.append(NAME, store.version(NAME), store.write_rows(NAME, [row(n)]), evidence)
    return store


def lines(store: Store) -> list[int]:
    return sorted(store.rows(NAME)["line"].to_pylist())


def packed(store: Store) -> Store:
    """Let a session read what it wrote, and end."""
    store.rows(NAME)
    store.pack()
    return store


def reader(root: Remote) -> Store:
    return Store.to_read(root, TABLES)


def changed(pack: Remote, name: str, content: bytes | None) -> None:
    """Replace one part of a pack, or leave it out."""
    with zipfile.ZipFile(io.BytesIO(pack.read_bytes())) as before:
        parts = {part: before.read(part) for part in before.namelist()}
    assert name in parts
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as after:
        for part, had in parts.items():
            given = content if part == name else had
            if given is not None:
                after.writestr(part, given)
    places.replace(pack, target.getvalue())


@pytest.fixture
def watched(watched_s3: tuple[S3, Proxy]) -> tuple[Remote, Proxy]:
    bucket, proxy = watched_s3
    root = place_of(bucket.uri("lake"), Path("/"))
    assert isinstance(root, Remote)
    return root, proxy


@pytest.fixture
def root(watched: tuple[Remote, Proxy]) -> Remote:
    return watched[0]


def test_a_packed_lake_is_read_by_four_requests(watched) -> None:
    root, proxy = watched
    packed(grown(Store.create(root, TABLES, buckets=2), 1, 2, 3))
    with proxy.counted():
        assert lines(reader(root)) == [1, 2, 3]
    assert proxy.counts() == {"GET": 3, "LIST": 1}  # note, pack, newest commit; the log


def test_a_pack_is_written_only_where_something_changed(watched) -> None:
    root, proxy = watched
    packed(grown(Store.create(root, TABLES, buckets=2), 1))
    later = packed(Store.open(root, TABLES))
    with proxy.counted():
        packed(later)
        packed(Store.open(root, TABLES))
    assert "PUT" not in proxy.counts()
    with proxy.counted():
        packed(grown(later, 2))
    assert proxy.counts()["PUT"] == 3
    with proxy.counted():
        assert lines(reader(root)) == [1, 2]
    assert len(proxy.seen) == 4


def test_a_stale_pack_is_read_on(watched) -> None:
    root, proxy = watched
    store = packed(grown(Store.create(root, TABLES, buckets=2), 1, 2))
    grown(store, 3, 4)
    with proxy.counted():
        assert lines(reader(root)) == [1, 2, 3, 4]
    assert proxy.counts() == {"GET": 2 + 3 + 2, "LIST": 1}  # note, pack; commits; new files
    old = store.files(NAME)
    came = store.write(NAME, store.rows(NAME))
    store.rearrange(NAME, store.version(NAME), old, came)
    for file in old:
        (root / NAME / file.path).unlink()
    assert lines(reader(root)) == [1, 2, 3, 4]
    assert [file.path for file in reader(root).files(NAME)] == [file.path for file in came]


@pytest.mark.parametrize("what", ["torn", "no zip", "empty", "no state", "odd state", "bad file"])
def test_a_damaged_pack_is_only_slower(root, what) -> None:
    store = packed(grown(Store.create(root, TABLES, buckets=2), 1, 2))
    path = root / layout.CACHE / PACK
    if what == "bad file":
        name = f"files/{NAME}/{store.files(NAME)[0].path}"
        changed(path, name, b"other bytes")
    elif what.endswith("state"):
        changed(path, STATE, None if what == "no state" else b'{"version": "x"}')
    else:
        content = path.read_bytes()
        given = {"torn": content[: len(content) // 2], "no zip": b"pack", "empty": b""}[what]
        places.replace(path, given)
    assert lines(reader(root)) == [1, 2]
    later = packed(grown(Store.open(root, TABLES), 3))
    assert lines(later) == lines(reader(root)) == [1, 2, 3]


def test_without_a_pack_a_lake_is_opened_as_ever(root) -> None:
    packed(grown(Store.create(root, TABLES, buckets=2), 1))
    (root / layout.CACHE / PACK).unlink()
    assert lines(reader(root)) == [1]


def test_a_state_whose_files_are_not_those_of_the_seal_does_not_count(root) -> None:
    store = packed(grown(Store.create(root, TABLES, buckets=2), 1, 2))
    path = root / layout.CACHE / PACK
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as pack:
        state = pack.read(STATE)
    first = store.files(NAME)[0].path.encode()
    assert first in state
    changed(path, STATE, state.replace(first, b"part-lost.parquet"))
    assert lines(reader(root)) == [1, 2]


def test_a_cleaned_log_is_opened_from_its_checkpoint(gateway_s3) -> None:
    root = place_of(gateway_s3.uri("lake"), Path("/"))
    assert isinstance(root, Remote)
    store = packed(grown(Store.create(root, TABLES, buckets=2), 1, 2))
    grown(store, 3, 4)
    store.delta(NAME).create_checkpoint()
    for version in range(4):
        layout.commit_path(root / NAME, version).unlink()
    assert lines(reader(root)) == [1, 2, 3, 4]
    assert lines(packed(grown(Store.open(root, TABLES), 5))) == [1, 2, 3, 4, 5]


def test_a_commit_in_the_place_of_the_packed_one_is_read(root) -> None:
    packed(grown(Store.create(root, TABLES, buckets=2), 1, 2))
    layout.commit_path(root / NAME, 2).unlink()
    pack = (root / layout.CACHE / PACK).read_bytes()
    (root / layout.CACHE / PACK).unlink()
    grown(Store.open(root, TABLES), 7)
    places.replace(root / layout.CACHE / PACK, pack)
    assert lines(reader(root)) == [1, 7]


def test_another_table_in_its_place_is_refused(root) -> None:
    packed(grown(Store.create(root, TABLES, buckets=2), 1))
    other = Store.create(root.parent / "other", TABLES, buckets=2)
    for entry in places.listed(root / NAME):
        (root / NAME / entry.path).unlink()
    for entry in places.listed(other.root / NAME):
        places.replace(root / NAME / entry.path, (other.root / NAME / entry.path).read_bytes())
    with pytest.raises(LakeError, match="dropped and created again"):
        lines(reader(root))


def test_a_pack_of_another_table_does_not_count(root) -> None:
    packed(grown(Store.create(root, TABLES, buckets=2), 1))
    other = root.parent / "other"
    grown(Store.create(other, TABLES, buckets=2), 8)
    pack = (root / layout.CACHE / PACK).read_bytes()
    places.replace(other / layout.CACHE / PACK, pack)
    assert lines(reader(other)) == [8]


def test_a_broken_seal_is_noticed_behind_a_pack(root) -> None:
    packed(grown(Store.create(root, TABLES, buckets=2), 1, 2))
    actions = layout.read_commit(root / NAME, 2) or []
    actions[0]["commitInfo"][SEAL] = "0" * 16
    places.replace(layout.commit_path(root / NAME, 2), layout.as_commit(actions))
    with pytest.raises(LakeError, match="is damaged"):
        lines(reader(root))


def test_large_files_stay_where_they_are(watched) -> None:
    root, proxy = watched
    store = Store.create(root, TABLES, buckets=2)
    draws = random.Random(7)  # noqa: S311  no secret
    texts = [row(n, raw=draws.randbytes(400).hex()) for n in range(200)]
    evidence = Evidence("evaluate", "p", "ticks", 1, 2, 1, 1, 7)
    store.append(NAME, 0, store.write_rows(NAME, texts), evidence)
    assert store.files(NAME)[0].size > SMALL
    packed(store)
    assert len((root / layout.CACHE / PACK).read_bytes()) < SMALL
    with proxy.counted():
        assert len(lines(reader(root))) == 200
    assert proxy.counts() == {"GET": 4, "LIST": 1}


def test_who_has_the_lease_does_not_look_twice(watched, monkeypatch) -> None:
    root, proxy = watched
    store = grown(Store.create(root, TABLES, buckets=2), 1)
    with hold(root, "test", 5) as store.fence.lock:
        assert store.version(NAME) == 1
        with proxy.counted():
            grown(store, 2)
            assert (store.version(NAME), lines(store)) == (2, [1, 2])
        assert proxy.counts() == {"PUT": 2, "GET": 2}  # the file and its commit; the files
        monkeypatch.setattr(log, "SETTLED", 0.0)
        with proxy.counted():
            store.version(NAME)
        assert proxy.counts() == {"GET": 1}


def test_who_has_the_lease_looks_after_a_conflict(root) -> None:
    store = grown(Store.create(root, TABLES, buckets=2), 1)
    with hold(root, "test", 5) as store.fence.lock:
        assert store.version(NAME) == 1
        grown(Store.open(root, TABLES), 8)  # by one that does not care for leases
        with pytest.raises(Conflict):
            grown(store, 2)
        assert lines(grown(store, 2)) == [1, 2, 8]


def test_a_new_lease_looks_and_so_does_who_maintains(gateway_s3) -> None:
    root = place_of(gateway_s3.uri("lake"), Path("/"))
    assert isinstance(root, Remote)
    store = grown(Store.create(root, TABLES, buckets=2), 1)
    with hold(root, "test", 5) as store.fence.lock:
        assert store.version(NAME) == 1
    grown(Store.open(root, TABLES), 8)
    with hold(root, "test", 5) as store.fence.lock:
        assert store.version(NAME) == 2
        store.rewrite(NAME, lambda delta: delta.optimize.compact())
        assert len(store.files(NAME)) == 1
        assert lines(store) == [1, 8]
