"""A job is abandoned where its writer has lost the lease: others need its executors."""

from pathlib import Path

import pytest

from fencepost.errors import LockedError
from pipelines import places
from pipelines.lake.holder import Holder
from pipelines.lake.lease import FOLDER, Lease, StoreCell, overtaken
from pipelines.places import Remote
from pipelines.project.lake import open_to_write
from pipelines.spark.abandonment import abandoned_unless
from pipelines.spark.runner import HereRunner
from tests.faults.story import make_on_store
from tests.support.stores.servers import S3


def test_no_task_begins_after_another_took_over() -> None:
    done: list[str] = []

    def check() -> None:
        if len(done) == 2:
            raise overtaken()

    def work(task: str) -> str:
        done.append(task)
        return task

    with abandoned_unless(check), pytest.raises(LockedError, match="another took over"):
        HereRunner().run(work, ["a", "b", "c"])
    assert done == ["a", "b"]
    assert HereRunner().run(work, ["d"]) == ["d"]


def test_a_lease_that_was_lost_in_a_task_ends_the_job(moto_s3: S3, tmp_path: Path) -> None:
    settings = make_on_store(tmp_path / "project", moto_s3)
    assert isinstance(settings.root, Remote)
    other = Lease(StoreCell(settings.root), Holder.this("another"))
    done: list[str] = []

    def work(task: str) -> str:
        done.append(task)
        newest = max(entry.path for entry in places.listed(settings.root / FOLDER))
        places.replace(settings.root / FOLDER / newest, b"")  # as if it had lapsed
        assert other.acquire()
        assert isinstance(lease, Lease)
        lease.fresh_until = 0.0  # as after a long sleep
        return task

    taken_over = pytest.raises(LockedError, match="another took over")
    with open_to_write(settings, "sleeps") as (_, lease), taken_over:
        HereRunner().run(work, ["a", "b"])
    assert done == ["a"]
