"""The contracts in one pass of DuckDB find what Great Expectations finds, on any rows."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from math import inf, nan
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.checks.one_pass import tallies
from pipelines.serve.views.duckdb import FUNCTIONS
from schemas import Column, all_tables, axes_only
from schemas.expectations import contracts
from schemas.promises import Contract
from tests.support.oracles.by_great_expectations import Said, said_by_theirs

pytestmark = pytest.mark.xdist_group("great-expectations")  # one process imports it for all

AXES: dict[str, tuple[str, ...]] = {"bids": ("x",), "asks": ("x", "z")}
PROMISED = {
    f"{lane} {table}": contract
    for lane in ("asks", "bids~asks")
    for table, contract in contracts(lane, AXES).items()
}
TEXTS = {
    "type": ["I", "O", "X", "stay", "departure", "pass_through", "short_absence"],
    "reason": ["late", "malformed", "future", "duplicate", "X"],
}
KINDS: dict[str, list[Any]] = {
    "string": ["", "a", "b", "ä", "x" * 256, "x" * 257],
    "long": [-1, 0, 1, 2, 2**40],
    "integer": [-1, 0, 1, 2],
    "double": [0.0, -0.0, 1.5, nan, inf, -inf, 1.7976931348623157e308],
    "boolean": [True, False],
    "timestamp": [
        datetime(1800, 1, 1, tzinfo=UTC),
        datetime(2026, 11, 18, tzinfo=UTC),
        datetime(2026, 11, 18, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2300, 1, 1, tzinfo=UTC),
    ],
    "date": [date(1800, 1, 1), date(2026, 11, 18), date(2026, 11, 19)],
}


def read_by(contract: Contract) -> list[Column]:
    """The columns that a contract's expressions speak of."""
    declared = all_tables(axes_only(AXES))[contract.table].columns
    read = " ".join(contract.columns.values())
    return [column for column in declared if f"t.{column.name}" in read]


def rows_of(contract: Contract) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows of a table: values on the borders of every promise, nulls, and rows that repeat."""
    of_column = {
        column.name: st.sampled_from([*TEXTS.get(column.name, KINDS[column.kind]), None])
        for column in read_by(contract)
    }
    return st.lists(st.fixed_dictionaries(of_column), max_size=12)


def session_with(contract: Contract, rows: list[dict[str, Any]]) -> duckdb.DuckDBPyConnection:
    """Lay rows in a table of DuckDB's memory."""
    schema = pa.schema([column.arrow.with_nullable(True) for column in read_by(contract)])
    session = duckdb.connect()
    session.execute("SET TimeZone = 'UTC'")
    for function in FUNCTIONS.values():
        session.execute(function)
    session.register("given", pa.Table.from_pylist(rows, schema))
    session.execute(f'CREATE TABLE "{contract.table}" AS SELECT * FROM given')  # noqa: S608
    return session


def said_by_ours(session: duckdb.DuckDBPyConnection, contract: Contract) -> Iterator[Said]:
    """What one pass finds."""
    for promise, tally in tallies(session, contract, "TRUE"):
        assert tally.could, tally
        assert bool(tally.samples) == bool(tally.faults)
        met = tally.faults == 0
        yield promise.name, met, tally.rows, tally.missing, tally.faults


def agreed(contract: Contract, rows: list[dict[str, Any]]) -> list[Said]:
    """Have both look at the same rows, and give what they say."""
    session = session_with(contract, rows)
    try:
        ours = list(said_by_ours(session, contract))
        assert ours == said_by_theirs(session, contract, "TRUE")
    finally:
        session.close()
    return ours


@pytest.mark.parametrize("name", PROMISED)
def test_differential_every_promise_broken_is_found_alike(name):
    contract = PROMISED[name]
    choose = Random(4).choice  # noqa: S311  the same rows each time
    kinds = {
        column.name: TEXTS.get(column.name, KINDS[column.kind]) for column in read_by(contract)
    }
    rows = [{column: choose(values) for column, values in kinds.items()} for _ in range(60)]
    said = agreed(contract, [*rows, *rows])
    assert [promise for promise, met, *_ in said if met] == []


@pytest.mark.parametrize("name", PROMISED)
def test_differential_an_empty_table_keeps_every_promise_alike(name):
    said = agreed(PROMISED[name], [])
    assert all(met for _, met, *_ in said)


@given(data=st.data())
@settings(max_examples=12)
def test_differential_one_pass_finds_what_great_expectations_finds(data):
    contract = PROMISED[data.draw(st.sampled_from(sorted(PROMISED)))]
    agreed(contract, data.draw(rows_of(contract)))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROMISED)
@given(data=st.data())
def test_differential_one_pass_finds_the_same_in_every_table(name, data):
    agreed(PROMISED[name], data.draw(rows_of(PROMISED[name])))
