"""Values of an answer as text, and rows of them in columns.

Law: a cell stays on its line: no value, whatever it contains, moves a cursor.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

import pyarrow as pa

from fencepost.text import escaped

WIDEST = 100
"""Characters of a cell that are printed; files have it whole."""

Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class CellTable:
    """Rows as text: which columns hold numbers, and which have no value in any row."""

    names: Sequence[str]
    texts: Sequence[Sequence[str]]
    numbers: Sequence[bool]
    empty: Sequence[bool]


def records(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Format rows one column per line, each row under a line with its number, nothing cut."""
    names = [escaped(name) for name in header]
    width = max(map(len, names), default=0)
    for nth, row in enumerate(rows, 1):
        yield f"── row {nth:,} ──"
        for name, value in zip(names, row, strict=True):
            yield f"{name.ljust(width)}  {cell(value, None)}".rstrip()


def aligned(header: Sequence[str], rows: Rows, widest: int | None = WIDEST) -> Iterator[str]:
    """Format rows in columns, numbers to the right, with a line under the header."""
    cells = cells_of(header, rows, widest)
    widths = [max(map(len, column)) for column in zip(cells.names, *cells.texts, strict=True)]
    for line in (cells.names, ["─" * width for width in widths], *cells.texts):
        padded = (
            each.rjust(width) if number else each.ljust(width)
            for each, width, number in zip(line, widths, cells.numbers, strict=True)
        )
        yield "  ".join(padded).rstrip()


def cells_of(header: Sequence[str], rows: Rows, widest: int | None) -> CellTable:
    """Format names and values as text."""
    columns = list(zip(*rows, strict=True)) or [()] * len(header)
    return CellTable(
        [escaped(name, WIDEST) for name in header],
        [[cell(value, widest) for value in row] for row in rows],
        [_is_number(column) for column in columns],
        [bool(column) and all(value is None for value in column) for column in columns],
    )


def _is_number(column: Sequence[Any]) -> bool:
    values = [value for value in column if value is not None]
    return bool(values) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values
    )


def cell(value: Any, widest: int | None = WIDEST) -> str:  # noqa: ANN401  of any engine
    """Format a value for people: on one line, printable, and not too long."""
    return "" if value is None else escaped(text(value), widest)


def text(value: Any) -> str:  # noqa: ANN401, PLR0911  one line a kind
    """Format a value that is not null."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, pa.MonthDayNano):
        return _interval(*value)
    if isinstance(value, list | tuple | dict):
        return json.dumps(as_json(value), ensure_ascii=False)
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def as_json(value: Any) -> Any:  # noqa: ANN401, PLR0911
    """Convert a value to JSON: a time to ISO 8601, a number that JSON lacks to text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else repr(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {str(key): as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple) and not isinstance(value, pa.MonthDayNano):
        return [as_json(each) for each in value]
    return text(value)


def _instant(value: datetime) -> str:
    """Format ISO 8601 for people, without trailing zeros."""
    shown = value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    return shown.rstrip("0").rstrip(".").ljust(19, "0") + ("Z" if value.tzinfo else "")


def _interval(months: int, days: int, nanoseconds: int) -> str:
    parts = [f"{months} months"] if months else []
    parts += [f"{days} days"] if days else []
    parts += [f"{nanoseconds / 1e9:g} s"] if nanoseconds or not parts else []
    return " ".join(parts)
