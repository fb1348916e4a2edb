"""A lake in Spark's catalog: what is registered, what is refused, what stays when it is removed."""

# ruff: noqa: S608  SQL is what is tested

import json
import subprocess
import sys
from typing import Any

import pytest
from pyspark.sql import SparkSession

from fencepost.errors import InputError, LakeError
from pipelines.project.settings.target import target_of
from pipelines.serve import publish as publishing
from pipelines.serve.publish import spark_catalog
from pipelines.serve.publish.contents import CatalogEntry, tables_alone, with_views
from tests.support.commands.commands import REPOSITORY
from tests.support.lakes.mart_lake import TICKS, Town, in_order, refreshed, write_town
from tests.support.lakes.on_disk import on_disk

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SOME = ("raw_epochs", "raw_events", "done_epochs", "events", "ticks_events")


@pytest.fixture(scope="module")
def town(tmp_path_factory) -> Town:
    root = tmp_path_factory.mktemp("town") / "lake"
    write_town(root)
    return Town(root)


def some(town: Town, *names: str) -> list[CatalogEntry]:
    return [entry for entry in with_views(town.settings) if entry.name in names]


def here(session: SparkSession, schema: str) -> set[str]:
    rows = session.sql(f"SHOW TABLES IN {schema}").collect()
    return {row["tableName"] for row in rows if not row["isTemporary"]}


def test_a_schema_shows_the_lake_and_publishing_again_changes_nothing(spark, town):
    lake, entries = str(town.settings.root), some(town, *SOME)
    assert vars(spark_catalog.publish(spark, "shop", lake, entries)) == {
        "entries": 5,
        "changed": 5,
        "dropped": 0,
    }
    rows = spark.sql(f"SELECT * FROM shop.events WHERE feed = '{TICKS}'").toArrow()
    assert in_order(rows) == town.shows("events", TICKS)
    columns = {r["col_name"]: r["comment"] for r in spark.sql("DESCRIBE shop.events").collect()}
    assert columns == {c.name: c.comment for e in entries if e.name == "events" for c in e.columns}
    assert spark.sql("SELECT current_schema()").collect()[0][0] == "default"
    assert vars(spark_catalog.publish(spark, "shop", lake, entries))["changed"] == 0
    fewer = [entry for entry in entries if entry.name != "ticks_events"]
    known = [entry.name for entry in entries]
    assert vars(spark_catalog.publish(spark, "shop", lake, fewer, known)) == {
        "entries": 4,
        "changed": 0,
        "dropped": 1,
    }
    assert spark_catalog.remove(spark, "shop", lake, known).dropped == 4
    assert here(spark, "shop") == set()
    assert town.shows("events", TICKS)


def test_what_is_not_of_this_lake_is_refused_and_never_dropped(spark, town, tmp_path):
    lake, entries = str(town.settings.root), some(town, "raw_epochs", "raw_events")
    spark.sql("CREATE SCHEMA IF NOT EXISTS theirs")
    spark.sql("CREATE OR REPLACE VIEW theirs.raw_events AS SELECT 1 AS mine")
    with pytest.raises(LakeError, match="already has raw_events, which this lake did not publish"):
        spark_catalog.publish(spark, "theirs", lake, entries)
    assert here(spark, "theirs") == {"raw_events"}
    assert spark_catalog.remove(spark, "theirs", lake, ["raw_events"]).dropped == 0
    spark.sql("DROP VIEW theirs.raw_events")
    spark_catalog.publish(spark, "theirs", lake, entries)
    with pytest.raises(LakeError, match="already has raw_epochs, raw_events"):
        spark_catalog.publish(spark, "theirs", str(tmp_path / "other"), entries)
    spark_catalog.remove(spark, "theirs", lake, ["raw_epochs", "raw_events"])


def test_a_table_takes_the_place_of_a_view_of_ours_with_its_name(spark, town):
    lake = str(town.settings.root)
    refreshed(town)
    views = some(town, "raw_epochs", "raw_events", "done_epochs", "events")
    spark_catalog.publish(spark, "both", lake, views)
    plain = [e for e in tables_alone(town.settings) if e.name in ("events", "inside_now")]
    known = [entry.name for entry in views]
    assert spark_catalog.publish(spark, "both", lake, plain, known).dropped == 3
    rows = spark.sql(f"SELECT * FROM both.inside_now WHERE feed = '{TICKS}'").toArrow()
    assert len(rows) == len(town.shows("inside_now", TICKS)) > 0
    spark_catalog.remove(spark, "both", lake, ["events", "inside_now"])


def test_a_catalog_in_memory_is_refused_since_it_ends_with_the_session(spark, town):
    with pytest.raises(InputError, match="in memory here and ends with the session"):
        publishing.publish(town.settings, target_of("spark:shop"), lambda: spark)


IN_A_METASTORE = """
import json, sys
from pathlib import Path
from pipelines.project.settings.target import target_of
from pipelines.serve import publish as publishing
from pipelines.spark.session import spark, stop
from tests.support.lakes.mart_lake import Town

DERBY = "jdbc:derby:;databaseName="
root, store, schema, what = sys.argv[1:]
town = Town(Path(root))
session = spark(
    cores=2,
    extra={
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{store}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"{DERBY}{store}/db;create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    },
    jvm_options=[f"-Dderby.stream.error.file={store}/derby.log"],
)
if what == "read":
    names = sorted(row["tableName"] for row in session.sql("SHOW TABLES IN shop").collect())
    rows = {
        name: session.sql(f"SELECT * FROM shop.{name}").count()
        for name in ("events", "visits", "inside_now", "daily_summary")
        if name in names
    }
    print(json.dumps({"names": names, "rows": rows}))
else:
    do = publishing.remove if what == "remove" else publishing.publish
    print(json.dumps(vars(do(town.settings, target_of(schema), lambda: session).change)))
stop()
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("schema", ["spark:shop", "hive:shop"])
def test_a_hive_metastore_keeps_a_lake_for_the_sessions_that_follow(schema, tmp_path):
    write_town(tmp_path / "lake")
    lake = on_disk(Town(tmp_path / "lake").settings.root)

    def session(what: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-c", IN_A_METASTORE, lake, tmp_path, schema, what],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return said

    first = session("publish")
    assert first["changed"] == first["entries"] > len(SOME)
    seen = session("read")
    assert len(seen["names"]) == first["entries"]
    assert seen["rows"] == {"events": 8, "visits": 5, "inside_now": 2, "daily_summary": 4}
    assert session("publish") == {**first, "changed": 0}
    assert session("remove")["dropped"] == first["entries"]
    assert session("read")["names"] == []
    assert (lake / "events" / "_delta_log").is_dir()
