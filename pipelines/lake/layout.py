"""The files of a lake: its note, its logs, and what must be intact before it is used."""

import json
import stat
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from fencepost.errors import LakeError
from pipelines.lake.data_files import NULL_FOLDER, DataFile
from pipelines.lake.paths import odd_in
from pipelines.places import Place, delta_options, is_remote, replace
from schemas import FORMAT, Table

NOTE = "_fencepost.json"
LOG = "_delta_log"
ENGINE = "fencepost"
CHECK = "check"
CACHE = "_cache"
VERSION_DIGITS = 20
PANIC = "PanicException"
"""How delta-rs ends over some damaged checkpoints; its class cannot be imported."""
RESTORE = "RESTORE"
_SIDES = ("minValues", "maxValues")


def this_format() -> int:
    """Give the version of the layout that this Fencepost writes."""
    return FORMAT


@dataclass(frozen=True)
class Note:
    """The note of a lake: its format, its shares of streams, the ids of its tables."""

    format: int
    buckets: int
    ids: Mapping[str, str]

    @classmethod
    def read(cls, root: Place) -> "Note":
        """Read it; refuse a folder that is no lake, and a lake of a newer format."""
        try:
            fields = json.loads((root / NOTE).read_text())
            note = cls(int(fields["format"]), int(fields["buckets"]), dict(fields["ids"]))
        except FileNotFoundError:
            raise LakeError(f"there is no lake at {root}: `fencepost init` makes one") from None
        except (ValueError, KeyError, TypeError) as torn:
            raise LakeError(f"{root / NOTE} cannot be read: {torn}") from None
        if note.format > FORMAT:
            raise LakeError(
                f"the lake {root} has format {note.format}, this Fencepost knows up to {FORMAT}: "
                "use the version that wrote it, or a newer one"
            )
        if fields.get(CHECK, note.check) != note.check:
            raise LakeError(
                f"{root / NOTE} is damaged: its content does not have the checksum that was "
                "recorded with it. Restore it from a copy of the lake"
            )
        return note

    def with_id(self, name: str, table_id: str) -> "Note":
        """Add a table."""
        return Note(self.format, self.buckets, {**self.ids, name: table_id})

    def upgraded(self) -> "Note":
        """Record that the lake has all that this format adds."""
        return Note(FORMAT, self.buckets, self.ids)

    @property
    def check(self) -> str:
        """The checksum of its content."""
        return f"{zlib.crc32(json.dumps(asdict(self), sort_keys=True).encode()):08x}"

    def write(self, root: Place) -> None:
        """Write it, replacing the one before."""
        replace(root / NOTE, self.content)

    @property
    def content(self) -> bytes:
        """Its file."""
        fields = {**asdict(self), CHECK: self.check}
        return (json.dumps(fields, indent=1) + "\n").encode()


def refuse_bad_root(root: Place) -> None:
    """Refuse a place that other engines cannot read, or that is not ours."""
    odd = odd_in(root)
    if odd:
        raise LakeError(
            f"a lake cannot be at {root}: some engines cannot read a path with {odd!r}. "
            "Letters, digits and . _ - / are fine"
        )
    if (root / NOTE).exists():
        raise LakeError(f"there is a lake at {root} already")
    if root.is_dir() and any(not _is_ours(part) for part in root.iterdir()):
        raise LakeError(f"the folder {root} is not empty and no lake: name another")


def _is_ours(part: Place) -> bool:
    """Tell the remains of an interrupted creation from files that are not ours."""
    return part.name.startswith((".", "_")) or (part / LOG).is_dir()


def open_table(folder: Place) -> DeltaTable:
    """Open a Delta table; LakeError says why it cannot be opened."""
    try:
        return DeltaTable(str(folder), storage_options=delta_options(folder))
    except BaseException as why:
        if isinstance(why, DeltaError) or type(why).__name__ == PANIC:
            raise LakeError(f"the table {folder.name} cannot be opened: {why}") from why
        raise


def oldest_commit(folder: Place) -> int:
    """Give the oldest version whose commit was not cleaned away. O(commits in the log)."""
    return min(commits_in(folder))


def commits_in(folder: Place) -> list[int]:
    """List the versions whose commits are in the log. O(commits in the log)."""
    log = folder / LOG
    paths = log.iterdir() if is_remote(log) else log.glob("*.json")
    return [int(path.stem) for path in paths if path.suffix == ".json" and path.stem.isdecimal()]


@lru_cache(maxsize=1 << 10)
def commit_path(folder: Place, version: int) -> Place:
    """Give the path of a version's commit; a run looks a hundred times for the next ones."""
    return folder / LOG / f"{version:0{VERSION_DIGITS}}.json"


def checkpointed(folder: Place) -> int:
    """Give the version of the newest checkpoint; -1 where there is none."""
    try:
        return int(json.loads((folder / LOG / "_last_checkpoint").read_text())["version"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return -1  # a torn one counts as none: readers then look for checkpoints by name


def read_commit(folder: Place, version: int) -> list[dict[str, Any]] | None:
    """Read the actions of a commit; None where there is no such file. One cut off is refused."""
    try:
        content = commit_path(folder, version).read_bytes()
    except FileNotFoundError:
        return None
    try:
        actions = [json.loads(line) for line in content.splitlines() if line]
    except ValueError:
        actions = []
    if not actions:
        raise _torn(folder, version)
    return actions


def as_commit(actions: Iterable[Mapping[str, Any]]) -> bytes:
    """Write actions as a commit has them."""
    return ("\n".join(json.dumps(each) for each in actions) + "\n").encode()


def user_metadata(folder: Place, version: int) -> str | None:
    """Read the userMetadata of a commit; None where it has none, or was cleaned up."""
    return metadata_in(read_commit(folder, version) or ())


def metadata_in(actions: Iterable[Mapping[str, Any]]) -> str | None:
    """Give the userMetadata of a commit that was read."""
    for action in actions:
        if "commitInfo" in action:
            said = action["commitInfo"].get("userMetadata")
            return said if isinstance(said, str) else None
    return None


def refuse_torn(folder: Place) -> None:
    """Refuse a table whose last commit is cut off or a restore, or whose log is a link."""
    log = folder / LOG
    if not is_remote(log) and log.is_symlink():
        raise LakeError(
            f"{log} is a link, where a folder was expected: whoever can write "
            "to its target decides what the table holds. Replace it with the folder itself"
        )
    last = max(commits_in(folder), default=None)
    if last is not None:
        refuse_restored(folder, last, read_commit(folder, last) or ())


def refuse_restored(folder: Place, version: int, actions: Iterable[Mapping[str, Any]]) -> None:
    """Refuse a table whose last commit, with these actions, is a restore."""
    for action in actions:
        if action.get("commitInfo", {}).get("operation") == RESTORE:
            raise LakeError(
                f"the table '{folder.name}' was restored to an older version by another program "
                f"(version {version}), so the ledgers count rows that it no longer has. Move "
                f"{commit_path(folder, version)} out of the lake, or restore the whole lake from "
                "one copy"
            )


def open_to_all(root: Place, names: Iterable[str]) -> list[Path]:
    """List the folders of a lake that every user of the machine may write to."""
    if is_remote(root):
        return []
    folders = [root, *(root / name for name in names), *(root / n / LOG for n in names)]
    modes = {path: path.stat().st_mode for path in folders if path.exists()}
    return [path for path, mode in modes.items() if mode & stat.S_IWOTH and not mode & stat.S_ISVTX]


def _torn(folder: Place, version: int) -> LakeError:
    return LakeError(
        f"the last commit of the table '{folder.name}' (version {version}) is empty or cut off: a "
        f"power cut or a full disk. Move {commit_path(folder, version)} out of the lake and run "
        "again: its rows are then evaluated again"
    )


def file_of(add: Mapping[str, Any], table: Table) -> DataFile:
    """Read a file from the action that adds it to a table."""
    said = json.loads(add.get("stats") or "{}")
    bounds = {side: _kept(said.get(side) or {}, table) for side in _SIDES}
    values = add.get("partitionValues") or {}
    partition = {name: _text(values.get(name)) for name in table.partitioned_by}
    rows = int(said.get("numRecords") or 0)
    return DataFile(path_of(add), int(add["size"]), rows, partition, json.dumps(bounds))


def path_of(action: Mapping[str, Any]) -> str:
    """Give the path of a file from the action that adds or removes it."""
    return unquote(action["path"])


def active_files(delta: DeltaTable, table: Table) -> list[DataFile]:
    """List a table's files with partition values and statistics."""
    actions = pa.table(delta.get_add_actions(flatten=False))
    paths = map(unquote, actions["path"].to_pylist())
    sizes = actions["size_bytes"].to_pylist()
    counts = actions["num_records"].to_pylist()
    bounds = _bounds(actions, table)
    partitions = _partitions(actions, table)
    return [
        DataFile(path, size, count or 0, partition, stats)
        for path, size, count, partition, stats in zip(
            paths, sizes, counts, partitions, bounds, strict=True
        )
    ]


def _partitions(actions: pa.Table, table: Table) -> list[dict[str, str | None]]:
    if not table.partitioned_by or "partition" not in actions.column_names:
        return [{} for _ in range(actions.num_rows)]
    return [
        {name: _text(values.get(name)) for name in table.partitioned_by}
        for values in actions["partition"].to_pylist()
    ]


def _text(value: object) -> str | None:
    return None if value is None or value == NULL_FOLDER else str(value)


def _bounds(actions: pa.Table, table: Table) -> list[str]:
    stats: list[dict[str, dict[str, Any]]] = [
        {side: {} for side in _SIDES} for _ in range(actions.num_rows)
    ]
    for column, side in (("min", _SIDES[0]), ("max", _SIDES[1])):
        if column in actions.column_names:
            for place, values in enumerate(actions[column].to_pylist()):
                stats[place][side] = _kept(values or {}, table)
    return [json.dumps(each) for each in stats]


def _kept(values: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """Keep the statistics that the lake uses: whole numbers, and the names of lanes."""
    return {
        column.name: values[column.name]
        for column in table.columns
        if (column.kind in ("long", "integer") or column.name == "lane")
        and values.get(column.name) is not None
    }
