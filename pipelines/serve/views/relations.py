"""What can be asked: the views by name, and the tables as they lie in the lake.

Law: a name that stands here can be described, completed and selected from.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import typer

from pipelines.cli.options import known, print_json
from pipelines.serve.views import views
from pipelines.serve.views.cells import print_table
from schemas import Column, Table

RAW = "raw_"


@dataclass(frozen=True)
class Relation:
    """A view or a table: what its rows are, and its columns."""

    comment: str
    columns: tuple[Column, ...]


def relations(tables: Mapping[str, Table]) -> dict[str, Relation]:
    """Give the views in their order, then the tables with RAW before their names."""
    found = {view.name: Relation(view.comment, view.columns) for view in views(tables)}
    found |= {RAW + name: Relation(table.comment, table.columns) for name, table in tables.items()}
    return found


def print_relations(tables: Mapping[str, Table], *, as_json: bool = False) -> None:
    """Print the views with their comments, and the names of the tables."""
    listed = {view.name: view.comment for view in views(tables)}
    if as_json:
        shown = [{"name": name, "comment": comment} for name, comment in listed.items()]
        print_json({"views": shown, "raw": [RAW + name for name in tables]})
        return
    print_table(("view", "what it shows"), list(listed.items()), widest=None)
    typer.echo(f"\nAs they lie in the lake: {', '.join(RAW + name for name in tables)}")


def print_description(tables: Mapping[str, Table], name: str, *, as_json: bool = False) -> None:
    """Print the columns of a view or a table; InputError where there is none of that name."""
    there = relations(tables)
    known(name, there, "table or view")
    relation = there[name]
    rows = [(column.name, column.kind, column.comment) for column in relation.columns]
    if as_json:
        columns = [dict(zip(("name", "kind", "comment"), row, strict=True)) for row in rows]
        print_json({"name": name, "comment": relation.comment, "columns": columns})
        return
    typer.echo(f"{name}: {relation.comment}\n")
    print_table(("column", "kind", "what it is"), rows, widest=None)
