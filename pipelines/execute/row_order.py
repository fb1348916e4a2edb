"""In which order the rows of a delivery are taken.

Files have rows in an order: (file, line). A Delta table has none: its files are named at random,
and whoever writes the same rows again may spread them otherwise. Its rows are taken by content.

Law: a table written twice, in other files and another order, gives the same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from fencepost.arrow import ranks_of
from fencepost.tuples import Bools, Int32s, Int64s
from schemas.tuples import DELETED


@dataclass(frozen=True)
class RowOrder:
    """How the rows of a share are ordered within a delivery.

    unordered    the deliveries whose rows are in no order
    each_stream  only the rows of one stream are compared, so that most need no second look
    """

    axes: Sequence[str]
    unordered: Sequence[int] = ()
    each_stream: bool = True

    def keys(self, rows: pa.Table, streams: pa.DictionaryArray) -> tuple[Int32s, Int64s]:
        """Give each row's file and line to sort by; of an unordered delivery, 0 and its rank.

        O(n) without such deliveries, else O(n log n).
        """
        file, line = rows["file"].to_numpy(), rows["line"].to_numpy()
        if not self.unordered:
            return file, line
        some = np.flatnonzero(np.isin(rows["arrival"].to_numpy(), self.unordered))
        if len(some) == 0:
            return file, line
        file, line = file.copy(), line.copy()
        line[some] = self._ranks(rows.take(pa.array(some)), streams.take(pa.array(some)))
        file[some] = 0
        return file, line

    def _ranks(self, rows: pa.Table, streams: pa.DictionaryArray) -> Int64s:
        """Number rows by (ts, axis values, mark, stream id); those alike in all, as they stood."""
        ts = rows["ts"].cast(pa.int64()).to_numpy()
        stream = ranks_of(streams)
        whose = stream if self.each_stream else np.zeros(len(ts), np.int64)
        order = np.lexsort((ts, whose))
        same = (np.diff(ts[order]) == 0) & (np.diff(whose[order]) == 0)
        tied: Bools = np.r_[False, same] | np.r_[same, False]
        if tied.any():
            few = order[tied]
            content = [rows[axis].to_numpy()[few] for axis in self.axes]
            if DELETED.name in rows.column_names:
                content.append(rows[DELETED.name].fill_null(False).to_numpy()[few])
            origin = (rows[name].to_numpy()[few] for name in ("file", "line"))
            keys = [whose[few], ts[few], *content, stream[few], *origin]
            order[tied] = few[np.lexsort(keys[::-1])]
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        return ranks
