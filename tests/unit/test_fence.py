"""A writer whose lease has passed to another commits nothing more, and deletes nobody's files."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost.errors import LockedError
from pipelines import places
from pipelines.lake.append import append_once
from pipelines.lake.evidence import Evidence
from pipelines.lake.holder import Holder
from pipelines.lake.layout import commit_path, read_commit
from pipelines.lake.lease import Lease, StoreCell
from pipelines.lake.log import TOKEN
from pipelines.lake.store import Store
from pipelines.lake.vacuum import vacuum
from pipelines.places import Remote, place_of
from pipelines.project.lake import open_to_write
from pipelines.project.settings import Feed, Settings
from schemas.quarantine import QUARANTINE
from tests.support.stores.servers import S3

NAME = QUARANTINE.name
FIRST, SECOND = (Evidence("ingest", plan, "ticks", 1, 1, 0, 1, 7) for plan in ("a", "b"))


@pytest.fixture
def settings(moto_s3: S3, tmp_path: Path) -> Settings:
    root: Any = place_of(moto_s3.uri("lake"), tmp_path)
    settings = Settings(None, root, {"ticks": Feed("ticks", ("x",), tmp_path)}, buckets=1)
    Store.create(root, settings.tables, buckets=1)
    return settings


def opened(settings: Settings, command: str, clock: list[float], host: str) -> Store:
    """A writer with a lease that nobody renews, by a clock of its own."""
    assert isinstance(settings.root, Remote)
    me = replace(Holder.this(command), host=host, machine=host)
    lease = Lease(StoreCell(settings.root), me, clock=lambda: clock[0])
    assert lease.acquire()
    store = Store.open(settings.root, settings.tables)
    store.fence.lock = lease
    return store


def row(store: Store) -> pa.Table:
    said = {"feed": "ticks", "arrival": 1, "reason": "late", "detail": "", "path": ""}
    return store.as_table(NAME, [{**said, "file": 0, "line": 1, "raw": ""}])


def overtaken(settings: Settings) -> tuple[Store, list[float]]:
    """A writer that believes to have the lease, though another took it over meanwhile."""
    clock = [0.0]
    store = opened(settings, "sleeps", clock, "far")
    store.version(NAME)
    assert isinstance(store.fence.lock, Lease)
    places.replace(settings.root / "_lease" / f"{1:020}.json", b"")  # as if it had lapsed
    return store, clock


def test_each_commit_carries_the_token_of_its_writer(settings: Settings):
    for number in (1, 2):
        with open_to_write(settings, f"writer {number}") as (store, lock):
            assert lock.token == number
            evidence = replace(FIRST, plan=f"plan {number}")
            append_once(store, NAME, evidence, lambda: store.write(NAME, row(store)), 0)
        (info,) = [
            action["commitInfo"]
            for action in read_commit(store.folder(NAME), store.version(NAME)) or ()
            if "commitInfo" in action
        ]
        assert info[TOKEN] == number


def test_one_who_was_overtaken_commits_nothing_after_the_next(settings: Settings):
    late, _ = overtaken(settings)
    files = late.write(NAME, row(late))
    with open_to_write(settings, "next") as (store, _):
        append_once(store, NAME, FIRST, lambda: store.write(NAME, row(store)), 0)
    with pytest.raises(LockedError, match="another took over"):
        append_once(late, NAME, SECOND, lambda: files, 0)
    assert Store.to_read(settings.root, settings.tables).rows(NAME).num_rows == 1


def test_one_who_slept_beyond_its_lease_looks_before_it_commits(settings: Settings):
    late, clock = overtaken(settings)
    with open_to_write(settings, "next"):
        clock[0] += 1000
        with pytest.raises(LockedError, match="another took over"):
            append_once(late, NAME, SECOND, lambda: late.write(NAME, row(late)), 0)
        assert not commit_path(late.folder(NAME), 1).exists()


@pytest.mark.fault(21)
def test_a_vacuum_deletes_what_dead_tasks_left_and_no_file_is_committed_afterwards(
    settings: Settings,
):
    late, _ = overtaken(settings)
    files = late.write(NAME, row(late))
    data = late.folder(NAME) / files[0].path
    assert data.exists()
    with open_to_write(settings, "fencepost maintain") as (store, _):
        assert vacuum(store, NAME, timedelta(0))
    assert not data.exists()
    with pytest.raises(LockedError, match="another took over"):
        append_once(late, NAME, SECOND, lambda: files, 0)
    assert Store.to_read(settings.root, settings.tables).rows(NAME).num_rows == 0
