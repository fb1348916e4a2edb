"""What the rows of a feed in a mart consist of: files with settled rows, and files with open ones.

Law: files are made, and none is changed; those with the rows that they should have stay. So a mart
that would get the rows that it has is left as it is.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.hashing import added
from pipelines.lake.data_files import DataFile
from pipelines.places import Place
from pipelines.serve.marts import statements
from pipelines.serve.marts.write import BATCH, MartRows, read_rows
from schemas import Table

FAN = 16
"""So many settled files of like size become one."""
SMALL = 1 << 18
"""Rows of a file that is still put together with others."""


@dataclass(frozen=True)
class Part:
    """Files, and the hash of their rows."""

    files: tuple[DataFile, ...] = ()
    hash: int = 0

    @property
    def rows(self) -> int:
        """How many rows they have."""
        return sum(file.rows for file in self.files)

    @property
    def paths(self) -> list[str]:
        """Their paths below the mart's folder."""
        return [file.path for file in self.files]

    def or_same(self, rows: MartRows) -> "Part":
        """Give these files if they have the rows that were written, else the new ones."""
        if (rows.count, rows.hash) == (self.rows, self.hash):
            rows.discard()
            return self
        return Part(tuple(rows.files), rows.hash)

    def and_also(self, rows: MartRows) -> "Part":
        """Give these files and the new ones."""
        return Part((*self.files, *rows.files), added(self.hash, rows.hash))


@dataclass(frozen=True)
class Content:
    """Both parts."""

    settled: Part = Part()
    open: Part = Part()

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files."""
        return (*self.settled.files, *self.open.files)

    @property
    def rows(self) -> int:
        """How many rows they have."""
        return self.settled.rows + self.open.rows

    @property
    def hash(self) -> int:
        """The hash of all rows."""
        return added(self.settled.hash, self.open.hash)


@dataclass(frozen=True)
class FeedMart:
    """The rows of one feed in one mart of a lake with these tables, as a session makes them."""

    session: duckdb.DuckDBPyConnection
    folder: Place
    table: Table
    feed: str
    tables: Mapping[str, Table]

    def whole(self, before: Content, visits: Sequence[Place] = ()) -> Content:
        """Make all rows; those of a part that has them already stay. O(events).

        `visits` are the files that the visits can be read from, if the view need not find them.
        """
        own = self.table.name, self.feed, self.tables
        statement = statements.over_visits(*own, visits) if visits else statements.whole(*own)
        settled, still_open = self._written(statement)
        return Content(before.settled.or_same(settled), before.open.or_same(still_open))

    def grown(self, before: Content, since: int) -> Content:
        """Add what epochs after `since` make of the open rows. O(events of those + open rows)."""
        statement = statements.increment(self.table.name, self.feed, self.tables, since)
        settled, still_open = self._written(statement, before.open.paths)
        behind = self._together(before.settled.and_also(settled))
        return Content(behind, before.open.or_same(still_open))

    def _together(self, part: Part) -> Part:
        """Put files of similar size together where there are many: a row moves O(log n) times."""
        tiers: dict[int, list[DataFile]] = defaultdict(list)
        for file in part.files:
            if file.rows < SMALL:
                tiers[int(math.log(max(file.rows, 1), FAN))].append(file)
        for alike in tiers.values():
            if len(alike) >= FAN:
                paths = [file.path for file in alike]
                one, _ = self._written(statements.settled(self.table), paths)
                others = [file for file in part.files if file not in alike]
                part = Part((*others, *one.files), part.hash)
        return part

    def _written(self, statement: str, before: Sequence[str] = ()) -> tuple[MartRows, MartRows]:
        """Write the rows of a statement: the settled ones, which come first, and the open ones.

        `before` are files whose rows it reads.
        """
        rows = read_rows(self.folder, self.table, before)
        self.session.register(statements.BEFORE, rows)
        parts = [MartRows(self.folder, self.table, self.feed) for _ in range(2)]
        for is_open, pieces in groupby(self._pieces(statement), key=itemgetter(0)):
            parts[is_open].write(rows for _, rows in pieces)
        self.session.unregister(statements.BEFORE)
        return parts[0], parts[1]

    def _pieces(self, statement: str) -> Iterator[tuple[bool, pa.Table]]:
        for batch in self.session.execute(statement).to_arrow_reader(BATCH):
            rows = pa.Table.from_batches([batch])
            for is_open in (False, True):
                piece = rows.filter(pc.equal(rows["is_open"], is_open))
                if piece.num_rows:
                    yield is_open, piece.drop(["is_open"])
