"""A view: its name, what its rows and columns mean, and the SELECT that makes it.

Law: the columns that are declared are those that the SELECT gives, in their order and of their
kind, in every engine. A column is always written with its table before it: some names of columns
(`where`, `left`, an axis `order`) are words of SQL otherwise.
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
        """Its columns, as Arrow knows them."""
        return pa.schema([column.arrow for column in self.columns])


def chosen(columns: Iterable[Column], *names: str) -> tuple[Column, ...]:
    """Pick columns by name, in this order."""
    by_name = {column.name: column for column in columns}
    return tuple(by_name[name] for name in names)


def without(columns: Iterable[Column], *names: str) -> tuple[Column, ...]:
    """Leave columns out."""
    return tuple(column for column in columns if column.name not in names)


def select_list(alias: str, columns: Iterable[Column]) -> str:
    """Write columns as they stand after SELECT."""
    return ", ".join(f"{alias}.{column.name}" for column in columns)


def count(name: str, comment: str) -> Column:
    """Declare a column that counts."""
    return Column(name, "long", comment)
