"""The Delta tables of one lake, as delta-rs sees them.

Every commit is made here, in the driver's process, by compare-and-set: it names the version that it
makes, and fails if that version exists. So no JVM ever commits, what a zombie does too late fails,
and epochs and deliveries are right even without the lock. (Measured) 3 ms a commit.

On an object store a table is opened when it is first used, without delta-rs, and a commit is one
conditional put; what is refused of a table is refused then.

Law: what `append` has returned is in the table for every reader; what raised Conflict is
not. A writer upgrades a lake to this format; a reader changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from deltalake import DeltaTable

from fencepost.errors import LakeError
from pipelines.lake import layout
from pipelines.lake.append import Conflict
from pipelines.lake.by_delta import append_by_delta
from pipelines.lake.checksums import content, record
from pipelines.lake.create import add_columns, lacking, make_table, refuse_other, refuse_other_axes
from pipelines.lake.data_files import (
    DataFile,
    as_declared,
    compare,
    lost_file,
    open_verified,
    write_files,
)
from pipelines.lake.evidence import Evidence
from pipelines.lake.folds import Fold, Folded
from pipelines.lake.lock import Fence
from pipelines.lake.log import Log, refuse_cleaned
from pipelines.lake.obsolete import Gone, Obsolete, Removal, holding, removal_of
from pipelines.lake.pack import Pack
from pipelines.lake.snapshot import Opened, of_delta, opened
from pipelines.lake.upgrade import make_true
from pipelines.places import Place, create, is_remote
from schemas import Table

NO_VERSION = -1

FEW, LATELY = 100, 64
"""Rows of a file that is not read back, where this process wrote it, and how many such files."""

T = TypeVar("T")
F = TypeVar("F", bound=Fold)


class Store:
    """The tables of a lake. Not for several threads at once."""

    def __init__(self, root: Place, tables: Mapping[str, Table], note: layout.Note) -> None:
        """Use the lake of this note; no table is opened."""
        self.root = root
        self.tables = dict(tables)
        self.buckets = note.buckets
        self.fsync = False
        self.fence = Fence()
        self.ids = note.ids
        self.packed = Pack(root) if is_remote(root) else None
        self._adds_columns = False
        self._absent = self.tables.keys() - note.ids.keys()
        self._open: dict[str, DeltaTable] = {}
        self._logs: dict[str, Log] = {}
        self._pieces: dict[str, dict[str, pa.Table]] = {}
        self._some: dict[tuple[str, ...], dict[str, pa.Table]] = {}
        self._folded: dict[tuple[str, object], Folded] = {}
        self._written: dict[str, pa.Table] = {}
        self.tidied: dict[str, int] = {}
        """By table: the version at which nothing was left to tidy."""

    @classmethod
    def create(cls, root: Place, tables: Mapping[str, Table], *, buckets: int) -> "Store":
        """Make a lake with these tables; 20 ms a table. A folder in use is refused."""
        layout.refuse_bad_root(root)
        root.mkdir(parents=True, exist_ok=True)
        ids = {name: make_table(root / name, table) for name, table in tables.items()}
        note = layout.Note(layout.this_format(), buckets, ids)
        try:
            create(root / layout.NOTE, note.content)
        except FileExistsError:
            raise LakeError(f"there is a lake at {root} already") from None
        return cls.open(root, tables)

    @classmethod
    def open(cls, root: Place, tables: Mapping[str, Table], *, fsync: bool = False) -> "Store":
        """Open a lake to write to it, with its lock; refuse what `to_read` refuses.

        A new feed gets its table, and what an older format lacks is created: the tables, the
        columns, and last the format in the note. `fsync`: commits survive a power cut.
        """
        note = layout.Note.read(root)
        store = cls(root, tables, note)
        store._refuse_strange()
        if store._absent:
            for name in sorted(store._absent):
                note = note.with_id(name, make_table(root / name, tables[name]))
                note.write(root)
            store = cls(root, tables, note)
            store._refuse_strange()
        store._adds_columns = True
        older = note.format < layout.this_format()
        if older or not is_remote(root):
            for name, table in store.tables.items():
                if is_remote(root):
                    store.log(name)
                else:
                    add_columns(store._delta(name), table)
        if older:
            make_true(store)
            note.upgraded().write(root)
        store.fsync = fsync
        return store

    @classmethod
    def to_read(cls, root: Place, tables: Mapping[str, Table]) -> "Store":
        """Open a lake to read it, without the lock; nothing of it is changed.

        A table that is not there yet has no rows, a column nulls. Refused are a newer format, a
        torn commit, a table dropped and recreated. 1 ms a table.
        """
        note = layout.Note.read(root)
        store = cls(root, tables, note)
        store._refuse_strange()
        return store

    def _refuse_strange(self) -> None:
        if is_remote(self.root):
            return
        for name in self.tables:
            if name not in self._absent:
                layout.refuse_torn(self.folder(name))
                delta = self._delta(name)
                columns = [field.name for field in delta.schema().fields]
                refuse_other(self.folder(name), self.ids[name], str(delta.metadata().id))
                refuse_other_axes(columns, self.tables[name])

    def _opened(self, name: str) -> Opened:
        """Open a table; on a store also do what was put off until now."""
        folder, table = self.folder(name), self.tables[name]
        if not is_remote(folder):
            return of_delta(folder, self._delta(name), table)
        found = opened(folder, table)
        refuse_other(folder, self.ids[name], found.id)
        refuse_other_axes([field.name for field in found.schema.fields], table)
        if self._adds_columns and lacking(found.schema, table):
            add_columns(self.delta(name), table)
            found = opened(folder, table)
        return found

    def is_used(self, name: str) -> bool:
        """Whether a table was opened; on a disk all are."""
        return name in self._logs or not is_remote(self.root)

    def folder(self, name: str) -> Place:
        """Give a table's folder."""
        return self.root / name

    def version(self, name: str) -> int:
        """Give the newest version, -1 where there is no table yet; reads on in the log, 10 µs."""
        return NO_VERSION if name in self._absent else self._newest(name).version

    def evidence(self, name: str, after: int, upto: int | None = None) -> list[Evidence]:
        """Read the evidence of the commits after a version, up to a known one; each must exist."""
        found = []
        newest = self.version(name) if upto is None else upto
        for version in range(after + 1, newest + 1):
            text = self.log(name).user_metadata(version)
            if text is None and not self.log(name).has(version):
                raise refuse_cleaned(self.folder(name), version)
            said = Evidence.from_json(text)
            if said is not None:
                found.append(said)
        return found

    def kept_since(self, name: str, after: int) -> int:
        """Give the version after which every commit is still in the log: this one, or a later."""
        folder = self.folder(name)
        if self.version(name) <= after or layout.commit_path(folder, after + 1).exists():
            return after
        return max(after, layout.oldest_commit(folder) - 1)

    def append(
        self,
        name: str,
        at: int,
        files: Sequence[DataFile],
        evidence: Evidence,
        replaces: Obsolete | None = None,
    ) -> None:
        """Commit files as the version after `at`, and the rows that they replace away.

        A table with features that our commits do not support keeps those until `maintain`.
        """
        log = self._at(name, at)
        if log.is_plain:
            self._commit(log, at, files, evidence.to_json(), replaces)
        else:
            append_by_delta(self.delta(name), self.folder(name), at, files, evidence)

    def has(self, name: str, rows: Obsolete) -> bool:
        """Say whether a table has rows that no longer count and that our commits can remove."""
        if name in self._absent or not self.log(name).is_plain:
            return False
        return any(True for _ in holding(self, name, rows))

    def remove(self, name: str, rows: Gone) -> int:
        """Remove rows that no longer count from a plain table; count them. With the lock."""
        at = self.version(name)
        return self._commit(self._at(name, at), at, (), None, rows)

    def _at(self, name: str, version: int) -> Log:
        """Give a table's log, at its newest version; Conflict unless it is this one."""
        log = self.log(name)
        if not (log.is_fresh and log.version == version) and log.refresh() != version:
            raise Conflict(f"{name} is at version {log.version}, {version} was expected")
        return log

    def _commit(
        self,
        log: Log,
        at: int,
        files: Sequence[DataFile],
        said: str | None,
        replaces: Gone | None,
    ) -> int:
        """Commit files, and rows away; count these. The files of the others are left to vacuum."""
        name = log.table.name
        removal = Removal() if replaces is None else removal_of(self, name, replaces)
        if files or removal.gone or said is not None:
            log.append(at, [*files, *removal.kept], said, removal.gone)
        return removal.rows

    def rearrange(
        self, name: str, at: int, gone: Sequence[DataFile], came: Sequence[DataFile]
    ) -> None:
        """Commit files that hold the rows of others in their place, as the version after `at`."""
        log = self._at(name, at)
        if not log.is_plain:
            raise Conflict(f"{name} has features that our commits do not support")
        log.rearrange(at, gone, came)

    def read(self, name: str, file: DataFile) -> pa.Table:
        """Read one of a table's files whole."""
        return self._read(self.tables[name], file)

    def write(self, name: str, rows: pa.Table) -> list[DataFile]:
        """Write data files, invisible until they are committed."""
        table = self.tables[name]
        files = write_files(self.folder(name), table, rows)
        if self.packed is None and len(files) == 1 and rows.num_rows <= FEW:
            self._written[files[0].path] = as_declared(rows, files[0], table.arrow)
            if len(self._written) > LATELY:
                del self._written[next(iter(self._written))]
        return files

    def write_rows(self, name: str, rows: Sequence[Mapping[str, Any]]) -> list[DataFile]:
        """Write rows given one by one: those of a ledger."""
        return self.write(name, self.as_table(name, rows))

    def as_table(self, name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        """Arrange rows by a table's schema; a column that is not named is null."""
        schema = self.tables[name].arrow
        return pa.Table.from_pylist([dict(row) for row in rows], schema)

    def files(self, name: str) -> list[DataFile]:
        """List the files that a table consists of, with what is known of each."""
        if name in self._absent:
            return []
        return list(self._newest(name).files.values())

    def rows(self, name: str) -> pa.Table:
        """Read a small table whole; files read before are not read again."""
        table = self.tables[name]
        known = self._pieces.get(name, {})
        pieces = {
            file.path: known[file.path] if file.path in known else self._read(table, file)
            for file in self.files(name)
        }
        self._pieces[name] = pieces
        return pa.concat_tables([table.arrow.empty_table(), *pieces.values()])

    def some_columns(self, name: str, names: Sequence[str]) -> pa.Table:
        """Read a few columns of a table, and nothing else of its files; once per file."""
        table, wanted = self.tables[name], (name, *names)
        known = {**self._some.get(wanted, {}), **self._pieces.get(name, {})}
        schema = pa.schema([table.arrow.field(each) for each in names])
        pieces = {
            file.path: known[file.path].select(names)
            if file.path in known
            else self._read(table, file, schema)
            for file in self.files(name)
        }
        self._some[wanted] = pieces
        return pa.concat_tables([schema.empty_table(), *pieces.values()])

    def fold(self, name: str, begin: Callable[[], F]) -> F:
        """Give the value of a ledger's rows; only new ones are read.

        So a lake that was written to a million times costs a run only the new rows. The same
        rows in other files are not new.
        """
        files = {file.path: file for file in self.files(name)}
        folded = self._folded.get((name, begin))
        if folded is None or not folded.keeps_up(files):
            folded = self._folded[name, begin] = Folded.of(begin(), self._logs.get(name))
        table = self.tables[name]
        for path, file in files.items():
            if path not in folded.paths:
                rows = self._written.get(path)
                folded.value.add(self._read(table, file) if rows is None else rows)
                folded.paths.add(path)
        value: F = folded.value
        return value

    def rows_between(self, name: str, lane: str, column: str, first: int, last: int) -> pa.Table:
        """Read the files that may hold rows of a lane with first <= column <= last."""
        table = self.tables[name]
        whose = table.lane_column or ""
        pieces = [
            self._read(table, file)
            for file in self.files(name)
            if file.partition.get(whose, lane) == lane and file.overlaps(column, first, last)
        ]
        return pa.concat_tables([table.arrow.empty_table(), *pieces])

    def columns_of(self, name: str, file: DataFile, schema: pa.Schema) -> pa.Table:
        """Read some columns of one of a table's files."""
        return self._read(self.tables[name], file, schema)

    def _read(self, table: Table, file: DataFile, schema: pa.Schema | None = None) -> pa.Table:
        schema = table.arrow if schema is None else schema
        try:
            folder = self.folder(table.name)
            read = content if self.packed is None else self.packed.content
            whole = open_verified(folder, file.path, read=read)
            has = set(whole.schema_arrow.names)
            rows = whole.read([name for name in schema.names if name in has])
        except (OSError, pa.ArrowException) as why:
            raise lost_file(table.name, file.path, why) from why
        return as_declared(rows, file, schema)

    def _delta(self, name: str) -> DeltaTable:
        delta = self._open.get(name)
        if delta is None:
            delta = self._open[name] = layout.open_table(self.folder(name))
        return delta

    def delta(self, name: str) -> DeltaTable:
        """Give the table itself, at its newest version: for maintenance."""
        if name in self._logs:
            self._logs[name].share()
        delta = self._delta(name)
        delta.update_incremental()
        return delta

    def reader_version(self, name: str) -> int:
        """Give a table's reader version: above 1, it is not plain files."""
        return self._newest(name).reader_version

    def log(self, name: str) -> Log:
        """Give a table's log, as far as it was read."""
        if name not in self._logs:
            folder, table, log = self.folder(name), self.tables[name], None
            if self.packed is not None:
                log = self.packed.log(table, self.ids[name], self.fence, adds=self._adds_columns)
            log = self._logs[name] = log or Log(folder, table, self._opened(name), self.fence)
            log.fsync = self.fsync
            if name in self._open:
                log.share()
        return self._logs[name]

    def _newest(self, name: str) -> Log:
        """Give a table's log at its newest version; on a store opening it is a look."""
        if name in self._logs or not is_remote(self.root):
            self.log(name).refresh()
        return self.log(name)

    def pack(self) -> None:
        """Keep for others what this session knows of a lake on a store. One request, or none."""
        if self.packed is not None:
            self.packed.keep(self._logs)

    def rewrite(self, name: str, change: Callable[[DeltaTable], T]) -> T:
        """Let delta-rs replace files of a table; the new ones are checksummed.

        delta-rs ignores checksums, so the existing files are compared first: damaged content
        is not copied into a file that looks whole. O(bytes of the table).
        """
        for file in self.files(name):
            compare(self.root, name, file.path)
        done = change(self.delta(name))
        record(self.folder(name), [file.path for file in self.files(name)])
        self.log(name).seal()
        return done
