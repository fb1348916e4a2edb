"""A DuckDB session on a lake: what it sees, and what it does not let out or in."""

import duckdb
import pytest

from fencepost.errors import LakeError
from pipelines.lake.evidence import Evidence
from pipelines.lake.store import Store
from pipelines.serve.views.duckdb import duckdb_session
from schemas import all_tables, axes_only
from tests.support.lakes.ledger import AXES, Ledger

NOTHING = Evidence("by hand", "more", "", 1, 1, 1, 1, 0)


@pytest.mark.fault(60)
def test_words_of_sql_may_be_names_of_feeds_and_axes(tmp_path):
    axes = {"select": ("order", "group"), "table": ("left",)}
    ledger = Ledger(axes)
    ledger.add("select", stream_id="s", order=1.5, arrival=ledger.arrive("select"))
    ledger.written(tmp_path / "lake")
    session = duckdb_session(tmp_path / "lake", ledger.tables)
    assert session.execute('SELECT t."order" FROM "select" t').fetchall() == [(1.5,)]
    assert session.execute('SELECT count(*) FROM "table"').fetchall() == [(0,)]


def test_a_feed_declared_and_not_yet_in_the_lake_has_no_rows(tmp_path):
    ledger = Ledger({"ticks": ("price",)})
    ledger.epoch("ticks", 1, [ledger.arrive("ticks")])
    ledger.event("I", "q", "a", 1, price=2.0)
    ledger.written(tmp_path / "lake")
    session = duckdb_session(tmp_path / "lake", all_tables(axes_only(AXES)))
    assert session.execute("SELECT count(*) FROM locations").fetchall() == [(0,)]
    assert session.execute("SELECT price, x FROM events").fetchall() == [(2.0, None)]


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{root}/../x.csv'",
        "ATTACH '{root}/../x.db'",
        "INSERT INTO _events SELECT * FROM _events",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM '/etc/hostname'",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "INSTALL httpfs",
    ],
)
@pytest.mark.fault(60, 67)
def test_a_session_that_is_told_to_reach_out_does_not(tmp_path, statement):
    ledger = Ledger()
    root = tmp_path / "lake"
    ledger.event("I", "q", "a", 1)
    ledger.written(root)
    before = sorted(tmp_path.rglob("*"))
    session = duckdb_session(root, ledger.tables)
    with pytest.raises(duckdb.Error, match=r"(?i)permission|read-only|exist|cannot|disabled"):
        session.execute(statement.format(root=root))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_name_is_never_one_of_python_s_variables(tmp_path):
    ledger = Ledger()
    ledger.written(tmp_path / "lake")
    session = duckdb_session(tmp_path / "lake", ledger.tables)
    with pytest.raises(duckdb.Error, match="ledger does not exist"):
        session.execute("SELECT * FROM ledger")


def test_a_session_sees_the_lake_as_it_was_when_it_opened(tmp_path):
    ledger = Ledger()
    ledger.epoch("ticks", 1, [ledger.arrive("ticks")])
    ledger.event("I", "q", "a", 1)
    store = ledger.written(tmp_path / "lake")
    session = duckdb_session(tmp_path / "lake", ledger.tables)
    rows = ledger.arrow("events")
    store.append("events", store.version("events"), store.write("events", rows), NOTHING)
    assert session.execute("SELECT count(*) FROM events").fetchall() == [(1,)]
    anew = duckdb_session(tmp_path / "lake", ledger.tables)
    assert anew.execute("SELECT count(*) FROM events").fetchall() == [(2,)]


def test_no_lake_and_a_newer_lake_are_refused_in_words(tmp_path):
    tables = all_tables(axes_only(AXES))
    with pytest.raises(LakeError, match=r"there is no lake at .*`fencepost init`"):
        duckdb_session(tmp_path, tables)
    with pytest.raises(LakeError, match="letters, digits"):
        duckdb_session(tmp_path / "it's", tables)


def test_a_session_for_one_statement_opens_what_that_reads_and_lists_all_there_is(tmp_path):
    ledger = Ledger()
    ledger.event("I", "q", "a", 1)
    ledger.written(tmp_path / "lake")

    def rows(statement: str, *more: str) -> list[tuple[object, ...]]:
        with duckdb_session(tmp_path / "lake", ledger.tables, statement, only=True) as session:
            return [session.execute(each).fetchall() for each in (statement, *more)][-1]

    every = duckdb_session(tmp_path / "lake", ledger.tables, "SHOW TABLES")
    listed = every.execute("SHOW TABLES").fetchall()
    assert len(listed) > 40
    assert rows("SHOW TABLES") == listed
    for view in ("events", "visits", "inside_now", "query_activity", "partition_status"):
        statement = f"FROM {view} ORDER BY ALL"
        assert rows(statement) == every.execute(statement).fetchall(), view
    of_names = "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
    assert rows(of_names) == every.execute(of_names).fetchall()
    with pytest.raises(duckdb.Error, match="raw_matches was not opened"):
        rows("SELECT * FROM events", "SELECT * FROM raw_matches")
    with pytest.raises(duckdb.Error, match="visits does not exist"):
        rows("SELECT * FROM events", "SELECT * FROM visits")


def test_tables_read_by_their_files_are_what_delta_says_they_are(tmp_path):
    ledger = Ledger()
    ledger.add("ticks", stream_id="s", price=1.5, arrival=(number := ledger.arrive("ticks")))
    ledger.epoch("ticks", 1, [number])
    ledger.event("I", "q", "s", 1)
    ledger.written(tmp_path / "lake")
    tables = all_tables(axes_only({**AXES, "later": ("depth",)}))
    store = Store.to_read(tmp_path / "lake", tables)
    by_delta = duckdb_session(tmp_path / "lake", tables)
    by_files = duckdb_session(tmp_path / "lake", tables, store=store)
    attached = "SELECT COUNT(*) FROM duckdb_databases() WHERE type = 'delta'"
    assert by_files.execute(attached).fetchall() == [(0,)]
    assert by_delta.execute(attached).fetchall() != [(0,)]
    for name in [*(f"raw_{table}" for table in tables), "events", "ticks"]:
        for statement in (f"DESCRIBE {name}", f"FROM {name} ORDER BY ALL"):
            said = by_files.execute(statement).fetchall()
            assert said == by_delta.execute(statement).fetchall(), statement


def test_a_file_that_is_lost_fails_who_reads_it_and_no_other(tmp_path):
    ledger = Ledger()
    ledger.event("I", "q", "s", 1)
    ledger.epoch("ticks", 1, [ledger.arrive("ticks")])
    store = ledger.written(tmp_path / "lake")
    (lost,) = store.files("events")
    (tmp_path / "lake" / "events" / lost.path).unlink()
    session = duckdb_session(tmp_path / "lake", ledger.tables, store=store)
    assert session.execute("SELECT COUNT(*) FROM raw_epochs").fetchall() == [(2,)]
    with pytest.raises(duckdb.Error):
        session.execute("SELECT * FROM raw_events").fetchall()
