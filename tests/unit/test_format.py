"""A lake of an older format becomes one of this one, and what it holds stays what it was."""

import json
from dataclasses import replace

import pytest

from fencepost.errors import LakeError
from pipelines.lake.evidence import Evidence
from pipelines.lake.layout import NOTE, Note
from pipelines.lake.store import Store
from pipelines.registry.standing import standing
from pipelines.views.duckdb_session import duckdb_session
from schemas import FORMAT, Table, all_tables
from tests.hand_made_lakes import Ledger
from tests.registry_lake import AXES, Lake, query, said

ADDED = {"queries": {"tests"}, "epochs": {"matched", "choice"}}
"""Columns that format 2 added, beside the table `matches`."""


def tables_of_format_1() -> dict[str, Table]:
    tables = all_tables(AXES)
    del tables["matches"]
    for name, added in ADDED.items():
        kept = tuple(c for c in tables[name].columns if c.name not in added)
        tables[name] = replace(tables[name], columns=kept)
    return tables


@pytest.fixture
def old(tmp_path):
    """A lake of format 1 with a query and an epoch."""
    tables = tables_of_format_1()
    root = tmp_path / "lake"
    store = Store.create(root, tables, buckets=4)
    ledger = Ledger(AXES)
    ledger.tables = tables
    ledger.register({"id": "q", "lo": [2.0, float("-inf")], "hi": [5.0, float("inf")]})
    ledger.add("epochs", lane="ticks", epoch=1, state="done", accepted=7)
    for name, rows in ledger.rows.items():
        evidence = Evidence("made", "by hand", name, 1, 1, 0, len(rows), 0)
        store.append(name, store.version(name), store.write_rows(name, rows), evidence)
    note = json.loads((root / NOTE).read_text()) | {"format": 1}
    (root / NOTE).write_text(json.dumps(note))
    return root


def test_a_lake_of_format_1_gets_what_it_lacks_and_keeps_its_rows(old):
    store = Store.open(old, all_tables(AXES))
    assert Note.read(old).format == FORMAT
    assert "matches" in Note.read(old).ids
    (row,) = standing(store).to_pylist()
    assert (row["id"], row["kind"], row["tests"]) == ("q", "crossing", None)
    (epoch,) = store.rows("epochs").to_pylist()
    assert (epoch["accepted"], epoch["matched"], epoch["choice"]) == (7, None, None)
    for name, added in ADDED.items():
        assert added <= {field.name for field in store.delta(name).schema().fields}


def test_an_upgraded_lake_takes_matches_beside_the_crossings_it_had(old):
    Store.open(old, all_tables(AXES))
    lake = Lake(old)
    assert said(lake.put(query("m", kind="match", where="price > volume"))) == {"added": 1}
    assert lake.set().ids.to_pylist() == ["q"]
    assert lake.set(kind="match").tests.tolist() == [[1, 0, 0]]


def test_who_only_reads_a_lake_of_format_1_leaves_it_so(old):
    with duckdb_session(old, all_tables(AXES)) as session:
        assert session.execute("SELECT count(*) FROM raw_matches").fetchone() == (0,)
        assert session.execute("SELECT id, tests FROM raw_queries").fetchall() == [("q", None)]
        assert session.execute("SELECT matched FROM raw_epochs").fetchall() == [(None,)]
    assert Note.read(old).format == 1


def test_a_lake_cut_off_in_its_upgrade_is_upgraded_by_the_next_who_opens_it(old):
    partly = all_tables(AXES) | {"epochs": tables_of_format_1()["epochs"]}
    Store.open(old, partly)
    Note(1, 4, Note.read(old).ids).write(old)
    store = Store.open(old, all_tables(AXES))
    assert store.rows("epochs")["matched"].to_pylist() == [None]
    assert Note.read(old).format == FORMAT


def test_a_lake_of_a_newer_format_is_refused_in_words(old):
    Note(FORMAT + 1, 4, Note.read(old).ids).write(old)
    with pytest.raises(LakeError, match=f"format {FORMAT + 1}, this Fencepost knows up to"):
        Store.open(old, all_tables(AXES))
