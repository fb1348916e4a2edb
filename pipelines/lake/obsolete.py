"""Rows that no longer count, and how they leave a table: in the very commit that replaces them.

A plan of a higher generation puts every row of its lane out of force that is of an older generation
and of its first epoch or a later one. So its commits remove them: whole files where all rows go,
and where only some do, the file is replaced by one that has the others.

Law: what is obsolete stays so, whatever is planned later: generations only rise. So a removal may
be made again, late, or by a process that slept, and never meets a row that counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.tuples import Bools
from pipelines.lake.data_files import DataFile
from schemas import Table
from schemas.epochs import HORIZON
from schemas.table import Role

HAVE_EPOCHS: tuple[Role, ...] = ("found", "log")
"""The roles of the tables that have rows of epochs."""


@dataclass(frozen=True)
class Obsolete:
    """Rows of a lane that do not count, by their epoch and generation.

    since   the first epoch    before  the epoch after the last one; None: there is no last one
    below   the generation that replaced theirs; None: of any generation
    """

    lane: str
    since: int = 0
    before: int | None = None
    below: int | None = None

    def may_hold(self, table: Table, file: DataFile) -> bool:
        """Say whether a file may have such rows, by its statistics. O(1)."""
        least, most = _lanes(table, file)
        if least is not None and most is not None and not least <= self.lane <= most:
            return False
        first, last = file.least("epoch"), file.most("epoch")
        if last is not None and int(last) < self.since:
            return False
        if first is not None and self.before is not None and int(first) >= self.before:
            return False
        oldest = file.least("generation")
        return self.below is None or oldest is None or int(oldest) < self.below

    def is_all_of(self, table: Table, file: DataFile) -> bool:
        """Say whether a file has no other rows, where its statistics can tell. O(1)."""
        if table.arrow.field("epoch").nullable or _lanes(table, file) != (self.lane, self.lane):
            return False
        first, last = file.least("epoch"), file.most("epoch")
        if first is None or last is None or int(first) < self.since:
            return False
        newest = file.most("generation")
        young = self.below is None or (newest is not None and int(newest) < self.below)
        return young and (self.before is None or int(last) < self.before)

    def among(self, table: Table, rows: pa.Table) -> Bools:
        """Say of each row whether it is one of them. O(rows)."""
        epoch = rows["epoch"].fill_null(-1).to_numpy()
        gone: Bools = (epoch >= 0) & (epoch >= self.since)
        gone &= pc.equal(rows[table.lane_column or ""], self.lane).to_numpy()
        if self.before is not None:
            gone &= epoch < self.before
        if self.below is not None:
            gone &= rows["generation"].fill_null(0).to_numpy() < self.below
        return gone

    def condition(self, table: Table) -> str:
        """Give them as SQL: numbers, and the lane's checked name."""
        terms = [f"{table.lane_column} = '{self.lane}'", f"epoch >= {self.since}"]
        terms += [] if self.before is None else [f"epoch < {self.before}"]
        terms += [] if self.below is None else [f"generation < {self.below}"]
        return " AND ".join(terms)

    def deciding(self, table: Table) -> pa.Schema:
        """Give the columns that `among` looks at."""
        names = (table.lane_column or "", "epoch", "generation")
        return pa.schema([table.arrow.field(name) for name in names])


@dataclass(frozen=True)
class Refused:
    """Rows that ingest put aside of deliveries of a feed that were refused after all."""

    feed: str
    arrivals: tuple[int, ...]

    def may_hold(self, table: Table, file: DataFile) -> bool:
        """Say whether a file may have such rows, by its statistics. O(1)."""
        mine = _lanes(table, file)[0] in (None, self.feed)
        return mine and file.overlaps("arrival", min(self.arrivals), max(self.arrivals))

    def is_all_of(self, table: Table, file: DataFile) -> bool:
        """Statistics do not tell which deliveries lie between two."""
        del table, file
        return False

    def among(self, table: Table, rows: pa.Table) -> Bools:
        """Say of each row whether it is one of them. O(rows)."""
        own = pc.equal(rows[table.lane_column or ""], self.feed)
        named = pc.is_in(rows["arrival"], pa.array(self.arrivals, pa.int64()))
        gone: Bools = pc.and_(pc.and_(own, named), pc.is_null(rows["epoch"])).to_numpy()
        return gone

    def deciding(self, table: Table) -> pa.Schema:
        """Give the columns that `among` looks at."""
        names = (table.lane_column or "", "arrival", "epoch")
        return pa.schema([table.arrow.field(name) for name in names])


class Files(Protocol):
    """What a removal needs of a store."""

    @property
    def tables(self) -> dict[str, Table]:
        """The declared tables."""

    def files(self, name: str) -> list[DataFile]:
        """List the files of a table."""

    def read(self, name: str, file: DataFile) -> pa.Table:
        """Read one whole."""

    def columns_of(self, name: str, file: DataFile, schema: pa.Schema) -> pa.Table:
        """Read some columns of one."""

    def write(self, name: str, rows: pa.Table) -> list[DataFile]:
        """Write data files, invisible until they are committed."""


Gone = Obsolete | Refused
"""What may be removed."""


@dataclass(frozen=True)
class Removal:
    """What a commit does away with: files, and those with the rows of them that stay."""

    gone: Sequence[DataFile] = ()
    kept: Sequence[DataFile] = ()
    rows: int = 0


def removal_of(store: Files, name: str, what: Gone) -> Removal:
    """Write the rows that stay of files that have both. O(files + rows of those)."""
    gone: list[DataFile] = []
    kept: list[DataFile] = []
    removed = 0
    for file, mask in holding(store, name, what):
        gone.append(file)
        removed += file.rows if mask is None else int(mask.sum())
        if mask is not None and not mask.all():
            kept += store.write(name, store.read(name, file).filter(pa.array(~mask)))
    return Removal(gone, kept, removed)


def holding(store: Files, name: str, what: Gone) -> Iterator[tuple[DataFile, Bools | None]]:
    """Give the files with such rows, and which of their rows they are; None: all.

    O(files), and the rows of those whose statistics cannot tell.
    """
    table = store.tables[name]
    for file in store.files(name):
        if not what.may_hold(table, file):
            continue
        if what.is_all_of(table, file):
            yield file, None
            continue
        mask = what.among(table, store.columns_of(name, file, what.deciding(table)))
        if mask.any():
            yield file, mask


def replaced_in(epochs: pa.Table) -> list[Obsolete]:
    """Say what the plans in a ledger of epochs have replaced. O(rows)."""
    planned = epochs.filter(pc.not_equal(epochs["state"], HORIZON))
    firsts = planned.group_by(["lane", "generation"]).aggregate([("epoch", "min")])
    return [
        Obsolete(row["lane"], since=row["epoch_min"], below=row["generation"])
        for row in firsts.to_pylist()
        if row["generation"] > 1
    ]


def _lanes(table: Table, file: DataFile) -> tuple[str | None, str | None]:
    """Give the first and the last lane that a file may have rows of; None: it is not known."""
    column = table.lane_column or ""
    if column in file.partition:
        return file.partition[column], file.partition[column]
    return file.least(column), file.most(column)
