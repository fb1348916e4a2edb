"""Which streams a page shows: those with most crossings, as many as it has room for.

Those that a user names are shown before them.

Law: where nothing crossed, those with most tuples are shown; the choice is the same each time.
"""

# ruff: noqa: S608  whole numbers and declared names alone

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from pipelines.serve.report.scope import Scope
from pipelines.serve.report.thin import PARTS, Int64s

STREAMS = 40
FEWEST = 8
"""Streams that are shown however often they crossed: then of some crossings one is shown."""


Session = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Seen:
    """What there is of a feed, and what is shown of it. Times are µs; `last` ≥ `first`.

    chosen  the id of each stream that is shown, and its crossings, or its tuples
    crossed whether they are crossings: some stream crossed a rule
    marks   how many crossings there is room for
    """

    first: int
    last: int
    tuples: int
    streams: int
    chosen: tuple[tuple[str, int], ...]
    crossed: bool
    marks: int

    def step(self, steps: int) -> float:
        """Give the time between two of so many steps."""
        return max(self.last - self.first, 1) / steps

    def parts(self, us: Int64s) -> Int64s:
        """Give times as parts of the range."""
        parts: Int64s = ((us - self.first) * (PARTS / self.step(1))).astype(np.int64)
        return parts

    def every(self, crossings: int) -> int:
        """Say of how many crossings one is shown."""
        return max(1, -(-crossings // self.marks))


def look(session: Session, scope: Scope, marks: int, wanted: Sequence[str] = ()) -> Seen | None:
    """Make the view `__tuples` and the table `__streams`; None: there is nothing.

    Streams that are `wanted` come first, whatever they crossed.

    `__tuples` has what was taken: not what was turned away as late, duplicate or conflict.
    """
    session.execute(
        f"""CREATE OR REPLACE TEMP VIEW __tuples AS SELECT t.* FROM "{scope.feed}" t
        WHERE {scope.came} AND NOT EXISTS (
            SELECT 1 FROM quarantine q WHERE q.feed = '{scope.feed}' AND q.epoch IS NOT NULL
                AND q.arrival = t.arrival AND q.file = t.file AND q.line = t.line
        )"""
    )
    asked = "COUNT(*), COUNT(DISTINCT t.stream_id), epoch_us(MIN(t.ts)), epoch_us(MAX(t.ts))"
    tuples, streams, first, last = session.execute(f"SELECT {asked} FROM __tuples t").fetchall()[0]
    if not tuples:  # a lake may keep what it found longer than what it was found in
        found = f"SELECT {asked} FROM events t WHERE {scope.found}"
        _, streams, first, last = session.execute(found).fetchall()[0]
    if first is None:
        return None
    by = "SELECT c.stream_id, SUM(c.n) AS n FROM __crossed c GROUP BY 1"
    crossed = bool(session.execute("SELECT 1 FROM __crossed c LIMIT 1").fetchall())
    if not crossed:
        by = f"SELECT t.stream_id, COUNT(*) AS n FROM __tuples t GROUP BY 1 LIMIT {PARTS}"
    named = "FALSE"
    if wanted:
        by, named = _with_named(session, wanted, by), "s.named"
    session.execute(
        f"""CREATE OR REPLACE TEMP TABLE __streams AS
        SELECT s.stream_id, s.n, ROW_NUMBER() OVER w - 1 AS nth
        FROM ({by}) s WINDOW w AS (ORDER BY {named} DESC, s.n DESC, s.stream_id)
        QUALIFY {named} OR nth < {FEWEST} OR (nth < {STREAMS} AND SUM(s.n) OVER w <= {marks:d})"""
    )
    rows = session.execute("SELECT s.stream_id, s.n FROM __streams s ORDER BY s.nth").fetchall()
    chosen = tuple((id_, int(n)) for id_, n in rows)
    return Seen(first, last, tuples, streams, chosen, crossed, marks)


def _with_named(session: Session, wanted: Sequence[str], by: str) -> str:
    """Count all streams, those that were named among them if they have tuples or crossings."""
    session.register("__wanted", pa.table({"stream_id": pa.array(wanted, pa.string())}))
    there = "SELECT t.stream_id FROM __tuples t UNION SELECT c.stream_id FROM __crossed c"
    return f"""SELECT s.stream_id, MAX(s.n) AS n, BOOL_OR(s.named) AS named FROM (
        SELECT b.stream_id, b.n, FALSE AS named FROM ({by}) b
        UNION ALL
        SELECT w.stream_id, 0, TRUE FROM __wanted w WHERE w.stream_id IN ({there})
    ) s GROUP BY 1"""
