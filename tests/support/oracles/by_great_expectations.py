"""Contracts run by Great Expectations itself, over rows in pandas: the yardstick for ours."""

import warnings
from functools import cache
from typing import Any

import duckdb

from pipelines.checks.adapter import suite_of
from pipelines.checks.docs import _context
from schemas.promises import Contract

Said = tuple[str, bool, int, int, int]
"""Of an expectation: its name, whether it was met, rows, nulls, faults."""


@cache
def context() -> Any:
    """Make one context for all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = _context()
    made.data_sources.add_pandas("rows").add_dataframe_asset(
        "rows"
    ).add_batch_definition_whole_dataframe("rows")
    return made


def said_by_theirs(
    session: duckdb.DuckDBPyConnection, contract: Contract, condition: str
) -> list[Said]:
    """Run the suite of a contract."""
    expressions = enumerate(contract.columns.values())
    listed = ", ".join(f"{expression} AS c{place}" for place, expression in expressions)
    sql = f'SELECT {listed} FROM "{contract.table}" t WHERE {condition}'  # noqa: S608  declared
    rows = session.execute(sql).df()
    frame = rows.set_axis(list(contract.columns), axis=1)
    batch = context().data_sources.get("rows").get_asset("rows").get_batch_definition("rows")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = batch.get_batch({"dataframe": frame}).validate(
            suite_of("contract", contract), result_format="SUMMARY"
        )
    return [
        (
            each.expectation_config.meta["name"],
            bool(each.success),
            len(frame),
            int(each.result.get("missing_count") or 0),
            int(each.result.get("unexpected_count") or 0),
        )
        for each in found.results
    ]
