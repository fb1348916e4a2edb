"""A mart that gets what came since holds what its view shows, over drawn histories.

Its rows of one moment are those that stay and those that are open; at a later moment the increment
stands for the open ones.
"""

from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pipelines.serve.marts import statements
from schemas.marts import MARTS
from tests.support.examples import HALF
from tests.support.lakes.ledger import Ledger
from tests.support.stories.histories import FEED, History, histories, laid_out

Row = tuple[Any, ...]

LEDGER = Ledger({FEED: ("price",)})
SHARED = LEDGER.in_memory()


def earlier(history: History, steps: int, epochs: int) -> History:
    """The history as it was after so many steps, with so many epochs, if they were all there."""
    cut_off = [step.epoch for step in history.steps[steps:] if step.epoch]
    epochs = min([epochs, *(epoch - 1 for epoch in cut_off)])
    seen = [
        replace(step, epoch=step.epoch if step.epoch <= epochs else 0)
        for step in history.steps[:steps]
    ]
    evaluated = max((step.epoch for step in seen), default=0)
    redone = history.redone_from
    again = redone if redone is not None and redone <= evaluated else None
    return History(seen, evaluated, again, history.clocks)


def shown(found: list[Row]) -> list[str]:
    """Rows without the word whether they are open, in an order of their own."""
    return sorted(repr(row[:-1]) for row in found)


def wholes(session: duckdb.DuckDBPyConnection) -> dict[str, list[Row]]:
    """All rows of each mart that grows."""
    return {
        mart: session.execute(statements.whole(mart, FEED, LEDGER.tables)).fetchall()
        for mart in statements.ENTERED
    }


def grown(
    session: duckdb.DuckDBPyConnection, mart: str, before: list[Row], since: int
) -> list[Row]:
    """What the epochs since make of the open rows of a moment."""
    schema = MARTS[mart].in_files
    columns = zip(*[row[:-1] for row in before if row[-1]], strict=True)
    open_rows = [list(column) for column in columns] or [[] for _ in schema]
    session.register(statements.BEFORE, pa.table(open_rows, schema=schema))
    rows = session.execute(statements.increment(mart, FEED, LEDGER.tables, since)).fetchall()
    session.unregister(statements.BEFORE)
    return rows


@HALF
@given(histories(), st.data())
def test_open_rows_and_what_came_since_make_what_the_view_shows(history, data):
    steps = data.draw(st.integers(0, len(history.steps)))
    moment = earlier(history, steps, data.draw(st.integers(0, history.epochs)))
    before = wholes(laid_out(moment).in_memory(SHARED))
    session = laid_out(history).in_memory(SHARED)
    for mart, rows in wholes(session).items():
        since = grown(session, mart, before[mart], moment.epochs)
        settled = [row for row in before[mart] if not row[-1]]
        assert shown(settled + since) == shown(rows)
        assert [row for row in since if row[-1]] == [row for row in rows if row[-1]]
