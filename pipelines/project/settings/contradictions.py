"""Keys of a feed that contradict each other, and feeds that do.

Law: two keys that cannot both be meant are a fault, which names both.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from fencepost.errors import InputError
from fencepost.text import did_you_mean, few, shortened, wrong_with_id
from fencepost.time_formats import understood_format
from pipelines.project.settings.model import Feed
from pipelines.project.settings.names import why_no_axis
from pipelines.project.settings.values import shown

Given = Mapping[str, Any]
"""The keys of a feed that its table names."""

OF_TEXT = ("columns", "skip_lines", "delimiter", "decimal", "encoding")
"""The keys that mean nothing where a file has types of its own."""
_ONE_OF = (
    ("stream_column", "stream", "stream_from_path", "wide"),
    ("date", "date_from_path"),
    ("ts_format", "ts_unit"),
)
"""Keys of which one at most can be meant."""
_NEEDS = (
    ("position_in", "position", "the two axes that it is about"),
    ("sequence_is", "sequence_column", "a column with what orders tuples"),
    ("idle", "lateness_by", 'which makes each stream wait for its own clock: "stream"'),
)


def contradictions(feed: Feed, given: Given) -> Iterator[str]:
    """Say all that is contradictory in a feed."""
    yield from _of_axes(feed)
    yield from _of_keys(feed, given)
    yield from _of_form(feed, given)
    yield from _of_times(feed)
    yield from _of_columns(feed, given)


def _of_axes(feed: Feed) -> Iterator[str]:
    for place, axis in enumerate(feed.axes):
        why = why_no_axis(axis)
        if why is not None:
            yield f"axes: {why}"
        elif axis in feed.axes[:place]:
            yield f"axes: '{axis}' occurs twice"
    for axis in feed.units:
        if axis not in feed.axes:
            near = did_you_mean(axis, feed.axes)
            yield f"units: {shown(axis)} is none of the axes {', '.join(feed.axes)}.{near}"
    try:
        feed.place  # noqa: B018  it is looked for
    except InputError as why:
        yield f"position: {why}"
    if feed.wide and len(feed.axes) > 1:
        yield f"wide: each column is a stream, which gives one axis, and axes has {len(feed.axes)}"


def _of_keys(feed: Feed, given: Given) -> Iterator[str]:
    said = {key for key in given if given[key] is not False}
    for alike in _ONE_OF:
        both = [key for key in alike if key in said]
        if len(both) > 1:
            yield f"{both[1]}: {both[0]} is given too; one of them says it"
    for key, other, what in _NEEDS:
        if key in said and other not in said:
            yield f"{key}: {other} is missing, {what}"
    if "idle" in said and given.get("lateness_by") == "feed":
        yield 'idle: lateness_by is "feed", and only a stream can be idle: lateness_by = "stream"'
    if feed.ties == "first" and feed.sequence_column is not None:
        yield (
            f"ties: sequence_column {shown(feed.sequence_column)} orders the tuples of an instant, "
            'where "first" takes one only; leave one of the two out'
        )
    why = None if feed.stream is None else wrong_with_id(feed.stream)
    if why is not None:
        yield f"stream: {shown(feed.stream)} {why}"


def _of_form(feed: Feed, given: Given) -> Iterator[str]:
    if feed.form == "delta" and feed.partition_in_path:
        yield "partition_in_path: a version of a Delta table has no path; its arrival says which"
    if feed.form not in (None, "csv"):
        only = ("columns", "delimiter", "decimal") if feed.form == "json" else OF_TEXT
        what = "CSV has" if feed.form == "json" else "text files have"
        for key in only:
            if key in given:
                yield f"{key}: format is {shown(feed.form)}, and only {what} that"


def _of_times(feed: Feed) -> Iterator[str]:
    understood = None if feed.ts_format is None else understood_format(feed.ts_format)
    dated = next((key for key in ("date", "date_from_path") if getattr(feed, key)), None)
    if dated is not None and not isinstance(feed.ts_column, str):
        yield f"{dated}: ts_column names a column of dates, {shown(feed.ts_column[0])}; give one"
    if dated is not None and feed.timezone is None:
        yield f'{dated}: timezone is missing, where this is the day: timezone = "America/New_York"'
    if understood is None:
        return
    if dated is not None and understood.has_date:
        yield f"{dated}: ts_format names a day too, {shown(feed.ts_format)}; one of them says it"
    if dated is None and not understood.has_date:
        yield (
            f"ts_format: {shown(feed.ts_format)} has no date; add one, or say the day by date, "
            "date_from_path or a column of its own"
        )
    if dated is None and not understood.has_offset and feed.timezone is None:
        yield (
            f"ts_format: {shown(feed.ts_format)} has no offset (%z), so timezone is needed: "
            'timezone = "America/New_York"'
        )


def own_columns(feed: Feed) -> dict[str, str]:
    """Give the columns that keys name and that no two keys can share, by key."""
    times = (feed.ts_column,) if isinstance(feed.ts_column, str) else feed.ts_column
    own = {"stream_column": feed.stream_column if feed.has_stream_column else None}
    own |= dict(zip(("ts_column", "ts_column (time)"), times, strict=False))
    own |= {"clock_column": feed.clock_column, "deleted": feed.deleted}
    own |= {"sequence_column": feed.sequence_column}
    return {key: column for key, column in own.items() if column is not None}


def _of_columns(feed: Feed, given: Given) -> Iterator[str]:
    own = own_columns(feed)
    for key, column in own.items():
        also = [other for other, named in own.items() if named == column and other < key]
        also += ["axes"] if column in feed.axes else []
        if also:
            yield f"{key}: {shown(column)} is in {' and '.join(also)} too; each has its own column"
    names = dict(feed.payload)
    if axes := [axis for axis in feed.axes if axis in names]:
        yield f"payload: {shown(axes[0])} is in axes too, and axes are on events anyway"
    if "columns" not in given or not feed.columns:
        return
    twice = [name for place, name in enumerate(feed.columns) if name in feed.columns[:place]]
    if twice:
        yield f"columns: {shown(twice[0])} occurs twice"
    wanted = [*own.values(), *(() if feed.wide else feed.axes), *names]
    missing = [name for name in wanted if name not in feed.columns]
    if missing:
        has = few([shortened(name) for name in feed.columns], 12)
        near = did_you_mean(missing[0], feed.columns)
        yield f"columns: {shown(missing[0])}, which another key names, is none of {has}.{near}"


def apart(feeds: Mapping[str, Feed]) -> Iterator[tuple[str, str]]:
    """Say which feed has a payload column that another has otherwise, and why that cannot be."""
    for first, other in combinations(feeds.values(), 2):
        known = {name.lower(): (name, kind) for name, kind in first.payload}
        for name, kind in other.payload:
            spelt, before = known.get(name.lower(), (name, kind))
            if before != kind:
                why = (
                    f"payload: {shown(name)} is {kind}, and with '{first.name}' {before}; the "
                    "events of all feeds are in one table: give it one kind, or another name"
                )
                yield other.name, why
            elif spelt != name:
                why = (
                    f"payload: {shown(name)} is {shown(spelt)} with '{first.name}', one name in "
                    "SQL: spell both alike; a file's column is found in any spelling"
                )
                yield other.name, why
