"""Files that are whole or not there: written under a temporary name, flushed if asked, renamed.

Law: under its own name a file is never half written. A failure leaves the file that was there
before, and no temporary one. A system error names the file, not its temporary name.
"""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipelines.disk.flush import flush

_passed = itertools.count(1)


@contextmanager
def replacing(*paths: Path, sync: bool = False) -> Iterator[list[Path]]:
    """Give each path a temporary name; rename all of them when the block ends, none if it fails.

    Temporary names begin with a dot; ingest and every reader of Delta ignore them.
    `sync`: content and names survive a power cut.
    """
    passing = [_passing(path) for path in paths]
    try:
        with _naming(dict(zip(passing, paths, strict=True))):
            yield passing
            if sync:
                for each in passing:
                    flush(each)
            for each, path in zip(passing, paths, strict=True):
                each.replace(path)
            if sync:
                for folder in {path.parent for path in paths}:
                    flush(folder)
    finally:
        _remove(passing)


def replace_text(path: Path, text: str, *, sync: bool = False) -> None:
    """Write a text file, replacing an existing one."""
    with replacing(path, sync=sync) as (passing,):
        passing.write_text(text, encoding="utf-8")


def create_bytes(
    path: Path, content: bytes, passing: Path | None = None, *, sync: bool = False
) -> None:
    """Write a file that must not exist yet; FileExistsError if it does, whoever made it.

    `passing` is its temporary name, where other programs know files of theirs by it.
    """
    passing = passing or _passing(path)
    try:
        with _naming({passing: path}):
            passing.write_bytes(content)
            if sync:
                flush(passing)
            os.link(passing, path)
            if sync:
                flush(path.parent)
    finally:
        _remove([passing])


def _passing(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}-{next(_passed)}.tmp")


@contextmanager
def _naming(files: dict[Path, Path]) -> Iterator[None]:
    """Make a system error name the file that was to be written."""
    names = {str(passing): str(path) for passing, path in files.items()}
    try:
        yield
    except OSError as fault:
        if fault.filename is None and len(names) == 1:
            (fault.filename,) = names.values()
        fault.filename = names.get(str(fault.filename), fault.filename)
        raise


def _remove(files: list[Path]) -> None:
    """Delete what is left; if the disk refuses this too, the first error is the one reported."""
    for each in files:
        with suppress(OSError):
            each.unlink(missing_ok=True)
