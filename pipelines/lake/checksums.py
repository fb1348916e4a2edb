"""Checksums of data files: made as a file is written, compared before its rows are used.

Parquet's own checksums cover the bytes of each page and nothing else: page headers, the footer with
its statistics, and the metadata between pages are not covered, and one bit there can give wrong
rows. So a file of ours carries the CRC-32 of all its bytes in its name, and so in the Delta log:
`part-<id>-<crc>.parquet`. For files that delta-rs rewrote (OPTIMIZE, DELETE) the table's folder
has a `_sums.json`, by path.

Law: rows of a file with a recorded checksum are used only if its bytes are those that were written.
A file without one was written by an older Fencepost or by another program, and is read as it is.

(Measured) 1.1 GB/s a core, so about 20 ns a tuple, beside 500 ns or more for evaluating it.
"""

import json
import re
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

from pipelines.disk.errors import naming
from pipelines.places import Place, Remote, is_remote, listed, read, replace

SUMS = "_sums.json"
OURS = re.compile(r"part-[0-9a-f]{32}-([0-9a-f]{8})\.parquet")
PIECE = 1 << 20
IN_CACHE = 1 << 18
IN_MEMORY = 8 << 20

_recorded: dict[Path, tuple[tuple[int, int, int], dict[str, int]]] = {}
_on_stores: dict[Remote, dict[str, int]] = {}


class Damaged(OSError):
    """A file's bytes are not those that were written."""


class SummedFile:
    """A file that is being written, and the checksum of what was written so far.

    On a store it appears under its last name and no other: until then it is in memory, or if it is
    larger than 8 MiB in the system's temporary folder.
    """

    def __init__(self, path: Place) -> None:
        """Make the file; its folder exists."""
        self.crc = 0
        self.size = 0
        self.path = Path(tempfile.gettempdir()) if is_remote(path) else path
        self._spooled = is_remote(path)
        self._file = cast(
            "BinaryIO",
            tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  closed by `close`
            if is_remote(path)
            else path.open("xb", buffering=PIECE),
        )

    def __enter__(self) -> Self:
        """Write bytes, and add them to the checksum."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def write(self, data: bytes) -> int:
        """Write bytes; a system error names the file."""
        self.crc = zlib.crc32(data, self.crc)
        self.size += len(data)
        with naming(self.path):
            return self._file.write(data)

    def flush(self) -> None:
        """Hand what is buffered to the system."""
        with naming(self.path):
            self._file.flush()

    def tell(self) -> int:
        """Say how many bytes were written."""
        return self.size

    def close(self) -> None:
        """Write what is buffered, and close the file."""
        with naming(self.path):
            self._file.close()

    def keep(self, final: Place) -> None:
        """Close the file, and give it its last name. On a store: write it, in one request."""
        if is_remote(final):
            self._file.seek(0)
            replace(final, self._file)
        self.close()
        if not is_remote(final):
            self.path.rename(final)

    def discard(self) -> None:
        """Close and delete the file, whatever the disk says to that."""
        with suppress(OSError):
            self._file.close()
        if not self._spooled:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed


def named(path: str, crc: int) -> str:
    """Give the path of a data file with its checksum."""
    return f"{path.removesuffix('.parquet')}-{crc:08x}.parquet"


def sum_of(path: Place) -> int:
    """Read a file and give the checksum of its bytes. O(bytes)."""
    if is_remote(path):
        return zlib.crc32(read(path))
    crc, piece = 0, memoryview(bytearray(IN_CACHE))
    with naming(path), path.open("rb", buffering=0) as file:
        while size := file.readinto(piece):
            crc = zlib.crc32(piece[:size], crc)
    return crc


def recorded(folder: Place, path: str) -> int | None:
    """Give the checksum that was recorded for a file of a table; None where none was."""
    ours = OURS.fullmatch(path.rpartition("/")[2])
    if ours is not None:
        return int(ours[1], 16)
    if not is_remote(folder):
        return _of_rewritten(folder).get(path)
    if path not in _on_stores.get(folder, {}):
        _on_stores[folder] = dict(_of_rewritten(folder))
    return _on_stores[folder].get(path)


def verify(folder: Place, path: str) -> bool:
    """Raise Damaged unless a file's bytes are those recorded; say whether a checksum was."""
    expected = recorded(folder, path)
    if expected is None:
        return False
    _refuse_other(sum_of(folder / path), expected)
    return True


def content(folder: Place, path: str) -> bytes:
    """Read a file whole; Damaged unless its bytes are those recorded. On a store one request."""
    expected = recorded(folder, path)
    found = read(folder / path)
    if expected is not None:
        _refuse_other(zlib.crc32(found), expected)
    return found


def is_named_by(path: str, found: bytes) -> bool:
    """Say whether a file's name says that these are its bytes."""
    ours = OURS.fullmatch(path.rpartition("/")[2])
    return ours is not None and int(ours[1], 16) == zlib.crc32(found)


def _refuse_other(found: int, expected: int) -> None:
    if found != expected:
        raise Damaged(f"its checksum is {found:08x}, and {expected:08x} was written")


def record(folder: Place, paths: Iterable[str]) -> None:
    """Record the checksums of a table's files that have none: those that delta-rs rewrote."""
    known = _of_rewritten(folder)
    active = [path for path in paths if OURS.fullmatch(path.rpartition("/")[2]) is None]
    fresh = [path for path in active if path not in known]
    if not fresh:
        return
    there = _there(folder, known)
    still = {path: crc for path, crc in known.items() if path in there}
    still |= {path: sum_of(folder / path) for path in fresh}
    replace(folder / SUMS, (json.dumps(still, indent=0) + "\n").encode())


def _there(folder: Place, paths: Iterable[str]) -> set[str]:
    """Name those of some files that exist. On a store one listing."""
    if is_remote(folder):
        return {entry.path for entry in listed(folder)}
    return {path for path in paths if (folder / path).exists()}


def _of_rewritten(folder: Place) -> Mapping[str, int]:
    """Read what `record` wrote; on a disk once for each state of the file."""
    path = folder / SUMS
    try:
        if is_remote(path):
            return _sums(read(path))
        stat = path.stat()
        now = stat.st_ino, stat.st_size, stat.st_mtime_ns
        if path not in _recorded or _recorded[path][0] != now:
            _recorded[path] = now, _sums(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError) as why:
        raise Damaged(f"{path} cannot be read ({why}): restore it, or delete it") from why
    return _recorded[path][1]


def _sums(content: bytes) -> dict[str, int]:
    return {str(name): int(crc) for name, crc in json.loads(content).items()}
