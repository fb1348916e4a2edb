"""What a table is, as opened: by delta-rs on a disk, from its log alone on an object store.

delta-rs asks a store several times for what one listing says. So there the log is listed, and its
newest checkpoint and the commits after it are read: a request each, many at a time. Tables with
features that ours do not have are left to delta-rs.
"""

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Schema

from fencepost.errors import LakeError
from pipelines.lake import layout
from pipelines.lake.data_files import DataFile
from pipelines.places import Place, Remote, is_remote, listed, read
from schemas import Table

READER, WRITER = 1, 3
"""The newest protocol that our own commits keep: with constraints, and nothing else."""

AT_ONCE = 16
TRIES = 3
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.(.*)")
_COLUMNS = ("add.path", "add.partitionValues", "add.size", "add.stats", "metaData", "protocol")

Action = Mapping[str, Any]


@dataclass(frozen=True)
class Opened:
    """A table at one version.

    newest  the actions of its commit; none where it was cleaned away
    said    by version: the user metadata of the commits that were read
    """

    version: int
    reader_version: int
    writer_version: int
    id: str
    schema: Schema
    partitioned_by: Sequence[str]
    files: Sequence[DataFile]
    newest: Sequence[Action]
    said: Mapping[int, str | None] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether our own commits keep its protocol."""
        return self.reader_version <= READER and self.writer_version <= WRITER


def opened(folder: Place, table: Table) -> Opened:
    """Open a table; LakeError says why it cannot be opened."""
    if is_remote(folder):
        return _of_log(folder, table)
    return of_delta(folder, layout.open_table(folder), table)


def of_delta(folder: Place, delta: DeltaTable, table: Table) -> Opened:
    """Take over what delta-rs opened."""
    protocol, metadata = delta.protocol(), delta.metadata()
    version = int(delta.version())
    return Opened(
        version,
        int(protocol.min_reader_version),
        int(protocol.min_writer_version),
        str(metadata.id),
        delta.schema(),
        metadata.partition_columns,
        layout.active_files(delta, table),
        layout.read_commit(folder, version) or (),
    )


def _of_log(folder: Remote, table: Table) -> Opened:
    for tried in range(1, TRIES + 1):
        try:
            return _read(folder, table)
        except FileNotFoundError as gone:  # the log was cleaned between the listing and the reading
            if tried == TRIES:
                raise LakeError(f"the table {folder.name} cannot be opened: {gone}") from None
    raise AssertionError


def _read(folder: Remote, table: Table) -> Opened:
    log = folder / layout.LOG
    names = [entry.path for entry in listed(log)]
    commits = sorted(int(found[1]) for name in names if (found := _COMMIT.fullmatch(name)))
    checkpoint = max((name for name in names if _CHECKPOINT.fullmatch(name)), default=None)
    begin = -1 if checkpoint is None else int(checkpoint[: layout.VERSION_DIGITS])
    after = [version for version in commits if version > begin]
    if after != list(range(begin + 1, begin + 1 + len(after))) or (not after and begin < 0):
        raise LakeError(
            f"the table {folder.name} cannot be opened: its log has no commits, or lacks some. "
            "Restore it from a copy of the lake"
        )
    if checkpoint is not None and not checkpoint.endswith(".checkpoint.parquet"):
        return of_delta(folder, layout.open_table(folder), table)
    state = _State(table)
    if checkpoint is not None:
        state.begin(read(log / checkpoint))
        after = [begin, *after] if begin in commits else after
    _read_on(folder, state, after)
    if state.reader_version > READER:
        return of_delta(folder, layout.open_table(folder), table)
    return state.opened(max([begin, *after]))


def continued(folder: Remote, table: Table, known: Opened) -> Opened | None:
    """Open a table from what it is known to have been; None where its log does not go on from that.

    A listing, and a request for the known version's commit, which must be what it was, and for each
    since.
    """
    names = [entry.path for entry in listed(folder / layout.LOG, after=_padded(known.version))]
    commits = sorted(int(found[1]) for name in names if (found := _COMMIT.fullmatch(name)))
    if not commits or commits != list(range(known.version, known.version + len(commits))):
        return None
    try:
        state = _read_on(folder, _State.of(table, known), commits)
    except FileNotFoundError:  # the log was cleaned since it was listed
        return None
    same = state.first == known.newest and state.reader_version <= READER
    return state.opened(commits[-1]) if same else None


def _read_on(folder: Remote, state: "_State", versions: Sequence[int]) -> "_State":
    """Read commits, many at a time."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        contents = pool.map(lambda version: layout.read_commit(folder, version), versions)
        for version, actions in zip(versions, contents, strict=True):
            if actions is None:
                raise FileNotFoundError(str(layout.commit_path(folder, version)))
            layout.refuse_restored(folder, version, actions if version == versions[-1] else ())
            state.add(version, actions)
    return state


def _padded(version: int) -> str:
    return f"{version:0{layout.VERSION_DIGITS}}"


class _State:
    """A table while its log is read."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.files: dict[str, DataFile] = {}
        self.first: Sequence[Action] | None = None
        self.newest: Sequence[Action] = ()
        self.said: dict[int, str | None] = {}
        self.metadata: Mapping[str, Any] = {}
        self.reader_version = self.writer_version = 0

    @classmethod
    def of(cls, table: Table, known: Opened) -> "_State":
        """Begin with a table as it was."""
        state = cls(table)
        state.files = {file.path: file for file in known.files}
        state.said = dict(known.said)
        state.metadata = {
            "id": known.id,
            "schemaString": known.schema.to_json(),
            "partitionColumns": list(known.partitioned_by),
        }
        state.reader_version, state.writer_version = known.reader_version, known.writer_version
        return state

    def begin(self, checkpoint: bytes) -> None:
        """Read a checkpoint."""
        rows = pq.ParquetFile(pa.BufferReader(checkpoint)).read(columns=list(_COLUMNS))
        for row in rows.to_pylist():
            add = row["add"]
            if add is not None and add["path"] is not None:
                values = dict(add["partitionValues"] or ())
                file = layout.file_of({**add, "partitionValues": values}, self.table)
                self.files[file.path] = file
            self._declare(row)

    def add(self, version: int, actions: Sequence[Action]) -> None:
        """Read a commit, the newest so far."""
        if self.first is None:
            self.first = actions
        self.newest = actions
        self.said[version] = layout.metadata_in(actions)
        for action in actions:
            if "remove" in action:
                self.files.pop(layout.path_of(action["remove"]), None)
            if "add" in action:
                file = layout.file_of(action["add"], self.table)
                self.files[file.path] = file
            self._declare(action)

    def _declare(self, action: Action) -> None:
        self.metadata = action.get("metaData") or self.metadata
        protocol = action.get("protocol")
        if protocol is not None:
            self.reader_version = int(protocol["minReaderVersion"])
            self.writer_version = int(protocol["minWriterVersion"])

    def opened(self, version: int) -> Opened:
        """Give what was read."""
        return Opened(
            version,
            self.reader_version,
            self.writer_version,
            str(self.metadata["id"]),
            Schema.from_json(self.metadata["schemaString"]),
            list(self.metadata["partitionColumns"]),
            list(self.files.values()),
            self.newest,
            self.said,
        )
