"""A delivery that ends its reader is refused; the others of its plan are taken."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fencepost.errors import WorkerError
from pipelines.epochs.drive import arrivals_of
from pipelines.ingest import ingest, recover
from pipelines.lake.store import Store
from pipelines.project.settings import Settings
from pipelines.spark.runner import HereRunner, Work
from tests.support.lakes import tick_past
from tests.support.lakes.tick_past import NOW, land


class Deadly(HereRunner):
    """A runner whose worker dies over a file of one name; of all tasks, if `name` is empty."""

    slots = 1

    def __init__(self, name: str, *, plainly: bool = False) -> None:
        self.name = name
        self.plainly = plainly
        self.deaths = 0

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        if any(self.name in task for task in tasks):
            self.deaths += 1
            died = RuntimeError("Job aborted\nPython worker exited unexpectedly (crashed)\n at x")
            if self.plainly:
                raise WorkerError("in words") from died
            raise died
        return super().run(work, tasks)


def lake_with_files(folder: Path) -> tuple[Store, Settings]:
    lake = tick_past.new_lake(folder)
    store, settings = lake.store, lake.settings
    for name in ("a.csv", "b.csv", "c.csv"):
        land(settings, name, f"stream_id,ts,price,volume\n{name},2025-11-17T23:00:00Z,1,1\n")
    return store, settings


@pytest.mark.fault(9, 47)
@pytest.mark.parametrize("plainly", [False, True])
def test_a_file_that_kills_its_reader_is_refused_and_the_others_are_taken(
    tmp_path: Path, plainly: bool
) -> None:
    store, settings = lake_with_files(tmp_path)
    runner = Deadly("b.csv", plainly=plainly)
    report = ingest(store, settings, runner, NOW)
    assert [taken.path for taken in report.loaded] == ["a.csv", "c.csv"]
    (refused,) = report.refused
    assert (refused.path, refused.reason) == ("b.csv", "deadly")
    assert "Python worker exited unexpectedly (crashed)" in refused.detail
    assert runner.deaths == 4
    assert [delivery.n for delivery in arrivals_of(store).deliveries("ticks")] == [1, 3]
    assert not ingest(store, settings, runner, NOW).refused, "it is not tried again and again"


@pytest.mark.fault(9)
def test_where_no_worker_can_work_nothing_is_refused(tmp_path: Path) -> None:
    store, settings = lake_with_files(tmp_path)
    with pytest.raises(RuntimeError, match="Job aborted"):
        ingest(store, settings, Deadly(""), NOW)
    assert not arrivals_of(store).deliveries("ticks")
    recover(store, settings, HereRunner())
    assert [delivery.n for delivery in arrivals_of(store).deliveries("ticks")] == [1, 2, 3]
