"""What a mart's rows are selected by: all of them, or those that more epochs change.

To `inside_now` and `visits` all that matters of a lane's past is who is inside: the last crossing
of each pair of query and stream, where that was an I. So a mart has the rows of these in files of
their own, its open rows; all others stay as they are. An increment is the view's own text over
fewer events: an I for each open row, and the crossings of the epochs since.

Law: open rows and increments make up what the view shows, whatever the epochs were divided into.
"""

# ruff: noqa: S608  a view's text is built from declared names alone

from collections.abc import Mapping, Sequence

from fencepost.hashing import digest
from pipelines.places import Place
from pipelines.serve.views import views_for
from pipelines.serve.views.presence import visits_sql
from schemas import Table, marts

ENTERED = {
    marts.INSIDE_NOW.name: ("since", "since_place"),
    marts.VISITS.name: ("entered_ts", "entered_place"),
}
"""Of the marts that grow by increments: the columns of an open row that say when its I was."""

BEFORE = "before"
"""What rows of the mart are called in a session: the open ones, of which an increment is made."""

_CROSSING = ("feed", "type", "query_id", "query_version", "stream_id", "ts", "prev_ts", "place")


def whole(name: str, feed: str, tables: Mapping[str, Table]) -> str:
    """Select all rows of a feed, the settled ones first; `is_open` says which are not."""
    table = marts.MARTS[name]
    columns = ", ".join(f"v.{column}" for column in table.in_files.names)
    is_open = "v.is_last" if table is marts.VISITS else "TRUE"
    order = ", ".join(("is_open", *(f"v.{column}" for column in table.sorted_by)))
    return f"""SELECT {columns}, {is_open} AS is_open FROM (
{_text(table, tables)}
) v WHERE v.feed = '{feed}' ORDER BY {order}"""


def increment(name: str, feed: str, tables: Mapping[str, Table], since: int) -> str:
    """Select what the open rows and the epochs after `since` make of a feed, in the same way."""
    ts, place = ENTERED[name]
    as_crossing = {"feed": f"'{feed}'", "type": "'I'", "ts": f"b.{ts}", "place": f"b.{place}"}
    as_crossing["prev_ts"] = "CAST(NULL AS TIMESTAMPTZ)"
    entered = ", ".join(f"{as_crossing.get(c, f'b.{c}')} AS {c}" for c in _CROSSING)
    return f"""WITH events AS NOT MATERIALIZED (
SELECT {entered} FROM {BEFORE} b
UNION ALL
SELECT {", ".join(f"e.{column}" for column in _CROSSING)} FROM main.events e
WHERE e.feed = '{feed}' AND e.epoch > {since}
)
{whole(name, feed, tables)}"""


def over_visits(name: str, feed: str, tables: Mapping[str, Table], files: Sequence[Place]) -> str:
    """Select all rows of a feed by a view over visits, which are read from the files of a mart."""
    listed = ", ".join(f"'{file}'" for file in files)
    return f"""WITH visits AS NOT MATERIALIZED (
SELECT '{feed}' AS feed, b.* FROM read_parquet([{listed}], hive_partitioning = false) b
)
{whole(name, feed, tables)}"""


def settled(table: Table) -> str:
    """Select rows that stay as they are, in the mart's order."""
    order = ", ".join(f"b.{column}" for column in table.sorted_by)
    return f"SELECT b.*, FALSE AS is_open FROM {BEFORE} b ORDER BY {order}"


def form(name: str, feed: str, tables: Mapping[str, Table]) -> str:
    """Give a digest of how a mart's rows are made; another means that all are to be made again."""
    return digest(whole(name, feed, tables))


def _text(table: Table, tables: Mapping[str, Table]) -> str:
    if table is marts.VISITS:
        return visits_sql(tables, "is_last")
    return next(view.sql for view in views_for("", tables) if view.name == table.name)
