"""One writer a lake where no file can be locked: a lease, kept in the lake as objects.

Each holding has an object, `_lease/<token>.json`. Whoever wants the lease creates that of the
next token, once the newest was given back (it is then empty), was not renewed for `TERM`, or its
holder is known to be dead. That a put creates is the one thing asked of a store: replacing under
a condition is not, since some stores let two win that.

Whether a lease has lapsed is judged by the store's clock: a process that waits writes a ticket
beside it, and compares when the store says that the two were changed. So no host's clock
matters. A renewal writes the holder's own object; it counts only if it was answered before
the lease lapsed, by a clock that runs while the machine sleeps. A holder that is later creates the
next token like anybody else, and is refused where another was first.

Law: tokens rise, and each has one holder. Nobody takes over from a holder that believes to have
the lease; what a paused holder does before it looks is refused by the commits of the next, which
carry a higher token, and its rows are not doubled in any case: evidence sees to that. A job that
it has Spark do is abandoned within seconds (`pipelines/spark/abandonment.py`).

Acquiring is a listing and a put, giving back a put; while one waits four requests a look.
"""

import itertools
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Protocol

from fencepost.errors import LakeError, LockedError, StorageError
from fencepost.times import SECOND
from pipelines import places
from pipelines.lake.holder import Holder
from pipelines.places import Entry, Remote

FOLDER = "_lease"
TICKETS = "waits-"
TERM = 24.0
"""Seconds without a renewal after which a lease has lapsed."""
BEAT = TERM / 3
"""Seconds between two renewals."""
MARGIN = 2.0
"""Seconds: some stores say times in whole ones."""
FIRST_LOOK, LONGEST_LOOK = 0.2, 2.0
"""Seconds between two looks of one that waits, rising."""
TICKET = 40.0
"""Seconds for which a ticket counts after it was last written."""
KEPT = 600.0
"""Seconds for which the object of an older token stays: nobody takes as long to look and create."""
SWEPT = 2
"""So many old objects are deleted by one who acquires."""

_looks = itertools.count(1)
_in_use: set[str] = set()  # the leases that this process has: others of it could not be given back


def boot_clock() -> float:
    """Give seconds that pass while the machine sleeps, too, where the system counts those."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Cell(Protocol):
    """Where a lease is kept: the requests it needs of a store."""

    def listed(self) -> list[Entry]:
        """List the tokens and the tickets."""
        ...

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Read an object and its entity tag; None where there is none."""
        ...

    def create(self, name: str, content: bytes) -> bool:
        """Write an object that must not exist; False if it does."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Write an object, replacing an existing one."""
        ...

    def delete(self, name: str) -> None:
        """Delete an object, if there is one."""
        ...


@dataclass(frozen=True)
class StoreCell:
    """The lease of a lake on an object store; each call is one request."""

    root: Remote

    def listed(self) -> list[Entry]:
        """List the tokens and the tickets."""
        return list(places.listed(self.root / FOLDER))

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Read an object and its entity tag."""
        return places.state(self.root / FOLDER / name)

    def create(self, name: str, content: bytes) -> bool:
        """Write an object that must not exist."""
        try:
            places.create(self.root / FOLDER / name, content)
        except FileExistsError:
            return False
        return True

    def write(self, name: str, content: bytes) -> None:
        """Write an object."""
        places.replace(self.root / FOLDER / name, content)

    def delete(self, name: str) -> None:
        """Delete an object."""
        (self.root / FOLDER / name).unlink(missing_ok=True)


@dataclass(frozen=True)
class Term:
    """What the object of a token says.

    id      of this process's lease, at random
    beat    rises with each renewal
    term    seconds for which it holds
    """

    token: int
    id: str
    beat: int
    term: float
    holder: Holder

    @classmethod
    def of(cls, content: bytes) -> "Term":
        """Read it; LakeError where something else stands there."""
        try:
            said = json.loads(content)
            holder = Holder.of(said["holder"])
            return cls(
                int(said["token"]), str(said["id"]), int(said["beat"]), float(said["term"]), holder
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise LakeError(
                f"the lease of the lake, the newest object in {FOLDER}/, is damaged. Make sure "
                "that nobody writes to the lake, empty that object, and try again"
            ) from None

    def content(self) -> bytes:
        """Write it; no two of them are the same bytes."""
        return json.dumps(asdict(self)).encode()


@dataclass
class Lease:
    """A lease that this process has, or wants. Its renewals may come from another thread."""

    cell: Cell
    me: Holder
    term: float = TERM
    clock: Callable[[], float] = boot_clock
    mine: Term | None = None
    lost: bool = False
    """Whether another has taken it over."""
    other: Holder | None = None
    """Who had it when this process looked last."""
    fresh_until: float = 0.0
    """By our clock: nobody takes it over before."""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _signed: bool = False

    @property
    def token(self) -> int:
        """The token of this holding."""
        assert self.mine is not None, "no lease was acquired"  # noqa: S101
        return self.mine.token

    @property
    def ticket(self) -> str:
        """The name of the ticket that this process waits by."""
        return f"{TICKETS}{self.id}.json"

    def acquire(self) -> bool:
        """Try once; where another has it, `other` is who. Two requests; six where one waits."""
        looked = self.clock()
        entries = _tokens(self.cell.listed())
        if entries and not self._is_free(entries[-1]):
            return False
        if not self._create(_token(entries[-1]) + 1 if entries else 1):
            return False
        if self.clock() - looked > KEPT / 2 and self._is_overtaken():
            return False
        for old in entries[:SWEPT]:
            if entries[-1].changed - old.changed > KEPT * SECOND:
                self.cell.delete(old.path)
        return True

    def _is_free(self, newest: Entry) -> bool:
        """Say whether the newest holding has ended."""
        if newest.size == 0:
            return True
        stands = self._read(newest)
        if stands is None:
            return False
        self.other = stands.holder
        if stands.holder.known_dead or (stands.holder.is_here and stands.id not in _in_use):
            return True
        self.sign()
        entries = {entry.path: entry for entry in self.cell.listed()}
        lease, ticket = entries.get(newest.path), entries.get(self.ticket)
        if lease is None or ticket is None or lease.etag != newest.etag:
            return False
        lapsed = ticket.changed - lease.changed > (stands.term + MARGIN) * SECOND
        return lapsed and self._read(lease) is not None

    def _read(self, listed: Entry) -> Term | None:
        """Read the object of a token; None where the listing is behind."""
        found = self.cell.read(listed.path)
        return None if found is None or found[1] != listed.etag else Term.of(found[0])

    def _create(self, token: int) -> bool:
        """Begin a holding; also where the object is ours, and the store's answer was lost."""
        began = self.clock()
        wanted = Term(token, self.id, 0, self.term, self.me)
        if not self.cell.create(_name(token), wanted.content()):
            found = self.cell.read(_name(token))
            if found is None or not found[0] or Term.of(found[0]).id != self.id:
                return False
        self.mine, self.fresh_until = wanted, began + self.term
        return True

    def _is_overtaken(self) -> bool:
        """Say whether a newer token than ours stands: ours was free because it was swept."""
        newest = _tokens(self.cell.listed())[-1]
        return _token(newest) > self.token

    def renew(self) -> bool:
        """Renew it; False where another has taken it over. One request."""
        with self._turn:
            if self.mine is None or self.lost:
                return False
            began, lapses = self.clock(), self.fresh_until
            if began < lapses:
                self.mine = replace(self.mine, beat=self.mine.beat + 1)
                self.cell.write(_name(self.mine.token), self.mine.content())
                if self.clock() < lapses:
                    self.fresh_until = began + self.term
                    return True
            self.lost = not self._create(self.mine.token + 1)
            return not self.lost

    def give_back(self) -> None:
        """Let others have it at once. One request."""
        with self._turn:
            if self.mine is not None:
                self.cell.write(_name(self.mine.token), b"")
                self.mine = None

    def sign(self) -> None:
        """Say, or say again, that this process waits; the store notes when."""
        content = json.dumps({**asdict(self.me), "look": next(_looks)}).encode()
        self.cell.write(self.ticket, content)
        self._signed = True

    def tear(self) -> None:
        """Wait no more."""
        if self._signed:
            self.cell.delete(self.ticket)
            self._signed = False

    def wanted(self) -> bool:
        """Say whether somebody waits for it. One request, and one for each ticket of the dead."""
        entries = self.cell.listed()
        now = max((entry.changed for entry in entries), default=0)
        tickets = [entry for entry in entries if entry.path.startswith(TICKETS)]
        living = [entry for entry in tickets if now - entry.changed <= TICKET * SECOND]
        for entry in tickets:
            if entry not in living:
                self.cell.delete(entry.path)
        return bool(living)

    def check(self) -> None:
        """Refuse to go on where another writes by now; renews what may have lapsed."""
        if self.lost or (self.clock() >= self.fresh_until and not self.renew()):
            raise overtaken()


def _name(token: int) -> str:
    return f"{token:020}.json"


def _token(entry: Entry) -> int:
    return int(entry.path.removesuffix(".json"))


def _tokens(entries: list[Entry]) -> list[Entry]:
    """Choose the objects of tokens, the newest last."""
    own = [entry for entry in entries if entry.path.removesuffix(".json").isdecimal()]
    return sorted(own, key=_token)


@contextmanager
def leased(root: Remote, me: Holder, timeout: float) -> Iterator[Lease]:
    """Have the lease of a lake while the block runs; LockedError after `timeout` seconds."""
    lease = Lease(StoreCell(root), me)
    _in_use.add(lease.id)
    try:
        with _renewed(lease, root, timeout):
            yield lease
    finally:
        _in_use.discard(lease.id)


@contextmanager
def _renewed(lease: Lease, root: Remote, timeout: float) -> Iterator[None]:
    _await(lease, root, timeout)
    stop = threading.Event()
    beats = threading.Thread(target=_renew, args=(lease, stop), name="lease", daemon=True)
    beats.start()
    try:
        yield
    finally:
        stop.set()
        with suppress(StorageError):  # then it lapses
            lease.give_back()


def lease_holder(root: Remote) -> Holder | None:
    """Say who has the lease of a lake. Two requests."""
    cell = StoreCell(root)
    entries = _tokens(cell.listed())
    found = cell.read(entries[-1].path) if entries and entries[-1].size else None
    holder = None if found is None or not found[0] else Term.of(found[0]).holder
    return None if holder is None or holder.known_dead else holder


def _await(lease: Lease, root: Remote, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    look = FIRST_LOOK
    try:
        while not lease.acquire():
            left = deadline - time.monotonic()
            if left <= 0:
                raise locked_out(root, lease.other, timeout)
            time.sleep(min(look, left))
            look = min(2 * look, LONGEST_LOOK)
    finally:
        with suppress(StorageError):
            lease.tear()


def overtaken() -> LockedError:
    """Make the error of a holder that slept for longer than its lease."""
    return LockedError(
        "this process was stopped or cut off for so long that another took over the lake, and goes "
        "on from what was committed: nothing is lost. Look at the outcome of that one, then try "
        "again"
    )


def locked_out(root: object, other: Holder | None, timeout: float) -> LockedError:
    """Make the error of a lake that another process did not leave in time."""
    who = "another process" if other is None else str(other)
    remedy = "" if other is None else f" (process {other.pid})"
    return LockedError(
        f"the lake {root} is being written to by {who}. It did not end in {timeout:g} s; nothing "
        f"was changed. Wait for it or end it{remedy}, then try again."
    )


def _renew(lease: Lease, stop: threading.Event) -> None:
    while not stop.wait(BEAT):
        try:
            if not lease.renew():
                return
        except StorageError:  # `check` decides whether that has lasted too long
            continue
