"""Data files of the logs that a worker has read, kept for the next epoch that reads them.

A data file never changes and its name is never used again: so what was read of it holds for as long
as the process lives, whatever became of the epoch or the process that wrote it.
"""

from collections import OrderedDict
from collections.abc import Callable

import pyarrow as pa

MOST_BYTES = 256 << 20
"""So much is kept; what was not asked for the longest goes first."""

_kept: OrderedDict[tuple[str, ...], pa.Table] = OrderedDict()


def kept(key: tuple[str, ...], read: Callable[[], pa.Table]) -> pa.Table:
    """Give what was read of a file before, or read it; the key says which file, and what of it."""
    if key in _kept:
        _kept.move_to_end(key)
        return _kept[key]
    rows = read()
    if rows.nbytes <= MOST_BYTES // 2:
        _kept[key] = rows
        while sum(each.nbytes for each in _kept.values()) > MOST_BYTES:
            _kept.popitem(last=False)
    return rows
