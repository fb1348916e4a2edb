"""Rows of a Parquet file: its types say what its cells are; a row's line is its number, from 1.

Law: a type that can hold no tuple's cell is a fault of the file, a bad value one of its row. A
timestamp without a time zone is no instant unless a zone is declared, but INT96 is one: its writers
mean UTC.
"""

import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet as pq

from fencepost.arrow import owned
from fencepost.cells import CellFaults
from fencepost.errors import Fault
from fencepost.times import EARLIEST, LATEST, PER_UNIT, format_instant
from fencepost.tuples import Int64s
from pipelines.disk.errors import refuse_failing
from pipelines.files.read.content import LONGEST_LINE, refusal
from pipelines.files.read.declaration import Declared
from pipelines.files.read.records import (
    Malformed,
    RawOf,
    RawRows,
    by_piece,
    missing_columns,
    too_many_columns,
)

ROWS = 1 << 20
"""Rows that are read at a time."""
RAW_BYTES = 1 << 26
"""Characters of a piece's records, about: of many malformed rows long texts are cut shorter."""
MOST_CELL = 1_000
"""Characters that are kept of a text, however many rows are malformed."""
PLAIN = (8, 64)
"""Bytes a row of a column of short and different texts. With fewer they are stored as codes."""
MOST_TEXT = 1 << 30
"""Bytes of a row group's text in one column: it is decoded at once."""

NOTHING: Mapping[str, str | None] = {}

BROKEN = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What Arrow raises for a file that is damaged; the last for names that are not UTF-8."""


def open_file(
    source: str, file: BinaryIO | pa.NativeFile, coded: Sequence[str] = ()
) -> pq.ParquetFile:
    """Read the footer; the text of the columns `coded` will be read as codes."""
    try:
        return pq.ParquetFile(
            file,
            coerce_int96_timestamp_unit="us",
            read_dictionary=list(coded),
        )
    except BROKEN as failure:
        raise _damaged(source, failure) from None


def read_whole(source: str, content: bytes) -> pa.Table:
    """Read all of a file as it is."""
    try:
        return open_file(source, pa.BufferReader(owned([content]))).read()
    except BROKEN as failure:
        raise _damaged(source, failure) from None


def coded_columns(file: pq.ParquetFile, stream_id: str) -> list[str]:
    """Name the columns to read as codes: stream ids, and texts that are long or that rows share.

    So a megabyte of text shared by a million rows is stored once. Other texts are faster uncoded.
    """
    found = {stream_id}
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        for name, size in _text_sizes(file, group).items():
            if not PLAIN[0] * rows <= size <= PLAIN[1] * rows:
                found.add(name)
    return [
        field.name for field in file.schema_arrow if field.name in found and is_text(field.type)
    ]


def faults(source: str, file: pq.ParquetFile, declared: Declared) -> list[Fault]:
    """List the columns that are not there, and those that can hold no cells of tuples."""
    schema = file.schema_arrow
    names = list(schema.names)
    if too_many := too_many_columns(source, names):
        return too_many
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    found = [Fault(source, f"column '{name}' occurs twice in the schema") for name in twice]
    found += missing_columns(source, list(dict.fromkeys([*names, *declared.fixed])), declared)
    if found:
        return found
    int96 = _int96(file)
    checks = [
        _fault(source, name, schema.field(name).type, declared, is_int96=name in int96)
        for name in declared.over(names).wanted
        if name not in declared.fixed
    ]
    found = [fault for fault in checks if fault is not None]
    return found + _too_much_text(source, file, {*declared.over(names).wanted} - {*declared.fixed})


def _too_much_text(source: str, file: pq.ParquetFile, names: Collection[str]) -> list[Fault]:
    """List the columns with more text in a row group than is decoded."""
    found: dict[str, Fault] = {}
    for group in range(file.num_row_groups):
        for name, size in _text_sizes(file, group).items():
            if name in names and size > MOST_TEXT:
                message = f"column '{name}' has {size:,} bytes in row group {group + 1}, "
                hint = "Write smaller row groups."
                found[name] = Fault(
                    source, f"{message}where up to {MOST_TEXT:,} are read", hint=hint
                )
    return list(found.values())


def _text_sizes(file: pq.ParquetFile, group: int) -> dict[str, int]:
    """Give the bytes of text in a row group, unpacked, by column; those in lists count together."""
    sizes: dict[str, int] = {}
    tops = set(file.schema_arrow.names)
    row_group = file.metadata.row_group(group)
    for place in range(row_group.num_columns):
        column = row_group.column(place)
        if column.physical_type == "BYTE_ARRAY":
            name = column.path_in_schema
            top = name if name in tops else name.split(".")[0]
            sizes[top] = sizes.get(top, 0) + column.total_uncompressed_size
    return sizes


def _fault(
    source: str, name: str, kind: pa.DataType, declared: Declared, *, is_int96: bool
) -> Fault | None:
    if declared.has_stream_column and name == declared.stream_id:
        return _id_fault(source, name, kind)
    if name == declared.deleted:
        return _mark_fault(source, name, kind)
    if name in declared.needed:
        if is_int96:
            return None
        return _time_fault(source, name, kind, declared)
    if name in declared.own:
        return _plain_fault(source, name, kind)
    return _axis_fault(source, name, kind, declared.axes_by)


def _int96(file: pq.ParquetFile) -> set[str]:
    columns = [file.schema.column(place) for place in range(len(file.schema))]
    return {column.path for column in columns if column.physical_type == "INT96"}


def _id_fault(source: str, name: str, kind: pa.DataType) -> Fault | None:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind):
        return None
    return Fault(source, f"column '{name}' is of type {kind}, where text or integers were expected")


def _time_fault(source: str, name: str, kind: pa.DataType, declared: Declared) -> Fault | None:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    types = pa.types
    if not isinstance(declared.ts, str) and name in declared.ts:
        return _plain_fault(source, name, kind)
    if is_text(kind) or types.is_null(kind) or (types.is_time(kind) and declared.date is not None):
        return None
    if types.is_timestamp(kind) or types.is_date(kind):
        if declared.timezone is not None or (types.is_timestamp(kind) and kind.tz is not None):
            return None
        what = "a timestamp without a time zone" if types.is_timestamp(kind) else "a date"
        message = f"{what} is no instant"
        hint = f"Say where it was read off: {declared.zone_by}."
    elif types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        if declared.ts_unit is not None or declared.ts_format is not None:
            return None
        message, hint = "no unit is declared", f"Say what it counts: {declared.unit_by}."
    else:
        message, hint = "a timestamp with a time zone was expected", None
    return Fault(source, f"column '{name}' is of type {kind}: {message}", hint=hint)


def _mark_fault(source: str, name: str, kind: pa.DataType) -> Fault | None:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_flag = pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)
    if is_flag or is_text(kind):
        return None
    return Fault(source, f"column '{name}' is of type {kind}, where true and false were expected")


def _plain_fault(source: str, name: str, kind: pa.DataType) -> Fault | None:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if is_text(kind) or not (pa.types.is_nested(kind) or pa.types.is_interval(kind)):
        return None
    return Fault(source, f"column '{name}' is of type {kind}, where a plain one was expected")


def _axis_fault(source: str, name: str, kind: pa.DataType, axes_by: str) -> Fault | None:
    is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    if is_number or pa.types.is_null(kind):
        return None
    message = f"column '{name}' is of type {kind}, where an axis of numbers was expected"
    return Fault(source, message, hint=f"If it is no axis, name those that are: {axes_by}.")


def is_text(kind: pa.DataType) -> bool:
    """Recognise text, coded or not, and bytes, which some writers use for text."""
    types = pa.types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
    )


def rows(
    source: str, file: pq.ParquetFile, declared: Declared, groups: range | None = None
) -> Iterator[RawRows]:
    """Read a million rows at a time; the wanted columns, of the types that they have."""
    groups = range(file.num_row_groups) if groups is None else groups
    stored = [name for name in declared.wanted if name not in declared.fixed]
    begin = sum(file.metadata.row_group(group).num_rows for group in range(groups.start))
    batches = file.iter_batches(batch_size=ROWS, columns=stored, row_groups=list(groups))
    while True:
        try:
            batch = next(batches, None)
        except BROKEN as failure:
            raise _damaged(source, failure) from None
        if batch is None:
            return
        yield _piece(source, file, batch, begin, declared)
        begin += len(batch)


def _piece(
    source: str, file: pq.ParquetFile, batch: pa.RecordBatch, begin: int, declared: Declared
) -> RawRows:
    cells, refused = {}, {}
    utc = _int96(file)
    for name in declared.wanted:
        if name in declared.fixed:
            cells[name] = _same(declared.fixed[name], len(batch))
            continue
        cells[name], refused[name] = _text_checked(batch.column(name), name)
        if name in utc:
            cells[name] = pc.assume_timezone(cells[name], "UTC")
    line = np.arange(begin + 1, begin + len(batch) + 1)
    done = (begin + len(batch)) / file.metadata.num_rows
    return RawRows(
        line,
        cells,
        Malformed.of([]),
        lambda some: records(source, file, declared.fixed)(some + begin),
        done,
        refused,
    )


def _same(text: str | None, count: int) -> pa.Array:
    """Give a column with the same text in every row: it is kept once."""
    if text is None:
        return pa.nulls(count, pa.string())
    codes = pa.array(np.zeros(count, np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array([text], pa.string()))


def _text_checked(cells: pa.Array, name: str) -> tuple[pa.Array, CellFaults]:
    """Give text as UTF-8: Parquet's text is bytes not validated yet."""
    if pa.types.is_dictionary(cells.type):
        if is_text(cells.type):
            return _coded_text(cells, name)
        cells = cells.dictionary_decode()
    if not is_text(cells.type):
        return cells, CellFaults.none()
    try:
        return pc.cast(pc.cast(cells, pa.binary()), pa.string()), CellFaults.none()
    except pa.ArrowInvalid:
        texts = [_decoded(cell) for cell in pc.cast(cells, pa.binary()).to_pylist()]
        given = pc.is_valid(cells).to_pylist()
        wrong = [row for row, text in enumerate(texts) if text is None and given[row]]
        faults = CellFaults.alike(np.array(wrong), f"{name} has bytes that are not UTF-8")
        return pa.array(texts, pa.string()), faults


def _coded_text(cells: pa.DictionaryArray, name: str) -> tuple[pa.Array, CellFaults]:
    """Give codes of UTF-8; texts that are not are null, in every row."""
    raw = pc.cast(cells.dictionary, pa.binary())
    try:
        texts = pc.cast(raw, pa.string())
    except pa.ArrowInvalid:
        decoded = [_decoded(cell) for cell in raw.to_pylist()]
        texts = pa.array(decoded, pa.string())
    else:
        return pa.DictionaryArray.from_arrays(cells.indices, texts), CellFaults.none()
    known = np.array([text is not None for text in decoded])
    given = pc.is_valid(cells.indices).to_numpy(zero_copy_only=False)
    codes = pc.fill_null(cells.indices, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    good = given & known[codes]
    coded = pa.array((np.cumsum(known) - 1)[codes].astype(np.int32), mask=~good)
    faults = CellFaults.alike(np.flatnonzero(given & ~good), f"{name} has bytes that are not UTF-8")
    return pa.DictionaryArray.from_arrays(coded, texts.drop_null()), faults


def _decoded(cell: bytes | None) -> str | None:
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


def records(source: str, file: pq.ParquetFile, fixed: Mapping[str, str | None] = NOTHING) -> RawOf:
    """Write rows, given by number from 0, as JSON with all columns, reading only their groups."""
    groups = range(file.num_row_groups)
    lengths = [file.metadata.row_group(group).num_rows for group in groups]
    parts: list[RawOf] = [partial(_of_group, source, file, fixed, group) for group in groups]
    return by_piece(lengths, parts)


def _of_group(
    source: str, file: pq.ParquetFile, fixed: Mapping[str, str | None], group: int, rows: Int64s
) -> pa.StringArray:
    sizes = _text_sizes(file, group)
    names = list(file.schema_arrow.names)
    light = [name for name in names if sizes.get(name, 0) <= MOST_TEXT]
    most = min(LONGEST_LINE, max(MOST_CELL, RAW_BYTES // max(len(rows), 1)))
    try:
        table = file.read_row_group(group, light)
    except BROKEN as failure:
        raise _damaged(source, failure) from None
    columns: dict[str, list[object]] = {
        name: _plain_cells(table.column(name), rows, most)
        if name in light
        else [f"{sizes[name]:,} bytes, not read"] * len(rows)
        for name in names
    }
    columns |= {name: list(repeat(text, len(rows))) for name, text in fixed.items()}
    every = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    texts = [json.dumps(row, ensure_ascii=False, default=str) for row in every]
    return pa.array(texts, pa.string())


def _plain_cells(cells: pa.ChunkedArray, rows: Int64s, most: int) -> list[object]:
    """Pick cells one by one: Arrow cannot take rows of every type that Parquet holds (views)."""
    if pa.types.is_dictionary(cells.type):
        whole = cells.unify_dictionaries().combine_chunks()
        codes = whole.indices.take(pa.array(rows)).to_pylist()
        texts = {code: _plain(whole.dictionary[code], most) for code in {*codes} - {None}}
        return [None if code is None else texts[code] for code in codes]
    if not pa.types.is_timestamp(cells.type):
        return [_plain(cells[row], most) for row in rows.tolist()]
    zone = "" if cells.type.tz is None else "Z"
    times, per = PER_UNIT[cells.type.unit]
    counts = pc.cast(cells, pa.int64()).take(pa.array(rows)).to_pylist()
    return [None if count is None else _time(count * times // per, zone) for count in counts]


def _time(us: int, zone: str) -> str:
    if EARLIEST <= us < LATEST:
        return format_instant(us).removesuffix("Z") + zone
    return f"{us} us since 1970"


def _plain(cell: pa.Scalar, most: int) -> object:
    try:
        value = cell.as_py()
    except (ValueError, OverflowError):  # a time that no Python object holds; bytes not UTF-8
        return str(cell)
    if isinstance(value, str | bytes) and len(value) > most:
        return f"{value[: most - 1]!s}…"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _damaged(source: str, failure: Exception) -> Exception:
    refuse_failing(failure, source)
    return refusal(source, f"cannot be read as Parquet: {str(failure).splitlines()[0]}")
