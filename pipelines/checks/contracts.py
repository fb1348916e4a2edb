"""The promises of `schemas.expectations`, checked on rows of the published views.

DuckDB evaluates them, all of a table in one pass (one_pass.py), and Great Expectations documents
them: `docs.py` stores the findings and makes pages of them.

Law: nothing is written; the rows are those of one moment.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipelines.checks.one_pass import Tally, tallies
from pipelines.checks.results import Checked
from pipelines.checks.scope import CheckScope
from pipelines.checks.session import session_of
from pipelines.lanes import lane_named
from pipelines.planning.chain import Epoch
from pipelines.project.settings import Settings
from schemas.expectations import contracts
from schemas.promises import Contract, Expectation

if TYPE_CHECKING:
    import duckdb


def contract_checks(
    settings: Settings,
    name: str,
    epochs: Sequence[Epoch] | None = None,
    tables: Sequence[str] | None = None,
) -> list[Checked]:
    """Check a lane's tables, or some of them, against their contracts; None: all epochs."""
    scope = CheckScope.of(lane_named(settings, name), epochs)
    session = session_of(settings, [scope.lane])
    try:
        return [
            checked
            for table, contract in contracts(name, settings.axes).items()
            if tables is None or table in tables
            for checked in verified(session, scope, contract)
        ]
    finally:
        session.close()


def verified(
    session: "duckdb.DuckDBPyConnection", scope: CheckScope, contract: Contract
) -> list[Checked]:
    """Check the rows of a table against its contract; the seconds are shared evenly."""
    started = time.perf_counter()
    found = tallies(session, contract, _rows_of(scope, contract.table))
    each = (time.perf_counter() - started) / len(found)
    return [_checked(contract, promise, tally, each) for promise, tally in found]


def _checked(contract: Contract, promise: Expectation, tally: Tally, seconds: float) -> Checked:
    return Checked(
        table=contract.table,
        name=promise.name,
        passed=tally.could and tally.faults == 0,
        severity=promise.severity,
        description=promise.means,
        counts={"rows": tally.rows, "faults": tally.faults, "nulls": tally.missing},
        samples=list(tally.samples),
        seconds=round(seconds, 4),
    )


def _rows_of(scope: CheckScope, table: str) -> str:
    """Write as SQL which rows of a table are checked."""
    if scope.lane.joins:
        return f"t.lane = '{scope.lane}' AND {scope.epochs('t.epoch')}"
    if table == scope.feed:
        return scope.deliveries("t.arrival")
    mine = f"t.feed = '{scope.feed}'"
    if table == "quarantine":
        at_ingest = f"t.epoch IS NULL AND {scope.deliveries('t.arrival')}"
        at_evaluation = f"t.epoch IS NOT NULL AND {scope.epochs('t.epoch')}"
        return f"{mine} AND ({at_ingest} OR {at_evaluation})"
    return f"{mine} AND {scope.epochs('t.epoch')}"
