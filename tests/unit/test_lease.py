"""One writer a lake on an object store: a lease that is renewed, given back, taken over."""

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from fencepost.errors import LakeError, LockedError
from fencepost.times import SECOND
from pipelines import places
from pipelines.lake.holder import Holder
from pipelines.lake.lease import FOLDER, KEPT, MARGIN, TERM, Lease, StoreCell
from pipelines.lake.lock import hold, holder
from pipelines.places import Entry, Remote, connection, place_of
from tests.support.commands.commands import REPOSITORY
from tests.support.stores.proxy import Proxy
from tests.support.stores.servers import KEY, S3, SECRET

HOLDS = """
import sys
from pathlib import Path
from pipelines.lake.lock import hold
from pipelines.places import place_of
with hold(place_of(sys.argv[1], Path("/")), sys.argv[2], float(sys.argv[3])) as held:
    print(held.token, flush=True)
    sys.stdin.readline()
"""
COUNTS = """
import sys
from pathlib import Path
from pipelines import places
from pipelines.lake import lease
from pipelines.lake.lock import hold
lease.FIRST_LOOK = lease.LONGEST_LOOK = 0.01
root = places.place_of(sys.argv[1], Path("/"))
for _ in range(5):
    with hold(root, "counts", 60):
        n = int(places.read(root / "n"))
        places.replace(root / "n", b"")
        places.replace(root / "n", str(n + 1).encode())
"""


@dataclass
class Memory:
    """A cell in memory, with a clock of its own, whose answers can be lost."""

    now: float = 1000.0
    objects: dict[str, tuple[bytes, float]] = field(default_factory=dict)
    behind: dict[str, tuple[bytes, float]] | None = None
    lose: int = 0
    slow: float = 0.0

    def listed(self) -> list[Entry]:
        objects = self.objects if self.behind is None else self.behind
        return [
            Entry(name, len(content), int(changed) * SECOND, str(hash(content)))
            for name, (content, changed) in objects.items()
        ]

    def read(self, name: str) -> tuple[bytes, str] | None:
        found = self.objects.get(name)
        return None if found is None else (found[0], str(hash(found[0])))

    def create(self, name: str, content: bytes) -> bool:
        if name in self.objects:
            return False
        self.objects[name] = content, self.now
        self.lose -= 1
        return self.lose < 0

    def write(self, name: str, content: bytes) -> None:
        self.objects[name] = content, self.now
        self.now += self.slow

    def delete(self, name: str) -> None:
        self.objects.pop(name, None)

    def lease(self, command: str, host: str = "elsewhere") -> Lease:
        me = replace(Holder.this(command), host=host, machine=None)
        return Lease(self, me, clock=lambda: self.now)


@pytest.fixture
def root(moto_s3: S3) -> Remote:
    place = place_of(moto_s3.uri("lake"), REPOSITORY)
    assert isinstance(place, Remote)
    return place


@contextmanager
def another(root: Remote, command: str = "fencepost run") -> Iterator[subprocess.Popen[str]]:
    """Another process that has the lease until it is given a line."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(root), command, "30"],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip().isdecimal()
        try:
            yield process
        finally:
            process.communicate("\n")


def test_tokens_rise_by_one_and_a_lease_that_was_given_back_is_free_at_once():
    cell = Memory()
    for token in (1, 2, 3):
        lease = cell.lease("a")
        assert lease.acquire()
        assert lease.token == token
        assert not cell.lease("b").acquire()
        lease.give_back()


def test_a_lease_is_taken_over_when_it_was_not_renewed_for_its_term_and_not_before():
    cell = Memory()
    first, second = cell.lease("first"), cell.lease("second")
    assert first.acquire()
    for _ in range(5):
        cell.now += TERM - 1
        assert not second.acquire()
        assert first.renew()
    cell.now += TERM + MARGIN
    assert not second.acquire()
    cell.now += 1
    assert second.acquire()
    assert second.token == 2
    assert not first.renew()
    with pytest.raises(LockedError, match="another took over"):
        first.check()
    second.check()


def test_one_who_slept_renews_before_it_goes_on_if_nobody_came():
    cell = Memory()
    lease = cell.lease("sleeps")
    assert lease.acquire()
    cell.now += 100 * TERM
    lease.check()
    assert lease.fresh_until == cell.now + TERM
    assert lease.token == 2
    assert not cell.lease("other").acquire()


def test_a_listing_that_is_behind_takes_nothing_over():
    cell = Memory()
    first, second = cell.lease("first"), cell.lease("second")
    assert first.acquire()
    second.sign()
    cell.behind = dict(cell.objects)
    cell.now += 10 * TERM
    second.sign()
    cell.behind[second.ticket] = cell.objects[second.ticket]
    assert first.renew()
    assert not second.acquire()
    cell.behind = None
    assert not second.acquire()
    assert first.renew()


def test_a_lost_answer_is_known_by_what_stands_there():
    cell = Memory(lose=1)
    lease = cell.lease("a")
    assert lease.acquire()
    assert not cell.lease("b").acquire()
    lease.give_back()
    assert cell.lease("b").acquire()


def test_a_renewal_counts_only_if_it_was_answered_before_the_lease_lapsed():
    cell = Memory()
    lease = cell.lease("a")
    assert lease.acquire()
    cell.slow = TERM
    assert lease.renew()
    assert lease.token == 2  # by the next token, since another might have been first
    cell.slow = 0.0
    cell.now += TERM + MARGIN + 1
    assert cell.lease("b").acquire()
    assert not lease.renew()


def test_one_who_took_long_to_create_looks_again_since_old_tokens_are_swept(monkeypatch):
    cell = Memory()
    assert cell.lease("a").acquire()
    cell.now += TERM + MARGIN + 1
    slow = cell.lease("slow")
    create = cell.create

    def after_a_day(name: str, content: bytes) -> bool:
        monkeypatch.setattr(cell, "create", create)
        cell.now += 86_400
        for number in range(5):
            lease = cell.lease("b")
            assert lease.acquire(), number
            cell.now += KEPT + 1
            lease.give_back()
        assert name not in cell.objects
        assert cell.lease("c").acquire()
        return create(name, content)

    monkeypatch.setattr(cell, "create", after_a_day)
    assert not slow.acquire()


def test_old_tokens_are_swept_and_the_newest_stay():
    cell = Memory()
    for _ in range(20):
        lease = cell.lease("a")
        assert lease.acquire()
        lease.give_back()
        cell.now += KEPT
    assert [int(name.removesuffix(".json")) for name in cell.objects] == [18, 19, 20]


def test_the_dead_are_known_only_where_they_ran():
    here = Holder.this("a")
    assert here.machine is not None
    assert not here.known_dead
    gone = replace(here, born="1")
    assert gone.known_dead
    assert not replace(gone, machine="another boot/4026531836").known_dead
    assert not replace(gone, machine=None).known_dead  # another container of this host's name


def test_a_damaged_lease_is_refused_in_words():
    cell = Memory()
    cell.objects["1.json"] = b"{}", 0
    with pytest.raises(LakeError, match=r"the newest object in _lease/, is damaged.*empty that"):
        cell.lease("a").acquire()


def test_a_lease_costs_three_requests_where_nobody_waits(watched_s3: tuple[S3, Proxy]):
    bucket, proxy = watched_s3
    root = place_of(bucket.uri("lake"), REPOSITORY)
    with hold(root, "first"):
        pass
    proxy.clear()
    with hold(root, "second") as lease:
        assert lease.token == 2
        lease.check()
    assert proxy.counts() == {"LIST": 1, "PUT": 2}


def test_who_waits_is_seen_and_who_has_it_is_named(root: Remote):
    with another(root, "fencepost watch") as process:
        found = holder(root)
        assert found is not None
        assert (found.pid, found.command) == (process.pid, "fencepost watch")
        with pytest.raises(LockedError) as refused, hold(root, "mine", timeout=0.3):
            pass
        assert f"`fencepost watch` (process {process.pid} on {socket.gethostname()})" in str(
            refused.value
        )
    assert holder(root) is None
    with hold(root, "mine") as lease:
        assert not lease.wanted()
        waiting = threading.Thread(target=lambda: hold(root, "waits", 30).__enter__(), daemon=True)
        waiting.start()
        deadline = time.monotonic() + 10
        while not lease.wanted():
            assert time.monotonic() < deadline
            time.sleep(0.02)
    waiting.join(30)
    assert not waiting.is_alive()


def test_a_killed_holder_of_this_host_is_followed_at_once(root: Remote, record_property):
    with another(root) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        begun = time.monotonic()
        with hold(root, "next", timeout=10) as lease:
            assert lease.token == 2
        assert time.monotonic() - begun < TERM / 4
        record_property("kills", 1)


def test_what_a_process_could_not_give_back_it_has_again_at_once(
    watched_s3: tuple[S3, Proxy], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(connection, "PATIENCE", 0.2)
    bucket, proxy = watched_s3
    root = place_of(bucket.uri("lake"), REPOSITORY)
    with hold(root, "first"):
        with pytest.raises(LockedError), hold(root, "beside it", timeout=0):
            pass
        proxy.refused = 1.0
    proxy.refused = 0.0
    with hold(root, "second", timeout=0) as lease:
        assert lease.token == 2


@pytest.mark.parametrize("server", ["moto_s3", "gateway_s3"])
def test_what_was_not_renewed_lapses_by_the_stores_own_clock(
    server: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    root = place_of(request.getfixturevalue(server).uri("lake"), REPOSITORY)
    assert isinstance(root, Remote)
    monkeypatch.setattr("pipelines.lake.lease.MARGIN", 1.0)
    far = replace(Holder.this("far"), host="far", machine="far", since=0)
    gone = Lease(StoreCell(root), far, term=1.0)
    assert gone.acquire()
    with pytest.raises(LockedError, match="on far"), hold(root, "early", timeout=0):
        pass
    with hold(root, "late", timeout=20) as lease:
        assert lease.token == 2
        assert not gone.renew()


def test_writers_of_many_processes_take_turns(gateway_s3: S3):
    root = place_of(gateway_s3.uri("lake"), REPOSITORY)
    places.replace(root / "n", b"0")
    counting = [
        subprocess.Popen([sys.executable, "-c", COUNTS, str(root)], cwd=REPOSITORY)
        for _ in range(4)
    ]
    assert [process.wait(120) for process in counting] == [0] * 4
    assert places.read(root / "n") == b"20"
    entries = list(places.listed(root / FOLDER))
    assert [int(entry.path.removesuffix(".json")) for entry in entries] == list(range(1, 21))
    assert {entry.size for entry in entries} == {0}


def test_what_a_lease_says_holds_no_secret(root: Remote, moto_s3: S3):
    with hold(root, "fencepost run"):
        (entry,) = places.listed(root / FOLDER)
        said = places.read(root / FOLDER / entry.path).decode()
    assert "fencepost run" in said
    assert not [value for value in (KEY, SECRET, moto_s3.endpoint) if value in said]
