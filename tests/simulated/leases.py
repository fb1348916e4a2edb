"""The lease of the simulated lake: the real one, on a clock of steps.

A process that is suspended, or long without its turn, does not renew; whoever waits takes over, and
the sleeper wakes with files in its hands that it must not commit any more.

Law: at no time two processes believe to have the lease, and no table has a commit after one of a
higher token.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from fencepost.times import SECOND
from pipelines.lake.holder import Holder
from pipelines.lake.lease import BEAT, Lease
from pipelines.places import Entry

TRIES = 300


@dataclass
class SimulatedCell:
    """The objects of the lease; a listing may be behind."""

    draw: random.Random
    clock: Callable[[], float]
    objects: dict[str, tuple[bytes, float]] = field(default_factory=dict)
    behind: list[Entry] = field(default_factory=list)

    def listed(self) -> list[Entry]:
        if self.draw.random() < 0.9:
            self.behind = [
                Entry(name, len(content), int(changed) * SECOND, f"{hash(content)}")
                for name, (content, changed) in self.objects.items()
            ]
        return self.behind

    def read(self, name: str) -> tuple[bytes, str] | None:
        found = self.objects.get(name)
        return None if found is None else (found[0], f"{hash(found[0])}")

    def create(self, name: str, content: bytes) -> bool:
        if name in self.objects:
            return False
        self.objects[name] = content, self.clock()
        return self.draw.random() < 0.9  # or the answer is lost

    def write(self, name: str, content: bytes) -> None:
        self.objects[name] = content, self.clock()

    def delete(self, name: str) -> None:
        self.objects.pop(name, None)


class Leases:
    """The leases of all processes."""

    def __init__(self, draw: random.Random, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.cell = SimulatedCell(draw, clock)
        self.all: list[Lease] = []
        self.beaten: dict[int, float] = {}

    def wanted_by(self, number: int) -> Lease:
        """Begin to want it."""
        me = Holder(number, "simulated", "fencepost run", 0)
        lease = Lease(self.cell, me, clock=self.clock, id=f"{number:016x}")
        self.all.append(lease)
        return lease

    def acquired(self, lease: Lease) -> bool:
        """Try once, and look whether somebody else believes to have it."""
        if not lease.acquire():
            return False
        others = [each for each in self.all if each is not lease and each.mine is not None]
        believing = [
            each.token for each in others if not each.lost and self.clock() < each.fresh_until
        ]
        assert not believing, f"tokens {lease.token} and {believing} at once"
        self.beaten[id(lease)] = self.clock()
        return True

    def beat(self, lease: Lease) -> None:
        """Renew where it is time to: what a thread does in a process."""
        if lease.mine is not None and self.clock() - self.beaten[id(lease)] >= BEAT:
            self.beaten[id(lease)] = self.clock()
            lease.renew()
