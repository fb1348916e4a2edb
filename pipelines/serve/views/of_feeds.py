"""Views of one feed: `ticks_events` is `events` of ticks, without the axes of other feeds.

The general views have a column for each axis and each payload column of any feed: with twenty feeds
nearly a hundred, and most of them null. These have only those of their feed.

There are five per feed, and creating one costs a session 3 ms: it creates those that are named.

Law: the rows are those of the general view for this feed, the columns a subset of its columns. If a
feed has such a name itself (`ticks_events`), the name is the feed's.
"""

# ruff: noqa: S608  a view's text is built from declared names alone

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from pipelines.serve.views.tables import feeds
from pipelines.serve.views.view import View, select_list, without
from schemas import Column, Table
from schemas.table import PAYLOAD_PREFIX

EACH = ("events", "transitions", "matches", "stream_state", "pending")
"""The general views of which each feed has its own."""


_WORD = re.compile(r"\w+")
_LISTS = re.compile(r"\b(show|information_schema|pragma|sqlite_master|duckdb_\w+)\b", re.IGNORECASE)
"""What may list views by name."""


def name_of(feed: str, view: str) -> str:
    """Name a feed's own view."""
    return f"{feed}_{view}"


def of_feeds(tables: Mapping[str, Table], general: Iterable[View]) -> Iterator[View]:
    """Declare each feed's views over these general ones."""
    by_name = {view.name: view for view in general}
    for feed in feeds(tables):
        for each in EACH:
            if name_of(feed, each) not in tables:
                yield _of_feed(feed, by_name[each], tables)


def named_in(statement: str, declared: Iterable[View]) -> list[View]:
    """Choose the views that a statement may use: those that it names, or all if it lists views."""
    if _LISTS.search(statement):
        return list(declared)
    words = {word.lower() for word in _WORD.findall(statement)}
    return [view for view in declared if view.name in words]


def own_columns(
    columns: Iterable[Column], axes: Mapping[str, Collection[str]]
) -> tuple[Column, ...]:
    """Leave out the axes and the payload of other feeds.

    axes  by prefix of a column's name: the axes to keep, and the payload columns
    """
    prefixes = sorted(axes, key=len, reverse=True)
    kept = {name for names in axes.values() for name in names}

    def stays(column: Column) -> bool:
        if column.name.startswith(PAYLOAD_PREFIX):
            return column.name in kept
        if column.kind != "double":  # only axes are doubles in these tables
            return True
        before = next(prefix for prefix in prefixes if column.name.startswith(prefix))
        return column.name.removeprefix(before) in axes[before]

    return tuple(column for column in columns if stays(column))


def _of_feed(feed: str, general: View, tables: Mapping[str, Table]) -> View:
    own = {column.name for column in tables[feed].columns}
    columns = without(own_columns(general.columns, {"": own, "prev_": own}), "feed")
    return View(
        name_of(feed, general.name),
        f"`{general.name}` of {feed}, without the axes and payload of other feeds.",
        columns,
        f"SELECT {select_list('v', columns)} FROM {general.name} v WHERE v.feed = '{feed}'",
    )
