"""An audit of matches: every `match` query tested, for a bounded sample of tuples.

The engine uses an index; here each box of each query, and each of its tests of two axes, is
compared with the tuple in plain NumPy, and the outcome with the rows of `matches`.

Law: no index or kernel of the engine is used; the accepted tuples are read from the table.
"""

# ruff: noqa: S608  a feed's name is one that is declared, all else are numbers

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fencepost.queries import MATCH, QuerySet
from fencepost.queries.condition import OPS
from fencepost.times import format_instant
from fencepost.tuples import Bools
from pipelines.checks.admission import accepted
from pipelines.checks.audits.regions import in_regions
from pipelines.checks.audits.sample import Audit, SampledStep, any_of, covered, inside
from pipelines.checks.results import FaultCount
from pipelines.checks.scope import CheckScope
from pipelines.project.settings import Settings

if TYPE_CHECKING:
    import duckdb

COMPARES = {"<": np.less, "<=": np.less_equal, "=": np.equal}


class Matched(NamedTuple):
    """A match, expected or actual."""

    query: str
    version: int
    stream: str
    ts: int
    place: int

    def __str__(self) -> str:
        """Describe it."""
        at = format_instant(self.ts) + (f", place {self.place}" if self.place else "")
        return f"{self.query} v{self.version} by {self.stream} at {at}"


def matches(queries: QuerySet, step: SampledStep) -> Iterator[Matched]:
    """Give what a tuple matches, by looking at every query. O(boxes + tests)."""
    boxes = inside(queries, step.after)
    if not boxes.any():
        return
    matched = any_of(queries, boxes & ~_failed(queries, step.after)) & covered(queries, step)
    for q in np.flatnonzero(in_regions(queries, step.after, matched)).tolist():
        version = int(queries.versions[q])
        yield Matched(queries.ids[q].as_py(), version, step.stream, step.ts, step.place)


def _failed(queries: QuerySet, point: Sequence[float]) -> Bools:
    """Mark the boxes with a test that the point does not pass."""
    values = np.array(point)
    left, op, right = queries.tests.T
    passed = np.zeros(len(op), np.bool_)
    for code, name in enumerate(OPS):
        mine = op == code
        passed[mine] = COMPARES[name](values[left[mine]], values[right[mine]])
    failed = np.zeros(queries.lo.shape[1], np.bool_)
    box = np.repeat(np.arange(len(failed)), np.diff(queries.test_ptr))
    failed[box[~passed]] = True
    return failed


AUDIT = Audit(MATCH, "matches", ("query_id", "query_version"), Matched, matches)


def run(session: "duckdb.DuckDBPyConnection", settings: Settings, scope: CheckScope) -> FaultCount:
    """Compare the matches of the sample with those of all queries; O(tuples · boxes)."""
    return AUDIT.run(session, settings, scope)


def of_accepted(scope: CheckScope, _: Sequence[str]) -> str:
    """Compare each match with the accepted tuples; a row for each, as in `feed_sql`.

    Of n tuples at one instant the places are 0 to n - 1.
    """
    among = f"""t.stream_id IN (
        SELECT i.stream_id FROM matches i
        WHERE i.feed = '{scope.feed}' AND {scope.epochs("i.epoch")}
    )"""
    return f"""WITH {accepted(scope, among)}, instants AS (
    SELECT a.stream_id, a.ts, COUNT(*) AS tuples FROM accepted a GROUP BY a.stream_id, a.ts
)
SELECT CASE WHEN a.stream_id IS NULL OR m.place >= a.tuples
    THEN m.query_id || ' v' || m.query_version || ', ' || m.stream_id || ': no tuple of ' || m.ts
        || CASE WHEN m.place > 0 THEN ', place ' || m.place ELSE '' END || ' was taken'
    END AS said
FROM matches m LEFT JOIN instants a ON a.stream_id = m.stream_id AND a.ts = m.ts
WHERE m.feed = '{scope.feed}' AND {scope.epochs("m.epoch")}"""
