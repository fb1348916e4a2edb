"""An audit of crossings: every standing query tested, for a bounded sample of steps.

The engine finds crossings by an index that never looks at the queries; here each box of each query
is compared with the two points of a step, in plain NumPy, each region in fractions, and the outcome
with the events.

Law: no index, kernel or state of the engine is used; what a step is, is read from the tuples.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fencepost.arrays import Doubles
from fencepost.queries import CROSSING, QuerySet
from fencepost.times import format_instant
from fencepost.tuples import Bools
from pipelines.checks.audits.regions import in_regions
from pipelines.checks.audits.sample import Audit, SampledSteps, any_of, inside, pairs, watched
from pipelines.checks.results import FaultCount
from pipelines.checks.scope import CheckScope
from pipelines.project.settings import Settings

if TYPE_CHECKING:
    import duckdb


class Crossing(NamedTuple):
    """A crossing, expected or actual."""

    type: str
    query: str
    version: int
    stream: str
    ts: int
    place: int

    def __str__(self) -> str:
        """Describe it."""
        at = format_instant(self.ts) + (f", place {self.place}" if self.place else "")
        return f"{self.type} of {self.query} v{self.version} by {self.stream} at {at}"


def crossings(queries: QuerySet, steps: SampledSteps) -> Iterator[Crossing]:
    """Give what steps cross, by looking at every query. O(steps · boxes)."""
    is_inside, was_inside = _holds(queries, steps.after), _holds(queries, steps.before)
    first = steps.first[:, np.newaxis]
    entered = is_inside & ~was_inside & (queries.enters_on_first | ~first)
    left = was_inside & ~is_inside
    for type_, crossed in (("I", entered), ("O", left)):
        for step, query in pairs(watched(queries, steps, crossed)):
            version = int(queries.versions[query])
            yield Crossing(type_, queries.ids[query].as_py(), version, *steps.key(step))


def _holds(queries: QuerySet, points: Doubles) -> Bools:
    """Mark the queries that hold each point: by a box, and by their region if they have one.

    What is no place, as before a first tuple, no box holds.
    """
    return in_regions(queries, points, any_of(queries, inside(queries, points)))


AUDIT = Audit(CROSSING, "events", ("type", "query_id", "query_version"), Crossing, crossings)


def run(session: "duckdb.DuckDBPyConnection", settings: Settings, scope: CheckScope) -> FaultCount:
    """Compare the crossings of the sample with those of all queries; O(steps · boxes)."""
    return AUDIT.run(session, settings, scope)
