"""A commit that happens once, however often it is tried.

Law: after `append_once` returns, the table holds exactly one commit of this evidence. The version
to be made is named beforehand, so two writers can never both make it: a zombie's attempt fails, or
comes first and is found.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from fencepost.errors import LakeError, StorageError
from fencepost.text import counted
from pipelines.lake.data_files import DataFile
from pipelines.lake.evidence import Evidence
from pipelines.lake.obsolete import Obsolete

TRIES = 100

Files = Callable[[], Sequence[DataFile]]


class Conflict(Exception):
    """The version to be made exists already."""


class Unknown(Exception):
    """It is unknown whether the commit succeeded: the log will tell.

    `failed` is the disk's error, if it was the disk: if the commit is not there, trying again
    immediately is of no use.
    """

    def __init__(self, message: str = "", failed: StorageError | None = None) -> None:
        """Keep the cause."""
        super().__init__(message)
        self.failed = failed


class Tables(Protocol):
    """The operations on a lake's tables that the protocol needs."""

    def version(self, name: str) -> int:
        """Give the newest version."""
        ...

    def evidence(self, name: str, after: int, upto: int | None = None) -> list[Evidence]:
        """Give the evidence of the commits after a version, oldest first; up to the newest."""
        ...

    def append(
        self,
        name: str,
        at: int,
        files: Sequence[DataFile],
        evidence: Evidence,
        replaces: Obsolete | None = None,
    ) -> None:
        """Make the version after `at`; Conflict if it exists, Unknown if that is unclear.

        It no longer has the rows that it replaces.
        """
        ...


class Diverged(LakeError):
    """An existing commit has this evidence, but other rows."""


def append_once(
    tables: Tables,
    name: str,
    evidence: Evidence,
    files: Files,
    since: int,
    replaces: Obsolete | None = None,
) -> bool:
    """Commit files to a table unless their evidence is there; say whether they had to be committed.

    `since` is a version before which the commit cannot be. `files` is called once, when needed.
    `replaces` are rows that the same commit removes.
    """
    written: Sequence[DataFile] | None = None
    for _ in range(TRIES):
        at = tables.version(name)
        if committed(tables, name, evidence, since, at):
            return False
        if written is None:
            written = files()
        try:
            tables.append(name, at, written, evidence, replaces)
        except Conflict:
            continue
        except Unknown as lost:
            if lost.failed is None:
                continue
            if committed(tables, name, evidence, since):
                return False
            raise lost.failed from lost
        return True
    raise LakeError(
        f"the table '{name}' could not be committed to in {TRIES} attempts: each time another "
        "writer was first, or the outcome is not known. Look for other programs that write to it."
    )


def committed(
    tables: Tables, name: str, evidence: Evidence, since: int, upto: int | None = None
) -> bool:
    """Say whether the commit is there; Diverged where it has other rows than it should.

    `upto` is a version that was just read, and is not read again.
    """
    for found in tables.evidence(name, since, upto):
        if found.key != evidence.key:
            continue
        if (found.rows, found.hash) != (evidence.rows, evidence.hash):
            raise Diverged(
                f"the table '{name}' holds {counted(found.rows, 'row')} of {evidence.what} "
                f"{evidence.lane} {evidence.first}–{evidence.last}, and evaluating them again gave "
                f"{counted(evidence.rows, 'row')} of another content. Nothing was written. "
                "Another version of Fencepost or a changed input may be the reason."
            )
        return True
    return False
