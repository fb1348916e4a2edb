"""Files that a user named: their form read from the name, all of them written or none.

Law: a file is whole or not there; the same content gives the same bytes, packed or not.
"""

import gzip
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fencepost.errors import InputError
from pipelines.disk.atomic import replacing
from pipelines.disk.errors import refuse_failing

Write = Callable[[str, BinaryIO], None]
"""Writes a target's content, in the form that is named, to an open file."""


@dataclass(frozen=True)
class Target:
    """A file to be written: its path, and the form given by its name."""

    path: Path
    form: str
    packed: bool

    @classmethod
    def of(cls, path: Path, forms: Sequence[str]) -> "Target":
        """Read the form from the end of the name; refuse a name without a known ending."""
        ends = [end.lower() for end in path.suffixes]
        packed = ends[-1:] == [".gz"]
        form = "".join(ends[-2:-1] if packed else ends[-1:])[1:]
        if form not in forms or (packed and form == "parquet"):
            text, listed = forms[:-1], ", ".join(f".{known}" for known in forms)
            gz = " or ".join(f".{known}.gz" for known in text)
            raise InputError(f"{path}: expected a name that ends in {listed}, {gz}")
        if path.is_dir():
            raise InputError(f"{path} is a folder, where a file is to be written")
        return cls(path, form, packed)


def write_whole(jobs: Sequence[tuple[Target, Write]]) -> None:
    """Write all targets, or leave every file as it was; InputError says why.

    Folders that do not exist are made; a file of the same name is replaced.
    """
    paths = [target.path.resolve() for target, _ in jobs]
    target = jobs[0][0]
    try:
        with replacing(*paths) as passing:
            for (target, write), name in zip(jobs, passing, strict=True):
                with opened(name, packed=target.packed) as file:
                    write(target.form, file)
    except OSError as failure:
        refuse_failing(failure, target.path)
        why = failure.strerror or str(failure)
        raise InputError(f"{target.path} cannot be written: {why}; nothing written") from None


@contextmanager
def opened(path: Path, *, packed: bool, level: int = 6) -> Iterator[BinaryIO]:
    """Open a file to write to, packed with no name and no time in it: the same bytes each time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as plain:
        if not packed:
            yield plain
            return
        with gzip.GzipFile("", "wb", level, plain, mtime=0) as file:
            yield file  # type: ignore[misc]  # typeshed has it apart from BinaryIO
