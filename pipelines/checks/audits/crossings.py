"""An audit of crossings: every standing query tested, for a bounded sample of steps.

The engine finds crossings by an index that never looks at the queries; here each box of each query
is compared with the two points of a step, in plain NumPy, each region in fractions, and the outcome
with the events.

Law: no index, kernel or state of the engine is used; what a step is, is read from the tuples.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fencepost.queries import CROSSING, QuerySet
from fencepost.times import format_instant
from fencepost.tuples import Bools
from pipelines.checks.audits.regions import in_regions
from pipelines.checks.audits.sample import Audit, SampledStep, any_of, covered, inside
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


def crossings(queries: QuerySet, step: SampledStep) -> Iterator[Crossing]:
    """Give what a step crosses, by looking at every query. O(boxes)."""
    is_inside = _holds(queries, step.after)
    if step.before is None:
        entered, left = is_inside & queries.enters_on_first, np.zeros_like(is_inside)
    else:
        was_inside = _holds(queries, step.before)
        entered, left = is_inside & ~was_inside, was_inside & ~is_inside
    if not (entered | left).any():
        return
    of_them = covered(queries, step)
    for type_, crossed in (("I", entered), ("O", left)):
        for q in np.flatnonzero(crossed & of_them).tolist():
            version = int(queries.versions[q])
            yield Crossing(type_, queries.ids[q].as_py(), version, step.stream, step.ts, step.place)


def _holds(queries: QuerySet, point: Sequence[float]) -> Bools:
    """Mark the queries that hold a point: by a box, and by their region if they have one."""
    return in_regions(queries, point, any_of(queries, inside(queries, point)))


AUDIT = Audit(CROSSING, "events", ("type", "query_id", "query_version"), Crossing, crossings)


def run(session: "duckdb.DuckDBPyConnection", settings: Settings, scope: CheckScope) -> FaultCount:
    """Compare the crossings of the sample with those of all queries; O(steps · boxes)."""
    return AUDIT.run(session, settings, scope)
