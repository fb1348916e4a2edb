"""Which boxes belong to which named streams: where queries watch some streams only."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools, Int64s
from fencepost.queries.query_set import QuerySet


@dataclass(frozen=True, eq=False)
class StreamBoxes:
    """The boxes of queries for named streams, once for each of their streams."""

    names: pa.StringArray
    rows: Int64s  # boxes
    segment: Int64s  # whose: a place in `names`

    @classmethod
    def of(cls, queries: QuerySet, query_of_box: Int64s) -> "StreamBoxes":
        """Repeat each box for each stream that its query names. O(boxes so repeated)."""
        coded = pc.dictionary_encode(queries.streams)
        codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        named = np.flatnonzero(~queries.everywhere[query_of_box])
        owner = query_of_box[named]
        copies = np.diff(queries.stream_ptr)[owner]
        rows = np.repeat(named, copies)
        before = np.cumsum(copies) - copies
        place = np.arange(len(rows)) - np.repeat(before, copies)
        segment = codes[np.repeat(queries.stream_ptr[owner], copies) + place]
        return cls(coded.dictionary, rows, segment)

    def entries(self, wanted: Bools) -> tuple[Int64s, Int64s]:
        """Return the boxes that are wanted, once a stream, and the segment of each."""
        kept = wanted[self.rows]
        return self.rows[kept], self.segment[kept]
