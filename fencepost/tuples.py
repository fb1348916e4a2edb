"""A batch of tuples as columns: what arrived for one feed, in the order in which it arrived.

Law: only well-formed tuples get in. Every value is finite and -0.0 is 0.0, every time is in the
years 1900–2200, every stream id is a non-empty string; rows are in the order (delivery, file, row).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools, Doubles, Int8s, Int32s, Int64s
from fencepost.arrow import codes_in, dictionary_of
from fencepost.errors import InputError
from fencepost.times import EARLIEST, LATEST

__all__ = ["Bools", "Doubles", "Int8s", "Int32s", "Int64s", "TupleBatch"]

SEQUENCES = (pa.int64(), pa.string())
"""What the sequence of a feed may be: integers, or texts in the order of their bytes."""


@dataclass(frozen=True, eq=False)
class TupleBatch:
    """n tuples of one feed, 16 + 8 d bytes each beside the distinct stream ids.

    names     the distinct stream ids        stream    int32[n], each tuple's place in `names`
    ts        int64[n], µs                   values    float64[d, n], one row an axis
    delivery  int32[n], never falling: which delivery of the batch brought the tuple
    sequence  Arrow's int64 or string: orders tuples of one stream and ts; None if not declared
    tag       int64[n], the caller's: comes out with what the tuple leads to; None if not wanted
    nth       int32[n], of tuples that wait: how many of its stream and ts waited before it
    rank      int64[n], which sorts like the sequence: while arrivals are judged
    """

    feed: str
    axes: tuple[str, ...]
    names: pa.StringArray
    stream: Int32s
    ts: Int64s
    values: Doubles
    delivery: Int32s
    sequence: pa.Array | None = None
    tag: Int64s | None = None
    nth: Int32s | None = None
    rank: Int64s | None = None

    @classmethod
    def from_columns(  # noqa: PLR0913  the columns, and those that not every feed has by name
        cls,
        feed: str,
        axes: Sequence[str],
        ids: pa.Array,
        ts: Int64s,
        values: Doubles,
        delivery: Int32s | int = 0,
        *,
        sequence: pa.Array | None = None,
        tag: Int64s | None = None,
        nth: Int32s | None = None,
    ) -> "TupleBatch":
        """Build a batch from columns as they were read, in O(n); refuse what is not well-formed.

        A null `sequence` is that of a tuple that waits from before there was such a column.
        """
        coded = dictionary_of(ids)
        names = pc.cast(coded.dictionary, pa.string())
        if coded.null_count or names.null_count:
            raise InputError(f"feed '{feed}': a tuple has no stream id")
        if isinstance(delivery, int):
            delivery = np.full(len(coded), delivery, np.int32)
        values = np.ascontiguousarray(values, np.float64) + 0.0  # -0.0 becomes 0.0
        stream = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        ts = np.asarray(ts, np.int64)
        batch = cls(feed, tuple(axes), names, stream, ts, values, delivery, sequence, tag, nth)
        batch._refuse_malformed()
        return batch

    @classmethod
    def empty(cls, feed: str, axes: Sequence[str]) -> "TupleBatch":
        """No tuples."""
        return cls(
            feed,
            tuple(axes),
            pa.array([], pa.string()),
            np.empty(0, np.int32),
            np.empty(0, np.int64),
            np.empty((len(axes), 0)),
            np.empty(0, np.int32),
        )

    def _refuse_malformed(self) -> None:
        n = len(self.ts)
        shapes = (self.stream.shape, self.values.shape, self.delivery.shape)
        if shapes != ((n,), (len(self.axes), n), (n,)):
            raise InputError(
                f"feed '{self.feed}': {n} times, "
                f"but streams, values and deliveries of shapes {shapes}"
            )
        for name, column in (("sequence", self.sequence), ("tag", self.tag), ("nth", self.nth)):
            if column is not None and len(column) != n:
                raise InputError(f"feed '{self.feed}': {n} times, but {len(column)} of '{name}'")
        if self.sequence is not None and self.sequence.type not in SEQUENCES:
            raise InputError(
                f"feed '{self.feed}': a sequence of type {self.sequence.type}, expected int64 or "
                "string"
            )
        if n == 0:
            return
        if not np.isfinite(self.values).all():
            axis, row = np.argwhere(~np.isfinite(self.values))[0]
            raise InputError(
                f"feed '{self.feed}', tuple {row}: {self.axes[axis]} is "
                f"{self.values[axis, row]}, expected a finite number"
            )
        if self.ts.min() < EARLIEST or self.ts.max() >= LATEST:
            raise InputError(f"feed '{self.feed}': a time lies outside the years 1900–2200")
        if (np.diff(self.delivery) < 0).any():
            raise InputError(f"feed '{self.feed}': deliveries are out of order")

    def __len__(self) -> int:
        return len(self.ts)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns, the stream ids included."""
        arrays = (self.stream, self.ts, self.values, self.delivery)
        return int(sum(a.nbytes for a in arrays) + self.names.nbytes)

    def take(self, rows: Int64s | Bools | slice) -> "TupleBatch":
        """Return the tuples of these rows, in this order; the stream ids stay as they are."""
        return replace(
            self,
            stream=self.stream[rows],
            ts=self.ts[rows],
            values=np.ascontiguousarray(self.values[:, rows]),
            delivery=self.delivery[rows],
            sequence=_chosen(self.sequence, rows),
            tag=None if self.tag is None else self.tag[rows],
            nth=None if self.nth is None else self.nth[rows],
            rank=None if self.rank is None else self.rank[rows],
        )

    def with_delivery(self, delivery: int) -> "TupleBatch":
        """Return the same tuples as those of one delivery."""
        return replace(self, delivery=np.full(len(self), delivery, np.int32))

    def compacted(self) -> "TupleBatch":
        """Return the same tuples as those of delivery 0, with the names of their streams only."""
        if len(self) == 0:
            return TupleBatch.empty(self.feed, self.axes)  # no view of a larger batch
        used, stream = np.unique(self.stream, return_inverse=True)
        return replace(
            self,
            names=self.names.take(pa.array(used)),
            stream=stream.astype(np.int32),
            delivery=np.zeros(len(self), np.int32),
        )

    @classmethod
    def concat(cls, batches: Sequence["TupleBatch"]) -> "TupleBatch":
        """Concatenate batches of one feed, in O(tuples + distinct ids)."""
        first = batches[0]
        if len(batches) == 1:
            return first
        if any(b.feed != first.feed or b.axes != first.axes for b in batches):
            raise InputError("batches of different feeds or axes cannot be one batch")
        names = pc.unique(pa.concat_arrays([b.names for b in batches]))
        return cls(
            first.feed,
            first.axes,
            names,
            np.concatenate([codes_in(b.names, names)[b.stream] for b in batches]),
            np.concatenate([b.ts for b in batches]),
            np.concatenate([b.values for b in batches], axis=1),
            np.concatenate([b.delivery for b in batches]),
            sequences_of(batches),
            _joined([b.tag for b in batches]),
        )


def sequences_of(batches: Sequence[TupleBatch]) -> pa.Array | None:
    """Put sequences behind each other: of the last one's type, null where a batch has none."""
    types = [b.sequence.type for b in batches if b.sequence is not None]
    if not types:
        return None
    own = [pa.nulls(len(b)) if b.sequence is None else b.sequence for b in batches]
    return pa.concat_arrays([sequence_as(each, types[-1]) for each in own])


def sequence_as(sequence: pa.Array, type_: pa.DataType) -> pa.Array:
    """Give a sequence another type: a text that is no integer of 64 bits becomes null."""
    try:
        return sequence.cast(type_)
    except pa.ArrowInvalid:
        return pa.array([_integer(text) for text in sequence.to_pylist()], type_)


def _integer(text: str | None) -> int | None:
    try:
        number = int(text or "")
    except ValueError:
        return None
    return number if abs(number) < 1 << 63 else None


def _chosen(sequence: pa.Array | None, rows: Int64s | Bools | slice) -> pa.Array | None:
    if sequence is None:
        return None
    if isinstance(rows, slice):
        begin, end, _ = rows.indices(len(sequence))
        return sequence.slice(begin, max(0, end - begin))
    where = pa.array(rows)
    return sequence.filter(where) if rows.dtype == np.bool_ else sequence.take(where)


def _joined(columns: Sequence[Int64s | None]) -> Int64s | None:
    """Put tags behind each other, where all batches have them."""
    given = [column for column in columns if column is not None]
    return np.concatenate(given) if len(given) == len(columns) else None
