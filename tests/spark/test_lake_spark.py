"""The lake on Spark: both read paths, every engine's view of every table, and the watch."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from math import fsum
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from chispa import assert_df_equality
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from pipelines.epochs.drive import Lake
from pipelines.epochs.partitions import keys_of, partitions
from pipelines.execute import spark_read
from pipelines.lake.store import Store
from pipelines.planning.plan import Limits
from pipelines.runs.watch import Watch
from pipelines.serve.views.duckdb import duckdb_session
from pipelines.spark.runner import HereRunner, SparkRunner
from tests.faults.story import STORIES, do, make
from tests.support.commands.commands import REPOSITORY
from tests.support.lakes import join_past, tick_past
from tests.support.lakes.builder import SECOND
from tests.support.lakes.on_disk import on_disk
from tests.support.lakes.tick_past import LEFT_OUT, Way, play, tables_of

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

LATENESS = 2 * SECOND
COMPARED = (
    "events",
    "transitions",
    "matches",
    "quarantine",
    "stream_state",
    "pending",
    "reorder",
)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return play(tmp_path_factory.mktemp("here"), HereRunner(), Way(), LATENESS)


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    way = Way(run_every=4, limits=Limits(snapshot_every=2, epoch_deliveries=2))
    return play(tmp_path_factory.mktemp("spark"), SparkRunner(lambda: spark), way, LATENESS)


@pytest.fixture(scope="module")
def joined_on_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two feeds and their joins, shared out to three tasks of Spark."""
    way = join_past.Way(run_every=4, limits=Limits(snapshot_every=2), tasks=3)
    runner = SparkRunner(lambda: spark)
    return join_past.play(tmp_path_factory.mktemp("joined"), join_past.past(), way, runner=runner)


def published(spark: SparkSession, lake: Lake, name: str) -> DataFrame:
    """The published rows of a table as Spark has them, without what says how work was cut."""
    with duckdb_session(on_disk(lake.store.root), lake.store.tables) as session:
        rows = session.sql(f"from {name}").to_arrow_table()
    kept = [c for c in rows.column_names if c not in LEFT_OUT]
    return spark.createDataFrame(rows.select(kept))


def test_spark_gives_the_tables_that_one_process_gives(spark, here: Lake, on_spark: Lake) -> None:
    for name in COMPARED:
        mine, theirs = (published(spark, lake, name) for lake in (on_spark, here))
        assert theirs.count() > 0, name
        assert_df_equality(mine, theirs, ignore_row_order=True, ignore_nullable=True)
    assert tables_of(on_spark) == tables_of(here)


def test_rows_through_spark_and_rows_from_files_give_the_same_tables(
    spark: SparkSession, here: Lake, tmp_path: Path
) -> None:
    way = Way(run_every=5, limits=Limits(epoch_deliveries=3, snapshot_every=2), read_path="spark")
    lake = play(tmp_path, SparkRunner(lambda: spark), way, LATENESS)
    assert spark_read.is_chosen(lake.settings, lake.store, lake.runner)
    assert tables_of(lake) == tables_of(here)


def test_evaluating_again_by_the_other_path_proves_the_rows(on_spark: Lake) -> None:
    settings = tick_past.past_settings(
        on_disk(on_spark.settings.root).parent, LATENESS, read_path="spark"
    )
    other = Lake(on_spark.store, settings, on_spark.runner, on_spark.limits)
    for report in partitions(
        other, other.lane("ticks"), keys_of(other, other.lane("ticks")), again=True
    ):
        assert report.proved


def sums(table: pa.Table) -> dict[str, float]:
    """The exact sum of every column of numbers, whatever their order, and how many rows."""
    told = {"rows": float(table.num_rows)}
    for name in table.column_names:
        if pa.types.is_integer(table[name].type) or pa.types.is_floating(table[name].type):
            told[name] = fsum(table[name].drop_null().to_pylist())
    return told


def leapt_and_near(folder: Path) -> Iterator[Store]:
    """Lakes of the stories of crashes, whose rules ask for leaps and for who is near."""
    for name, story in STORIES.items():
        settings = make(folder / name, story=story)
        for stage in ("registered", "taken-in"):
            do(folder / name, stage)
        yield Store.to_read(settings.root, settings.tables)


def test_every_engine_reads_every_table_alike(
    spark: SparkSession, on_spark: Lake, joined_on_spark: Lake, tmp_path: Path
) -> None:
    filled: set[str] = set()
    stores = [on_spark.store, joined_on_spark.store, *leapt_and_near(tmp_path)]
    last = {name: store for store in stores for name in store.tables}
    for store in stores:
        with duckdb_session(on_disk(store.root), store.tables) as session:
            for name in set(store.tables) - filled:
                path = str(store.folder(name))
                expected = sums(DeltaTable(path).to_pyarrow_table())
                if not expected["rows"] and store is not last[name]:
                    continue  # another lake may have rows of it
                assert sums(spark.read.format("delta").load(path).toArrow()) == expected, name
                assert sums(session.sql(f"from raw_{name}").to_arrow_table()) == expected, name
                assert sums(pl.scan_delta(path).collect().to_arrow()) == expected, name
                filled |= {name} if expected["rows"] else set()
    assert {name for store in stores for name in store.tables} - filled <= {"reorder", "dismissals"}


def test_joins_by_tasks_of_spark_are_those_of_the_reference(joined_on_spark: Lake) -> None:
    join_past.assert_told(joined_on_spark, join_past.past())


def test_spark_refuses_a_row_that_breaks_a_constraint(spark, on_spark: Lake) -> None:
    path = str(on_spark.store.folder("pending"))
    rows = spark.read.format("delta").load(path).limit(1)
    assert rows.count() == 1
    broken = rows.selectExpr("* except (type)", "'X' as type")
    with pytest.raises(Exception, match="type_is_known"):
        broken.write.format("delta").mode("append").save(path)


def test_files_are_passed_over_by_query_stream_and_day(on_spark: Lake) -> None:
    from pipelines.runs.maintain import maintain

    before = tables_of(on_spark)
    maintain(on_spark.store, on_spark.settings)
    assert tables_of(on_spark) == before
    actions = pa.table(on_spark.store.delta("events").get_add_actions(flatten=True))
    for column in ("min.query_id", "max.query_id", "min.stream_id", "min.ts", "partition.day"):
        assert actions[column].null_count == 0, column


def test_a_watch_takes_what_lands_and_ends_on_sigterm(tmp_path: Path) -> None:
    settings = tick_past.new_lake(tmp_path).settings
    (tmp_path / "fencepost.toml").write_text(
        '[feeds.ticks]\naxes = ["price", "volume"]\nsource = "landing/ticks"\nsettle = "0s"\n'
    )
    landing = on_disk(settings.feeds["ticks"].source)
    files = list(tick_past.deliveries(3))
    (landing / files[0][0]).write_text(files[0][1])
    command = [sys.executable, "-m", "pipelines.cli.app", "watch", "--every", "1s"]
    watch = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        store = Store.open(settings.root, settings.tables)
        assert _done(store, 1), watch.communicate(timeout=1)
        for name, text in files[1:]:
            (landing / f".{name}").write_text(text)
            (landing / f".{name}").rename(landing / name)
        assert _done(store, 3)
        watch.terminate()
        out, err = watch.communicate(timeout=60)
    finally:
        watch.kill()
    assert watch.returncode == 0, err
    assert "stopped; everything begun is committed" in err
    assert "evaluate   ticks epoch 1" in out


def _done(store: Store, deliveries: int, patience: float = 90) -> bool:
    """Wait until so many deliveries are evaluated."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        rows = store.rows("epochs")  # once: more may be there the next time
        rows = rows.filter(pc.equal(rows["state"], "done"))
        if sum(len(numbers) for numbers in rows["arrivals"].to_pylist()) >= deliveries:
            return True
        time.sleep(0.3)
    return False


@pytest.mark.fault(13)
def test_a_failing_run_ends_the_watch_with_its_error(tmp_path: Path) -> None:
    lake = tick_past.new_lake(tmp_path)
    store, settings = lake.store, lake.settings
    log = on_disk(store.folder("epochs")) / "_delta_log"
    last = max(log.glob("*.json"))
    watch = Watch(settings, HereRunner(), 0.1, lambda _: None)
    last.write_text("")
    watch.store = None  # type: ignore[assignment]  # as a watch that opens the lake anew
    with pytest.raises(Exception, match="empty or cut off"):
        watch.until_stopped()


@pytest.mark.fault(54)
def test_rows_are_the_same_under_another_time_zone(tmp_path: Path, here: Lake) -> None:
    """A process in New York, over the hours of a change of clocks, as under UTC."""
    code = (
        "import sys; from pathlib import Path; from tests.support.lakes.tick_past import *;"
        "from pipelines.spark.runner import HereRunner;"
        "print(repr(tables_of(play(Path(sys.argv[1]), HereRunner(), Way(), 2 * SECOND))))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={**os.environ, "TZ": "America/New_York", "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    assert said.stdout.strip() == repr(tables_of(here))


@pytest.mark.fault(51)
def test_a_stream_that_falls_silent_is_settled_by_the_watermark(here: Lake) -> None:
    transitions = tables_of(here)["transitions"]
    silent = [row for row in transitions if "'SILENT'" in row]
    assert any("'stay'" in row or "'departure'" in row for row in silent)
    assert any("'pass_through'" in row for row in transitions)
