"""A table's Delta log, read as it grows: its version, its files, and what its commits say.

The table is opened once. After that only the commits made since are read, once each: whether there
is a next one is a look at one file name, however long the log is. A commit of ours is a file that
is linked into its place, which fails if that place exists; on a store one conditional put.

Each of our commits carries a seal: a checksum of what the table then consists of, its schema and
each file with its statistics. So a flipped byte in the log or a checkpoint is noticed, whichever
engine would have missed it. Commits of other programs carry none; the next of ours seals them.

Where a lease keeps the lake to one writer, each carries its token, too: after a commit of a higher
one those of its predecessors are refused. Who has the lease need not look again at a log that it
looked at, or committed to, a moment ago: if another has committed after all, our commit is a
Conflict, and after one it looks.

Law: `refresh` gives the newest version, as any reader sees it. If two commit the same version
one succeeds, and the other gets Conflict. A log that does not add up to its seal is refused.
"""

import json
import time
import uuid
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fencepost.errors import LakeError, StoreUnavailable
from fencepost.hashing import digest
from pipelines.disk.atomic import create_bytes
from pipelines.disk.errors import stored
from pipelines.disk.flush import flushed
from pipelines.lake import layout
from pipelines.lake.append import Conflict, Unknown
from pipelines.lake.data_files import DataFile
from pipelines.lake.lock import Fence, WriteLock
from pipelines.lake.snapshot import READER, Opened, opened
from pipelines.places import Place, create, is_remote
from schemas import Table

Action = Mapping[str, Any]

REARRANGEMENTS = 256
"""So many are remembered; who has missed more of them reads the table again."""

SEAL = "fencepostSeal"
"""Where in a commit's info its seal is."""

TOKEN = "fencepostToken"  # noqa: S105  a number, no secret
"""Where in a commit's info the token of its writer's lease is; commits under a lock have none."""

SEALED = ("arrival", "epoch", "n", "lane")
"""The columns by whose bounds files are passed over; delta-rs knows those of the first 32 only."""

SAID = 64
"""So many commits' user metadata are in a log's state."""

REMEMBERED = 1024
"""So many commits' user metadata is kept in memory, where reading it again is a request."""

SETTLED = 10.0
"""Seconds for which a look at a log on a store is enough to who has the lease."""

FRESH = 300.0
"""Seconds for which a log on a store counts as looked at; none is cleaned of younger commits."""


@dataclass(frozen=True)
class Rearranged:
    """A commit that moved the same rows into other files."""

    gone: frozenset[str]
    came: frozenset[str]


class Log:
    """The log of one table. Not for several threads at once."""

    def __init__(
        self, folder: Place, table: Table, begin: Opened, fence: Fence | None = None
    ) -> None:
        """Begin with a table as opened."""
        self.folder = folder
        self.fence = fence or Fence()
        self.token = 0
        self.table = table
        self.version = -1
        self.fsync = False
        self.files: dict[str, DataFile] = {}
        self.is_plain = True
        self.reader_version = READER
        self._sum = self._schema = 0
        self._rearranged: deque[Rearranged] = deque(maxlen=REARRANGEMENTS)
        self._rearrangements = 0
        self._said: dict[int, str | None] = {}
        self._looked = _clocks()
        self._seen_by: WriteLock | None = self.fence.lock
        self._shared_by: WriteLock | None = None
        self._begin(begin)

    def refresh(self) -> int:
        """Read the commits made since, and give the newest version.

        10 µs where there are none; on a store one request, and one for each commit, or none at all
        where we have the lease and looked a moment ago.
        """
        if self._is_settled:
            return self.version
        lock = self.fence.lock
        began, now = self.version, _clocks() if is_remote(self.folder) else self._looked
        while (actions := layout.read_commit(self.folder, self.version + 1)) is not None:
            self._apply(actions)
        if (
            self.version == began
            and not self.is_fresh
            and not layout.commit_path(self.folder, began).exists()
        ):
            self._open()  # the log was cleaned meanwhile, perhaps beyond what was read of it
        self._looked, self._seen_by = now, lock
        return self.version

    @property
    def _is_settled(self) -> bool:
        """Whether we looked a moment ago, by the lease that we have: nobody else commits."""
        lock = self.fence.lock
        if lock is None or self._seen_by is not lock or self._shared_by is lock:
            return False
        return is_remote(self.folder) and self._looked_within(SETTLED)

    def share(self) -> None:
        """Look each time while we have the lease: delta-rs may commit in this process, too."""
        self._shared_by = self.fence.lock

    @property
    def is_fresh(self) -> bool:
        """Whether so little time has passed since the last look that nobody cleaned the log."""
        return is_remote(self.folder) and self._looked_within(FRESH)

    def _looked_within(self, seconds: float) -> bool:
        return all(now - then < seconds for now, then in zip(_clocks(), self._looked, strict=True))

    @property
    def state(self) -> Opened:
        """The table as read so far; of what commits say the newest. O(files)."""
        said = dict(sorted(self._said.items())[-SAID:])
        files = list(self.files.values())
        return replace(
            self._began, version=self.version, files=files, newest=self._newest, said=said
        )

    def user_metadata(self, version: int) -> str | None:
        """Give the userMetadata of a commit; None where it has none, or was cleaned up."""
        if version not in self._said:
            return layout.user_metadata(self.folder, version)
        return self._said[version]

    def has(self, version: int) -> bool:
        """Say whether a commit is in the log, or was read from there."""
        return version in self._said or layout.commit_path(self.folder, version).exists()

    def append(
        self,
        at: int,
        files: Sequence[DataFile],
        said: str | None,
        gone: Sequence[DataFile] = (),
    ) -> None:
        """Commit files, and others away, as the version after `at`; Conflict where it exists."""
        self._flush(files)
        actions = [*(_remove(file, changes=True) for file in gone), *map(_add, files)]
        self._commit(at, "WRITE", {"mode": "Overwrite" if gone else "Append"}, actions, said)

    def rearrange(self, at: int, gone: Sequence[DataFile], came: Sequence[DataFile]) -> None:
        """Commit files that hold the rows of others in their place, as the version after `at`."""
        self._flush(came)
        actions = [
            *(_remove(file, changes=False) for file in gone),
            *(_add(file, changes=False) for file in came),
        ]
        self._commit(at, "OPTIMIZE", {}, actions, None)

    def seal(self) -> None:
        """Seal what another program committed, by a commit that changes nothing else."""
        at = self.refresh()
        actions = layout.read_commit(self.folder, at) or ()
        sealed = any(SEAL in action.get("commitInfo", {}) for action in actions)
        if self.is_plain and not sealed:
            self._commit(at, "SEAL", {}, [], None)

    def mark(self) -> None:
        """Commit our token, and nothing else: what an earlier holder is about to commit fails."""
        while True:
            try:
                self._commit(self.refresh(), "FENCE", {}, [], None)
            except Conflict:
                continue
            return

    def rearranged(self, since: int) -> list[Rearranged] | None:
        """Give the rearrangements after the first `since`; None if some are forgotten."""
        missed = self._rearrangements - since
        if not 0 <= missed <= len(self._rearranged):
            return None
        return list(self._rearranged)[len(self._rearranged) - missed :]

    @property
    def rearrangements(self) -> int:
        """The number of rearrangements read so far."""
        return self._rearrangements

    def _flush(self, files: Sequence[DataFile]) -> None:
        """Let files survive a power cut, if wanted; on a store they do."""
        if self.fsync and not is_remote(self.folder):
            flushed(self.folder, [file.path for file in files])

    def _open(self) -> None:
        self._begin(opened(self.folder, self.table))

    def _begin(self, table: Opened) -> None:
        self._began = replace(table, files=(), newest=())
        self._newest = table.newest if is_remote(self.folder) else ()
        self.version = table.version
        self.reader_version = table.reader_version
        self.is_plain = table.is_plain
        self.files = {file.path: file for file in table.files}
        self._rearranged.clear()
        self._said = dict(table.said)
        self._sum = sum(map(_digest, self.files.values()))
        self._schema = _digest_of([table.schema.to_json(), table.partitioned_by, table.id])
        self._refuse_broken_seal(table.newest)

    def _apply(self, actions: Sequence[Action]) -> None:
        if any("metaData" in action or "protocol" in action for action in actions):
            self._open()
            return
        gone = [layout.path_of(each["remove"]) for each in actions if "remove" in each]
        came = [layout.file_of(each["add"], self.table) for each in actions if "add" in each]
        self._sum = self._after(gone, came)
        for path in gone:
            self.files.pop(path, None)
        self.files |= {file.path: file for file in came}
        self.version += 1
        if is_remote(self.folder):
            self._newest = actions
            self._remember(self.version, layout.metadata_in(actions))
        self._refuse_broken_seal(actions)
        if gone and not any(_changes_data(action) for action in actions):
            came_paths = frozenset(file.path for file in came)
            self._rearranged.append(Rearranged(frozenset(gone), came_paths))
            self._rearrangements += 1

    def _remember(self, version: int, said: str | None) -> None:
        self._said[version] = said
        if len(self._said) > REMEMBERED:
            del self._said[next(iter(self._said))]

    def _after(self, gone: Iterable[str], came: Iterable[DataFile]) -> int:
        """Give the sum of the files' digests after some were removed and others added. O(those)."""
        fresh = {file.path: file for file in came}
        lost = [self.files[path] for path in {*gone, *fresh} if path in self.files]
        return self._sum - sum(map(_digest, lost)) + sum(map(_digest, fresh.values()))

    def _seal(self, total: int) -> str:
        return f"{(total + self._schema) % 2**64:016x}"

    def _refuse_broken_seal(self, actions: Sequence[Action]) -> None:
        """Refuse a table that differs from the seal of its newest commit; note its token."""
        for action in actions:
            info = action.get("commitInfo", {})
            self.token = max(self.token, info.get(TOKEN, 0))
            said = info.get(SEAL)
            if said is not None and said != self._seal(self._sum):
                raise LakeError(
                    f"the log of the table '{self.folder.name}' is damaged: its files and columns "
                    f"are not those that version {self.version} says. Nothing was written. Restore "
                    f"{self.folder / '_delta_log'} from a copy of the lake"
                )

    def _commit(
        self,
        at: int,
        operation: str,
        parameters: Mapping[str, str],
        actions: Iterable[Action],
        said: str | None,
    ) -> None:
        info: dict[str, Any] = {
            "timestamp": _now(),
            "operation": operation,
            "operationParameters": dict(parameters),
            "engineInfo": layout.ENGINE,
        }
        if said is not None:
            info["userMetadata"] = said
        if (token := self.fence.passed(self.token)) is not None:
            info[TOKEN] = token
        actions = list(actions)
        gone = [each["remove"]["path"] for each in actions if "remove" in each]
        came = [layout.file_of(each["add"], self.table) for each in actions if "add" in each]
        info[SEAL] = self._seal(self._after(gone, came))
        actions = [{"commitInfo": info}, *actions]
        path = layout.commit_path(self.folder, at + 1)
        self._seen_by, now = None, _clocks()
        publish(path, layout.as_commit(actions), fsync=self.fsync)
        if self.is_fresh:
            self._apply(actions)
            self._looked, self._seen_by = now, self.fence.lock
        elif layout.checkpointed(self.folder) > at:  # its place was free because it was cleaned
            path.unlink()
            raise Conflict(f"{self.folder.name}: {at + 1} lies before the checkpoint by now")


def replaced_by(actions: Sequence[Action]) -> set[str]:
    """Name the files that our commit compacted; none if it is another commit."""
    infos = [action["commitInfo"] for action in actions if "commitInfo" in action]
    if not any(info.get("engineInfo") == layout.ENGINE for info in infos):
        return set()
    return {layout.path_of(action["remove"]) for action in actions if "remove" in action}


def publish(path: Place, content: bytes, *, fsync: bool = False) -> None:
    """Write a file that is whole or absent; Conflict if one of its name exists.

    Unknown where a store did not say. `fsync`: the file survives a power cut.
    """
    try:
        if is_remote(path):
            create(path, content)
            return
        passing = path.with_name(f"_commit_{uuid.uuid4().hex}.json.tmp")  # as delta-rs calls them
        with stored(path):
            create_bytes(path, content, passing, sync=fsync)
    except StoreUnavailable as failed:
        raise Unknown(str(failed), failed) from failed
    except FileExistsError:
        raise Conflict(f"{path.parent.parent.name}: {path.stem} was created by another") from None


def refuse_cleaned(folder: Place, version: int) -> LakeError:
    """Make the error of a missing commit that may be evidence."""
    return LakeError(
        f"commit {version} of the table '{folder.name}' is no longer in its log, and something "
        "that was begun before it is not done: nobody can say whether its rows were committed. "
        "Nothing was written. Restore the lake from a copy, or make a new one from the landing "
        "files; and let no other program clean the lake's logs"
    )


def _add(file: DataFile, *, changes: bool = True) -> Action:
    return {
        "add": {
            "path": file.path,
            "partitionValues": dict(file.partition),
            "size": file.size,
            "modificationTime": _now(),
            "dataChange": changes,
            "stats": file.stats or json.dumps({"numRecords": file.rows}),
        }
    }


def _remove(file: DataFile, *, changes: bool) -> Action:
    return {
        "remove": {
            "path": file.path,
            "deletionTimestamp": _now(),
            "dataChange": changes,
            "extendedFileMetadata": True,
            "partitionValues": dict(file.partition),
            "size": file.size,
        }
    }


def _digest(file: DataFile) -> int:
    """Give 64 bits of all that the log says of a file, as far as it is used. 5 µs."""
    partition = sorted(file.partition.items())
    bounds = [(file.least(column), file.most(column)) for column in SEALED]
    return _digest_of([file.path, file.size, file.rows, partition, bounds])


def _digest_of(said: object) -> int:
    text = json.dumps(said, sort_keys=True).encode()
    return int(digest(text, 8), 16)


def _changes_data(action: Action) -> bool:
    return any(action[kind].get("dataChange", True) for kind in ("add", "remove") if kind in action)


def _clocks() -> tuple[float, float]:
    """Read two clocks, in seconds: one that nobody sets, one that goes on in a machine asleep."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)), time.time()


def _now() -> int:
    return time.time_ns() // 1_000_000
