"""How a command ends: its exit code, and the message on stderr.

Law: an expected error ends in a message, without a traceback unless --debug asks for
one. stdout has results and nothing else, even where a command fails: scripts read the exit code,
people read stderr.
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
from types import FrameType
from typing import Any, TextIO

import typer
from typer.exceptions import TyperException

from fencepost.errors import (
    BrokenIndex,
    Faults,
    FencepostError,
    LockedError,
    StorageError,
    StoreUnavailable,
)
from fencepost.extras import missing_extra
from fencepost.text import counted
from pipelines.cli.exit_codes import Code
from pipelines.disk.errors import storage_error

OUT_OF_MEMORY = (
    "out of memory: the machine has no more, or a limit is set (ulimit -v, a container's). Raise "
    "the limit, or deliver smaller files; then run the same command again: nothing is lost"
)

REMEDIES = {
    errno.EACCES: "grant this user access, or name another place",
    errno.EPERM: "grant this user access, or name another place",
    errno.ENOENT: "check the path: part of it does not exist",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "check the path: part of it is a file, where a folder was expected",
    errno.ENAMETOOLONG: "name a shorter path",
    errno.ELOOP: "check the path: its links lead round in a circle",
    errno.EMFILE: "allow more open files (ulimit -n), then try again",
}
"""By errors of the system that a user can fix: what to do."""

MOST_FAULTS = 200
"""No more are printed."""

OWN_FAULT = (
    "{}: this is a bug in Fencepost. Please report it, with the command and the traceback above"
)
STOPPED = "nothing is half-done, and the same command can be run again"


class Terminated(BaseException):
    """Raised by SIGTERM: what is open is closed on the way out."""


def exit_code_of(command: Callable[[], object], *, debug: bool) -> int:
    """Run a command, print what went wrong to stderr, and give the exit code."""
    try:
        with _terminable():
            code = command()
            sys.stdout.flush()
    except Terminated:
        return _print(f"terminated by SIGTERM: {STOPPED}", Code.TERMINATED)
    except KeyboardInterrupt:
        code = Code.INTERRUPTED
    except BaseException as fault:
        if isinstance(fault, SystemExit) and isinstance(fault.__context__, BrokenPipeError):
            fault = fault.__context__  # Typer then exits with 1 for any pipe
        if isinstance(fault, SystemExit):
            raise
        if isinstance(fault, BrokenPipeError) and _output_is_closed():
            return _silently()
        if debug:
            traceback.print_exception(fault)
        return _report(fault, debug=debug)
    if code == Code.INTERRUPTED:
        return _print(f"interrupted by Ctrl-C: {STOPPED}", Code.INTERRUPTED)
    return code if isinstance(code, int) else Code.WELL


def _report(fault: BaseException, *, debug: bool) -> int:
    """Print what went wrong, and what to do about it."""
    code = Code.REFUSED
    fault = missing_extra(fault) or fault
    failed = storage_error(fault)
    if failed is not None:
        return _of_storage(fault, failed)
    match fault:
        case LockedError():
            message, code = str(fault), Code.LOCKED
        case Faults():
            message = _not_too_long(fault)
        case FencepostError() if not isinstance(fault, BrokenIndex):
            message = str(fault)
        case TyperException():
            message = usage_fault(fault)
        case typer.Abort():
            message = "no answer: nothing changed"
        case OSError(errno=number) if number in REMEDIES:
            message = _of_the_system(fault)
        case MemoryError():
            message = OUT_OF_MEMORY
        case _:
            message, code = OWN_FAULT.format(type(fault).__name__), Code.FAILED
            if not debug:
                traceback.print_exception(fault)
    return _print(message, code)


def _of_storage(fault: BaseException, failed: StorageError) -> int:
    if isinstance(failed, StoreUnavailable):
        return _print(str(failed), Code.UNAVAILABLE)
    return _print(_of_a_disk(fault, failed), Code.STORAGE)


def _of_a_disk(fault: BaseException, failed: StorageError) -> str:
    """Name the file that a disk refused; an error without a file is about the output."""
    if isinstance(fault, OSError) and fault.filename is None and fault.errno is not None:
        _forget(sys.stdout)
        return f"the output: {failed}"
    return _plain(str(failed))


def _of_the_system(fault: OSError) -> str:
    where = "the output" if fault.filename is None else _plain(str(fault.filename))
    if fault.filename is None:
        _forget(sys.stdout)
    return f"{where}: {fault.strerror}: {REMEDIES[fault.errno or 0]}"


def _not_too_long(error: Faults) -> str:
    """List the faults; of very many, as in a file that is no text, the first."""
    if len(error.faults) <= MOST_FAULTS:
        return str(error)
    first = "\n".join(map(str, error.faults[:MOST_FAULTS]))
    more = len(error.faults) - MOST_FAULTS
    return f"{first}\n… and {more:,} more\n{counted(len(error.faults), 'fault')}, {error.outcome}."


def usage_fault(fault: TyperException) -> str:
    """Say what is wrong with the options: the input, what was expected, where to read on."""
    context = getattr(fault, "ctx", None)
    if context is None:
        return fault.format_message()
    if type(fault).__name__ == "NoArgsIsHelpError":
        return str(fault.message).rstrip("\n")
    unnamed = isinstance(fault, typer.BadParameter) and fault.param is None
    plainly = fault.message if unnamed else fault.format_message()
    path, message = context.command_path, _expected(fault) or plainly
    return f"{path}: {message[:1].lower()}{message[1:]}\nFor help: {path} --help"


def _expected(fault: TyperException) -> str | None:
    """Say what was expected of an option's value; None if the value is not what is wrong."""
    errors = getattr(fault.__cause__, "errors", None)
    parameter: Any = getattr(fault, "param", None)
    if errors is None or parameter is None:
        return None
    wrong = errors()[0]
    limits = wrong.get("ctx", {})
    expected = {
        "int_parsing": "a whole number",
        "int_parsing_size": "a whole number of fewer digits",
        "float_parsing": "a number",
        "greater_than_equal": f"{limits.get('ge')} or more",
        "less_than_equal": f"{limits.get('le')} or less",
    }.get(wrong["type"])
    name = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar
    value = _plain(str(wrong["input"]))[:60]
    choices = ", ".join(map(str, parameter.type_descriptor.choices or ()))
    if wrong["type"] == "value_error" and choices:
        return f"{name}: '{value}' is not one of {choices}"
    return expected and f"{name}: '{value}' was given, where {expected} was expected"


def _print(message: str, code: Code) -> int:
    """Print a message to stderr, if anybody reads it."""
    with suppress(BrokenPipeError):
        typer.echo(message, err=True)
    return code


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


@contextmanager
def _terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that folders and sessions are closed; a second one kills.

    Commands that handle signals themselves (watch, ui) do so inside.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def raise_it(number: int, frame: FrameType | None) -> None:
        del frame
        signal.signal(number, signal.SIG_DFL)
        raise Terminated

    before = signal.signal(signal.SIGTERM, raise_it)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _output_is_closed() -> bool:
    """Say whether it is our own output that is closed, and no other pipe."""
    poll = select.poll()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a stream of a test has no file
            poll.register(stream.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _silently() -> int:
    """Exit without a message."""
    _forget(sys.stdout, sys.stderr)
    return Code.NOBODY_READS


def _forget(*streams: TextIO) -> None:
    """Drop what is still in the buffers: Python would try to write it once more at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        with suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
