"""Rows written to data files as they come, and the rows of such files.

Law: of rows that are written at most one row group is in memory, and their files are in no table
until they are committed.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from fencepost.hashing import added
from fencepost.row_hashes import content_hash
from pipelines.lake.data_files import DataFile, GrowingFile, open_verified
from pipelines.places import Place
from schemas import Table

BATCH = 1 << 16

FILE_ROWS = 1 << 22
"""Rows of a data file, approximately."""


class MartRows:
    """Rows of a feed in new files: the files, how many rows, and their hash."""

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


def read_rows(folder: Place, table: Table, paths: Sequence[str]) -> pa.Table:
    """Read files of a mart, each compared with its checksum; text stays coded. O(rows)."""
    schema = table.in_files
    coded = [field.name for field in schema if field.type == pa.string()]
    rows = [open_verified(folder, path, coded).read() for path in paths]
    return pa.concat_tables([each.select(schema.names) for each in rows] or [schema.empty_table()])
