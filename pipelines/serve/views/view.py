"""A view: its name, the meaning of its rows and columns, and its SELECT.

Law: the declared columns are those that the SELECT gives, in their order and of their kind, in
every engine. A column is always qualified by its table: some names of columns (`where`, `left`, an
axis `order`) would be SQL keywords otherwise.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from schemas import Column


@dataclass(frozen=True)
class View:
    """A published view."""

    name: str
    comment: str
    columns: tuple[Column, ...]
    sql: str

    @cached_property
    def arrow(self) -> pa.Schema:
        """Its columns as an Arrow schema."""
        return pa.schema([column.arrow for column in self.columns])


def chosen(columns: Iterable[Column], *names: str) -> tuple[Column, ...]:
    """Give columns by name, in this order."""
    by_name = {column.name: column for column in columns}
    return tuple(by_name[name] for name in names)


def without(columns: Iterable[Column], *names: str) -> tuple[Column, ...]:
    """Give the other columns."""
    return tuple(column for column in columns if column.name not in names)


def select_list(alias: str, columns: Iterable[Column]) -> str:
    """Write columns for a SELECT."""
    return ", ".join(f"{alias}.{column.name}" for column in columns)


def count(name: str, comment: str) -> Column:
    """Declare a column of counts."""
    return Column(name, "long", comment)
