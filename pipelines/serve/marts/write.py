"""Rows written to data files as they come, and compared with those that a mart has.

Law: at most one row group is in memory, and the files are in no table until they are committed.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from deltalake import DeltaTable

from fencepost.hashing import added, content_hash
from pipelines.lake.data_files import DataFile, GrowingFile, open_verified
from pipelines.lake.layout import active_files
from pipelines.places import Place
from schemas import Table

BATCH = 1 << 16

FILE_ROWS = 1 << 22
"""Rows of a data file, approximately."""


class MartRows:
    """The rows of a feed in new files: the files, how many rows, and their hash."""

    def __init__(self, folder: Place, table: Table, feed: str) -> None:
        """Begin with no row and no file."""
        self.folder, self.table, self.feed = folder, table, feed
        self.count = self.hash = 0
        self.files: list[DataFile] = []

    def write(self, batches: Iterator[pa.Table]) -> None:
        """Write all batches, a file per few million rows. O(n)."""
        more = next(batches, None)
        while more is not None:
            more = self._one_file(more, batches)

    def _one_file(self, first: pa.Table, batches: Iterator[pa.Table]) -> pa.Table | None:
        """Fill one file; give the next batch."""
        rows: pa.Table | None = first
        until = self.count + FILE_ROWS
        with GrowingFile(self.folder, self.table, {"feed": self.feed}) as file:
            while rows is not None and self.count < until:
                file.add(rows)
                self.count += rows.num_rows
                self.hash = added(self.hash, content_hash(rows))
                rows = next(batches, None)
        self.files.append(file.closed())
        return rows

    def discard(self) -> None:
        """Delete the files, which no commit names."""
        for file in self.files:
            (self.folder / file.path).unlink(missing_ok=True)

    def equal_those_of(self, delta: DeltaTable) -> bool:
        """Say whether the mart's rows of the feed are these; they are read only if as many."""
        files = [f for f in active_files(delta, self.table) if f.partition["feed"] == self.feed]
        if sum(file.rows for file in files) != self.count:
            return False
        try:
            return self._hash_of(files) == self.hash
        except (OSError, ValueError, pa.ArrowException):
            # Lost, damaged, or of an older version without a column: it is written again.
            return False

    def _hash_of(self, files: Sequence[DataFile]) -> int:
        total = 0
        schema = self.table.in_files
        for each in files:
            with open_verified(self.folder, each.path) as parquet:
                for batch in parquet.iter_batches(BATCH, columns=schema.names):
                    total = added(total, content_hash(pa.Table.from_batches([batch]).cast(schema)))
        return total
