"""An audit of band joins: every right member is subtracted from some left streams' values.

Law: the pairs whose difference is in the band are those that came in and did not go out.
"""

from typing import TYPE_CHECKING

import numpy as np

from fencepost.queries.joins import BAND_JOIN
from fencepost.queries.joins.query import JoinQuery
from pipelines.checks.audits.members import Members, ResultAudit, ResultPair
from pipelines.checks.results import FaultCount
from pipelines.checks.scope import CheckScope
from pipelines.project.settings import Settings

if TYPE_CHECKING:
    import duckdb

AUDIT = ResultAudit(BAND_JOIN, "band_changes", 200_000_000, "not in the band")


def run(session: "duckdb.DuckDBPyConnection", settings: Settings, scope: CheckScope) -> FaultCount:
    """Compare the results of the sample with the members; O(left streams · members · queries)."""
    axes = [settings.axes[feed] for feed in scope.sides]

    def in_bands(queries: list[JoinQuery], left: Members, right: Members) -> set[ResultPair]:
        """Compute every difference, and select those in a band."""
        found = set()
        for query in queries:
            r = left.values[:, axes[0].index(query.left_axis or "")]
            s = right.values[:, axes[1].index(query.right_axis or "")]
            for k, value in enumerate(r):
                apart = value - s
                for j in np.flatnonzero((query.low <= apart) & (apart <= query.high)).tolist():
                    found.add((query.id, query.version, left.names[k], right.names[j]))
        return found

    return AUDIT.run(session, settings, scope, in_bands)
