"""Rows for the tables of an epoch, gathered lane by lane and laid out as declared.

Law: a row is laid out once, with the columns that all rows of its table have; the rows of a file
stand in the order that the table wants.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa

from fencepost.arrow import dictionary_of, ranks_of
from fencepost.times import DAY
from pipelines.lake.buckets import MIXED, buckets_of
from schemas import Table, all_tables

FEW = 200_000
"""So many rows of a log may stand in one file of all buckets."""


class At(Protocol):
    """The epoch that a row belongs to."""

    @property
    def epoch(self) -> int:
        """Its number."""

    @property
    def generation(self) -> int:
        """Its generation."""


class Gathering:
    """Rows by table, gathered epoch by epoch; those of a table are written when asked to.

    `write` takes the rows of a table, laid out as declared and sorted.
    """

    def __init__(
        self,
        lane: str,
        axes: Mapping[str, tuple[str, ...]],
        all_buckets: int,
        write: Callable[[str, pa.Table], None],
    ) -> None:
        """Begin with nothing; `axes` are those of every feed."""
        self.lane = lane
        self.declared = all_tables(axes)
        self._all_buckets = all_buckets
        self._write = write
        self._parts: dict[str, list[pa.Table]] = {}

    def written(self) -> None:
        """Write all that was gathered and is not written yet."""
        for name in list(self._parts):
            self.lay_down(name)

    def lay_down(self, name: str) -> None:
        """Write the rows of a table, and forget them."""
        table = self.declared[name]
        rows = pa.concat_tables(self._parts.pop(name))
        self._write(name, in_table_order(self._bucketed(rows, table), table))

    def put(self, name: str, at: At, rows: pa.Table, *, snapshot: bool | None = None) -> None:
        """Give rows the columns that all rows of a table have, and keep them."""
        if rows.num_rows == 0:
            return
        n, table = rows.num_rows, self.declared[name]
        own: dict[str, pa.Array] = {
            table.lane_column or "": pa.repeat(self.lane, n),
            "epoch": pa.repeat(pa.scalar(at.epoch, pa.int64()), n),
            "generation": pa.repeat(pa.scalar(at.generation, pa.int32()), n),
        }
        if snapshot is not None:
            own["snapshot"] = every(snapshot, n)
        columns = []
        for field in table.arrow:
            if field.name in own:
                columns.append(own[field.name])
            elif field.name == "day":
                columns.append(_days(rows["ts"]))
            elif field.name == "bucket":
                columns.append(pa.repeat(pa.scalar(MIXED, pa.int32()), n))
            elif field.name in rows.column_names:
                columns.append(rows[field.name].cast(field.type))
            else:
                columns.append(pa.nulls(n, field.type))
        self._parts.setdefault(name, []).append(pa.table(columns, schema=table.arrow))

    def held(self, name: str) -> int:
        """Count the rows of a table that are gathered and not written."""
        return sum(part.num_rows for part in self._parts.get(name, ()))

    def _bucketed(self, rows: pa.Table, table: Table) -> pa.Table:
        """Part many rows of a log by bucket; few go into one file of all buckets."""
        if "bucket" not in table.partitioned_by or rows.num_rows < FEW:
            return rows
        coded = dictionary_of(rows["stream_id"])
        bucket = buckets_of(coded.dictionary, self._all_buckets)[coded.indices.to_numpy()]
        place = rows.column_names.index("bucket")
        return rows.set_column(place, rows.schema.field("bucket"), pa.array(bucket, pa.int32()))


def _days(ts: pa.ChunkedArray) -> pa.Array:
    days = ts.cast(pa.int64()).to_numpy() // DAY
    return pa.array(days.astype(np.int32)).cast(pa.date32())


def every(flag: bool, n: int) -> pa.BooleanArray:
    """Say the same of n rows."""
    return pa.repeat(pa.scalar(flag), n)


def in_table_order(rows: pa.Table, table: Table) -> pa.Table:
    """Sort rows as the table wants them: by texts in the order of their ranks."""
    if not table.sorted_by or table.sorted_by == ("epoch",):
        return rows  # they come epoch by epoch
    keys = []
    for name in reversed(table.sorted_by):
        column = rows[name]
        if column.type == pa.string():
            keys.append(ranks_of(column))
        else:
            keys.append(column.cast(pa.int64()).to_numpy())
    order = np.lexsort(keys)
    return rows if (np.diff(order) > 0).all() else rows.take(pa.array(order))
