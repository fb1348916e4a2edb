"""An epoch costs what it costs, however many came before; and what a run tidies changes no row."""

import os
import sys
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from deltalake import DeltaTable

from fencepost.errors import LockedError
from pipelines.epochs.drive import chain_of
from pipelines.lake import layout
from pipelines.lake.crash_points import on_point
from pipelines.lake.lock import hold
from pipelines.lake.store import Store
from pipelines.project.settings import Settings
from pipelines.runs import tidy as tidying
from pipelines.runs.maintain import maintain
from pipelines.runs.run import run, writing
from pipelines.serve.status import status_of
from pipelines.serve.views.duckdb import duckdb_session
from pipelines.spark.runner import HereRunner
from tests.support.lakes.builder import SECOND
from tests.support.lakes.growing_lake import LANES, Ageing, grown, tenth, told
from tests.support.lakes.on_disk import on_disk

EPOCHS = int(os.environ.get("FENCEPOST_SOAK", "1000"))
"""Runs of the soak, each an epoch of three lanes."""

OFTEN = {"FAN": 4, "CHECKPOINT_EVERY": 8}
"""Tidied so often that a few runs meet all of it."""


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OFTEN.items():
        monkeypatch.setattr(tidying, name, value)


def rows_of(settings: Settings) -> dict[str, list[str]]:
    """Give the rows of every published view, in an order of their own."""
    with duckdb_session(settings.root, settings.tables) as session:
        return {
            name: sorted(map(repr, session.sql(f"from {name}").fetchall()))
            for name in ("events", "transitions", "matches", "pairs", "band_changes", "band_pairs")
        }


@pytest.mark.fault(58)
def test_a_run_reads_and_lists_no_more_however_many_came_before(tmp_path, often) -> None:
    del often
    ageing = Ageing(tmp_path, keep_history=0)
    asked: Counter[str] = Counter()

    def watch(event: str, _: tuple[Any, ...]) -> None:
        if watching and event in ("open", "os.listdir", "os.scandir"):
            asked["all"] += 1

    watching = False
    sys.addaudithook(watch)
    counts, files, log = [], [], []
    for _ in range(40):
        asked.clear()
        watching = True
        ageing.run()
        watching = False
        counts.append(asked["all"])
        files.append(len(list(on_disk(ageing.settings.root).rglob("*.parquet"))))
        log.append(max(len(list(each.iterdir())) for each in tmp_path.glob("lake/*/_delta_log")))
    assert np.mean(counts[24:]) <= 1.15 * np.mean(counts[8:24])
    assert max(log) <= 60
    assert max(files[24:]) <= 1.35 * max(files[8:24])
    for name in ageing.settings.tables:
        assert len(ageing.store.files(name)) <= 40, name


@pytest.mark.fault(58)
def test_what_is_tidied_by_the_way_changes_no_row_and_any_engine_reads_it(tmp_path, often) -> None:
    del often
    young, old = Ageing(tmp_path / "young"), Ageing(tmp_path / "old", keep_history=0)
    for _ in range(12):
        old.run()
        young.land()
        run(young.settings, HereRunner(), store=young.store, patient=False)
    assert layout.checkpointed(old.settings.root / "epochs") > 0
    assert not layout.commit_path(old.settings.root / "epochs", 0).exists()
    rows = rows_of(old.settings)
    assert all(rows.values())
    told_rows = {name: len(each) for name, each in rows.items()}
    assert told_rows == {name: len(each) for name, each in rows_of(young.settings).items()}
    for name in old.settings.tables:
        table = DeltaTable(str(old.settings.root / name)).to_pyarrow_table()
        store = Store.to_read(old.settings.root, old.settings.tables)
        assert table.num_rows == sum(file.rows for file in store.files(name)) or not table.num_rows
        assert table.num_rows == sum(store.read(name, file).num_rows for file in store.files(name))


@pytest.mark.fault(58)
def test_a_process_that_was_there_all_along_and_a_new_one_know_the_same(tmp_path, often) -> None:
    del often
    ageing = Ageing(tmp_path, keep_history=0)
    for _ in range(9):
        ageing.run()
        fresh = Store.to_read(ageing.settings.root, ageing.settings.tables)
        for lane in LANES:
            assert chain_of(fresh, lane) == chain_of(ageing.store, lane)
            mine = chain_of(ageing.store, lane)
            assert mine.deliveries.numbers.tolist() == [n for e in mine.epochs for n in e.arrivals]


class Ended(BaseException):
    """The process ends here."""


@pytest.mark.fault(58)
def test_ended_at_any_point_of_tidying_a_lake_goes_on_as_if_it_had_not(tmp_path, often) -> None:
    del often
    ageing = Ageing(tmp_path, keep_history=0)
    passed: Counter[str] = Counter()

    def end(name: str) -> None:
        passed[name] += 1
        if name.startswith("tidy.") and passed[name] in (1, 3):
            raise Ended(name)

    ended = set()
    off = on_point(end)
    try:
        for _ in range(16):
            try:
                ageing.run()
            except Ended as point:
                ended.add(str(point))
                ageing.store = Store.open(ageing.settings.root, ageing.settings.tables)
    finally:
        off()
    assert ended == {
        f"tidy.{name}" for name in ("written", "together", "checkpoint", "files", "cleaned")
    }
    ageing.run()
    for lane in LANES:
        chain = chain_of(Store.to_read(ageing.settings.root, ageing.settings.tables), lane)
        assert [epoch.epoch for epoch in chain.epochs] == [*range(1, ageing.age + 1)]
        assert all(epoch.done for epoch in chain.epochs)
    with duckdb_session(ageing.settings.root, ageing.settings.tables) as session:
        assert not session.sql("from epoch_accounting where not balanced").fetchall()


@pytest.mark.fault(58)
def test_commits_that_may_be_evidence_are_kept(tmp_path, often) -> None:
    del often
    ageing = Ageing(tmp_path, keep_history=0)
    ageing.run()
    ageing.land()

    def end(name: str) -> None:
        if name == "epochs.planned":
            raise Ended

    off = on_point(end)
    with pytest.raises(Ended):
        run(ageing.settings, HereRunner(), store=ageing.store, patient=False)
    off()
    (base,) = {e.bases["epochs"] for e in chain_of(ageing.store, LANES[0]).open}
    for k in range(40):  # another program writes meanwhile
        at = ageing.store.version("epochs")
        ageing.store.rearrange("epochs", at, [], [])
        assert at == base + 1 + k
    tidying.tidy(ageing.store, 0)
    assert layout.commit_path(ageing.settings.root / "epochs", base + 1).exists()
    run(ageing.settings, HereRunner(), store=ageing.store, patient=False)
    assert not layout.commit_path(ageing.settings.root / "epochs", base + 1).exists()


@pytest.mark.fault(59)
def test_what_a_version_in_the_log_consists_of_is_there_as_long_as_keep_history_says(
    tmp_path, often
) -> None:
    del often
    ageing = Ageing(tmp_path, keep_history=3600 * SECOND)
    ageing.run()
    folder = str(ageing.settings.root / "epochs")
    behind = DeltaTable(folder)
    rows = behind.to_pyarrow_table().num_rows
    for _ in range(10):
        ageing.run()
    assert behind.version() < DeltaTable(folder).version()
    assert behind.to_pyarrow_table().num_rows == rows
    assert DeltaTable(folder, version=behind.version()).to_pyarrow_table().num_rows == rows


@pytest.mark.fault(59)
def test_a_reader_too_far_behind_is_told_and_gets_no_other_rows(tmp_path, often) -> None:
    del often
    ageing = Ageing(tmp_path, keep_history=0)
    ageing.run()
    folder = str(ageing.settings.root / "epochs")
    behind = DeltaTable(folder)
    for _ in range(10):
        ageing.run()
    with pytest.raises(FileNotFoundError):
        behind.to_pyarrow_table()
    with pytest.raises(Exception, match=r"(?i)version|log"):
        DeltaTable(folder, version=1)


@pytest.mark.fault(23)
def test_nothing_is_maintained_while_a_batch_runs_nor_the_other_way_round(tmp_path) -> None:
    ageing = Ageing(tmp_path)
    ageing.land()
    refused = []

    def meanwhile(name: str) -> None:
        if name in ("epochs.evaluated", "maintain.epochs"):
            with pytest.raises(LockedError), hold(ageing.settings.root, "another", 0.0):
                pass
            refused.append(name)

    off = on_point(meanwhile)
    run(ageing.settings, HereRunner(), store=ageing.store, patient=False)
    with writing(ageing.settings, "fencepost maintain", HereRunner()) as (lake, _):
        maintain(lake.store, ageing.settings, keep_files=timedelta(days=7))
    off()
    assert set(refused) == {"epochs.evaluated", "maintain.epochs"}


def asking(settings: Settings) -> float:
    """Give the seconds of CPU that `status` and a question take, the best of a few."""
    spent = []
    for _ in range(7):
        began = time.process_time()
        assert status_of(settings).lanes
        with duckdb_session(settings.root, settings.tables) as session:
            assert session.sql("select query_id, count(*) from events group by all").fetchall()
        spent.append(time.process_time() - began)
    return min(spent)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.fault(58)
def test_an_epoch_costs_what_it_cost_however_many_came_before(tmp_path: Path) -> None:
    young = Ageing(tmp_path / "young")
    for _ in range(20):
        young.run()
    old = Ageing(tmp_path / "old", keep_history=60 * SECOND)
    figures = list(grown(old, EPOCHS))
    table = told(figures)
    sys.stdout.write(f"\n{table}\n")
    assert tenth(figures, 9, "cpu") <= 1.1 * tenth(figures, 1, "cpu"), table
    for name in ("memory", "open_files", "files", "log"):
        assert tenth(figures, 9, name) <= 1.25 * tenth(figures, 2, name), table
    assert asking(old.settings) <= 1.5 * asking(young.settings)
