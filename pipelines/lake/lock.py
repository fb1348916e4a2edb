"""One writer a lake: who may write now, and who has to wait.

The lock is a POSIX record lock on `_lock`: the kernel frees it with the process, however that ends.
It belongs to a process, not to a thread, and closing any descriptor of the file gives it up; so in
front of it is a lock of this process, and no other code opens `_lock`. The holder is noted
beside it, in `_lock.json`; processes that wait leave tickets in `_waiting/`. Readers take no
lock. All writers are in here, so disk errors of theirs are recognised here.

Law: no two holders at a time, in one process or several. The files beside it are for people
and for courtesy alone: the right to write depends on the lock only.
"""

import fcntl
import itertools
import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fencepost.errors import LakeError, LockedError
from fencepost.text import shortened
from fencepost.times import SECOND, format_instant
from pipelines.disk.atomic import replace_text
from pipelines.disk.errors import storage_error, stored

LOCK = "_lock"
HOLDER = "_lock.json"
WAITING = "_waiting"
POLL = 0.05
"""Seconds between two tries; who releases the lock for another's sake waits longer than that."""
LONGEST_WAIT = 86_400.0
"""Seconds after which a ticket counts no more, whatever it says."""

_ours: dict[tuple[int, int], threading.Lock] = {}  # by the lake's device and inode
_tickets = itertools.count(1)


@dataclass(frozen=True)
class Holder:
    """A process that holds the lock or waits for it.

    command  what it does, as text
    since    µs
    born     when the process began, as the system counts; None: unknown. Process ids come again
    until    for one that waits: when it gives up, µs
    """

    pid: int
    host: str
    command: str
    since: int
    born: str | None = None
    until: int | None = None

    @classmethod
    def this(cls, command: str, waits: float | None = None) -> "Holder":
        """Describe this process."""
        now = _now()
        until = None if waits is None else now + int(min(waits, LONGEST_WAIT) * SECOND)
        pid = os.getpid()
        return cls(pid, socket.gethostname(), command, now, _born(pid), until)

    @classmethod
    def read(cls, path: Path) -> "Holder | None":
        """Read what a process wrote about itself; None if it is gone, or the file is invalid."""
        try:
            said: Mapping[str, Any] = json.loads(path.read_bytes())
            return cls(
                int(said["pid"]),
                str(said["host"]),
                str(said["command"]),
                int(said["since"]),
                said.get("born"),
                said.get("until"),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    @property
    def lives(self) -> bool:
        """Whether the process still exists; one on another host is assumed to."""
        if self.until is not None and self.until < _now():
            return False
        if self.host != socket.gethostname():
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except (OverflowError, PermissionError):
            pass
        return self.born == _born(self.pid)

    def __str__(self) -> str:
        """Describe it for people."""
        words = f"`{shortened(self.command, 200)}` (process {self.pid} on {shortened(self.host)})"
        return f"{words} since {format_instant(self.since)[:19]}Z"

    def write(self, path: Path) -> None:
        """Write it for others to read."""
        replace_text(path, json.dumps(asdict(self)))


@dataclass(frozen=True)
class Lock:
    """The lock of a lake, acquired by this process."""

    root: Path

    def wanted(self) -> bool:
        """Say whether someone alive waits for it; deletes the tickets of dead processes."""
        for ticket in (self.root / WAITING).glob("*.json"):
            waiter = Holder.read(ticket)
            if waiter is not None and waiter.lives:
                return True
            ticket.unlink(missing_ok=True)
        return False


@contextmanager
def hold(root: Path, command: str, timeout: float = 30.0) -> Iterator[Lock]:
    """Lock a lake while the block runs; LockedError if that takes more than `timeout` seconds.

    `command` describes the work to other processes. One thread cannot lock it twice.
    """
    front, lock = _acquired(root, command, timeout)
    try:
        with stored(root):
            yield Lock(root)
    finally:
        with suppress(OSError):
            (root / HOLDER).unlink(missing_ok=True)
        os.close(lock)
        front.release()


def holder(root: Path) -> Holder | None:
    """Say who holds the lock, by the file beside it; touches no lock."""
    found = Holder.read(root / HOLDER)
    return found if found is not None and found.lives else None


def _acquired(root: Path, command: str, timeout: float) -> tuple[threading.Lock, int]:
    deadline = time.monotonic() + timeout
    ticket = root / WAITING / f"{os.getpid()}-{next(_tickets)}.json"
    has_ticket = False
    try:
        front = _front(root)
        while True:
            lock = _tried(root, front, command)
            if lock is not None:
                return front, lock
            left = deadline - time.monotonic()
            if left <= 0:
                raise _locked_out(root, timeout)
            if not has_ticket:
                ticket.parent.mkdir(exist_ok=True)
                Holder.this(command, left).write(ticket)
                has_ticket = True
            time.sleep(min(POLL, left))
    except FileNotFoundError:
        raise LakeError(f"there is no lake at {root}: `fencepost init` makes one") from None
    except OSError as why:
        failed = storage_error(why, root, ours=True)
        raise failed or LakeError(
            f"the lake {root} cannot be locked: {why.strerror}. It has to lie where this user may "
            "write, on a file system that knows record locks"
        ) from why
    finally:
        if has_ticket:
            ticket.unlink(missing_ok=True)


def _front(root: Path) -> threading.Lock:
    """Give the lock of this process, the same for every way to name the folder."""
    folder = root.stat()
    return _ours.setdefault((folder.st_dev, folder.st_ino), threading.Lock())


def _tried(root: Path, front: threading.Lock, command: str) -> int | None:
    """Try once to acquire both locks and sign for them; None if another has one."""
    if not front.acquire(blocking=False):
        return None
    try:
        lock = _record_lock(root / LOCK)
        if lock is not None:
            try:
                Holder.this(command).write(root / HOLDER)
            except BaseException:
                os.close(lock)
                raise
    except BaseException:
        front.release()
        raise
    if lock is None:
        front.release()
    return lock


def _record_lock(path: Path) -> int | None:
    """Open and lock the file. Closing it again is harmless: this process has no lock on it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except (BlockingIOError, PermissionError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _locked_out(root: Path, timeout: float) -> LockedError:
    other = holder(root)
    who = "another process" if other is None else str(other)
    remedy = "" if other is None else f" (process {other.pid})"
    return LockedError(
        f"the lake {root} is being written to by {who}. It did not end in {timeout:g} s; nothing "
        f"was changed. Wait for it or end it{remedy}, then try again."
    )


def _born(pid: int) -> str | None:
    """Say when a process began; None if it is dead, or where the system does not say."""
    try:
        state, *numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state == "Z" else numbers[18]


def _now() -> int:
    return time.time_ns() // 1000
