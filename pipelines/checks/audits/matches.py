"""An audit of matches: every `match` query tested, for a bounded sample of tuples.

The engine uses an index; here each box of each query, and each of its tests of two axes, is
compared with the tuple in plain NumPy, and the outcome with the rows of `matches`.

Law: no index or kernel of the engine is used; the accepted tuples are read from the table.
"""

# ruff: noqa: S608  a feed's name is one that is declared, all else are numbers

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fencepost.arrays import Doubles
from fencepost.queries import MATCH, QuerySet
from fencepost.queries.condition import OPS
from fencepost.times import format_instant
from fencepost.tuples import Bools
from pipelines.checks.admission import accepted
from pipelines.checks.audits.regions import in_regions
from pipelines.checks.audits.sample import Audit, SampledSteps, any_of, inside, pairs, watched
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


def matches(queries: QuerySet, steps: SampledSteps) -> Iterator[Matched]:
    """Give what tuples match, by looking at every query. O(tuples · (boxes + tests))."""
    boxes = inside(queries, steps.after) & ~_failed(queries, steps.after)
    boxed = watched(queries, steps, any_of(queries, boxes))
    for step, query in pairs(in_regions(queries, steps.after, boxed)):
        yield Matched(queries.ids[query].as_py(), int(queries.versions[query]), *steps.key(step))


def _failed(queries: QuerySet, points: Doubles) -> Bools:
    """Mark for each point the boxes with a test that it does not pass."""
    left, op, right = queries.tests.T
    passed = np.zeros((points.shape[1], len(op)), np.bool_)
    for code, name in enumerate(OPS):
        mine = op == code
        passed[:, mine] = COMPARES[name](points[left[mine]], points[right[mine]]).T
    failed = np.zeros((points.shape[1], queries.lo.shape[1]), np.bool_)
    tested = np.diff(queries.test_ptr) > 0
    if tested.any():
        begins = queries.test_ptr[:-1][tested]
        failed[:, tested] = np.logical_or.reduceat(~passed, begins, axis=1)
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


def any_found(scope: CheckScope) -> str:
    """Write as SQL: there are matches in the scope."""
    return f"""EXISTS (
    SELECT 1 FROM matches m WHERE m.feed = '{scope.feed}' AND {scope.epochs("m.epoch")}
)"""
