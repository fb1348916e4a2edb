"""Structures that grow with a ledger and are never rebuilt: a column of numbers, and rows.

Law: an array that was given out never changes, however many numbers are appended.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from fencepost.tuples import Int64s

Row = Mapping[str, Any]


class LedgerRows(Protocol):
    """Rows of a ledger: an Arrow table, or its equivalent."""

    def to_pylist(self) -> Sequence[Row]:
        """Give them one by one."""
        ...


class NumberColumn:
    """A column of numbers to append to, O(1) amortised."""

    def __init__(self) -> None:
        """Begin with none."""
        self._all: Int64s = np.empty(16, np.int64)
        self._length = 0

    def __len__(self) -> int:
        """The number of entries."""
        return self._length

    @property
    def view(self) -> Int64s:
        """All of them so far, read-only."""
        return self._all[: self._length]

    def extend(self, numbers: Iterable[int]) -> None:
        """Append numbers."""
        for number in numbers:
            if self._length == len(self._all):
                self._all = np.concatenate([self._all, np.empty_like(self._all)])
            self._all[self._length] = number
            self._length += 1


def plain_rows(rows: LedgerRows) -> Sequence[Row]:
    """Give rows one by one, with times as microseconds: a quarter of what instants cost."""
    if not isinstance(rows, pa.Table):
        return rows.to_pylist()
    columns = []
    for field, column in zip(rows.schema, rows.columns, strict=True):
        columns.append(column.cast(_plain(field.type)))
    plain: Sequence[Row] = pa.table(columns, names=rows.column_names).to_pylist()
    return plain


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_list(kind) and pa.types.is_timestamp(kind.value_type):
        return pa.list_(pa.int64())
    return kind
