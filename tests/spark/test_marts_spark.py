"""The marts, read back by Spark, which knows nothing of how they came to be."""

from pathlib import Path

import pytest

from pipelines.project.settings import Feed, Settings
from pipelines.serve.marts import folder_of, refresh
from pipelines.serve.views.duckdb import duckdb_session
from schemas.marts import MARTS
from tests.support.lakes.ledger import AXES, Ledger, at

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_spark_reads_in_a_mart_what_the_view_shows(spark, tmp_path):
    root = tmp_path / "lake"
    ledger = Ledger()
    ledger.register({"id": "q"}, {"id": "zone", "feed": "locations", "valid_to": at(100_000)})
    for feed, query in (("ticks", "q"), ("locations", "zone")):
        ledger.epoch(feed, 1, [ledger.arrive(feed)], watermark=at(200_000))
        ledger.event("O", query, "ünï", 0.25, feed=feed)
        for k in range(5):
            ledger.event("I", query, f"s{k}", k * 30_000 + 0.000001, feed=feed)
        ledger.event("O", query, "s0", 86_400, feed=feed)
        ledger.event("O", query, "s1", 86_400.1, feed=feed)
    ledger.written(root)
    feeds = {name: Feed(name, axes, Path("landing")) for name, axes in AXES.items()}
    for feed in feeds:
        refresh(Settings(None, root, feeds), feed)
    session = duckdb_session(root, ledger.tables)
    for name, mart in MARTS.items():
        found = spark.read.format("delta").load(str(folder_of(root, name))).toArrow()
        shown = session.execute(f"SELECT * FROM {name}").to_arrow_table()  # noqa: S608
        rows, expected = (
            sorted(repr(row) for row in each.select(mart.arrow.names).to_pylist())
            for each in (found, shown)
        )
        assert rows == expected, name
        assert rows
    session.close()
