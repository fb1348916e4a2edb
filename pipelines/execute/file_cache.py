"""Data files of the logs that a worker has read, kept for the next epoch that reads them.

A data file never changes and its name is never used again: so what was read of it holds for as long
as the process lives, whatever became of the epoch or the process that wrote it.
"""

from collections import OrderedDict
from collections.abc import Callable

import pyarrow as pa

MOST_BYTES = 256 << 20
"""So much is kept; what was not asked for the longest goes first."""

MOST_FILES = 1 << 11
"""So many at most: a table of ten rows takes more than its bytes."""


class Kept:
    """Tables by name, the ones asked for last at the end; and their bytes together."""

    def __init__(self) -> None:
        """Begin with none."""
        self.tables: OrderedDict[tuple[str, ...], pa.Table] = OrderedDict()
        self.size = 0

    def put(self, key: tuple[str, ...], rows: pa.Table) -> None:
        """Keep a table, and let others go for it."""
        self.tables[key] = rows
        self.size += rows.nbytes
        while self.size > MOST_BYTES or len(self.tables) > MOST_FILES:
            _, gone = self.tables.popitem(last=False)
            self.size -= gone.nbytes


_kept = Kept()


def kept(key: tuple[str, ...], read: Callable[[], pa.Table]) -> pa.Table:
    """Give what was read of a file before, or read it; the key says which file, and what of it."""
    if key in _kept.tables:
        _kept.tables.move_to_end(key)
        return _kept.tables[key]
    rows = read()
    if rows.nbytes <= MOST_BYTES // 2:
        _kept.put(key, rows)
    return rows
