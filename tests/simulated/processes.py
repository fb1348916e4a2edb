"""Processes that share a lake: one runs at a time, and one seed decides which, and what befalls it.

At each step a process may be killed, be suspended (a zombie, to go on much later with all it held
in its hands), or another one's turn may come; a commit may be made and its answer lost, not be made
and the answer lost all the same, or be beaten by somebody else's.

Law: with the same seed everything happens in the same order. No clock, no chance of threads: the
baton is with one process, and it alone draws.
"""

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.lake.append import Unknown
from pipelines.lake.lease import Lease
from tests.simulated.store import Row
from tests.support.crashes import Killed

MOST_BOOTS = 60
PATIENCE = 300.0
LOOK = 6.0
"""Seconds of the simulated clock between two looks of one who waits; a step takes one."""


@dataclass(frozen=True)
class Temper:
    """How likely what is, at each step or append.

    crowd  so many processes work at once
    calm   after so many processes nothing befalls anybody any more
    """

    killed: float
    suspended: float
    turn: float
    append: float
    crowd: int
    calm: int

    @classmethod
    def drawn(cls, draw: random.Random) -> "Temper":
        """Draw one: some seeds have many crashes, some many zombies, some several writers."""
        return cls(
            draw.choice((0.0, 0.004, 0.02)),
            draw.choice((0.0, 0.01, 0.03)),
            draw.choice((0.02, 0.1, 0.3)),
            draw.choice((0.0, 0.05, 0.2)),
            draw.choice((1, 1, 2, 3)),
            draw.choice((1, 3, 5)),
        )


class Process:
    """A process of the simulation, a thread that runs only when it has the baton.

    disturbed  another process has run since it began, or a commit came late
    """

    def __init__(self, scheduler: "Scheduler", number: int) -> None:
        self.scheduler = scheduler
        self.number = number
        self.gate = threading.Lock()
        self.gate.acquire()
        self.suspended = False
        self.ended = False
        self.disturbed = False
        self.lease: Lease | None = None
        self.seen: dict[str, Sequence[Row]] = {}
        self.thread = threading.Thread(target=self._live, daemon=True)
        self.thread.start()

    def _live(self) -> None:
        self.gate.acquire()
        try:
            if not self.scheduler.over:
                self.scheduler.program(self)
        except Killed:
            self.scheduler.kills += not self.scheduler.over
        except BaseException as fault:  # noqa: BLE001  whatever it is, the seed has failed
            self.scheduler.fail(fault)
        self.ended = True
        self.scheduler.leave(self)


class Scheduler:
    """Who runs; counts what happened."""

    def __init__(self, draw: random.Random, at_rest: Callable[[], bool]) -> None:
        self.draw = draw
        self.at_rest = at_rest
        self.temper = Temper.drawn(draw)
        self.running: Process
        self.program: Callable[[Process], None] = lambda _: None
        self.processes: list[Process] = []
        self.over = False
        self.fault: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()
        self.waited = 0.0
        self.steps = self.kills = self.zombies = self.lost = self.gave_up = self.overtaken = 0

    @property
    def calm(self) -> bool:
        """Whether nothing befalls anybody any more, so that the run comes to an end."""
        return len(self.processes) > self.temper.calm

    def run(self) -> None:
        """Run until the work is done; raise what went wrong."""
        self._give(self.boot())
        if not self.done.acquire(timeout=PATIENCE):
            self.fail(AssertionError("the processes came to a standstill"))
        self.over = True
        for process in self.processes:
            if not process.ended:
                process.gate.release()
            process.thread.join(PATIENCE)
        if self.fault is not None:
            raise self.fault

    def fail(self, fault: BaseException) -> None:
        """Keep the first fault; the run is over."""
        if self.fault is None:
            self.fault = fault

    def boot(self) -> Process:
        """Start a process, which first finishes what others left behind."""
        process = Process(self, len(self.processes) + 1)
        self.processes.append(process)
        return process

    def step(self, me: Process) -> None:
        """Pass a step: go on, end, be suspended, or let another go first."""
        if self.over:
            raise Killed
        self.steps += 1
        roll = self.draw.random()
        if not self.calm:
            if roll < self.temper.killed:
                raise Killed
            roll -= self.temper.killed
            if roll < self.temper.suspended:
                me.suspended = True
                self.zombies += 1
                self._hand_over(me)
                return
            roll -= self.temper.suspended
        if roll < self.temper.turn:
            self._hand_over(me)

    def wait(self, me: Process) -> None:
        """Let another go first, whatever was drawn, and look again some seconds later."""
        self.step(me)
        self.waited += LOOK
        self._hand_over(me)

    def append(self, make: Callable[[], None]) -> None:
        """Let a commit be made, or not, and its answer be lost, or not."""
        roll = 1.0 if self.calm else self.draw.random() / max(self.temper.append, 1e-9)
        if roll >= 1:
            make()
            return
        self.lost += 1
        if roll < 0.25:
            raise Killed
        if roll < 0.5:
            make()
            raise Killed
        if roll < 0.75:
            raise Unknown("the answer was lost, and so was the commit")
        make()
        raise Unknown("the answer was lost")

    @property
    def odd_share(self) -> float:
        """The share of a store's answers that are odd."""
        return 0.0 if self.calm else 2 * self.temper.append

    def disturb_all(self) -> None:
        """Somebody's commit came late, and beside whatever any process does now."""
        for process in self.processes:
            process.disturbed = True

    def foreign(self) -> bool:
        """Say whether somebody else commits first: an OPTIMIZE, say."""
        return not self.calm and self.draw.random() < self.temper.append / 4

    def leave(self, me: Process) -> None:
        """Give the baton on for good."""
        if not self.over:
            self._pass_on(me)

    def _hand_over(self, me: Process) -> None:
        self._pass_on(me)
        me.gate.acquire()
        if self.over:
            raise Killed

    def _pass_on(self, me: Process) -> None:
        following = None if self.fault is not None else self._next(me)
        if following is None:
            self.over = True
            self.done.release()
            return
        if following is not me:
            for process in self.processes:
                process.disturbed |= process is not following
        self._give(following)

    def _give(self, process: Process) -> None:
        self.running = process
        process.suspended = False
        process.gate.release()

    def _next(self, me: Process) -> Process | None:
        if len(self.processes) >= MOST_BOOTS:
            self.fail(AssertionError(f"after {MOST_BOOTS} processes there is still work"))
            return None
        awake = [p for p in self.processes if not p.ended and not p.suspended]
        asleep = [p for p in self.processes if not p.ended and p.suspended and p is not me]
        if asleep and (self.draw.random() < 0.2 or not awake):
            return self.draw.choice(asleep)
        if len(awake) < self.temper.crowd and not self.at_rest():
            return self.boot()  # with nobody awake, too
        if awake:
            return self.draw.choice(awake)
        return me if me.suspended else None
