"""Every error that Fencepost raises on purpose, and what each one carries.

    FencepostError
    ├── QueryFault      one thing wrong in one query: message, column, the text, a hint
    ├── Faults          all that is wrong with an input, each with its place; nothing of it was read
    ├── InputError      an argument or a column that the engine cannot take
    ├── StateError      a state that does not fit the feed it is given for
    ├── LakeError       a lake that cannot be used as it stands, and what to do about it
    │   └── Diverged    an existing commit has other rows than the same work gives now
    ├── MissingExtra    an optional package is not installed, and how to get it
    ├── SetupError      what Spark needs is not there, and how to get it (pipelines/spark)
    ├── StorageError    a disk that is full, fails or cannot be written to (pipelines/disk)
    │   └── StoreUnavailable  an object store that did not answer for as long as is waited
    ├── SparkError      Spark's Java ended in the middle of the work
    │   └── WorkerError a worker of Spark ended every time that its task was tried
    ├── AlertError      an alert could not be sent, and why
    ├── LockedError     somebody else writes to the lake, and has for longer than the command waits
    └── BrokenIndex     check() found an invariant broken: a bug, never a user's doing

Law: a message says what was given, what was expected and where. A command prints it and ends with
2; with 3 where another writer holds the lake, with 5 where a disk is full or fails, with 6 where a
store does not answer, and with 1 where an invariant is broken.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fencepost.text import counted, did_you_mean, shortened

MOST_LISTED = 12
"""Of more names than these none is listed where one is near to what was given."""


class FencepostError(Exception):
    """The root: whatever is raised on purpose is one of these."""


class QueryFault(FencepostError):
    """One fault in one query. `column` counts from 1 in `text`; None where no place is known."""

    def __init__(
        self,
        message: str,
        *,
        column: int | None = None,
        text: str | None = None,
        width: int = 1,
        hint: str | None = None,
    ) -> None:
        """Keep the place apart from the message, so that a listing can draw it."""
        super().__init__(message)
        self.message = message
        self.column = column
        self.text = text
        self.width = width
        self.hint = hint


@dataclass(frozen=True)
class Fault:
    """A fault and its place: `source` a file or argument, `line` from 1."""

    source: str
    message: str
    line: int | None = None
    column: int | None = None
    text: str | None = None
    width: int = 1
    hint: str | None = None

    @classmethod
    def of(cls, source: str, line: int | None, fault: QueryFault) -> "Fault":
        """Add the file and line to a query's fault."""
        return cls(source, fault.message, line, fault.column, fault.text, fault.width, fault.hint)

    def __str__(self) -> str:
        """Say the place and the fault, and under it the text with a mark at the column."""
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        lines = [f"{place}: {self.message}"]
        if self.text is not None and self.column is not None:
            shown, column = _window(self.text, self.column)
            mark = "^" * max(1, min(self.width, len(shown) - column + 1))
            lines += [f"    {shown}", f"    {' ' * (column - 1)}{mark}"]
        if self.hint:
            lines.append(f"    {self.hint}")
        return "\n".join(lines)


def _window(text: str, column: int, width: int = 90) -> tuple[str, int]:
    """Cut a long text to a window round the column; control characters become spaces."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    start = max(0, min(column - 1 - width // 2, len(plain) - width))
    shown = plain[start : start + width]
    if start:
        shown = "…" + shown[1:]
    return shown, column - start


class Faults(FencepostError):
    """All the faults of an input, of which nothing was read."""

    def __init__(self, faults: Sequence[Fault], outcome: str = "nothing read") -> None:
        """List the faults in the order of the input."""
        self.faults = list(faults)
        self.outcome = outcome
        count = len(self.faults)
        tail = f"{counted(count, 'fault')}, {outcome}."
        super().__init__("\n".join([*map(str, self.faults), tail]))


def refuse(faults: Sequence[Fault], outcome: str = "nothing read") -> None:
    """Raise, where there are any."""
    if faults:
        raise Faults(faults, outcome)


class InputError(FencepostError):
    """An argument or a column that the engine cannot take."""


class StateError(FencepostError):
    """A state that does not belong to the feed, the axes or the index it is given with."""


class MissingExtra(FencepostError, ImportError):
    """A package of an extra that is not installed."""


class LakeError(FencepostError):
    """A lake of a newer format, with a torn commit, with a table dropped and created again."""


class StorageError(FencepostError):
    """A disk that is full, fails, or cannot be written to; or a store that refuses."""


class StoreUnavailable(StorageError):
    """An object store that failed in passing, and kept failing for as long as is waited."""


class SparkError(FencepostError):
    """Spark's Java ended in the middle of the work; the next job starts another."""


class WorkerError(SparkError):
    """A worker of Spark ended every time that its task was tried."""


class AlertError(FencepostError):
    """An alert could not be sent. The message never has the address that it was for."""


class LockedError(FencepostError):
    """Another writer holds the lake."""


class BrokenIndex(FencepostError):
    """An invariant of an index does not hold."""


def refuse_unknown(given: str | None, names: Collection[str], what: str) -> None:
    """Raise InputError for a name that does not exist, and list those that do; None is no name."""
    if given is None or given in names:
        return
    near = did_you_mean(given, names)
    if near and len(names) > MOST_LISTED:
        raise InputError(f"unknown {what} '{shortened(given)}'.{near}")
    raise InputError(f"unknown {what} '{shortened(given)}'; there are: {', '.join(names)}.{near}")
