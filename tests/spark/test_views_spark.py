"""The views in Spark: the same text gives the same rows as in DuckDB."""

# ruff: noqa: S608  SQL is what is tested

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession

from fencepost.errors import InputError
from pipelines.project.settings import Feed, Settings
from pipelines.serve.views import statements, views
from pipelines.serve.views.duckdb import duckdb_session
from pipelines.serve.views.spark import from_spark, refuse_writing, spark_session_views
from schemas import all_tables, axes_only
from tests.support.lakes.ledger import AXES, Ledger, at
from tests.support.stories.histories import FEED, histories, laid_out

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

FOR_FEW_ROWS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""Of a dozen rows a view costs what Spark prepares: Java that it compiles, tasks that it starts."""
COUNTED = ("visits", "daily_summary", "query_activity", "query_versions", "epoch_accounting")
"""Views that put rows together over time."""


def rich() -> Ledger:
    """Rows in every table, with all that a view must tell apart."""
    ledger = Ledger()
    ledger.register(
        {"id": "q", "within": 1, "lo": [1.0], "hi": [float("inf")], "tags": ["a", "b"]},
        {"id": "short", "valid_to": at(15)},
        {"id": "gone"},
    )
    n = ledger.arrive("ticks", max_ts=at(9))
    more: dict[str, Any] = {"rows": 5, "accepted": 4, "waiting": 1, "watermarks": [at(10.5)]}
    ledger.epoch("ticks", 1, [n], watermark=at(10.5), snapshot=True, **more)
    ledger.register({"id": "q", "version": 2}, {"id": "gone", "removed": True})
    m = ledger.arrive("ticks")
    ledger.arrive("ticks", "refused", reason="repeat")
    for generation in (1, 2):
        ledger.epoch("ticks", 2, [m], generation, watermark=at(20.000001), rows=3, late=3)
        ledger.event("O", "q", "b", 12, query_version=2, epoch=2, generation=generation, price=0.1)
    ledger.epoch("locations", 1, [], watermark=at(5))
    ledger.event("I", "q", "a", 1.25, price=1e300, prev_price=-0.0, arrival=n)
    ledger.event("O", "q", "a", 3.000001, price=0.1, prev_ts=None)
    ledger.event("I", "q", "a", 4)
    ledger.event("I", "short", "a", 4)
    ledger.event("I", "gone", "a", 4)
    ledger.event("I", "q", "ünï\u00adcode", 1, query_version=2, feed="locations", x=2.0)
    pair: dict[str, Any] = {"feed": "ticks", "query_id": "q", "query_version": 1}
    ledger.add("transitions", **pair, type="stay", stream_id="a", epoch=1, generation=1, to_ts=None)
    match = {**pair, "query_id": "m", "ts": at(2)}
    ledger.add("matches", **match, stream_id="a", epoch=1, generation=1, arrival=n)
    leapt = {**match, "prev_ts": at(1), "enter_ts": at(1.25), "leave_ts": at(1.500001)}
    shares = {"enter_share": 0.25, "leave_share": 0.500001, "price": 0.1, "prev_price": -0.0}
    ledger.add("leaps", **leapt | shares, stream_id="a", epoch=1, generation=1, arrival=n)
    log: dict[str, Any] = {"feed": "ticks", "stream_id": "a", "epoch": 1, "generation": 1}
    ledger.add("stream_state", **log, price=1.0, place=[1, 2], snapshot=True)
    ledger.add("reorder", **log, snapshot=True)
    ledger.add("pending", **log | pair, type="I", snapshot=True)
    for k in (n, m, m + 1):
        ledger.add("ticks", stream_id="a", arrival=k, price=1.5)
        ledger.add("quarantine", feed="ticks", arrival=k, reason="malformed")
        ledger.add("quarantine", feed="ticks", arrival=k, reason="late", epoch=2, generation=1)
    joined(ledger, n)
    return ledger


def joined(ledger: Ledger, delivery: int) -> None:
    """Rows of joins: pairs, changes in and out, and what is remembered."""
    lane = "ticks~locations"
    kinds = {"b": "band_join", "r": "near_join"}
    ledger.register(*({"id": id_, "kind": kind, "feed": lane} for id_, kind in kinds.items()))
    ledger.epoch(lane, 1, [delivery], snapshot=True)
    ledger.epoch(lane, 2, [ledger.arrive("locations")])
    own: dict[str, Any] = {"lane": lane, "epoch": 1, "generation": 1}
    found = {**own, "query_version": 1, "left_stream_id": "a", "right_stream_id": "ü"}
    ledger.add("pairs", **found, query_id="w", ts=at(1), left_price=0.1, right_x=-1e300)
    changed = {**found, "query_id": "b", "left_value": 0.1, "right_value": 0.2}
    for sign, ts, arrival in ((1, 5, delivery), (-1, 6, delivery)):
        ledger.add("band_changes", **changed, change=sign, ts=at(ts), arrival=arrival)
    near = {**found, "query_id": "r", "left_x": 0.1, "right_y": -1e300, "distance": 3.5}
    for sign, stream, ts in ((1, "a", 5), (1, "b", 5), (-1, "b", 6)):
        beside = {**near, "left_stream_id": stream, "ts": at(ts), "arrival": delivery}
        ledger.add("near_changes", **beside, change=sign)
    changed |= {"epoch": 2, "arrival": ledger.n, "ts": at(1.5)}
    ledger.add("band_changes", **changed, change=1)
    ledger.add("band_changes", **{**changed, "left_stream_id": "b"}, change=-1)
    log = {**own, "feed": "ticks", "stream_id": "a", "snapshot": True}
    ledger.add("set_members", **log, member=True, price=0.1)
    ledger.add("set_members", **{**log, "stream_id": "gone"}, member=False)
    ledger.add("live_windows", **log, place=3, price=0.1)
    ledger.add("live_windows", **{**log, "epoch": 2, "snapshot": False}, price=2.0)


def in_order(table: pa.Table) -> list[str]:
    """Rows as text, to the last digit, in an order of their own."""
    return sorted(repr(tuple(row.values())) for row in table.to_pylist())


def rows_in_spark(spark: SparkSession, ledger: Ledger, name: str) -> pa.Table:
    """Give a view's rows, under the types that it declares."""
    view = next(view for view in views(ledger.tables) if view.name == name)
    return spark.table(f"`{name}`").toArrow().cast(view.arrow)


@contextmanager
def configured(spark: SparkSession, options: Mapping[str, str]) -> Iterator[None]:
    """Have a session run its statements in another way for a while."""
    before = {name: spark.conf.get(name, None) for name in options}
    for name, value in options.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, was in before.items():
            if was is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, was)


def test_every_view_gives_in_spark_what_it_gives_in_duckdb(spark, tmp_path):
    """The views of a second feed have the text of the first one's: the long form reads them too."""
    with configured(spark, FOR_FEW_ROWS):
        assert_views_agree(spark, tmp_path / "lake", "locations_")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_view_of_every_feed_gives_in_a_session_as_it_is_what_it_gives_in_duckdb(
    spark, tmp_path
):
    assert_views_agree(spark, tmp_path / "lake", "none")


def assert_views_agree(spark: SparkSession, root: Path, left_out: str) -> None:
    ledger = rich()
    ledger.written(root)
    spark_session_views(spark, root, ledger.tables, "SHOW TABLES")
    session = duckdb_session(root, ledger.tables, "SHOW TABLES")
    for name, _ in statements(ledger.tables):
        if name.startswith(left_out):
            continue
        expected = session.execute(f'SELECT * FROM "{name}"').to_arrow_table()
        found = rows_in_spark(spark, ledger, name)
        assert found.schema.names == expected.schema.names, name
        assert in_order(found) == in_order(expected), name
        assert expected.num_rows or name.startswith("locations")


@settings(
    max_examples=3,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(histories())
def test_differential_spark_and_duckdb_read_a_history_alike(spark, history):
    ledger = laid_out(history)
    connection = ledger.in_memory()
    for name in ledger.tables:
        spark.createDataFrame(ledger.arrow(name)).createOrReplaceTempView(f"raw_{name}")
    for name, sql in statements(ledger.tables):
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW `{name}` AS {sql}")
    with configured(spark, FOR_FEW_ROWS):
        for name in COUNTED:
            expected = connection.execute(f'SELECT * FROM "{name}"').to_arrow_table()
            assert in_order(rows_in_spark(spark, ledger, name)) == in_order(expected), name
    assert FEED in ledger.tables


def test_words_of_sql_and_feeds_not_yet_in_the_lake_are_no_trouble(spark, tmp_path):
    ledger = Ledger({"select": ("order", "group")})
    ledger.add("select", stream_id="s", order=1.5, arrival=ledger.arrive("select"))
    ledger.written(tmp_path / "lake")
    spark_session_views(spark, tmp_path / "lake", all_tables(axes_only({**ledger.axes, **AXES})))
    assert spark.sql("SELECT t.order FROM `select` t").collect() == [(1.5,)]
    assert spark.sql("SELECT count(*) FROM locations").collect() == [(0,)]
    assert spark.sql("SELECT price FROM events").collect() == []


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE raw_events",
        "INSERT INTO raw_events SELECT * FROM raw_events",
        "WITH a AS (SELECT 1) INSERT INTO raw_events SELECT * FROM a",
        "FROM raw_events INSERT INTO raw_events SELECT *",
        "CREATE TABLE t AS SELECT 1 AS a",
        "CREATE TEMPORARY VIEW v AS SELECT 1",
        "DELETE FROM raw_events",
        "OPTIMIZE raw_events",
        "VACUUM raw_events",
        "SET spark.sql.ansi.enabled = false",
        "EXECUTE IMMEDIATE 'DROP TABLE raw_events'",
        "BEGIN DROP TABLE raw_events; END",
    ],
)
def test_what_would_change_something_is_refused_in_spark_too(spark, statement):
    with pytest.raises(InputError, match="`fencepost sql` only reads"):
        refuse_writing(spark, statement)


@pytest.mark.parametrize(
    "statement",
    ["SELECT 1", "DESCRIBE events", "SHOW TABLES", "EXPLAIN SELECT 1", "VALUES (1)", "TABLE a"],
)
def test_what_reads_is_taken_in_spark(spark, statement):
    refuse_writing(spark, statement)


def test_spark_answers_a_question_and_says_which_tables_there_are(spark, tmp_path):
    ledger = rich()
    ledger.written(tmp_path / "lake")
    feeds = {name: Feed(name, axes, Path()) for name, axes in AXES.items()}
    asked = Settings(None, tmp_path / "lake", feeds)
    with (
        mock.patch("pipelines.serve.views.spark.stop"),  # the session is the tests'
        mock.patch("pipelines.serve.views.spark.spark", return_value=spark),
    ):
        with from_spark(asked, "SELECT query_id, since FROM inside_now ORDER BY 1") as answer:
            told = [json.loads(line)["query_id"] for line in answer.lines("json")]
        assert told == ["q"]
        with mock.patch("pipelines.serve.views.spark.spark_session_views"):  # they are there
            with (
                pytest.raises(InputError, match="Did you mean 'events'") as why,
                from_spark(asked, "SELECT * FROM evnts"),
            ):
                pass
            assert "JVM" not in str(why.value)
            with (
                pytest.raises(InputError, match="nothing"),
                from_spark(asked, "SELECT nothing FROM events"),
            ):
                pass
