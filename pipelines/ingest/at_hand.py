"""A delivery's files where a reader can open them: on a disk in place, of a store as local copies.

Of a large Parquet file on a store a unit may read some row groups: then nothing else is fetched.

Law: what is read is the file that was found, or Rejection says that it is not. A file is fetched
once a unit, each of its bytes once.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from pipelines.disk.errors import refuse_failing
from pipelines.ingest.deliveries import REWRITTEN, VANISHED, Rejection
from pipelines.ingest.landing.contents import file_of
from pipelines.ingest.landing.folder import File
from pipelines.ingest.row_groups import fetch_groups
from pipelines.ingest.units import FilePart
from pipelines.places import Place, Remote, is_remote
from pipelines.places.download import download
from pipelines.places.objects import Found


class Copies:
    """The files of one unit; its copies go when the block ends, or by `clear`."""

    def __init__(self) -> None:
        """Begin without copies; no folder is made before there is one."""
        self._folder: TemporaryDirectory[str] | None = None
        self._made: dict[tuple[str, tuple[int, int] | None], Path] = {}

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove what is left."""
        self.clear()

    def clear(self) -> None:
        """Remove the copies."""
        self._made.clear()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def path_of(self, source: Place, file: FilePart) -> Path:
        """Give where a file can be opened; Rejection if it is gone, or has changed."""
        if not is_remote(source):
            path = source / file.path
            refuse_other(path, file)
            return path
        known = self._made.get((file.path, file.groups))
        if known is None:
            known = self._made[file.path, file.groups] = self._fetched(source, file)
        return known

    def _fetched(self, source: Remote, file: FilePart) -> Path:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="fencepost-")
        folder = Path(self._folder.name) / str(len(self._made))
        folder.mkdir()
        path = folder / file.path.rpartition("/")[2]
        try:
            if file.groups is None:
                _refuse_version(download(source / file.path, path), file)
            else:
                for what in fetch_groups(source / file.path, path, file.size, range(*file.groups)):
                    _refuse_version(what, file)
        except FileNotFoundError as failure:
            raise _vanished(file, failure) from None
        return path


def refuse_other(path: Path, file: FilePart) -> None:
    """Refuse a file on a disk that is gone, or has changed since it was found."""
    try:
        now = File.of(file.path, path.stat())
    except OSError as failure:
        refuse_failing(failure, path)
        raise _vanished(file, failure) from None
    _refuse_changed(now, file)


def _refuse_version(what: Found, file: FilePart) -> None:
    _refuse_changed(file_of(file.path, what), file)


def _refuse_changed(now: File, file: FilePart) -> None:
    same_time = file.mtime is None or now.mtime == file.mtime
    if now.size != file.size or not same_time:
        raise Rejection(
            REWRITTEN,
            f"'{file.path}' was changed after it had been found: the next run looks at it again",
        )


def _vanished(file: FilePart, failure: OSError) -> Rejection:
    why = failure.strerror or failure
    return Rejection(VANISHED, f"'{file.path}' was found and is not there any more: {why}")
