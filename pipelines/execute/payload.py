"""What travels along with a share's tuples: found by the tags that they have in the engine.

The tag of a tuple that was read is its row among those read; of one that waited before, -1 less
its row among those that waited.

Law: no result depends on payload, and each event has that of the tuple that crossed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from fencepost.tuples import Int64s


def tags_of_waiting(rows: int) -> Int64s:
    """Give the tags of so many tuples that waited before."""
    tags: Int64s = -1 - np.arange(rows, dtype=np.int64)
    return tags


@dataclass(frozen=True, eq=False)
class Payload:
    """The payload columns of a share, by tag.

    names   theirs; none: the feed has no payload
    read    the rows of tuples      waited  the rows of those that waited before
    """

    names: Sequence[str]
    read: pa.Table
    waited: pa.Table

    @cached_property
    def _by_place(self) -> pa.Table:
        """All rows: those that waited from the last to the first, then those read."""
        back = np.arange(self.waited.num_rows)[::-1]
        names = list(self.names)
        waited = self.waited.select(names).take(pa.array(back))
        return pa.concat_tables([waited, self.read.select(names)])

    def of(self, tags: Int64s) -> dict[str, pa.ChunkedArray]:
        """Give the payload of tuples, by column."""
        if not self.names:
            return {}
        rows = self._by_place.take(pa.array(tags + self.waited.num_rows))
        return {name: rows[name] for name in self.names}
