"""`fencepost.open_lake`: views as relations, of one moment, and nothing that changes a table."""

import contextlib
import os
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import fencepost as fp
from fencepost.errors import FencepostError, InputError
from tests.support.commands.commands import BAND, T, fencepost, ticks
from tests.support.commands.files import written

TOML = (
    '[run]\nrunner = "here"\n'
    '[feeds.ticks]\naxes = ["price"]\nsource = "landing/ticks"\nsettle = "0s"\n'
)
EVENTS = "select type, stream_id from events order by ts"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    written(folder, "fencepost.toml", TOML)
    written(folder, "band.jsonl", BAND)
    typed(folder, "init")
    typed(folder, "queries", "import", "band.jsonl")
    deliver(folder, "a.csv", ticks(1, 3, 9))
    return folder


def typed(folder: Path, *words: str) -> None:
    with contextlib.chdir(folder):
        said = fencepost(*words)
    assert said.code == 0, said.err


def deliver(folder: Path, name: str, content: str) -> None:
    os.utime(written(folder, f"landing/ticks/{name}", content), (1, 1))
    typed(folder, "run")


def test_a_view_is_a_relation_and_so_every_kind_of_table(project):
    with fp.open_lake(project) as lake:
        events = lake.view("events")
        assert isinstance(events, duckdb.DuckDBPyRelation)
        assert events.filter("type = 'I'").select("stream_id").fetchall() == [("a",)]
        arrow = lake.sql(EVENTS).to_arrow_table()
        assert isinstance(arrow, pa.Table)
        assert lake.sql(EVENTS).pl().equals(pl.DataFrame(arrow))
        assert lake.sql(EVENTS).df().to_dict("list") == arrow.to_pydict()
        assert pa.table(lake.view("raw_events")).num_rows == arrow.num_rows
        assert lake.views.keys() >= {"events", "inside_now", "visits", "ticks", "quarantine"}
        assert lake.path == project / "lake"


def test_what_a_lake_has_goes_back_into_an_evaluation(project):
    with fp.open_lake(project / "fencepost.toml") as lake:
        rule = {"id": "band", "where": "price >= 2 AND price < 5"}
        again = fp.evaluate(lake.view("ticks").select("stream_id, ts, price"), rule)
        found = lake.sql("select type, ts, price from events order by ts").to_arrow_table()
    assert again.events.select(found.column_names).to_pylist() == found.to_pylist()


def test_a_lake_stays_as_it_was_opened_until_it_is_refreshed(project):
    with fp.open_lake(project) as lake, fp.open_lake(project) as other:
        before = lake.sql(EVENTS)
        count = len(before.fetchall())
        deliver(project, f"{count}.csv", f"stream_id,ts,price\na,{T.format(7)},3\n")
        assert len(before.fetchall()) == len(other.sql(EVENTS).fetchall()) == count
        lake.refresh()
        assert len(lake.sql(EVENTS).fetchall()) == count + 1
        assert len(before.fetchall()) == count


@pytest.mark.parametrize(
    "statement",
    [
        "drop view events",
        "create table mine as select 1",
        "delete from raw_events",
        "copy (select 1) to 'x.csv'",
        "select 1; select 2",
        "attach 'x.db'",
        "",
    ],
)
def test_a_statement_that_does_not_read_is_refused(project, statement):
    with fp.open_lake(project) as lake, pytest.raises(InputError):
        lake.sql(statement)


def test_nothing_outside_the_lake_is_written_or_read(project, tmp_path):
    with fp.open_lake(project) as lake:
        with pytest.raises(duckdb.Error, match="disabled by configuration"):
            lake.view("events").write_parquet(str(tmp_path / "x.parquet"))
        with pytest.raises((duckdb.Error, FencepostError)):
            lake.sql(f"from '{project}/band.jsonl'").fetchall()
    assert not (tmp_path / "x.parquet").exists()


def test_a_mistake_is_an_error_that_helps(project, tmp_path):
    with fp.open_lake(project) as lake:
        with pytest.raises(InputError, match=r"no view 'inside'.*Did you mean 'inside_now'"):
            lake.view("inside")
        with pytest.raises(InputError, match=r"(?s)evnts.*There are: .*events"):
            lake.sql("from evnts")
    with pytest.raises(FencepostError, match=r"fencepost\.toml"):
        fp.open_lake(tmp_path)
    written(tmp_path, "fencepost.toml", TOML)
    with pytest.raises(FencepostError, match="fencepost init"):
        fp.open_lake(tmp_path)
