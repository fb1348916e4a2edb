"""Values of an answer as text, and rows of them side by side.

Law: what is printed stands on its line: no value, whatever was put into it, moves a cursor.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any, Literal

import pyarrow as pa

WIDEST = 100
"""Characters of a cell that are printed; files hold it whole."""

Rows = Sequence[Sequence[Any]]


def print_table(header: Sequence[str], rows: Rows, widest: int | None = WIDEST) -> None:
    """Print rows: for a terminal, or for what reads lines. `widest` is the longest cell."""
    if sys.stdout.isatty():
        _print_on_terminal(header, rows, widest)
        return
    for line in aligned(header, rows, widest):
        sys.stdout.write(f"{line}\n")


def aligned(header: Sequence[str], rows: Rows, widest: int | None = WIDEST) -> Iterator[str]:
    """Lay rows out in columns, numbers to the right, with a line under the header."""
    names, texts, right = _laid_out(header, rows, widest)
    widths = [max(map(len, column)) for column in zip(names, *texts, strict=True)]
    for line in (names, ["─" * width for width in widths], *texts):
        cells = (
            each.rjust(width) if to_right else each.ljust(width)
            for each, width, to_right in zip(line, widths, right, strict=True)
        )
        yield "  ".join(cells).rstrip()


def _print_on_terminal(header: Sequence[str], rows: Rows, widest: int | None) -> None:
    """Print rows to a terminal, where a cell may take several lines."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    names, texts, right = _laid_out(header, rows, widest)
    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name, to_right in zip(names, right, strict=True):
        side: Literal["left", "right"] = "right" if to_right else "left"
        table.add_column(Text(name), justify=side, overflow="fold", min_width=len(name))
    for line in texts:
        table.add_row(*map(Text, line))
    Console(highlight=False).print(table)


def _laid_out(
    header: Sequence[str], rows: Rows, widest: int | None
) -> tuple[list[str], list[list[str]], Sequence[bool]]:
    """Give the names and cells as text, and which columns hold numbers."""
    numbers = [_is_number(column) for column in zip(*rows, strict=True)]
    names = [plain(name, WIDEST) for name in header]
    return (
        names,
        [[cell(value, widest) for value in row] for row in rows],
        numbers or [False] * len(names),
    )


def _is_number(column: Sequence[Any]) -> bool:
    told = [value for value in column if value is not None]
    return bool(told) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in told
    )


def cell(value: Any, widest: int | None = WIDEST) -> str:  # noqa: ANN401  of any engine
    """Write a value for a person: on one line, printable, and not too long."""
    return "" if value is None else plain(text(value), widest)


def plain(said: str, most: int | None = None) -> str:
    """Escape what cannot be printed, and cut what is longer than it may be."""
    if not said.isprintable():
        said = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in said)
    return said if most is None or len(said) <= most else said[: most - 1] + "…"


def text(value: Any) -> str:  # noqa: ANN401, PLR0911  one line a kind
    """Write a value that is not null."""
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
    """Give a value as JSON has it: a time as ISO 8601, a number that JSON lacks as text."""
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
    """Write ISO 8601 as a person likes it, without digits that say nothing."""
    shown = value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    return shown.rstrip("0").rstrip(".").ljust(19, "0") + ("Z" if value.tzinfo else "")


def _interval(months: int, days: int, nanoseconds: int) -> str:
    parts = [f"{months} months"] if months else []
    parts += [f"{days} days"] if days else []
    parts += [f"{nanoseconds / 1e9:g} s"] if nanoseconds or not parts else []
    return " ".join(parts)
