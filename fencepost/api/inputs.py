"""A user's table as tuples of a feed, whichever library made it.

Law: nothing is copied on the way into Arrow, and nothing is guessed: a column that can hold no
tuple's cells is an error at once, a cell that cannot is a rejected row with its reason.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost import cells
from fencepost.cells import CellFaults
from fencepost.errors import InputError
from fencepost.order import rejection_details
from fencepost.position import Position, declared_position
from fencepost.queries.conversions import is_text
from fencepost.text import did_you_mean
from fencepost.time_cells import instants
from fencepost.time_forms import TimeForm
from fencepost.tuples import Int64s, TupleBatch

Axes = tuple[str, ...]
REJECTED = pa.schema(
    {"feed": pa.string(), "row": pa.int64(), "reason": pa.string(), "detail": pa.string()}
)
TABLES = "an Arrow table, a pandas or Polars DataFrame, a DuckDB relation, or rows as dicts"
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class TupleColumns:
    """Which columns of a table say what.

    `axes` and `position` are by feed, those under None for all others.
    """

    stream_id: str = "stream_id"
    ts: str = "ts"
    ts_unit: str | None = None
    axes: Mapping[str | None, Axes] = field(default_factory=dict)
    sequence: str | None = None
    position: Mapping[str | None, Axes] = field(default_factory=dict)

    @property
    def own(self) -> tuple[str, ...]:
        """The columns that are no axes."""
        named = (self.stream_id, self.ts, self.sequence)
        return tuple(name for name in named if name is not None)

    def __post_init__(self) -> None:
        """Refuse names that cannot be meant."""
        if self.ts_unit not in (None, "s", "ms", "us", "ns"):
            raise InputError(f"ts_unit is {self.ts_unit!r}: 's', 'ms', 'us' or 'ns' was expected")
        for axes in self.axes.values():
            if len(set(axes)) < len(axes) or set(self.own) & set(axes):
                others = "' nor '".join(self.own)
                raise InputError(
                    f"axes are {', '.join(axes)}: expected each once, and neither '{others}'"
                )

    def axes_of(self, feed: str, table: pa.Table) -> Axes:
        """Give the axes of a feed: those declared, else the columns of numbers."""
        declared = self.axes.get(feed, self.axes.get(None))
        if declared is not None:
            return declared
        own = self.own
        names = [f.name for f in table.schema if f.name not in own and _is_number(f.type)]
        if not names:
            others = ", ".join(f"'{f.name}' ({f.type})" for f in table.schema if f.name not in own)
            raise InputError(
                f"feed '{feed}' has no column of numbers beside '{self.stream_id}' and "
                f"'{self.ts}', only {others or 'none'}: cast one, or name it with axes=[…]"
            )
        return tuple(names)

    def positions(self, axes: Mapping[str, Axes]) -> dict[str, Position]:
        """Give the position of each feed that has one; one for all is that of those that can."""
        found = {}
        for feed, own in axes.items():
            names = self.position.get(feed)
            if names is None:
                names = self.position.get(None, ())
                names = names if {*names} <= {*own} else ()
            if names:
                try:
                    found[feed] = declared_position(own, names)
                except InputError as why:
                    raise InputError(f"the position of '{feed}': {why}") from None
        return found


def arrow_table(given: object, what: str) -> pa.Table:
    """Take a table through the Arrow PyCapsule interface, or columns or rows of Python values."""
    try:
        if isinstance(given, pa.RecordBatch):
            table = pa.Table.from_batches([given])
        elif hasattr(given, "__arrow_c_stream__"):
            table = pa.table(given)
        elif isinstance(given, Mapping):
            table = pa.table(dict(given))
        elif _is_rows(given):
            table = pa.Table.from_pylist(list(given))  # type: ignore[call-overload]
        else:
            raise InputError(f"{what} {_why_no_table(given)}")
    except (pa.ArrowException, TypeError, ValueError) as why:
        raise InputError(f"{what} cannot be read as a table: {why}") from why
    names = table.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{what} have the column '{twice[0]}' twice")
    return table.drop_columns([name for name in names if _PANDAS_INDEX.fullmatch(name)])


def _is_rows(given: object) -> bool:
    is_list = isinstance(given, Sequence) and not isinstance(given, str | bytes)
    return is_list and all(isinstance(row, Mapping) for row in given)  # type: ignore[attr-defined]


def _why_no_table(given: object) -> str:
    kind = type(given).__name__
    if kind == "LazyFrame":
        return "are a LazyFrame, which has no rows yet: call .collect()"
    if isinstance(given, str) or hasattr(given, "__fspath__"):
        return f"are a path, {str(given)!r}: read the file first; {TABLES} was expected"
    return f"are of type {kind}: {TABLES} was expected"


def read_tuples(
    table: pa.Table, feed: str, columns: TupleColumns, axes: Axes
) -> tuple[TupleBatch, CellFaults]:
    """Read the cells, O(rows × axes): the tuples, and the rows that hold none.

    Row r of the batch is the r-th row of the table that holds a tuple.
    """
    _refuse_columns(table, feed, columns, axes)
    ids, no_id = cells.stream_ids(_cells(table, columns.stream_id), columns.stream_id)
    unit_by = f"ts_unit='s', 'ms', 'us' or 'ns' says what '{columns.ts}' counts"
    form = TimeForm(columns.ts_unit, unit_by=unit_by)
    ts, no_time = instants(_cells(table, columns.ts), columns.ts, form)
    values = np.empty((len(axes), len(table)))
    faults = [no_id, no_time]
    for place, axis in enumerate(axes):
        values[place], no_number = cells.doubles(_cells(table, axis), axis)
        faults.append(no_number)
    sequence = None
    if columns.sequence is not None:
        sequence = _sequence(_cells(table, columns.sequence))
        missing = np.flatnonzero(sequence.is_null().to_numpy(zero_copy_only=False))
        faults.append(CellFaults.alike(missing, f"{columns.sequence} is null"))
    bad = CellFaults.by_row(faults)
    if not len(bad):
        return TupleBatch.from_columns(feed, axes, ids, ts, values, sequence=sequence), bad
    good = _rows_but(len(table), bad.rows)
    at = pa.array(good)
    batch = TupleBatch.from_columns(
        feed,
        axes,
        ids.take(at),
        ts[good],
        values[:, good],
        sequence=None if sequence is None else sequence.take(at),
    )
    return batch, bad


def _sequence(column: pa.Array) -> pa.Array:
    """Take integers or texts as they are."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    is_number = pa.types.is_integer(column.type) or pa.types.is_null(column.type)
    return column.cast(pa.int64() if is_number else pa.string())


def rejected_rows(feed: str, rows: int, malformed: CellFaults, refused: pa.Table) -> pa.Table:
    """List what was rejected of a table by its row, from 0: malformed rows, and refused tuples."""
    good = _rows_but(rows, malformed.rows)
    reasons = refused["reason"].combine_chunks()
    row = np.concatenate([malformed.rows, good[refused["row"].to_numpy()]])
    order = pa.array(np.argsort(row, kind="stable"))
    reason = pa.concat_arrays([pa.array(["malformed"] * len(malformed), pa.string()), reasons])
    detail = pa.concat_arrays([malformed.details, rejection_details(reasons)])
    of_feed = pa.array([feed] * len(row), pa.string())
    columns = [of_feed, pa.array(row).take(order), reason.take(order), detail.take(order)]
    return pa.table(columns, REJECTED)


def _rows_but(count: int, rows: Int64s) -> Int64s:
    others: Int64s = np.delete(np.arange(count), rows)
    return others


def _cells(table: pa.Table, name: str) -> pa.Array:
    column = table[name]
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _refuse_columns(table: pa.Table, feed: str, columns: TupleColumns, axes: Axes) -> None:
    """Raise where a column is missing, or of a type that can hold no tuple's cells."""
    names = table.column_names
    by = {columns.stream_id: "stream_id", columns.ts: "ts", columns.sequence: "sequence"}
    for name in (*columns.own, *axes):
        if name not in names:
            near = did_you_mean(name, names)
            hint = f"  Name yours: {by[name]}='…'." if name in by and not near else near
            raise InputError(
                f"feed '{feed}' has no column '{name}': the columns are {', '.join(names)}.{hint}"
            )
    kinds: dict[str, Any] = {name: table.schema.field(name).type for name in names}
    for name, why in (
        (columns.stream_id, _why_no_ids(kinds[columns.stream_id])),
        (columns.ts, _why_no_times(kinds[columns.ts], columns)),
        *((name, _why_no_sequence(kinds[name])) for name in columns.own[2:]),
        *((axis, _why_no_axis(kinds[axis])) for axis in axes),
    ):
        if why is not None:
            raise InputError(f"feed '{feed}', column '{name}' is of type {kinds[name]}: {why}")


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _why_no_ids(kind: pa.DataType) -> str | None:
    kind = _plain(kind)
    if is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind):
        return None
    return "text or integers were expected"


def _why_no_sequence(kind: pa.DataType) -> str | None:
    kind = _plain(kind)
    if is_text(kind) or pa.types.is_null(kind):
        return None
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return None
    return "integers of up to 64 bits, or text, were expected"


def _why_no_times(kind: pa.DataType, columns: TupleColumns) -> str | None:
    kind = _plain(kind)
    if pa.types.is_timestamp(kind):
        if kind.tz is not None:
            return None
        return (
            "a time without a zone is no instant. In pandas: "
            f"df['{columns.ts}'].dt.tz_localize('UTC'); in Polars: "
            f"pl.col('{columns.ts}').dt.replace_time_zone('UTC')"
        )
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return None if columns.ts_unit else "say what it counts: ts_unit='s', 'ms', 'us' or 'ns'"
    if is_text(kind) or pa.types.is_null(kind):
        return None
    return "timestamps with a time zone, ISO 8601 text or integers were expected"


def _why_no_axis(kind: pa.DataType) -> str | None:
    if _is_number(kind) or is_text(_plain(kind)) or pa.types.is_null(kind):
        return None
    return "an axis holds numbers"


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind))
