"""Columns as the text of a CSV or JSON lines file, whole columns at once.

Law: what is written reads back as the same value. A double's text is its shortest, except beyond
2**53, where it is exact, for who reads it as an integer; a time is ISO 8601 in UTC with six digits.
"""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.doubles import EXACT_UP_TO

ROWS = 1 << 16
"""Rows whose text is made at a time."""

Escape = Callable[[pa.StringArray], pa.StringArray]


def _text_scalar(text: str) -> pa.StringScalar:
    return pa.scalar(text, pa.string())


# Made once: Arrow takes a Python string for every call, but needs 50 µs to find out what it is.
NOTHING, COMMA, LF = map(_text_scalar, ("", ",", "\n"))
NULL, QUOTE, ZULU, ZULU_QUOTE, END = map(_text_scalar, ("null", '"', "Z", 'Z"', "}\n"))


def csv_pieces(table: pa.Table) -> Iterator[pa.Buffer]:
    """Give a table as CSV by RFC 4180: a header, LF, quotes where needed, null as nothing."""
    header = ",".join(csv_field(name) for name in table.column_names)
    yield pa.py_buffer(f"{header}\n".encode())
    for piece in _pieces(_escaped(table, csv_fields)):
        texts = [_text(column, csv_fields, NOTHING, ZULU) for column in piece.columns]
        lines = pc.binary_join_element_wise(*(pc.fill_null(t, NOTHING) for t in texts), COMMA)
        yield _joined(pc.binary_join_element_wise(lines, LF, NOTHING))


def json_pieces(table: pa.Table) -> Iterator[pa.Buffer]:
    """Give a table as JSON lines: every column in every object, null where there is nothing."""
    keys = [f"{json.dumps(name, ensure_ascii=False)}: " for name in table.column_names]
    before = [_text_scalar(f"{', ' if place else '{'}{key}") for place, key in enumerate(keys)]
    for piece in _pieces(_escaped(table, json_strings)):
        texts = [_text(column, json_strings, QUOTE, ZULU_QUOTE) for column in piece.columns]
        filled = [pc.fill_null(text, NULL) for text in texts]
        parts = chain.from_iterable(zip(before, filled, strict=True))
        yield _joined(pc.binary_join_element_wise(*parts, END, NOTHING))


def csv_field(text: str) -> str:
    """Write one field."""
    field: str = csv_fields(pa.array([text]))[0].as_py()
    return field


def csv_fields(texts: pa.StringArray) -> pa.StringArray:
    """Write fields, in quotes where they hold what would end them, or are empty and no nulls."""
    must = pc.or_(pc.match_substring_regex(texts, '[,"\r\n]'), pc.equal(texts, NOTHING))
    must = pc.fill_null(must, fill_value=False)
    if not pc.any(must).as_py():
        return texts
    doubled = pc.replace_substring(texts.filter(must), '"', '""')
    quoted = pc.binary_join_element_wise(QUOTE, doubled, QUOTE, NOTHING)
    return pc.replace_with_mask(texts, must, quoted)


def json_strings(texts: pa.StringArray) -> pa.StringArray:
    """Write JSON strings; what is not ASCII stays readable."""
    quoted = pc.binary_join_element_wise(QUOTE, texts, QUOTE, NOTHING)
    odd = pc.match_substring_regex(texts, r'["\\\x00-\x1f]')
    if not pc.any(odd).as_py():
        return quoted
    odd = pc.fill_null(odd, fill_value=False)
    escaped = [json.dumps(text, ensure_ascii=False) for text in texts.filter(odd).to_pylist()]
    return pc.replace_with_mask(quoted, odd, pa.array(escaped, pa.string()))


def _escaped(table: pa.Table, escape: Escape) -> pa.Table:
    """Escape the coded strings of a table, each distinct one of a column once."""
    table = table.unify_dictionaries()
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if len(column) and pa.types.is_dictionary(column.type):
            texts = escape(column.chunk(0).dictionary)
            chunks = [pa.DictionaryArray.from_arrays(c.indices, texts) for c in column.chunks]
            table = table.set_column(place, name, pa.chunked_array(chunks))
    return table


def _pieces(table: pa.Table) -> Iterator[pa.RecordBatch]:
    for begin in range(0, len(table), ROWS):
        yield table.slice(begin, ROWS).combine_chunks().to_batches()[0]


def _joined(lines: pa.StringArray) -> pa.Buffer:
    """Give the bytes of all the lines: in Arrow they are contiguous already."""
    offsets = np.frombuffer(lines.buffers()[1], np.int32)
    return lines.buffers()[2].slice(0, int(offsets[len(lines)]))


def _text(
    column: pa.Array, escape: Escape, before: pa.StringScalar, after: pa.StringScalar
) -> pa.StringArray:
    """Write a column's cells; strings that are coded have been escaped already."""
    if pa.types.is_string(column.type):
        return escape(column)
    if pa.types.is_timestamp(column.type):
        naive = pc.cast(column.view(pa.timestamp("us")), pa.string())
        times = pc.binary_replace_slice(naive, 10, 11, "T")
        return pc.binary_join_element_wise(before, times, after, NOTHING)
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
    """Write a double beyond 2**53 so that it is exact: shortest if exact, else in full."""
    short = repr(value)
    return short if Decimal(short) == Decimal(value) else str(int(value))
