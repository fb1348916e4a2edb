"""Columns as the text that stands in a CSV or JSON lines file, whole columns at once.

Law: what is written reads back as the same value. A double's text is its shortest, except beyond
2**53, where only an exact one is a number to Fencepost; a time is ISO 8601 in UTC with six digits.
"""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.doubles import EXACT_UP_TO

ROWS = 1 << 16
"""Rows whose text is made at a time."""

CODED = pa.dictionary(pa.int32(), pa.string())

Escape = Callable[[str], str]


def csv_pieces(table: pa.Table) -> Iterator[pa.Buffer]:
    """Give a table as CSV by RFC 4180: a header, LF, quotes where needed, null as nothing."""
    header = ",".join(csv_field(name) for name in table.column_names)
    yield pa.py_buffer(f"{header}\n".encode())
    for piece in _pieces(_escaped(table, csv_field)):
        columns = [pc.fill_null(_text(column), "") for column in piece.columns]
        lines = pc.binary_join_element_wise(*columns, ",")
        yield _joined(pc.binary_join_element_wise(lines, pa.scalar("\n"), ""))


def json_pieces(table: pa.Table) -> Iterator[pa.Buffer]:
    """Give a table as JSON lines: every column in every object, null where there is nothing."""
    keys = [f"{json.dumps(name, ensure_ascii=False)}: " for name in table.column_names]
    for piece in _pieces(_escaped(table, json_string)):
        parts: list[pa.Array | pa.Scalar] = []
        for place, (key, column) in enumerate(zip(keys, piece.columns, strict=True)):
            parts += [pa.scalar(f"{', ' if place else '{'}{key}"), _json_text(column)]
        yield _joined(pc.binary_join_element_wise(*parts, pa.scalar("}\n"), ""))


def csv_field(text: str) -> str:
    """Write a field, in quotes where it holds what would end it, or is empty and no null."""
    if text and not any(mark in text for mark in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def json_string(text: str) -> str:
    """Write a JSON string; what is not ASCII stays readable."""
    return json.dumps(text, ensure_ascii=False)


def _escaped(table: pa.Table, escape: Escape) -> pa.Table:
    """Escape the strings of a table, each distinct one of a column once."""
    table = table.unify_dictionaries()
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if pa.types.is_string(field.type):
            column = column.dictionary_encode().unify_dictionaries()
        if pa.types.is_dictionary(column.type):
            texts = (
                [escape(t) for t in column.chunk(0).dictionary.to_pylist()] if len(column) else []
            )
            escaped = [
                pa.DictionaryArray.from_arrays(chunk.indices, pa.array(texts, pa.string()))
                for chunk in column.chunks
            ]
            table = table.set_column(place, field.name, pa.chunked_array(escaped, CODED))
    return table


def _pieces(table: pa.Table) -> Iterator[pa.RecordBatch]:
    for begin in range(0, len(table), ROWS):
        yield table.slice(begin, ROWS).combine_chunks().to_batches()[0]


def _joined(lines: pa.StringArray) -> pa.Buffer:
    """Give the bytes of all the lines: in Arrow they stand behind each other already."""
    offsets = np.frombuffer(lines.buffers()[1], np.int32)
    return lines.buffers()[2].slice(0, int(offsets[len(lines)]))


def _json_text(column: pa.Array) -> pa.Array:
    text = _text(column)
    if pa.types.is_timestamp(column.type):
        text = pc.binary_join_element_wise('"', text, '"', "")
    return pc.fill_null(text, "null")


def _text(column: pa.Array) -> pa.StringArray:
    if pa.types.is_timestamp(column.type):
        naive = pc.cast(column.view(pa.timestamp("us")), pa.string())
        return pc.binary_join_element_wise(pc.binary_replace_slice(naive, 10, 11, "T"), "Z", "")
    if pa.types.is_floating(column.type):
        return _double_text(column)
    return pc.cast(column, pa.string())


def _double_text(column: pa.DoubleArray) -> pa.StringArray:
    text = pc.cast(column, pa.string())
    beyond = pc.greater_equal(pc.abs(column), float(EXACT_UP_TO))
    if not pc.any(beyond).as_py():
        return text
    exact = [exact_text(value) for value in column.filter(beyond).to_pylist()]
    return pc.replace_with_mask(text, pc.fill_null(beyond, fill_value=False), pa.array(exact))


def exact_text(value: float) -> str:
    """Write a double beyond 2**53 so that it is exact: short where that is so, else in full."""
    short = repr(value)
    return short if Decimal(short) == Decimal(value) else str(int(value))
