"""Rows on standard output; notes about them go to standard error.

On a terminal a table has as many columns as fit, and a line that names the others. A pipe or a file
gets every column.

Law: no column is left out silently. Those without any value go first, then those on the right; both
are counted and named below the table. A table that fits is printed whole, and a result that was
cut off ends with how to see the rest.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import pyarrow as pa
import typer

from fencepost.errors import refuse_unknown
from fencepost.text import counted
from pipelines.cli.options import print_json
from pipelines.serve.views import RAW, relations, views
from pipelines.serve.views.answers import Form, SqlAnswer, rows_of
from pipelines.serve.views.cells import WIDEST, CellTable, Rows, aligned, cells_of
from schemas import Table

FOLDED = 28
"""Characters that a text column keeps, however many columns there are."""

GAP_TEXT = "  "
GAP = len(GAP_TEXT)
"""Characters between two columns."""

NAMED = 2
"""Lines that the names of left-out columns may take."""

SHOWN = 1000
"""Rows that are printed for people, unless a limit is given."""

FOR_PEOPLE = ("table", "lines")


@dataclass(frozen=True)
class Hints:
    """How to see the rest: by an option, or by a command of the prompt."""

    rows: str
    columns: str


BY_OPTION = Hints("--limit 0 for all", "--format lines shows every column, one per line")
BY_COMMAND = Hints(".limit 0 for all", ".format lines shows every column, one per line")


def most_rows(form: Form, limit: int | None) -> int:
    """Say how many rows to print at most; 0: all."""
    if limit is not None:
        return limit
    return SHOWN if form in FOR_PEOPLE else 0


def print_answer(answer: SqlAnswer, form: Form, most: int, hints: Hints = BY_OPTION) -> None:
    """Print the rows of an answer that has `most` of them at most."""
    many = 0

    def counting() -> Iterator[pa.RecordBatch]:
        nonlocal many
        for batch in answer.batches:
            many += batch.num_rows
            yield batch

    if form == "table":
        rows = [row for batch in counting() for row in rows_of(batch)]
        print_table(answer.schema.names, rows, hint=hints.columns)
    else:
        for piece in replace(answer, batches=counting()).lines(form):
            sys.stdout.write(piece)
    if form in FOR_PEOPLE:
        sys.stdout.flush()
        sys.stderr.write(f"{counted(many, 'row')}\n")
    if answer.cut:
        sys.stderr.write(f"the first {counted(most, 'row')}; {hints.rows}\n")


def print_table(
    header: Sequence[str], rows: Rows, widest: int | None = WIDEST, hint: str = ""
) -> None:
    """Print rows: on a terminal the columns that fit, elsewhere all of them.

    `widest` is the longest cell; `hint` says how to see columns that do not fit.
    """
    if sys.stdout.isatty():
        print_cells(cells_of(header, rows, widest), hint)
        return
    for line in aligned(header, rows, widest):
        sys.stdout.write(f"{line}\n")


def print_relations(tables: Mapping[str, Table], *, as_json: bool = False) -> None:
    """Print the views with their comments, and the names of the raw tables."""
    listed = {view.name: view.comment for view in views(tables)}
    if as_json:
        shown = [{"name": name, "comment": comment} for name, comment in listed.items()]
        print_json({"views": shown, "raw": [RAW + name for name in tables]})
        return
    print_table(("view", "what it shows"), list(listed.items()), widest=None)
    typer.echo(f"\nRaw tables: {', '.join(RAW + name for name in tables)}")


def print_description(tables: Mapping[str, Table], name: str, *, as_json: bool = False) -> None:
    """Print the columns of a view or a table; InputError for an unknown name."""
    there = relations(tables)
    refuse_unknown(name, there, "table or view")
    relation = there[name]
    rows = [(column.name, column.kind, column.comment) for column in relation.columns]
    if as_json:
        columns = [dict(zip(("name", "kind", "comment"), row, strict=True)) for row in rows]
        print_json({"name": name, "comment": relation.comment, "columns": columns})
        return
    typer.echo(f"{name}: {relation.comment}\n")
    print_table(("column", "kind", "what it is"), rows, widest=None)


@dataclass(frozen=True)
class Fitted:
    """The columns that fit a terminal.

    shown   their places, from left to right
    widths  how wide each of them is
    empty   places of the columns left out because no row has a value
    more    places of the columns left out for lack of room
    """

    shown: tuple[int, ...]
    widths: tuple[int, ...]
    empty: tuple[int, ...]
    more: tuple[int, ...]


def fitted(least: Sequence[int], whole: Sequence[int], empty: Sequence[bool], room: int) -> Fitted:
    """Choose columns that need `least` characters, better `whole`, on a line of `room`. O(n log n).

    The first column is always shown, narrower if need be.
    """
    places = list(range(len(least)))
    if _across(whole, places) <= room:
        return Fitted(tuple(places), tuple(whole), (), ())
    kept = [place for place in places if not empty[place]] or places[:1]
    without = tuple(place for place in places if place not in kept)
    shown = list(kept)
    while len(shown) > 1 and _across(least, shown) > room:
        shown.pop()
    widths = {place: min(least[place], room) for place in shown}
    left = room - _across(widths, shown)
    wanting = sorted(shown, key=lambda place: whole[place] - widths[place])
    for nth, place in enumerate(wanting):
        more = min(whole[place] - widths[place], left // (len(wanting) - nth))
        widths[place] += max(more, 0)
        left -= max(more, 0)
    return Fitted(
        tuple(shown), tuple(widths[place] for place in shown), without, tuple(kept[len(shown) :])
    )


def _across(widths: Sequence[int] | dict[int, int], places: Sequence[int]) -> int:
    return sum(widths[place] for place in places) + GAP * (len(places) - 1)


def print_cells(cells: CellTable, hint: str) -> None:
    """Print rows, wrapping long texts; `hint` says how to see the columns left out."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    columns = [
        list(map(cell_len, column)) for column in zip(cells.names, *cells.texts, strict=True)
    ]
    whole = [max(column) for column in columns]
    least = [
        wide if number else min(wide, max(FOLDED, column[0]))
        for wide, number, column in zip(whole, cells.numbers, columns, strict=True)
    ]
    fit = fitted(least, whole, cells.empty, console.width)
    header = [*_lines(cells.names, fit, cells.numbers), GAP_TEXT.join("─" * n for n in fit.widths)]
    for line in header:
        console.print(Text(line, style="bold"), soft_wrap=True)
    for row in cells.texts:
        for line in _lines(row, fit, cells.numbers):
            console.print(Text(line), soft_wrap=True)
    for line in left_out(cells.names, fit, console.width * NAMED, hint):
        console.print(Text(line, style="dim"))


def _lines(row: Sequence[str], fit: Fitted, numbers: Sequence[bool]) -> Iterator[str]:
    """Format the shown cells of a row, on as many lines as the longest needs."""
    from rich.cells import cell_len, chop_cells

    parts = [
        chop_cells(row[at], width) or [""] for at, width in zip(fit.shown, fit.widths, strict=True)
    ]
    for line in zip_longest(*parts, fillvalue=""):
        yield GAP_TEXT.join(
            " " * (width - cell_len(part)) + part
            if numbers[at]
            else part + " " * (width - cell_len(part))
            for at, width, part in zip(fit.shown, fit.widths, line, strict=True)
        ).rstrip()


def left_out(names: Sequence[str], fit: Fitted, most: int, hint: str = "") -> list[str]:
    """Name the columns left out, and why; each line is `most` characters at most."""
    lines = []
    for places, what in (
        (fit.more, "{} more column{}"),
        (fit.empty, "{} column{} without a value"),
    ):
        if places:
            text = what.format(len(places), "" if len(places) == 1 else "s")
            lines.append(_named(f"… {text}: ", [names[place] for place in places], most))
    return [*lines, hint] if lines and hint else lines


def _named(text: str, names: Sequence[str], most: int) -> str:
    """Add names while there is room; a cut list ends with an ellipsis."""
    for nth, name in enumerate(names):
        more = (", " if nth else "") + name
        rest = 0 if nth + 1 == len(names) else len(", …")
        if len(text) + len(more) + rest > most:
            return text + (", …" if nth else "…")
        text += more
    return text
