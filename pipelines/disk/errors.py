"""A disk that is full, fails or cannot be written to, recognised wherever the error surfaces.

Python reports an errno, Arrow and delta-rs a text, Java and a Spark worker a text that
went through two processes; and the first error is often hidden under its consequences.

Law: the first cause in a chain of exceptions is reported: the file, the system's words, what to
do. An error not recognised here is no storage error.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fencepost.errors import FencepostError, LakeError, StorageError

AGAIN = "then give the same command again: nothing is lost"
REMEDIES = {
    errno.ENOSPC: f"make room there, or free inodes, {AGAIN}",
    errno.EDQUOT: f"raise the quota or make room there, {AGAIN}",
    errno.EFBIG: f"raise the limit of a file's size (ulimit -f), {AGAIN}",
    errno.EIO: f"look at the disk and the system's log, {AGAIN}",
    errno.EROFS: f"mount it to be written to, or name another place, {AGAIN}",
    errno.ESTALE: f"mount it again, {AGAIN}",
}
"""What a disk says, and what to do about it."""

REFUSALS = {
    errno.EACCES: f"give this user access, {AGAIN}",
    errno.EPERM: f"give this user access, {AGAIN}",
}
"""The same of permissions: storage errors below a lake, elsewhere a wrong path like any other."""

NUMBERED = re.compile(r"(?:os error|[Ee]rrno) (\d+)")
PLACES = (
    re.compile(r"Error: \[Errno \d+\] [^:\n']*: '(/[^'\n]+)'"),
    re.compile(r"(?:open file|local file|write file|to file|File) ['\"]?(/[^'\"\n:#]+)"),
    re.compile(r"(/[^\s'\":#]+/[^\s'\":#]+)"),
)
LINE = re.compile(r".*(?:os error|[Ee]rrno) \d+.*")


def storage_error(
    fault: BaseException, place: Path | str | None = None, *, ours: bool = False
) -> StorageError | None:
    """Give the storage error that an exception is or was caused by; None if there is none.

    `place` is the current work, in case no file is named. `ours`: it is below a lake, where a
    file that this user may not write to is a storage error too.
    """
    known = REMEDIES | REFUSALS if ours else REMEDIES
    chain = list(_chain(fault))
    recognised = next((each for each in chain if isinstance(each, StorageError)), None)
    if recognised is not None:
        return recognised
    for each in reversed(chain):
        number, named = _said(each, known)
        if number is not None:
            where = named or place
            words = f"{os.strerror(number)}: {known[number]}"
            return StorageError(words if where is None else f"{where}: {words}")
    return None


def refuse_failing(fault: BaseException, place: Path | str | None = None) -> None:
    """Raise the storage error that an exception is, so that it is not mistaken for bad input."""
    found = storage_error(fault, place)
    if found is not None:
        raise found from fault


@contextmanager
def stored(place: Path | str, *, ours: bool = True) -> Iterator[None]:
    """Raise what a disk refuses in here as a storage error, with the place where none is named."""
    try:
        yield
    except Exception as fault:
        found = storage_error(fault, place, ours=ours)
        if found is None or found is fault:
            raise
        raise found from fault


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Make a system error name the file: by default it does when a file is opened, not later."""
    try:
        yield
    except OSError as fault:
        if fault.filename is None:
            fault.filename = str(path)
        raise


def _chain(fault: BaseException) -> Iterator[BaseException]:
    """List an exception and its causes, the newest first."""
    seen: set[int] = set()
    each: BaseException | None = fault
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        yield each
        each = each.__cause__ or each.__context__


def _said(fault: BaseException, known: dict[int, str]) -> tuple[int | None, str | None]:
    """Say which of the known errors an exception is, and which file it names."""
    if isinstance(fault, OSError) and fault.errno is not None:
        number = fault.errno if fault.errno in known else None
        return number, None if fault.filename is None else str(fault.filename)
    if isinstance(fault, FencepostError) and not isinstance(fault, LakeError):
        return None, None
    text = str(fault)
    number = _number(text, known)
    return number, None if number is None else _place(text)


def _number(text: str, known: dict[int, str]) -> int | None:
    for numbered in NUMBERED.finditer(text):
        if int(numbered[1]) in known:
            return int(numbered[1])
    return next((number for number in known if os.strerror(number) in text), None)


def _place(text: str) -> str | None:
    """Find the file in a text: in the line that has the error, else in words that name one."""
    line = LINE.search(text)
    near = [] if line is None else [pattern.search(line[0]) for pattern in PLACES]
    found = [*near, *(pattern.search(text) for pattern in PLACES[:-1])]
    return next((match[1] for match in found if match is not None), None)
