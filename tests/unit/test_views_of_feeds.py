"""A feed's own views: its rows of the general ones, with its own columns."""

# ruff: noqa: S608  names are declared

from pathlib import Path
from typing import Any

import pytest

from pipelines.project.settings import keys
from pipelines.project.settings.loading import understood
from pipelines.serve.views import views
from pipelines.serve.views.duckdb import duckdb_session, from_duckdb
from pipelines.serve.views.of_feeds import EACH, named_in
from schemas import all_tables, axes_only
from tests.support.lakes.ledger import Ledger, at

AXES = {"ticks": ("price", "volume"), "vans": ("x", "y", "price")}
TOML = """
[feeds.ticks]
axes = ["price", "volume"]
source = "in/ticks"
[feeds.vans]
axes = ["x", "y", "price"]
source = "in/vans"
"""


def found(ledger: Ledger) -> None:
    """Lay out an epoch of each feed, with an event, a transition, a match and a state of each."""
    for feed, axes in AXES.items():
        ledger.epoch(feed, 1, [ledger.arrive(feed)], snapshot=True)
        of: dict[str, Any] = {
            "feed": feed,
            "query_id": f"{feed}-q",
            "stream_id": "s",
            "ts": at(5),
            "epoch": 1,
        }
        of["generation"] = 1
        values = dict.fromkeys(axes, 1.5)
        ledger.add("events", **of, type="I", **values)
        ledger.add("transitions", **of, type="stay", from_ts=at(5))
        ledger.add("matches", **of)
        ledger.add("pending", **of, type="I", snapshot=True)
        state = {key: value for key, value in of.items() if key != "query_id"}
        ledger.add("stream_state", **state, **values, snapshot=True)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake of two feeds."""
    ledger = Ledger(AXES)
    found(ledger)
    ledger.written(tmp_path / "lake")
    return tmp_path / "lake"


def test_a_feeds_view_has_its_rows_and_no_axis_of_another(lake: Path) -> None:
    tables = all_tables(axes_only(AXES))
    session = duckdb_session(lake, tables, "SHOW TABLES")
    for feed, axes in AXES.items():
        others = {axis for other in AXES.values() for axis in other} - {*axes}
        for name in EACH:
            own = session.execute(f"SELECT * FROM {feed}_{name}").to_arrow_table()
            assert own.num_rows == 1, name
            assert not {*others, *(f"prev_{axis}" for axis in others)} & {*own.column_names}
            columns = ", ".join(f"v.{column}" for column in own.column_names)
            general = f"SELECT {columns} FROM {name} v WHERE v.feed = '{feed}'"
            assert session.execute(general).to_arrow_table().equals(own)
    events = session.execute("SELECT * FROM ticks_events").to_arrow_table().column_names
    assert {"price", "volume", "prev_price", "prev_volume", "query_id", "epoch"} <= {*events}
    assert "feed" not in events
    session.close()


def test_a_statement_finds_the_views_that_it_names(lake: Path) -> None:
    settings = understood(TOML, lake.parent / keys.FILE)
    for statement in (
        "select stream_id, price from ticks_events",
        'select stream_id, price from "Ticks_Events" t',
        "with e as (from ticks_events) select m.stream_id, price from e, vans_matches m",
    ):
        with from_duckdb(settings, statement) as answer:
            assert [row for batch in answer.batches for row in batch.to_pylist()] == [
                {"stream_id": "s", "price": 1.5}
            ]
    with from_duckdb(settings, "show tables") as answer:
        names = {name for batch in answer.batches for name in batch.column(0).to_pylist()}
    assert {"events", "ticks_events", "vans_stream_state"} <= names


def test_a_session_makes_none_that_is_not_asked_for(lake: Path) -> None:
    session = duckdb_session(lake, all_tables(axes_only(AXES)), "select * from events")
    names = {name for (name,) in session.execute("SHOW TABLES").fetchall()}
    session.close()
    assert "events" in names
    assert not {name for name in names if name.startswith(("ticks_", "vans_"))}


def test_where_a_feed_has_the_name_it_is_the_feeds() -> None:
    tables = all_tables(axes_only({"ticks": ("price",), "ticks_events": ("price",)}))
    names = [view.name for view in views(tables)]
    assert names.count("ticks_events") == 1
    assert {"ticks_matches", "ticks_events_events"} <= {*names}
    (feeds,) = (view for view in views(tables) if view.name == "ticks_events")
    assert "raw_ticks_events" in feeds.sql


def test_the_names_in_a_statement_are_whole_words() -> None:
    declared = views(all_tables(axes_only(AXES)))
    named = [view.name for view in named_in("from my_ticks_events, vans_matches", declared)]
    assert named == ["vans_matches"]
