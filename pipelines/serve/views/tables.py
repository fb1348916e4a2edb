"""The tables as views: rows of arrivals that are done, and of epochs in force.

Law: a view with a table's name has the table's columns, in the table's order; the logs of state
without those that only say how they were written. A place that an older format did not store is 0:
then a stream had one tuple at a time.
"""

# ruff: noqa: S608  a view's text is built from declared names alone

from collections.abc import Iterator, Mapping

from pipelines.serve.views.view import View, select_list, without
from schemas import Table

_RUNS = """(
    SELECT x.lane, x.generation, MIN(x.epoch) AS first, MAX(x.epoch) AS last FROM (
        SELECT d.lane, d.generation, d.epoch, d.epoch - ROW_NUMBER() OVER (
            PARTITION BY d.lane, d.generation ORDER BY d.epoch
        ) AS run FROM done_epochs d
    ) x GROUP BY x.lane, x.generation, x.run
)"""
"""Each run of epochs of one generation that are in force: a few rows, whatever its age."""

IN_FORCE = f"""JOIN {_RUNS} h ON h.lane = {{0}}.{{1}} AND h.generation = {{0}}.generation
    AND {{0}}.epoch BETWEEN h.first AND h.last"""
"""For an alias, and the column that names its lane: joins the run that a row is in.

No two runs of a lane share an epoch, so a row is there once. (Measured, 20 M events) 16 ns a row in
DuckDB, where looking up its epoch cost 70.
"""

CURRENT = """current_epochs AS (
    SELECT e.lane, e.epoch, e.generation, e.epoch = s.since AS whole FROM done_epochs e
    JOIN (
        SELECT d.lane, COALESCE(MAX(CASE WHEN d.snapshot THEN d.epoch END), 0) AS since
        FROM done_epochs d GROUP BY d.lane
    ) s ON s.lane = e.lane AND e.epoch >= s.since
)"""
"""The epochs whose rows of a log make the current state: the last snapshot, and those after it."""

IS_CURRENT = """EXISTS (
    SELECT 1 FROM current_epochs h
    WHERE h.lane = {0}.{1} AND h.epoch = {0}.epoch AND h.generation = {0}.generation
        AND h.whole = {0}.snapshot
)"""
DELIVERED = "SELECT a.n FROM raw_arrivals a WHERE a.state = 'done'"

HOW = ("snapshot", "gone")
"""Columns of a log that only say how it was written."""

KNOWN = ("place", "from_place", "left_place", "right_place", "ts_place", "nth")
PLACES = {
    **dict.fromkeys(KNOWN, "COALESCE({0}.{1}, 0)"),
    "side": "CASE WHEN {0}.side <> 'registration' THEN COALESCE({0}.{1}, 0) END",
    "to_place": "CASE WHEN {0}.to_ts IS NOT NULL THEN COALESCE({0}.{1}, 0) END",
}
"""How columns are read that say which of a stream's tuples at one instant; null in older rows."""

COMMENTS = {
    "events": "Crossings: a stream entered (I) or left (O) a query.",
    "transitions": "What a crossing turned into within the time t of its query.",
    "matches": "Matches: a tuple satisfied a query of the kind `match`.",
    "leaps": "Steps through a query with `leaps`, which holds at neither end of them.",
    "stream_state": "The last accepted tuple of every stream.",
    "reorder": "The tuples that wait for earlier ones.",
    "pending": "Crossings of queries with `within` that are not a transition yet.",
}
"""By table of a feed's lane: the comment of its view."""


def published(tables: Mapping[str, Table]) -> Iterator[View]:
    """Declare the views named like tables, except ledgers and registry."""
    yield _quarantine(tables["quarantine"])
    mine = [table for table in tables.values() if table.owner == "feed"]
    for table in mine:
        if table.role == "found" and table.name in COMMENTS:
            yield View(table.name, COMMENTS[table.name], table.columns, of_epochs(table))
    for table in mine:
        if table.role == "log":
            yield _current(table, COMMENTS[table.name])
    for table in mine:
        if table.role == "tuples":
            yield View(table.name, table.comment, table.columns, _of_arrivals(table))


def feeds(tables: Mapping[str, Table]) -> list[str]:
    """Name the feeds: each has a table."""
    return [name for name, table in tables.items() if table.role == "tuples"]


def placed(alias: str, table: Table, *left_out: str) -> str:
    """Write the columns of a raw table for a SELECT, without some; no place is unknown."""
    return ", ".join(
        each if each == f"{alias}.{column.name}" else f"{each} AS {column.name}"
        for column in without(table.columns, *left_out)
        for each in [_placed(alias, table, column.name)]
    )


def _placed(alias: str, table: Table, name: str) -> str:
    kinds = {column.name: column.kind for column in table.columns}
    if kinds[name] != "integer":  # the state's pointers and the order of windows have such names
        return f"{alias}.{name}"
    by_whom = "side" if "side" in kinds else name
    return PLACES.get(by_whom if name == "place" else name, "{0}.{1}").format(alias, name)


def of_epochs(table: Table) -> str:
    """Select the rows of a table whose epochs are in force."""
    return f"""SELECT {placed("t", table)} FROM raw_{table.name} t
{IN_FORCE.format("t", table.lane_column)}"""


def _of_arrivals(table: Table) -> str:
    return f"""SELECT {select_list("t", table.columns)} FROM raw_{table.name} t
WHERE t.arrival IN ({DELIVERED})"""


def _quarantine(table: Table) -> View:
    sql = f"""SELECT {select_list("t", table.columns)} FROM raw_quarantine t
WHERE t.epoch IS NULL AND t.arrival IN ({DELIVERED})
UNION ALL
{of_epochs(table)}"""
    comment = "Rejected rows, and why; nothing that arrived is lost."
    return View("quarantine", comment, table.columns, sql)


def _current(table: Table, comment: str) -> View:
    """Read a log: the newest row of each key, from the last snapshot or the epochs after it.

    Within an epoch a live row precedes one that is gone: a key can end and begin again in it.
    """
    can_go = any(column.name == "gone" for column in table.columns)
    columns = without(table.columns, *HOW)
    newest = "r.epoch DESC, r.gone" if can_go else "r.epoch DESC"
    still = " AND NOT t.gone" if can_go else ""
    key = ", ".join(_placed("r", table, name) for name in table.key)
    sql = f"""WITH {CURRENT}
SELECT {placed("t", table, *HOW)} FROM (
    SELECT r.*, ROW_NUMBER() OVER (
        PARTITION BY r.feed, {key} ORDER BY {newest}
    ) AS newest_first
    FROM raw_{table.name} r
    WHERE {IS_CURRENT.format("r", table.lane_column)}
) t WHERE t.newest_first = 1{still}"""
    return View(table.name, comment, columns, sql)
