"""What is remembered of every stream: its last tuple, and where that was among the posts.

The pointer is a help, never a truth: where the index it comes from is not the one in force, or
is not known, it is found again from the values. So state needs no repair when queries come and go.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import are_all
from fencepost.errors import StateError
from fencepost.tuples import Doubles, Int32s, Int64s

UNKNOWN = -1


@dataclass(frozen=True, eq=False, kw_only=True)
class Heads:
    """The last tuple of each of n streams: 8 + 16 d bytes a stream beside its id.

    `begun` and `ended` are the pointers, for each axis: how many begins and ends of the index's
    plain posts are at or below the value. They belong to the index whose base has the fingerprint
    `index`; -1 where not known. `ts_place` says which of its instant the last tuple is, from 0;
    `sequence` is its own, as text, null where it had none, and None where none had any.
    """

    axes: tuple[str, ...]
    names: pa.StringArray
    ts: Int64s
    values: Doubles  # [axis, stream]
    begun: Int32s  # [axis, stream]
    ended: Int32s
    index: str
    ts_place: Int32s
    sequence: pa.StringArray | None = None

    @classmethod
    def empty(cls, axes: Sequence[str]) -> "Heads":
        """No stream was ever seen."""
        d = len(axes)
        pointers = np.empty((d, 0), np.int32)
        names = pa.array([], pa.string())
        return cls(
            axes=tuple(axes),
            names=names,
            ts=np.empty(0, np.int64),
            values=np.empty((d, 0)),
            begun=pointers,
            ended=pointers,
            index="",
            ts_place=np.empty(0, np.int32),
        )

    def __len__(self) -> int:
        """How many streams."""
        return len(self.ts)

    def known_to(self, index: str) -> "Heads":
        """Return the same heads, with pointers only if they belong to this index."""
        if index == self.index:
            return self
        unknown = np.full(self.begun.shape, UNKNOWN, np.int32)
        return replace(self, begun=unknown, ended=unknown, index=index)

    def with_heads(self, later: "Heads", at: Int32s) -> "Heads":
        """Replace heads by later ones, and add new streams, in O(streams of both).

        `at` has their places here; streams that are new have places behind all others. Where every
        stream moves and none is new, as from partition to partition, nothing is copied.
        """
        if len(self) == 0:
            return later
        if are_all(at, len(self)):
            return replace(later, names=self.names)
        mine = self.known_to(later.index)
        fresh = at >= len(self)
        known = ~fresh
        merged: dict[str, Any] = {}
        for name in ("ts", "values", "begun", "ended", "ts_place"):
            old, new = getattr(mine, name), getattr(later, name)
            column = np.concatenate([old, new[..., fresh]], axis=-1)
            column[..., at[known]] = new[..., known]
            merged[name] = column
        names = pa.concat_arrays([self.names, later.names.filter(pa.array(fresh))])
        sequence = None
        if self.sequence is not None or later.sequence is not None:
            from_row = np.arange(len(names))
            from_row[at[known]] = len(self) + np.flatnonzero(known)
            from_row[len(self) :] = len(self) + np.flatnonzero(fresh)
            both = [self.sequences, later.sequences]
            sequence = pa.concat_arrays(both).take(pa.array(from_row))
        return replace(mine, names=names, sequence=sequence, **merged)

    @property
    def sequences(self) -> pa.StringArray:
        """The sequence of every last tuple, null where it had none."""
        return pa.nulls(len(self), pa.string()) if self.sequence is None else self.sequence

    def to_table(self) -> pa.Table:
        """Return the heads as columns: a row a stream, ready for a table."""
        table = self.coded(self.names)
        place = table.column_names.index("index")
        return table.set_column(place, "index", table["index"].cast(pa.string()))

    def coded(self, names: pa.Array) -> pa.Table:
        """Return them so with these names, which may be coded; the index is coded."""
        columns: dict[str, pa.Array] = {"stream_id": names, "ts": pa.array(self.ts)}
        for axis, values in zip(self.axes, self.values, strict=True):
            columns[axis] = pa.array(values)
        d = len(self.axes)
        places = np.stack([self.begun, self.ended], axis=1).reshape(2 * d, len(self))
        flat = pa.array(np.ascontiguousarray(places.T).ravel(), pa.int32())
        columns["place"] = pa.FixedSizeListArray.from_arrays(flat, 2 * d)
        code = pa.array(np.zeros(len(self), np.int32))
        columns["index"] = pa.DictionaryArray.from_arrays(code, [self.index])
        columns["ts_place"] = pa.array(self.ts_place)
        columns["sequence"] = self.sequences
        return pa.table(columns)

    @classmethod
    def from_table(cls, axes: Sequence[str], table: pa.Table, index: str = "") -> "Heads":
        """Read heads back; pointers that belong to another index than this are forgotten."""
        wanted = {"stream_id", "ts", "place", "index", *axes}
        missing = sorted(wanted - set(table.column_names))
        if missing:
            raise StateError(
                f"the state has no column {', '.join(missing)}; "
                f"it has {', '.join(table.column_names)}"
            )
        holes = sorted(name for name in wanted if table[name].null_count)
        values = np.stack([table[axis].to_numpy() for axis in axes]).astype(np.float64)
        if holes or not np.isfinite(values).all():
            where = f"nulls in {', '.join(holes)}" if holes else "a value that is not finite"
            raise StateError(f"the state has {where}; accepted tuples are whole")
        d, n = len(axes), table.num_rows
        place = table["place"].combine_chunks()
        if place.type.num_fields != 1 or (n and len(place.flatten()) != 2 * d * n):
            raise StateError(f"the state's places are not of the {d} axes {', '.join(axes)}")
        flat = place.flatten().to_numpy(zero_copy_only=False).reshape(n, d, 2)
        other = pc.not_equal(table["index"], index).to_numpy(zero_copy_only=False)
        flat = np.where(other.astype(np.bool_)[:, None, None], UNKNOWN, flat).astype(np.int32)
        return cls(
            axes=tuple(axes),
            names=table["stream_id"].combine_chunks().cast(pa.string()),
            ts=table["ts"].to_numpy().astype(np.int64),
            values=values,
            begun=np.ascontiguousarray(flat[:, :, 0].T),
            ended=np.ascontiguousarray(flat[:, :, 1].T),
            index=index,
            ts_place=places_in(table, "ts_place"),
            sequence=sequences_in(table),
        )


def places_in(table: pa.Table, name: str) -> Int32s:
    """Read which of its instant each tuple is; the first, where an older state does not say."""
    if name not in table.column_names:
        return np.zeros(table.num_rows, np.int32)
    places: Int32s = pc.fill_null(table[name], 0).to_numpy().astype(np.int32)
    return places


def sequences_in(table: pa.Table) -> pa.StringArray | None:
    """Read the sequences of last tuples; None where there is none at all."""
    if "sequence" not in table.column_names:
        return None
    column = table["sequence"]
    if column.null_count == len(column):
        return None
    return column.combine_chunks().cast(pa.string())
