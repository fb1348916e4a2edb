"""An audit of near joins: the distance of every right member to some left streams is computed.

NumPy picks the pairs that are within the distance but for roundings; of these each is judged by the
reference, one by one.

Law: the pairs at most the distance apart, of the streams that a join takes, are those that came
near and did not part. Where a feed is joined with itself the lesser id stands left.
"""

from typing import TYPE_CHECKING

import numpy as np

from fencepost.arrays import Doubles
from fencepost.queries.joins import NEAR_JOIN
from fencepost.queries.joins.query import JoinQuery
from fencepost.reference.near import RADIUS, apart, takes
from pipelines.checks.audits.members import Members, ResultAudit, ResultPair
from pipelines.checks.results import FaultCount
from pipelines.checks.scope import CheckScope
from pipelines.project.settings import Settings

if TYPE_CHECKING:
    import duckdb

AUDIT = ResultAudit(NEAR_JOIN, "near_changes", 100_000_000, "not near")
ROUNDED = 1 + 1e-7


def run(session: "duckdb.DuckDBPyConnection", settings: Settings, scope: CheckScope) -> FaultCount:
    """Compare the results of the sample with the members; O(left streams · members · queries)."""
    return AUDIT.run(session, settings, scope, near_pairs)


def near_pairs(queries: list[JoinQuery], left: Members, right: Members) -> set[ResultPair]:
    """Give the pairs that joins have, of these members."""
    found = set()
    for query in queries:
        if query.positions is None or query.distance is None:
            continue
        one = query.left == query.right
        here, there = (
            side.values[:, list(axes)]
            for side, axes in zip((left, right), query.positions, strict=True)
        )
        for k, place in enumerate(here):
            near = _distances(place, there, earth=query.earth) <= query.distance * ROUNDED
            for j in np.flatnonzero(near).tolist():
                a, b = left.names[k], right.names[j]
                if one and a.encode() >= b.encode():
                    continue
                if not (takes(query, a, b) or (one and takes(query, b, a))):
                    continue
                if apart(tuple(place), tuple(there[j]), earth=query.earth) <= query.distance:
                    found.add((query.id, query.version, a, b))
    return found


def _distances(place: Doubles, places: Doubles, *, earth: bool) -> Doubles:
    """Measure to all places, to less than a part in 10⁷ even across the globe."""
    x, y = (places - place).T
    if not earth:
        flat: Doubles = np.hypot(x, y)
        return flat
    ring = np.cos(np.radians(place[1])) * np.cos(np.radians(places[:, 1]))
    square = np.sin(np.radians(y) / 2) ** 2 + ring * np.sin(np.radians(x) / 2) ** 2
    round_: Doubles = 2 * RADIUS * np.arcsin(np.sqrt(np.minimum(square, 1.0)))
    return round_
