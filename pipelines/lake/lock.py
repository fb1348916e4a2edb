"""One writer a lake: who may write now, and who has to wait.

On an object store that is decided by a lease (`lease.py`), everywhere else by a POSIX record lock
on `_lock`: the kernel frees it with the process, however that ends. It belongs to a process, not
to a thread, and closing any descriptor of the file gives it up; so in front of it is a lock of this
process, and no other code opens `_lock`. The holder is noted beside it, in `_lock.json`; processes
that wait leave tickets in `_waiting/`. Readers take no lock. All writers are in here, so disk
errors of theirs are recognised here.

Law: no two holders at a time, in one process or several. The files beside it are for people
and for courtesy alone: the right to write depends on the lock only.
"""

import fcntl
import itertools
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from fencepost.errors import LakeError
from pipelines.disk.errors import storage_error, stored
from pipelines.lake.holder import Holder
from pipelines.lake.lease import Lease, lease_holder, leased, locked_out, overtaken
from pipelines.places import Place, is_remote

LOCK = "_lock"
HOLDER = "_lock.json"
WAITING = "_waiting"
POLL = 0.05
"""Seconds between two tries; who releases the lock for another's sake waits longer than that."""

_ours: dict[tuple[int, int], threading.Lock] = {}  # by the lake's device and inode
_tickets = itertools.count(1)


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

    def check(self) -> None:
        """Do nothing: as long as this process lives, nobody else can acquire the lock."""

    @property
    def token(self) -> None:
        """None: a lock needs no proof of who came later."""
        return


WriteLock: TypeAlias = Lock | Lease
"""What a writer has while it writes, whichever keeps others out."""


@dataclass
class Fence:
    """What a writer has to pass with each commit: is it still the one who may write?

    lock  what it has now; None: nobody keeps others out, and nothing is asked
    """

    lock: WriteLock | None = None

    def passed(self, newest: int) -> int | None:
        """Give the token for a commit to a table with commits of a token so far; None: of a lock.

        LockedError where another took over.
        """
        if self.lock is None:
            return None
        self.lock.check()
        token = self.lock.token
        if token is not None and token < newest:
            raise overtaken()
        return token


@contextmanager
def hold(root: Place, command: str, timeout: float = 30.0) -> Iterator[WriteLock]:
    """Lock a lake while the block runs; LockedError if that takes more than `timeout` seconds.

    `command` describes the work to other processes. One thread cannot lock it twice.
    """
    if is_remote(root):
        with leased(root, Holder.this(command), timeout) as lease:
            yield lease
        return
    front, lock = _acquired(root, command, timeout)
    try:
        with stored(root):
            yield Lock(root)
    finally:
        with suppress(OSError):
            (root / HOLDER).unlink(missing_ok=True)
        os.close(lock)
        front.release()


def holder(root: Place) -> Holder | None:
    """Say who holds the lock, by the file beside it, or the lease; touches neither."""
    return lease_holder(root) if is_remote(root) else _holder(root)


def _holder(root: Path) -> Holder | None:
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
                raise locked_out(root, _holder(root), timeout)
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
