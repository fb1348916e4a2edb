"""What a feed, an axis and the folder of a lake may be called.

Law: no name means two things, in the lake's tables, in `where`, in SQL or in Dagster.
"""

import re

from fencepost.text import shortened
from pipelines.lake.paths import odd_in
from pipelines.places import Place, is_remote
from pipelines.project.settings.values import shown
from schemas import RESERVED, all_tables, axes_only

VIEWS = (
    "visits",
    "inside_now",
    "daily_summary",
    "query_activity",
    "stream_activity",
    "epoch_accounting",
    "partition_status",
    "done_epochs",
    "query_versions",
    "band_pairs",
    "near_pairs",
    "affected_queries",
    "refused_deliveries",
    "join_activity",
)
"""Names of published views, which no feed may have either."""

LANDING = "landing"
"""`landing/ticks` is what Dagster calls the deliveries of the feed `ticks`."""

MARTS = "marts"
"""`lake/marts` has the views that are tables of their own."""

RAW_PREFIX = "raw_"
"""In a SQL session the tables as they lie in the lake have names that begin so."""

FEED_NAMES_IN_USE = (
    (RESERVED, "the name of a table of every lake"),
    (VIEWS, "the name of a view of every lake"),
    ((LANDING,), "where the deliveries of all feeds are"),
    ((MARTS,), "the folder of a lake's marts"),
)
"""What no feed may be called, and why."""

KEYWORDS = ("all", "and", "between", "not", "or")
"""What no axis may be called, since `where` reads it as something else."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
NAME_IN_WORDS = "a-z first, then up to 62 of a-z, 0-9 and _"


def why_no_root(root: Place) -> str | None:
    """Say why a lake cannot be in a folder; None if it can."""
    if is_remote(root) and not root.key:
        return f"{root} is a whole bucket, where a folder was expected, as {root}/lake"
    odd = odd_in(root)
    if not odd:
        return None
    return (
        f"some engines cannot read '{shortened(str(root), 200)}', a path with {odd!r}: "
        "take one of letters, digits and . _ - / only"
    )


def why_no_feed(name: str) -> str | None:
    """Say why a feed cannot be named so; None if it can."""
    if not _NAME.fullmatch(name):
        return f"{shown(name)} is no name of a feed: {NAME_IN_WORDS}"
    use = next((whose for names, whose in FEED_NAMES_IN_USE if name in names), None)
    if use is not None:
        return f"'{name}' is {use}: name the feed otherwise"
    if name.startswith(RAW_PREFIX):
        return f"'{name}': names that begin with {RAW_PREFIX} are those of raw tables in SQL"
    return None


def why_no_axis(name: str) -> str | None:
    """Say why an axis cannot be named so; None if it can."""
    if not _NAME.fullmatch(name):
        return f"{shown(name)} is no name of an axis: {NAME_IN_WORDS}"
    if name in KEYWORDS:
        return f"'{name}' means something else in `where`: name the axis otherwise"
    if name.startswith("prev_"):
        return f"'{name}': what begins with prev_ are the values of the tuple before, in events"
    tables = _tables_with_column(name)
    return f"'{name}' is a column of {' and '.join(tables)} already" if tables else None


def _tables_with_column(name: str) -> list[str]:
    """List the tables with axes among their columns that have a column of this name besides."""
    tables = all_tables(axes_only({"tuples": ("axis",)})).values()
    columns = {table.name: {column.name for column in table.columns} for table in tables}
    return [table for table, has in columns.items() if "axis" in has and name in has - {"axis"}]
