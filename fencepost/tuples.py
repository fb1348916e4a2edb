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


@dataclass(frozen=True, eq=False)
class TupleBatch:
    """n tuples of one feed, 16 + 8 d bytes each beside the distinct stream ids.

    names     the distinct stream ids        stream    int32[n], each tuple's place in `names`
    ts        int64[n], µs                   values    float64[d, n], one row an axis
    delivery  int32[n], never falling: which delivery of the batch brought the tuple
    """

    feed: str
    axes: tuple[str, ...]
    names: pa.StringArray
    stream: Int32s
    ts: Int64s
    values: Doubles
    delivery: Int32s

    @classmethod
    def from_columns(
        cls,
        feed: str,
        axes: Sequence[str],
        ids: pa.Array,
        ts: Int64s,
        values: Doubles,
        delivery: Int32s | int = 0,
    ) -> "TupleBatch":
        """Build a batch from columns as they were read, in O(n); refuse what is not well-formed."""
        coded = dictionary_of(ids)
        names = pc.cast(coded.dictionary, pa.string())
        if coded.null_count or names.null_count:
            raise InputError(f"feed '{feed}': a tuple has no stream id")
        if isinstance(delivery, int):
            delivery = np.full(len(coded), delivery, np.int32)
        values = np.ascontiguousarray(values, np.float64) + 0.0  # -0.0 becomes 0.0
        stream = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        batch = cls(feed, tuple(axes), names, stream, np.asarray(ts, np.int64), values, delivery)
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
        )
