"""Who writes to a lake, or waits to: what a process says of itself to others."""

import json
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fencepost.text import shortened
from fencepost.times import SECOND, format_instant
from pipelines.disk.atomic import replace_text

LONGEST_WAIT = 86_400.0
"""Seconds after which a ticket counts no more, whatever it says."""


@dataclass(frozen=True)
class Holder:
    """A process that holds the lock or waits for it.

    command  what it does, as text
    since    µs
    born     when the process began, as the system counts; None: unknown. Process ids come again
    until    for one that waits: when it gives up, µs
    machine  what its process id is unique within: a boot of a machine, and there a container
    """

    pid: int
    host: str
    command: str
    since: int
    born: str | None = None
    until: int | None = None
    machine: str | None = None

    @classmethod
    def this(cls, command: str, waits: float | None = None) -> "Holder":
        """Describe this process."""
        now = time.time_ns() // 1000
        until = None if waits is None else now + int(min(waits, LONGEST_WAIT) * SECOND)
        pid = os.getpid()
        return cls(pid, socket.gethostname(), command, now, _born(pid), until, _machine())

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Holder":
        """Read what a process wrote about itself; raises what `read` catches."""
        return cls(
            int(said["pid"]),
            str(said["host"]),
            str(said["command"]),
            int(said["since"]),
            said.get("born"),
            said.get("until"),
            said.get("machine"),
        )

    @classmethod
    def read(cls, path: Path) -> "Holder | None":
        """Read what a process wrote about itself; None if it is gone, or the file is invalid."""
        try:
            return cls.of(json.loads(path.read_bytes()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    @property
    def lives(self) -> bool:
        """Whether the process still exists; one on another host is assumed to."""
        if self.until is not None and self.until < time.time_ns() // 1000:
            return False
        return self.host != socket.gethostname() or self._exists()

    @property
    def known_dead(self) -> bool:
        """Whether it ran where this process runs, and has ended: proof, not likelihood.

        A host's name is not enough: containers may share one, and then see other processes.
        """
        here = _machine()
        return here is not None and self.machine == here and not self._exists()

    @property
    def is_here(self) -> bool:
        """Whether it is this process."""
        here = _machine()
        mine = here is not None and self.machine == here and self.pid == os.getpid()
        return mine and self.born == _born(self.pid)

    def _exists(self) -> bool:
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


def _born(pid: int) -> str | None:
    """Say when a process began; None if it is dead, or where the system does not say."""
    try:
        state, *numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state == "Z" else numbers[18]


def _machine() -> str | None:
    """Name this boot of the machine, and the container in it; None where the system cannot say."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return None
