"""The sample of joins that audits look at: some of those active with a registry.

They are also in the session's table `audited_joins`, by id and version. The choice depends
on the registry alone.
"""

# ruff: noqa: S608  names of feeds are declared, all else are numbers and kinds of queries

from typing import TYPE_CHECKING

from fencepost.arrays import Int64s
from fencepost.queries.joins import JoinQuery
from pipelines.checks.scope import CheckScope
from pipelines.project.settings import Settings
from pipelines.registry.joins import joins_of

if TYPE_CHECKING:
    import duckdb


def audited_joins(
    session: "duckdb.DuckDBPyConnection",
    settings: Settings,
    scope: CheckScope,
    kind: str,
    registry: int,
    most: int,
) -> tuple[list[JoinQuery], Int64s]:
    """Give at most this many, each with the registry version since which it is active."""
    session.execute(f"""CREATE OR REPLACE TEMP TABLE audited_joins AS
SELECT v.* FROM query_versions v
WHERE v.feed = '{scope.lane}' AND v.kind = '{kind}' AND v.registry_version <= {registry:d}
    AND (v.until_registry_version IS NULL OR v.until_registry_version > {registry:d})
ORDER BY HASH(v.id) LIMIT {most:d}""")
    rows = session.execute("SELECT q.* FROM audited_joins q ORDER BY q.id").to_arrow_table()
    since: Int64s = rows["registry_version"].to_numpy()
    return joins_of(rows, settings.axes, settings.positions), since
