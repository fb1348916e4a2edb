"""However many buckets a lake was made with, its tasks go by slots and rows, and change no row."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pipelines.epochs.drive import Lake, arrivals_of, chain_of
from pipelines.epochs.partitions import keys_of, partitions
from pipelines.execute import job
from pipelines.execute import write as written
from pipelines.execute.share import Share
from pipelines.ingest import execute as ingested
from pipelines.ingest import write as loaded
from pipelines.lake import buckets
from pipelines.lake.buckets import MIXED, division_of, modulus_for, residues_of
from pipelines.runs import compact
from pipelines.runs.maintain import maintain
from pipelines.spark.runner import HereRunner
from tests.support.lakes.builder import SECOND, reopened
from tests.support.lakes.tick_past import Way, play, tables_of


class Wide(HereRunner):
    """A runner that says it has several slots, and notes how many tasks of an epoch it gets."""

    slots = 5

    def __init__(self) -> None:
        """Begin without tasks."""
        self.tasks: list[int] = []

    def run(self, work, tasks):
        """Do the tasks one after the other."""
        if work.__module__ == "pipelines.execute.task":
            self.tasks.append(len(tasks))
        return super().run(work, tasks)


@pytest.fixture(scope="module")
def in_one(tmp_path_factory):
    return tables_of(play(tmp_path_factory.mktemp("one"), HereRunner(), Way(), 2 * SECOND))


@pytest.fixture
def small(monkeypatch):
    """Few rows are many: each has a bucket, and epochs have two tasks for each slot."""
    monkeypatch.setattr(job, "ONE_TASK", -1)
    monkeypatch.setattr(written, "FEW", 1)
    monkeypatch.setattr(loaded, "FEW", 1)
    monkeypatch.setattr(loaded, "AT_ONCE", 1)
    monkeypatch.setattr(buckets, "FULL", 1)
    monkeypatch.setattr(buckets, "ROWS", 20)
    monkeypatch.setattr(ingested, "ROW_BYTES", 1)


def moduli(lake) -> set[int]:
    files = lake.store.files("ticks")
    found = {int(file.partition["bucket"] or MIXED) for file in files}
    return {division_of(bucket, lake.store.buckets)[0] for bucket in found if bucket >= 0}


@pytest.mark.usefixtures("small")
def test_tasks_are_two_a_slot_whatever_the_lake_was_made_with(in_one, tmp_path: Path):
    runner = Wide()
    lake = play(tmp_path, runner, Way(run_every=3), 2 * SECOND)
    assert tables_of(lake) == in_one
    assert set(runner.tasks) == {2 * Wide.slots}
    assert lake.store.buckets < 2 * Wide.slots
    assert max(moduli(lake)) >= 2 * Wide.slots


@pytest.mark.usefixtures("small")
def test_maintenance_divides_streams_by_what_the_lake_holds(in_one, tmp_path, monkeypatch):
    monkeypatch.setattr(buckets, "ROWS", 1_000_000)  # while it is loaded nothing is large
    lake = play(tmp_path, HereRunner(), Way(run_every=3), 2 * SECOND)
    assert moduli(lake) == {lake.store.buckets}
    monkeypatch.setattr(buckets, "ROWS", 20)
    monkeypatch.setattr(compact, "FEW", 1)
    maintain(lake.store, lake.settings)
    held = sum(file.rows for file in lake.store.files("ticks"))
    assert moduli(lake) == {modulus_for(held, lake.store.buckets)}
    assert max(moduli(lake)) > lake.store.buckets
    lake = reopened(lake)
    assert tables_of(lake) == in_one
    first, *_, last = keys_of(lake, lake.lane("ticks"))
    for key in (first, last):
        (report,) = partitions(lake, lake.lane("ticks"), [key], again=True)
        assert report.proved


def test_maintenance_done_again_moves_no_row(tmp_path: Path) -> None:
    lake = play(tmp_path, HereRunner(), Way(run_every=1), 2 * SECOND)
    maintain(lake.store, lake.settings)
    before = {name: lake.store.files(name) for name in lake.store.tables}
    assert not maintain(lake.store, lake.settings).compacted
    assert {name: lake.store.files(name) for name in lake.store.tables} == before


@pytest.mark.parametrize("slots", [4, 20, 50])
def test_an_epoch_of_a_hundred_million_rows_is_two_tasks_a_slot(slots, tmp_path: Path) -> None:
    lake = play(tmp_path, HereRunner(), Way(), 2 * SECOND)
    shares = shares_of(lake, slots, 100_000_000, entered=0)
    assert len(shares) == 2 * slots > lake.store.buckets
    names = pa.array([f"stream-{k}" for k in range(100_000)])
    (modulus,) = {share.all_buckets for share in shares}
    filled = np.bincount(residues_of(names, modulus), minlength=modulus)
    of_task = [filled[list(share.buckets or ())].sum() for share in shares]
    assert sum(of_task) == len(names)
    assert max(of_task) <= 1.3 * len(names) / len(shares)


def test_an_epoch_that_finds_as_much_as_the_one_before_is_more_tasks(tmp_path: Path) -> None:
    lake = play(tmp_path, HereRunner(), Way(), 2 * SECOND)
    assert len(shares_of(lake, 2, 1_000_000, entered=2_000)) == 2
    assert len(shares_of(lake, 2, 1_000_000, entered=20_000)) == 5
    assert len(shares_of(lake, 2, 1, entered=5_000_000_000)) == 2


def shares_of(lake: Lake, slots: int, tuples: int, *, entered: int) -> list[Share]:
    """The tasks of so many tuples, where the thousand of the epoch before gave so many events."""
    lane, arrivals = lake.lane("ticks"), arrivals_of(lake.store)
    chain = chain_of(lake.store, "ticks")
    last = chain.epochs[-1]
    counts = {**last.counts, "accepted": 1_000, "entered": entered, "left": 0}
    before = replace(chain, epochs=(replace(last, counts=counts),))
    whole = lane.job(lake.store, slots, before, (last,), arrivals)
    assert isinstance(whole, job.FeedJob)
    n, *_ = last.arrivals
    many = replace(whole.deliveries[n], tuples=tuples)
    return replace(whole, deliveries={**whole.deliveries, n: many}).shares()
