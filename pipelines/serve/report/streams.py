"""The streams on a page: those with most crossings, as many as fit.

Streams that a user names come first.

Law: if nothing crossed, those with most tuples are shown; the choice is always the same.
"""

# ruff: noqa: S608  whole numbers and declared names alone

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from pipelines.serve.report.scope import ReportScope
from pipelines.serve.report.thin import PARTS, Int64s

STREAMS = 40
FEWEST = 8
"""Streams that are shown however often they crossed: their crossings are then downsampled."""


Session = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Seen:
    """The extent of a feed, and what is shown of it. Times are µs; `last` ≥ `first`.

    chosen   the shown streams, each with its number of crossings, or of tuples
    crossed  whether these are crossings: some stream crossed a rule
    marks    how many crossings fit
    """

    first: int
    last: int
    tuples: int
    streams: int
    chosen: tuple[tuple[str, int], ...]
    crossed: bool
    marks: int

    def step(self, steps: int) -> float:
        """Give the time between two steps, of this many."""
        return max(self.last - self.first, 1) / steps

    def parts(self, us: Int64s) -> Int64s:
        """Give times as parts of the range."""
        parts: Int64s = ((us - self.first) * (PARTS / self.step(1))).astype(np.int64)
        return parts

    def every(self, crossings: int) -> int:
        """Give n, if every n-th crossing is shown."""
        return max(1, -(-crossings // self.marks))


def look(
    session: Session, scope: ReportScope, marks: int, wanted: Sequence[str] = ()
) -> Seen | None:
    """Create the view `__tuples` and the table `__streams`; None if there are no data.

    `wanted` streams come first, whatever they crossed.

    `__tuples` has the accepted tuples, without late ones, duplicates and conflicts.
    """
    session.execute(
        f"""CREATE OR REPLACE TEMP VIEW __tuples AS SELECT t.* FROM "{scope.feed}" t
        WHERE {scope.loaded} AND NOT EXISTS (
            SELECT 1 FROM quarantine q WHERE q.feed = '{scope.feed}' AND q.epoch IS NOT NULL
                AND q.arrival = t.arrival AND q.file = t.file AND q.line = t.line
        )"""
    )
    extent = "COUNT(*), COUNT(DISTINCT t.stream_id), epoch_us(MIN(t.ts)), epoch_us(MAX(t.ts))"
    tuples, streams, first, last = session.execute(f"SELECT {extent} FROM __tuples t").fetchall()[0]
    if not tuples:  # a lake may keep events longer than tuples
        found = f"SELECT {extent} FROM events t WHERE {scope.found}"
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
    """Count all streams, and mark those that are named and have tuples or crossings."""
    session.register("__wanted", pa.table({"stream_id": pa.array(wanted, pa.string())}))
    there = "SELECT t.stream_id FROM __tuples t UNION SELECT c.stream_id FROM __crossed c"
    return f"""SELECT s.stream_id, MAX(s.n) AS n, BOOL_OR(s.named) AS named FROM (
        SELECT b.stream_id, b.n, FALSE AS named FROM ({by}) b
        UNION ALL
        SELECT w.stream_id, 0, TRUE FROM __wanted w WHERE w.stream_id IN ({there})
    ) s GROUP BY 1"""
