"""What was found, feed by feed: `ticks_events` is `events` of ticks, without the axes of others.

The general views have a column for each axis of any feed, so of twenty feeds nearly a hundred, and
null nearly everywhere. These have those that their feed has.

There are five a feed, and to make one takes a session 3 ms: it makes those that are asked for.

Law: its rows are those of the general view whose feed it is, its columns a part of theirs. Where a
feed is itself called like one of them (`ticks_events`), the name is the feed's.
"""

# ruff: noqa: S608  a view's text is put together from declared names alone

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from pipelines.serve.views.published import feeds
from pipelines.serve.views.view import View, select_list, without
from schemas import Column, Table

EACH = ("events", "transitions", "matches", "stream_state", "pending")
"""The general views that each feed has one of."""


_WORD = re.compile(r"\w+")
_LISTS = re.compile(r"\b(show|information_schema|pragma|sqlite_master|duckdb_\w+)\b", re.IGNORECASE)
"""What may list the views by name."""


def name_of(feed: str, view: str) -> str:
    """Name a feed's own view."""
    return f"{feed}_{view}"


def of_feeds(tables: Mapping[str, Table], general: Iterable[View]) -> Iterator[View]:
    """Declare each feed's views over the general ones, which must be given."""
    by_name = {view.name: view for view in general}
    for feed in feeds(tables):
        for each in EACH:
            if name_of(feed, each) not in tables:
                yield _of_feed(feed, by_name[each], tables)


def named_in(statement: str, declared: Iterable[View]) -> list[View]:
    """Choose the views that a statement may be about: those that it names, all where it lists."""
    if _LISTS.search(statement):
        return list(declared)
    words = {word.lower() for word in _WORD.findall(statement)}
    return [view for view in declared if view.name in words]


def own_columns(
    columns: Iterable[Column], axes: Mapping[str, Collection[str]]
) -> tuple[Column, ...]:
    """Leave out the axes of other feeds.

    axes  by what stands before an axis in a column's name: those that are to stay
    """
    prefixes = sorted(axes, key=len, reverse=True)

    def stays(column: Column) -> bool:
        if column.kind != "double":  # an axis is, and nothing else in these tables
            return True
        before = next(prefix for prefix in prefixes if column.name.startswith(prefix))
        return column.name.removeprefix(before) in axes[before]

    return tuple(column for column in columns if stays(column))


def _of_feed(feed: str, general: View, tables: Mapping[str, Table]) -> View:
    own = {column.name for column in tables[feed].columns}
    columns = without(own_columns(general.columns, {"": own, "prev_": own}), "feed")
    return View(
        name_of(feed, general.name),
        f"`{general.name}` of {feed} alone, without the axes of other feeds.",
        columns,
        f"SELECT {select_list('v', columns)} FROM {general.name} v WHERE v.feed = '{feed}'",
    )
