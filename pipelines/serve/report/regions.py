"""The queries of a feed, as a map or a chart shows them: boxes, and how often crossed.

Law: a version is shown if it is active or was crossed in the scope, the busiest first; long lists
are cut, and their length is given.
"""

# ruff: noqa: S608  whole numbers and declared names alone

import json
from collections.abc import Sequence
from typing import Any

import duckdb

from fencepost.text import escaped
from pipelines.serve.report.thin import short

REGIONS = 10_000
"""Queries of a map."""

BOXES = 64
"""Boxes of a query."""

WORDS = 160
"""Characters of its condition."""

COLUMNS = (
    'v.id, v.version, v."where" AS condition, v.within, v.until_n IS NOT NULL AS ended, '
    "v.lo[1:{n}] AS lo, v.hi[1:{n}] AS hi, LEN(v.lo) // {axes} AS boxes"
)


def columns(axes: int) -> str:
    """Write the columns of a version `v` of a query on this many axes."""
    return COLUMNS.format(n=BOXES * axes, axes=max(axes, 1))


def choose(session: duckdb.DuckDBPyConnection, feed: str) -> int:
    """Create the table `__rules` of the versions on a map; give how many there are in all."""
    having = f"v.feed = '{feed}' AND v.kind = 'crossing' "
    having += "AND (c.n IS NOT NULL OR v.until_n IS NULL)"
    crossed = """(
        SELECT c.query_id, c.query_version, SUM(c.n) AS n,
            SUM(c.n) FILTER (c.type = 'I') AS entered, SUM(c.n) FILTER (c.type = 'O') AS gone
        FROM __crossed c GROUP BY 1, 2
    ) c ON c.query_id = v.id AND c.query_version = v.version"""
    session.execute(
        f"""CREATE OR REPLACE TEMP TABLE __rules AS
        SELECT ROW_NUMBER() OVER (ORDER BY COALESCE(c.n, 0) DESC, v.id, v.version) - 1 AS nth,
            v.id, v.version, COALESCE(c.entered, 0) AS entered, COALESCE(c.gone, 0) AS gone
        FROM query_versions v LEFT JOIN {crossed} WHERE {having}
        QUALIFY nth < {REGIONS}"""
    )
    rows = session.execute(
        f"SELECT COUNT(*) FROM query_versions v LEFT JOIN {crossed} WHERE {having}"
    ).fetchall()
    return int(rows[0][0])


def chosen(session: duckdb.DuckDBPyConnection, axes: Sequence[str]) -> list[dict[str, Any]]:
    """Give the versions in `__rules`, in their order; each with its region as JSON, or None."""
    rows = session.execute(
        f"""SELECT {columns(len(axes))}, r.entered, r.gone, v.region
        FROM __rules r JOIN query_versions v ON v.id = r.id AND v.version = r.version
        ORDER BY r.nth"""
    ).fetchall()
    return [
        {
            **described(row[:8], len(axes)),
            "in": int(row[8]),
            "out": int(row[9]),
            "region": None if row[10] is None else json.loads(row[10]),
        }
        for row in rows
    ]


def described(row: Sequence[Any], axes: int) -> dict[str, Any]:
    """Describe one version: each box as lo and hi of each axis in turn, null for an open end."""
    id_, version, condition, within, ended, lo, hi, boxes = row
    sides = list(zip(lo or (), hi or (), strict=True))
    each = [sides[at : at + axes] for at in range(0, len(sides), axes or 1)]
    return {
        "id": id_,
        "version": version,
        "where": None if condition is None else escaped(condition, WORDS),
        "within": within,
        "ended": bool(ended),
        "boxes": [[short(end) for side in box for end in side] for box in each],
        "of": boxes,
    }
