"""A landing folder walked: which files are there, which of them are complete.

A file at the top is complete when it has not changed for the feed's settle time; a sub-folder, with
its content, when that holds for each file and folder in it, or as far as its `_SUCCESS` is
no older than the files. Names that begin with `.` or `_` and names ending in `.tmp` or `.part` are
skipped, as is the content of folders named so; a `_temporary` means that a job is still writing.

Law: the result depends on the files alone, not on the order in which a folder lists them.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from fencepost.text import shortened, wrong_with_id
from pipelines.disk.errors import refuse_failing

UNFINISHED = (".tmp", ".part")
SUCCESS = "_SUCCESS"
TEMPORARY = "_temporary"
DELTA_LOG = "_delta_log"
GONE = "is gone"
NEVER, FOREVER = -1, 2**63

_Listed = os.DirEntry[str] | Path


@dataclass(frozen=True)
class File:
    """A file below the landing folder, as it was found; mtime in ns.

    etag  by which a store tells contents apart; below its second, mtime has part of it
    """

    path: str
    size: int
    mtime: int
    etag: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, path: str, status: os.stat_result) -> "File":
        """Read the figures from its status."""
        return cls(path, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Landed:
    """A file at the top, or a sub-folder: its files that are complete, and those that are not."""

    path: str
    complete: tuple[File, ...]
    growing: tuple[File, ...] = ()


@dataclass(frozen=True)
class Walked:
    """A landing folder, in bytewise order of the names."""

    landed: list[Landed] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)


def walk(
    source: Path, settle: int, now: int, passed_by: Mapping[str, object] = MappingProxyType({})
) -> Walked:
    """Walk a landing folder; `settle` and `now` in µs. One stat a file, nothing is opened.

    `passed_by` are names at the top that are skipped this time: 0.3 µs each.
    """
    return _Walk(source, now - settle, now, passed_by).top()


@dataclass(frozen=True)
class _Entry:
    """An entry of a folder whose name can be read."""

    path: str
    status: os.stat_result
    changed: int  # µs

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_to_take(self) -> bool:
        return is_to_take(self.name)


def is_to_take(name: str) -> bool:
    """Say whether a name is one of a file or folder that may be loaded."""
    return not name.startswith((".", "_")) and not name.endswith(UNFINISHED)


class _Walk:
    """A walk in progress. `quiet`: files unchanged since this time are complete."""

    def __init__(self, source: Path, quiet: int, now: int, passed_by: Mapping[str, object]) -> None:
        self.source = source
        self.passed_by = passed_by
        self.quiet = quiet
        self.now = now
        self.walked = Walked()

    def top(self) -> Walked:
        if (self.source / DELTA_LOG).exists():
            self._pass_over("", 'is a Delta table: declare format = "delta" for this feed')
            return self.walked
        for entry in self._entries(""):
            if not entry.is_to_take:
                if not entry.name.startswith(".") and entry.name != SUCCESS:
                    self.walked.unfinished.append(entry.path)
            elif entry.is_folder:
                self._folder(entry)
            else:
                files = (File.of(entry.path, entry.status),)
                is_quiet = entry.changed <= self.quiet
                landed = Landed(entry.path, files) if is_quiet else Landed(entry.path, (), files)
                self.walked.landed.append(landed)
        return self.walked

    def _folder(self, top: _Entry) -> None:
        """Read a sub-folder with its content."""
        files: list[File] = []
        changed, marked = top.changed, NEVER
        within = list(self._entries(top.path))
        while within:
            entry = within.pop()
            changed = max(changed, entry.changed)
            if entry.name == DELTA_LOG:
                self._pass_over(top.path, "holds a Delta table, which is no delivery")
                return
            if entry.name == TEMPORARY:
                self.walked.unfinished.append(top.path)
                return
            if entry.path == f"{top.path}/{SUCCESS}":
                marked = entry.status.st_mtime_ns
            elif entry.is_to_take and entry.is_folder:
                within.extend(self._entries(entry.path))
            elif entry.is_to_take:
                files.append(File.of(entry.path, entry.status))
        files.sort(key=lambda file: file.path.encode())
        believed = FOREVER if changed <= self.quiet else marked
        self.walked.landed.append(
            Landed(
                top.path,
                tuple(file for file in files if file.mtime <= believed),
                tuple(file for file in files if file.mtime > believed),
            )
        )

    def _entries(self, folder: str) -> Iterator[_Entry]:
        """List the readable entries of a folder, in bytewise order; skip the others."""
        try:
            entries = sorted(self._listed(folder), key=lambda entry: os.fsencode(entry.name))
        except FileNotFoundError:
            if not folder:
                self._pass_over("", "there is no such folder: make it, and put files into it")
            return
        except OSError as why:
            refuse_failing(why, self.source / folder)
            self._pass_over(folder, f"cannot be read: {why.strerror}")
            return
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            try:
                status = entry.stat()
                why_not = why_no_name(entry.name) or self._why_not(entry, status)
            except FileNotFoundError:  # gone since, or a link to nothing
                why_not = "is a link to nothing" if entry.is_symlink() else GONE
            except OSError as why:
                refuse_failing(why, self.source / path)
                why_not = f"cannot be read: {why.strerror}"
            if why_not is None:
                yield _Entry(path, status, self._changed(status))
            elif why_not != GONE and not entry.name.startswith("."):
                self._pass_over(path, why_not)

    def _listed(self, folder: str) -> Sequence[_Listed]:
        if folder or not self.passed_by:
            with os.scandir(self.source / folder) as listing:
                return list(listing)
        names = set(os.listdir(self.source))  # noqa: PTH208  avoids a Path per entry
        return [self.source / name for name in names.difference(self.passed_by)]

    def _why_not(self, entry: _Listed, status: os.stat_result) -> str | None:
        if entry.is_symlink():
            if stat.S_ISDIR(status.st_mode):
                return "is a link to a folder"
            if not Path(entry).resolve().is_relative_to(self.source.resolve()):
                return "is a link out of the landing folder"
        if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
            return None
        return "is neither a file nor a folder"

    def _changed(self, status: os.stat_result) -> int:
        """Say when it was last changed; a time ahead of the clock is ignored."""
        changed = status.st_mtime_ns // 1000
        return changed if changed <= self.now else status.st_ctime_ns // 1000

    def _pass_over(self, path: str, why: str) -> None:
        shown = shortened(path or str(self.source), 200)
        self.walked.passed_over.append(f"{shown}: {why}")


def why_no_name(name: str) -> str | None:
    """Say why a file of this name is passed over; None if it is not."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    why = wrong_with_id(name)
    return None if why is None else f"its name {why}"
