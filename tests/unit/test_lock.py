"""One writer a lake: between processes, between threads, and after a kill."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.errors import LakeError, LockedError
from pipelines.lake.holder import Holder
from pipelines.lake.lock import HOLDER, LOCK, WAITING, hold, holder
from tests.support.commands.commands import REPOSITORY

HOLDS = """
import sys
from pathlib import Path
from pipelines.lake.lock import hold
with hold(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])) as held:
    print("held", flush=True)
    sys.stdin.readline()
"""
COUNTS = """
import sys
from pathlib import Path
from pipelines.lake.lock import hold
root = Path(sys.argv[1])
for _ in range(25):
    with hold(root, "counts"):
        n = int((root / "n").read_text())
        (root / "n").write_text("")
        (root / "n").write_text(str(n + 1))
"""


def started(code: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@contextlib.contextmanager
def another(root: Path, command: str = "fencepost run") -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until it is told a line."""
    with started(HOLDS, root, command, 30) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def until(true, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.fault(20)
def test_two_processes_never_hold_at_a_time(tmp_path):
    (tmp_path / "n").write_text("0")
    counting = [started(COUNTS, tmp_path) for _ in range(2)]
    for process in counting:
        process.communicate()
        assert process.returncode == 0
    assert (tmp_path / "n").read_text() == "50"


@pytest.mark.fault(20)
def test_two_threads_never_hold_at_a_time_whatever_they_call_the_folder(tmp_path):
    (tmp_path / "lake").mkdir()
    (tmp_path / "link").symlink_to("lake")
    within: list[str] = []
    most: list[int] = []

    def work(root: Path) -> None:
        for _ in range(5):
            with hold(root, "works"):
                within.append("one")
                most.append(len(within))
                time.sleep(0.002)
                within.pop()

    roots = [tmp_path / "lake", tmp_path / "link", tmp_path / "." / "lake" / ".." / "lake"]
    threads = [threading.Thread(target=work, args=[root]) for root in roots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 15


@pytest.mark.fault(22)
def test_a_killed_holder_frees_the_lock_at_once(tmp_path):
    with another(tmp_path) as process:
        os.kill(process.pid, signal.SIGKILL)
        begin = time.monotonic()
        with hold(tmp_path, "next", timeout=5):
            assert time.monotonic() - begin < 1
            found = holder(tmp_path)
            assert found is not None
            assert (found.pid, found.command) == (os.getpid(), "next")


def test_who_waited_in_vain_is_told_who_holds_and_what_to_do(tmp_path):
    with another(tmp_path, "fencepost watch\x1b[2J") as process:
        begin = time.monotonic()
        with pytest.raises(LockedError) as told, hold(tmp_path, "mine", timeout=0.3):
            pass
        assert 0.3 <= time.monotonic() - begin < 3
    message = str(told.value)
    assert f"the lake {tmp_path} is being written to by `fencepost watch�[2J`" in message
    assert f"(process {process.pid} on {socket.gethostname()}) since 20" in message
    assert "It did not end in 0.3 s; nothing was changed." in message
    assert list((tmp_path / WAITING).iterdir()) == []


def test_the_holder_is_told_of_who_waits_and_only_then(tmp_path):
    with hold(tmp_path, "mine") as held:
        assert not held.wanted()
        with started(HOLDS, tmp_path, "waits", 30) as process:
            until(held.wanted)
            process.kill()
            process.wait()
            assert not held.wanted()
            assert list((tmp_path / WAITING).iterdir()) == []


def test_who_waits_gets_the_lock_when_it_is_released(tmp_path):
    with started(HOLDS, tmp_path, "waits", 30) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(LockedError), hold(tmp_path, "mine", timeout=0):
            pass
        done = threading.Timer(0.2, process.stdin.close)
        done.start()
        with hold(tmp_path, "mine", timeout=10) as held:
            assert not held.wanted()
        done.join()


@pytest.mark.fault(22)
def test_a_ticket_of_a_process_that_reuses_an_id_or_waits_no_more_does_not_count(tmp_path):
    with hold(tmp_path, "mine") as held:
        this = json.loads((tmp_path / HOLDER).read_text())
        ticket = tmp_path / WAITING / "1-1.json"
        ticket.parent.mkdir()
        elsewhere = {**this, "host": "another host"}
        late = {"until": time.time_ns() // 1000 - 1}
        soon = {"until": time.time_ns() // 1000 + 60_000_000}
        for said, counts in (
            ({**this, **soon}, True),
            ({**this, **late}, False),
            ({**this, "born": "1"}, False),
            ({**elsewhere, **soon}, True),
            ({**elsewhere, **late}, False),
            ([], False),
        ):
            ticket.write_text(json.dumps(said))
            assert held.wanted() is counts, said
            assert ticket.exists() is counts
        assert not (tmp_path / WAITING / "1-1.json").exists()


def test_the_holder_is_known_as_long_as_it_holds(tmp_path):
    assert holder(tmp_path) is None
    with hold(tmp_path, "mine"):
        found = holder(tmp_path)
        assert found is not None
        assert abs(found.since - time.time_ns() // 1000) < 5_000_000
        assert "`mine`" in str(found)
    assert holder(tmp_path) is None
    assert (tmp_path / LOCK).exists()
    Holder(os.getpid(), socket.gethostname(), "an earlier one", 0, born="1").write(
        tmp_path / HOLDER
    )
    assert holder(tmp_path) is None


def test_looking_who_holds_does_not_free_the_lock(tmp_path):
    with hold(tmp_path, "mine"):
        assert holder(tmp_path) is not None
        with pytest.raises(LockedError), hold(tmp_path, "again", timeout=0.1):
            pass
        with started(HOLDS, tmp_path, "other", 0.2) as process:
            said, _ = process.communicate()
        assert (said, process.returncode) == ("", 1)


def test_what_fails_while_it_is_held_is_raised_as_it_is_and_frees_the_lock(tmp_path):
    with pytest.raises(FileNotFoundError), hold(tmp_path, "mine"):
        (tmp_path / "missing").read_text()
    with hold(tmp_path, "mine", timeout=0):
        pass


@pytest.mark.fault(19)
def test_what_cannot_be_locked_is_told_in_words(tmp_path):
    with (
        pytest.raises(LakeError, match=r"there is no lake at .*none: `fencepost init`"),
        hold(tmp_path / "none", "mine"),
    ):
        pass
    (tmp_path / LOCK).mkdir()
    with pytest.raises(LakeError, match="cannot be locked"), hold(tmp_path, "mine"):
        pass
    (tmp_path / LOCK).rmdir()
    (tmp_path / HOLDER).mkdir()
    with pytest.raises(LakeError, match="cannot be locked"), hold(tmp_path, "mine"):
        pass
    (tmp_path / HOLDER).rmdir()
    with hold(tmp_path, "mine", timeout=0):
        pass
