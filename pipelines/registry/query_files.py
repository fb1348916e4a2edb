"""Queries from files and from the command line, as definitions: files of them, or one query.

Law: the files are imported whole or not at all, and every fault of every file is reported. An id
occurs once in all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools
from fencepost.doubles import NUMBER
from fencepost.errors import Fault, Faults, InputError, refuse
from fencepost.position import NOWHERE, Positions
from fencepost.queries import CROSSING, MATCH, check_query, read_queries_jsonl
from fencepost.queries.conversions import is_text
from fencepost.queries.fields import InexactNumber
from fencepost.queries.files import FEED, KnownFeeds, QueryFile, collected, read_queries
from fencepost.queries.geojson import ENDINGS as GEOJSON
from fencepost.queries.geojson_fields import PLAIN, FeatureFields
from fencepost.queries.ids import repeated
from fencepost.queries.query import AxesOf
from fencepost.text import did_you_mean, shortened
from pipelines.files.read.geo_files import ENDINGS as GEO
from pipelines.files.read.query_file import open_queries
from pipelines.project.settings import Settings
from pipelines.registry.queries import DEFINITION, FREE, Axes, rows_of, rows_of_each

KIND = "kind"
Opening = Callable[[str], QueryFile]
"""What opens a file of queries."""
NOTHING_IMPORTED = "nothing imported"


def read_given(
    sources: Sequence[str],
    axes_of: Axes,
    feed: str | None,
    positions: Positions = NOWHERE,
    opening: Opening = open_queries,
) -> pa.Table:
    """Read all the files; rows and features that name no feed are of this one.

    `opening` opens a file. (Measured) a million rows of Parquet 1 s, 100 K lines of JSON 2 s.
    """
    faults: list[Fault] = []
    feeds = KnownFeeds(axes_of, positions)
    reading = [partial(_read, source, feeds, feed, opening) for source in sources]
    read = [collected(faults, act, None) for act in reading]
    files = {source: rows for source, rows in zip(sources, read, strict=True) if rows is not None}
    queries = pa.concat_tables([DEFINITION.empty_table(), *files.values()]).combine_chunks()
    faults += _in_several(files, queries)
    refuse(faults, NOTHING_IMPORTED)
    return queries


def opening_of(settings: Settings) -> Opening:
    """Open files as a project declares: by which property its zones are told apart."""
    name = settings.queries_id
    fields = PLAIN if name is None else FeatureFields(of={"id": (name,)}, own_ids=True)
    return partial(open_queries, fields=fields)


def _read(source: str, feeds: KnownFeeds, feed: str | None, opening: Opening) -> pa.Table:
    file = opening(source)
    if file.table is not None:
        return _of_table(file, file.table, feeds, feed)
    return pa.concat_tables(map(rows_of_each, file.queries(feeds, feed)))


def _of_table(file: QueryFile, table: pa.Table, feeds: KnownFeeds, feed: str | None) -> pa.Table:
    faults = _unknown_feeds(file.source, table, feeds.axes)
    if "version" in table.column_names:
        hint = "leave the column out"
        faults.append(Fault(file.source, "`version` is counted by the registry", hint=hint))
    free = {name: _free(file.source, table, name, faults) for name in FREE}
    reading = partial(read_queries, [file], feeds.axes, feed, feeds.positions)
    standing = collected(faults, reading, None)
    refuse(faults)
    parts = []
    sets = () if standing is None else (*standing.sets.items(), *standing.matches.items())
    for name, queries in sets:
        if len(queries):
            mine = pa.array(_rows_of_kind(table, queries.kind) & _rows_of_feed(table, name))
            more = {
                column: values.filter(mine) for column, values in free.items() if values is not None
            }
            parts.append(rows_of(queries, more))
    return pa.concat_tables([DEFINITION.empty_table(), *parts])


def _unknown_feeds(source: str, table: pa.Table, axes_of: AxesOf) -> list[Fault]:
    if FEED not in table.column_names:
        return []
    faults = []
    for name in table[FEED].cast(pa.string()).unique().drop_null().to_pylist():
        if name and name not in axes_of:
            row = pc.index(table[FEED].cast(pa.string()), name).as_py()
            hint = f"the feeds are: {', '.join(axes_of)}.{did_you_mean(name, axes_of)}"
            faults.append(Fault(source, f"unknown feed '{shortened(name)}'", row + 1, hint=hint))
    return faults


def _free(source: str, table: pa.Table, name: str, faults: list[Fault]) -> pa.ChunkedArray | None:
    """Give a free column as it is stored, or note why it cannot be."""
    if name not in table.column_names or pa.types.is_null(table.field(name).type):
        return None
    field = DEFINITION.field(name)
    kind = table.field(name).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    expected, inner = "text", kind
    if name == "tags":
        expected, listed = "lists of text", pa.types.is_list(kind) or pa.types.is_large_list(kind)
        inner = kind.value_type if listed else pa.null()
    if not (is_text(inner) or (name == "tags" and listed and pa.types.is_null(inner))):
        faults.append(Fault(source, f"`{name}` holds {kind}, {expected} was expected"))
        return None
    try:
        column = table[name].cast(field.type)
        column.validate(full=True)
    except pa.ArrowInvalid:
        faults.append(Fault(source, f"`{name}` holds bytes that are not UTF-8"))
        return None
    return _without_empty(column, source, faults) if name == "tags" else column


def _without_empty(
    tags: pa.ChunkedArray, source: str, faults: list[Fault]
) -> pa.ChunkedArray | None:
    """Convert an empty list of tags to null; a tag that is null is a fault."""
    missing = pc.list_parent_indices(tags).filter(pc.is_null(pc.list_flatten(tags)))
    if len(missing):
        faults.append(Fault(source, "a tag of `tags` is null", missing[0].as_py() + 1))
        return None
    none = pc.fill_null(pc.list_value_length(tags), 0).to_numpy() == 0
    return tags.take(pa.array(np.arange(len(tags)), mask=none))


def _rows_of_feed(table: pa.Table, feed: str) -> Bools:
    if FEED not in table.column_names:
        return np.ones(len(table), np.bool_)
    return _equal(table[FEED], feed)


def _rows_of_kind(table: pa.Table, kind: str) -> Bools:
    if KIND not in table.column_names:
        return np.full(len(table), kind == CROSSING)
    matches = _equal(table[KIND], MATCH)
    return matches if kind == MATCH else ~matches


def _equal(column: pa.ChunkedArray, value: str) -> Bools:
    equal: Bools = pc.fill_null(pc.equal(column.cast(pa.string()), value), False).to_numpy()
    return equal


def _in_several(files: Mapping[str, pa.Table], queries: pa.Table) -> list[Fault]:
    """Report the ids that occur in several files."""
    if len(files) < 2:
        return []
    ids = queries["id"].combine_chunks()
    names = list(files)
    ends = np.cumsum([rows.num_rows for rows in files.values()])
    faults = []
    for row, first in zip(*repeated(ids), strict=True):
        here, there = (names[np.searchsorted(ends, at, side="right")] for at in (row, first))
        message = f"the id '{shortened(ids[int(row)].as_py())}' is in {there} too"
        faults.append(Fault(here, message))
    return faults


def given_one(obj: object, source: str, axes_of: Axes, positions: Positions = NOWHERE) -> pa.Table:
    """Parse one query from a JSON value."""
    query, faults = check_query(obj, axes_of, positions)
    if query is None:
        raise Faults([Fault.of(source, None, fault) for fault in faults], NOTHING_IMPORTED)
    return rows_of_each([query])


def given_words(
    words: Mapping[str, object], source: str, axes_of: Axes, positions: Positions = NOWHERE
) -> pa.Table:
    """Parse one query from options: a window of digits is a count, `A,B` are the ends of a band.

    An end that is left out is open; an end that is no number is reported when the query is parsed.
    """
    fields = dict(words)
    window, between = fields.get("window"), fields.get("between")
    if isinstance(window, str) and window.isascii() and window.isdecimal():
        fields["window"] = int(window[:20])
    if isinstance(between, str):
        ends = (end.strip() for end in between.split(","))
        fields["between"] = [
            InexactNumber.or_double(end) if NUMBER.fullmatch(end) else end or None for end in ends
        ]
    return given_one(fields, source, axes_of, positions)


def given_line(line: str, source: str, axes_of: Axes, positions: Positions = NOWHERE) -> pa.Table:
    """Parse one query from JSON text."""
    try:
        queries = read_queries_jsonl([line.encode()], source, axes_of, positions)
    except UnicodeEncodeError:
        raise Faults([Fault(source, "is not UTF-8")], NOTHING_IMPORTED) from None
    except Faults as found:
        faults = [replace(fault, line=None) for fault in found.faults]
        raise Faults(faults, NOTHING_IMPORTED) from None
    if not queries:
        raise Faults([Fault(source, "is empty")], NOTHING_IMPORTED)
    return rows_of_each(queries)


_TEXTS = (".jsonl", ".parquet", *GEOJSON)
KINDS = (*_TEXTS, *(f"{ending}.gz" for ending in _TEXTS), *GEO)
"""How the name of such a file ends, in a folder of them."""


def rule_files(settings: Settings) -> list[Path]:
    """List the files, sorted by name; none if the settings name no path, or it is empty.

    A single file may have any name. In a folder the extension counts; hidden files and folders
    are skipped. InputError if the path does not exist.
    """
    place = settings.queries
    if place is None:
        return []
    try:
        if not place.is_dir():
            place.stat()
            return [place]
        found = sorted(place.iterdir())
    except OSError as why:
        raise InputError(
            f"{place}, where the standing queries are by [lake] queries, cannot be read: "
            f"{why.strerror}. Make it, or name another file or folder in {settings.file}."
        ) from None
    return [
        path
        for path in found
        if path.name.endswith(KINDS) and not path.name.startswith(".") and path.is_file()
    ]
