"""How a command ends: what its exit code says, and the words that stand on stderr then.

Law: whatever is raised on purpose is told in words, without a traceback unless it was asked for.
stdout holds results and nothing else, also where a command fails; so a script reads the code, and
a person reads stderr.
"""

import errno
import os
import select
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from types import FrameType
from typing import Any, TextIO

import typer
from typer.exceptions import TyperException

from fencepost.errors import BrokenIndex, Faults, FencepostError, LockedError, StorageError
from fencepost.plurals import counted
from pipelines.disk.errors import storage_error


class Code(IntEnum):
    """The exit codes."""

    WELL = 0
    FAILED = 1
    REFUSED = 2
    LOCKED = 3
    UNANSWERED = 4
    STORAGE = 5
    INTERRUPTED = 130
    NOBODY_READS = 141
    TERMINATED = 143


MEANING = {
    Code.WELL: "All is well.",
    Code.FAILED: "A check did not pass (check, doctor), or the fault is Fencepost's own.",
    Code.REFUSED: "Input, options, lake or machine are at fault: each fault is told.",
    Code.LOCKED: "Another process writes to the lake and did not end in time: try again.",
    Code.UNANSWERED: "All was done, but a refused delivery is unanswered: see `fencepost status`.",
    Code.STORAGE: "A disk is full, fails or cannot be written to: mend it, then try again.",
    Code.INTERRUPTED: "Ended by Ctrl-C.",
    Code.NOBODY_READS: "Nobody reads the output any more, as after `| head`.",
    Code.TERMINATED: "Ended by SIGTERM.",
}
"""The one table of exit codes; `fencepost --help` prints it."""

OUT_OF_MEMORY = (
    "out of memory: the machine has no more, or a limit is set (ulimit -v, a container's). Raise "
    "it, or let less arrive at once, in smaller files; then give the same command again: nothing "
    "is lost"
)

REMEDIES = {
    errno.EACCES: "let this user at it, or name another place",
    errno.EPERM: "let this user at it, or name another place",
    errno.ENOENT: "look at the path: something in it is not there",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "look at the path: a file stands where a folder was expected",
    errno.ENAMETOOLONG: "name a shorter path",
    errno.ELOOP: "look at the path: its links lead round in a circle",
    errno.EMFILE: "allow more open files (ulimit -n), then try again",
}
"""What to do where the system refuses: errors that are a user's to mend."""

MOST_FAULTS = 200
"""More than these are not printed."""

OWN_FAULT = (
    "{}: this is a fault of Fencepost, not of yours. What stands above belongs into a report of "
    "it, and the command too."
)
STOPPED = "nothing is left half done, and the same command may be given again"


class Terminated(BaseException):
    """SIGTERM came: what is open is closed on the way out."""


def ended(command: Callable[[], object], *, debug: bool) -> int:
    """Run a command to its end, say on stderr what went wrong, and give the exit code."""
    try:
        with _terminable():
            code = command()
            sys.stdout.flush()
    except Terminated:
        return _said(f"ended by SIGTERM: {STOPPED}", Code.TERMINATED)
    except KeyboardInterrupt:
        code = Code.INTERRUPTED
    except BaseException as fault:
        if isinstance(fault, SystemExit) and isinstance(fault.__context__, BrokenPipeError):
            fault = fault.__context__  # Typer ends with 1 then, whatever pipe it was
        if isinstance(fault, SystemExit):
            raise
        if isinstance(fault, BrokenPipeError) and _nobody_reads():
            return _silently()
        if debug:
            traceback.print_exception(fault)
        return _told(fault, debug=debug)
    if code == Code.INTERRUPTED:
        return _said(f"ended by Ctrl-C: {STOPPED}", Code.INTERRUPTED)
    return code if isinstance(code, int) else Code.WELL


def _told(fault: BaseException, *, debug: bool) -> int:
    """Say what went wrong, and what to do about it."""
    code = Code.REFUSED
    failed = storage_error(fault)
    if failed is not None:
        return _said(_of_a_disk(fault, failed), Code.STORAGE)
    match fault:
        case LockedError():
            words, code = str(fault), Code.LOCKED
        case Faults():
            words = _not_too_long(fault)
        case FencepostError() if not isinstance(fault, BrokenIndex):
            words = str(fault)
        case TyperException():
            words = usage_fault(fault)
        case typer.Abort():
            words = "no answer was given: nothing changed"
        case OSError(errno=number) if number in REMEDIES:
            words = _of_the_system(fault)
        case MemoryError():
            words = OUT_OF_MEMORY
        case _:
            words, code = OWN_FAULT.format(type(fault).__name__), Code.FAILED
            if not debug:
                traceback.print_exception(fault)
    return _said(words, code)


def _of_a_disk(fault: BaseException, failed: StorageError) -> str:
    """Say what a disk refused; without a file in the words it was the output."""
    if isinstance(fault, OSError) and fault.filename is None and fault.errno is not None:
        _forget(sys.stdout)
        return f"the output: {failed}"
    return _plain(str(failed))


def _of_the_system(fault: OSError) -> str:
    where = "the output" if fault.filename is None else _plain(str(fault.filename))
    if fault.filename is None:
        _forget(sys.stdout)
    return f"{where}: {fault.strerror}: {REMEDIES[fault.errno or 0]}"


def _not_too_long(found: Faults) -> str:
    """List the faults; of very many, as in a file that is no text, the first."""
    if len(found.faults) <= MOST_FAULTS:
        return str(found)
    first = "\n".join(map(str, found.faults[:MOST_FAULTS]))
    more = len(found.faults) - MOST_FAULTS
    return f"{first}\n… and {more:,} more\n{counted(len(found.faults), 'fault')}, {found.outcome}."


def usage_fault(fault: TyperException) -> str:
    """Say what is wrong with the options: what was given, what was expected, where to read on."""
    context = getattr(fault, "ctx", None)
    if context is None:
        return fault.format_message()
    if type(fault).__name__ == "NoArgsIsHelpError":
        return str(fault.message).rstrip("\n")
    unnamed = isinstance(fault, typer.BadParameter) and fault.param is None
    plainly = fault.message if unnamed else fault.format_message()
    path, said = context.command_path, _expected(fault) or plainly
    return f"{path}: {said[:1].lower()}{said[1:]}\nHow to use it: {path} --help"


def _expected(fault: TyperException) -> str | None:
    """Say what was given and what was expected, where a value did not fit its option."""
    found = getattr(fault.__cause__, "errors", None)
    parameter: Any = getattr(fault, "param", None)
    if found is None or parameter is None:
        return None
    wrong = found()[0]
    limits = wrong.get("ctx", {})
    wanted = {
        "int_parsing": "a whole number",
        "int_parsing_size": "a whole number of fewer digits",
        "float_parsing": "a number",
        "greater_than_equal": f"{limits.get('ge')} or more",
        "less_than_equal": f"{limits.get('le')} or less",
    }.get(wrong["type"])
    name = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar
    given = _plain(str(wrong["input"]))[:60]
    choices = ", ".join(map(str, parameter.type_descriptor.choices or ()))
    if wrong["type"] == "value_error" and choices:
        return f"{name}: '{given}' is not one of {choices}"
    return wanted and f"{name}: '{given}' was given, where {wanted} was expected"


def _said(words: str, code: Code) -> int:
    """Print words to stderr, if anybody reads there."""
    with suppress(BrokenPipeError):
        typer.echo(words, err=True)
    return code


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


@contextmanager
def _terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that folders and sessions are closed; a second one kills.

    A command that takes signals its own way (watch, ui) does so inside.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def come(number: int, frame: FrameType | None) -> None:
        del frame
        signal.signal(number, signal.SIG_DFL)
        raise Terminated

    before = signal.signal(signal.SIGTERM, come)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _nobody_reads() -> bool:
    """Say whether it is our own output that nobody reads, and no other pipe."""
    look = select.poll()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a stream of a test has no file
            look.register(stream.fileno(), 0)
    return any(event & select.POLLERR for _, event in look.poll(0))


def _silently() -> int:
    """End without a word."""
    _forget(sys.stdout, sys.stderr)
    return Code.NOBODY_READS


def _forget(*streams: TextIO) -> None:
    """Let what is still in the buffers go nowhere: at its end Python would try it once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        with suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
