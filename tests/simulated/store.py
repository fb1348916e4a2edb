"""A lake's tables in memory, as one process sees them through `pipelines.lake.store.Store`.

Law: a commit stands whole or not at all, and the version that it makes was named beforehand: that
is all that the protocol may ask of storage. Every call is a step at which the process can end.
"""

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import pyarrow as pa

from pipelines.lake.append import Conflict
from pipelines.lake.data_files import DataFile
from pipelines.lake.evidence import Evidence
from pipelines.lake.lock import Fence
from pipelines.lake.obsolete import Obsolete
from schemas import Table
from schemas.table import KINDS

Row = Mapping[str, Any]
BOUNDED = ("arrival", "epoch")
FILTERED = ("kind", "state", "lines")
F = TypeVar("F")


class Laid:
    """Rows, with as much of an Arrow table's face as the protocol looks at."""

    def __init__(self, kinds: Mapping[str, pa.DataType], rows: Sequence[Row]) -> None:
        self.kinds = kinds
        self.rows = rows

    @property
    def num_rows(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        cells = [row.get(name) for row in self.rows]
        return pa.chunked_array([pa.array(cells, self.kinds[name])])

    def to_pylist(self) -> list[Row]:
        return list(self.rows)

    def select(self, names: Sequence[str]) -> "Laid":
        return Laid({name: self.kinds[name] for name in names}, self.rows)

    def take(self, places: pa.Array) -> "Laid":
        return Laid(self.kinds, [self.rows[place] for place in places.to_pylist()])

    def filter(self, mask: pa.BooleanArray | pa.compute.Expression) -> "Laid":
        if isinstance(mask, pa.compute.Expression):
            kinds = [(name, self.kinds[name]) for name in FILTERED if name in self.kinds]
            return Laid(self.kinds, [row for row in self.rows if _holds(mask, kinds, row)])
        flags = zip(self.rows, mask.to_pylist(), strict=True)
        return Laid(self.kinds, [row for row, kept in flags if kept])

    def append_column(self, name: str, values: pa.Array) -> "Laid":
        kinds = {**self.kinds, name: values.type}
        cells = values.to_pylist()
        return Laid(kinds, [{**r, name: v} for r, v in zip(self.rows, cells, strict=True)])


_held: dict[tuple[str, str], bool] = {}


def _holds(mask: pa.compute.Expression, kinds: Sequence[tuple[str, pa.DataType]], row: Row) -> bool:
    """Let Arrow say whether a row passes, once for all that have the same cells: that is 0.5 ms."""
    cells = {name: row.get(name) for name, _ in kinds}
    known = f"{mask}", f"{cells}"
    if known not in _held:
        rows = pa.Table.from_pylist([cells], pa.schema(kinds))
        _held[known] = rows.filter(mask).num_rows == 1
    return _held[known]


def hash_of(rows: Laid, leave_out: Sequence[str] = ()) -> int:
    """Hash rows whatever their order; stands in for `content_hash`."""
    return sum(crc(row, leave_out) for row in rows.rows) % 2**64


def crc(row: Row, leave_out: Sequence[str] = ()) -> int:
    told = [(k, v) for k, v in row.items() if v is not None and k not in leave_out]
    return zlib.crc32(repr(sorted(told)).encode())


@dataclass
class Commit:
    """One version of a table; `evidence` is None where somebody else made it."""

    evidence: Evidence | None
    files: tuple[DataFile, ...]
    gone: frozenset[str] = frozenset()


@dataclass
class Disk:
    """What all processes share: the commits of each table, and the rows of each data file."""

    tables: Mapping[str, Table]
    buckets: int
    commits: dict[str, list[Commit]] = field(default_factory=dict)
    written: dict[str, list[Row]] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.commits = {name: [Commit(None, ())] for name in self.tables}
        self.kinds = {
            name: {c.name: KINDS[c.kind] for c in table.columns}
            for name, table in self.tables.items()
        }

    def version(self, name: str) -> int:
        return len(self.commits[name]) - 1

    def files(self, name: str) -> list[DataFile]:
        gone = {path for commit in self.commits[name] for path in commit.gone}
        files = [file for commit in self.commits[name] for file in commit.files]
        return [file for file in files if file.path not in gone]

    def rows(self, name: str) -> list[Row]:
        """Give all rows of a table, in the order of the commits."""
        return [row for file in self.files(name) for row in self.written[file.path]]

    def sign(self, name: str, token: int | None) -> None:
        """Note the token of a commit that was made just now."""
        if token is not None:
            newest = self.tokens.get(name, 0)
            assert token >= newest, f"{name}: a commit of token {token} follows one of {newest}"
            self.tokens[name] = token

    def commit_foreign(self, name: str) -> None:
        """Let somebody else commit, without a row: an OPTIMIZE, say."""
        self.commits[name].append(Commit(None, ()))

    def put(self, name: str, rows: Sequence[Row], **partition: str) -> DataFile:
        """Write a data file that no commit names yet."""
        path = f"{name}-{len(self.written)}"
        self.written[path] = list(rows)
        bounds: dict[str, dict[str, int]] = {"minValues": {}, "maxValues": {}}
        for column in BOUNDED:
            values = [row[column] for row in rows if row.get(column) is not None]
            if values:
                bounds["minValues"][column] = min(values)
                bounds["maxValues"][column] = max(values)
        return DataFile(path, len(rows), len(rows), partition, json.dumps(bounds))


def _is_one_of(row: Row, rows: Obsolete) -> bool:
    """Say whether a row of an epoch was replaced; there is one lane, and no horizon."""
    if row.get("epoch") is None or rows.below is None:
        return False
    return bool(row["epoch"] >= rows.since and row["generation"] < rows.below)


class Steps(Protocol):
    """Who decides whether a process goes on, and what becomes of its commits."""

    def step(self) -> None:
        """Pass a step, or end here, or let others go first."""
        ...

    def commit(self, name: str, at: int, evidence: Evidence, make: Callable[[], None]) -> None:
        """Let the commit after a version be made, or not."""
        ...

    def saw(self, name: str, rows: Sequence[Row]) -> None:
        """Hear what a process has read of a table."""
        ...


class SimulatedStore:
    """One process's hold of the tables: the methods of `Store`."""

    root = Path("/simulated")

    def __init__(self, disk: Disk, steps: Steps) -> None:
        self.disk = disk
        self.steps = steps
        self.tables = disk.tables
        self.buckets = disk.buckets
        self.fence = Fence()
        self._folded: dict[tuple[str, object], tuple[set[str], Any]] = {}

    def version(self, name: str) -> int:
        self.steps.step()
        return self.disk.version(name)

    def evidence(self, name: str, after: int, upto: int | None = None) -> list[Evidence]:
        self.steps.step()
        commits = self.disk.commits[name][after + 1 : None if upto is None else upto + 1]
        return [commit.evidence for commit in commits if commit.evidence is not None]

    def kept_since(self, name: str, after: int) -> int:
        """This disk cleans nothing away."""
        del name
        return after

    def append(
        self,
        name: str,
        at: int,
        files: Sequence[DataFile],
        evidence: Evidence,
        replaces: Obsolete | None = None,
    ) -> None:
        self.steps.step()
        gone, kept = self._parted(name, replaces)
        self.steps.step()
        came = [*files, *kept]
        token = self.fence.passed(self.disk.tokens.get(name, 0))

        def make() -> None:
            self.make(name, at, came, evidence, gone)
            self.disk.sign(name, token)

        self.steps.commit(name, at, evidence, make)

    def make(
        self,
        name: str,
        at: int,
        files: Sequence[DataFile],
        evidence: Evidence,
        gone: frozenset[str] = frozenset(),
    ) -> None:
        """Make the version after `at`, by compare-and-set."""
        if self.disk.version(name) != at:
            raise Conflict(f"{name} is at version {self.disk.version(name)}, not {at}")
        self.disk.commits[name].append(Commit(evidence, tuple(files), gone))

    def has(self, name: str, rows: Obsolete) -> bool:
        self.steps.step()
        return bool(self._parted(name, rows)[0])

    def _parted(self, name: str, rows: Obsolete | None) -> tuple[frozenset[str], list[DataFile]]:
        """Give the files that hold such rows, and new ones with the others of theirs."""
        gone: set[str] = set()
        kept: list[DataFile] = []
        if rows is None:
            return frozenset(), kept
        for file in self.disk.files(name):
            mine = self.disk.written[file.path]
            stay = [row for row in mine if not _is_one_of(row, rows)]
            if len(stay) < len(mine):
                gone.add(file.path)
                kept += [self.disk.put(name, stay, feed=rows.lane, bucket="-1")] if stay else []
        return frozenset(gone), kept

    def write(self, name: str, rows: Laid) -> list[DataFile]:
        self.steps.step()
        return [self.disk.put(name, rows.rows)] if rows.num_rows else []

    def write_rows(self, name: str, rows: Sequence[Row]) -> list[DataFile]:
        return self.write(name, self.as_table(name, rows))

    def as_table(self, name: str, rows: Sequence[Row]) -> Laid:
        return Laid(self.disk.kinds[name], [dict(row) for row in rows])

    def files(self, name: str) -> list[DataFile]:
        self.steps.step()
        return self.disk.files(name)

    def rows(self, name: str) -> Laid:
        self.steps.step()
        rows = self.disk.rows(name)
        self.steps.saw(name, rows)
        return Laid(self.disk.kinds[name], rows)

    def fold(self, name: str, begin: Callable[[], F]) -> F:
        self.steps.step()
        self.steps.saw(name, self.disk.rows(name))
        known, value = self._folded.setdefault((name, begin), (set(), begin()))
        for file in self.disk.files(name):
            if file.path not in known:
                value.add(Laid(self.disk.kinds[name], self.disk.written[file.path]))
                known.add(file.path)
        return cast(F, value)

    def reader_version(self, _: str) -> int:
        return 1

    def folder(self, name: str) -> Path:
        return self.root / name
