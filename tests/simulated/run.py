"""One run of the simulation: processes that take in, register and evaluate, and what must hold.

Planner, committer, ingest's and the registry's protocol are the real ones; the store, the rows and
what is evaluated are simulated. There is no lock: all must hold without it. In some seeds
there is a lease, which lapses.
"""

import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pyarrow as pa

from fencepost.errors import LakeError, LockedError, StoreUnavailable
from pipelines.epochs import drive
from pipelines.epochs.drive import Lake
from pipelines.execute import job
from pipelines.ingest import execute
from pipelines.ingest import run as ingest_run
from pipelines.ingest.landing import Looked, NewDelivery
from pipelines.ingest.units import FilePart
from pipelines.lake import crash_points, sequence
from pipelines.lake.evidence import Evidence
from pipelines.lanes import FeedLane
from pipelines.planning.plan import Limits
from pipelines.project.settings import Feed, Settings
from pipelines.registry import commit as registry
from pipelines.registry.changes import Compared, QueryChanges
from schemas.arrivals import DONE
from tests.simulated.checks import Checks
from tests.simulated.leases import TRIES, Leases
from tests.simulated.odd import OddStore
from tests.simulated.processes import Process, Scheduler
from tests.simulated.store import Disk, Laid, Row, SimulatedStore, hash_of
from tests.simulated.streams import Item
from tests.simulated.tasks import SimulatedRunner

FEED = "grid"
KEYS = ("2026-01-01", "2026-01-02", "2026-01-03")
ON_A_STORE = 0.5
"""The share of seeds whose lake is on an object store."""
WITH_A_LEASE = 0.3
NOW = 1_795_003_200_000_000


@dataclass(frozen=True)
class Ran:
    """What a run was made of.

    lost     appends that were not made, or whose answer was lost
    odd      answers of a store that were neither yes nor no, or not true
    gave_up  processes that ended since the store failed for too long
    overtaken  those that ended since another had taken over their lease
    """

    TOTALS = (
        "processes",
        "steps",
        "kills",
        "zombies",
        "lost",
        "odd",
        "gave_up",
        "overtaken",
        "epochs",
        "anew",
    )

    seed: int
    processes: int
    steps: int
    kills: int
    zombies: int
    lost: int
    odd: int
    gave_up: int
    overtaken: int
    epochs: int
    anew: int


class Hands:
    """What a process does at its steps: it asks the scheduler, and lets the checks see."""

    def __init__(self, world: "World", process: Process) -> None:
        self.world = world
        self.process = process

    def step(self) -> None:
        if self.world.odd is not None and self.world.odd.arrive():
            self.world.scheduler.disturb_all()
        self.world.scheduler.step(self.process)
        if self.world.leases is not None and self.process.lease is not None:
            self.world.leases.beat(self.process.lease)

    def commit(self, name: str, at: int, evidence: Evidence, make: Callable[[], None]) -> None:
        if self.world.scheduler.foreign():
            self.world.disk.commit_foreign(name)

        def made() -> None:
            make()
            self.world.checks.committed(name, evidence, self.process.seen)

        if self.world.odd is None:
            self.world.scheduler.append(made)
        else:
            self.world.odd.put(f"{name}/{at + 1}", made, self.world.scheduler.odd_share)

    def saw(self, name: str, rows: Sequence[Row]) -> None:
        self.process.seen[name] = rows


class World:
    """A lake, what lands for it, and the processes that work on it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.draw = random.Random(seed)  # noqa: S311  it is to be drawn again
        self.disk = Disk(self.declared().tables, 2)
        self.items = {item.path: item for item in self._items()}
        self.registrations = [f"q{k}" for k in range(self.draw.choice((0, 1, 1, 2)))]
        self.checks = Checks(self.disk, self.items, FEED)
        self.scheduler = Scheduler(self.draw, self.at_rest)
        self.scheduler.program = self.live
        self.leases = Leases(self.draw, self.clock) if self.draw.random() < WITH_A_LEASE else None
        self.odd = OddStore(self.draw, self.step) if self.draw.random() < ON_A_STORE else None

    def declared(self) -> Settings:
        """Declare the feed: what a process finds may be another than what the last one found."""
        draw = self.draw.choice
        feed = Feed(
            FEED,
            ("x",),
            Path("/landing"),
            partition="day",
            partition_in_path=True,
            allowed_lateness=draw((0, 0, 5)),
            lateness_by=draw(("feed", "stream")),
            idle=draw((0, 4, 9)),
            ties=draw(("all", "first", None)),
            timezone=draw((None, "UTC", "Asia/Tokyo")),
        )
        return Settings(None, Path("/simulated"), {FEED: feed}, buckets=2)

    def _items(self) -> Iterator[Item]:
        ts = 1
        for k in range(self.draw.choice((2, 2, 3, 3, 4, 5, 7))):
            key = KEYS[min(k // 2, 2)] if self.draw.random() < 0.7 else self.draw.choice(KEYS)
            tuples = []
            for _ in range(self.draw.choice((0, 1, 2, 3, 4))):
                ts += self.draw.randint(0, 3)
                tuples.append((self.draw.choice("0123"), ts))
            yield Item(f"{k:02}-{key}", key, tuple(tuples), self.draw.choice((0, 0, 1)))

    # What is left to do, as somebody sees it who sees everything.

    def landed(self) -> list[Item]:
        """Give what no plan knows yet."""
        known = {row["path"] for row in self.disk.rows("arrivals")}
        return [item for path, item in self.items.items() if path not in known]

    def unregistered(self) -> list[str]:
        """Give the queries that do not stand."""
        held = registered(self.disk)
        return [name for name in self.registrations if name not in held]

    def at_rest(self) -> bool:
        """Say whether all that landed is evaluated, and nothing is half done."""
        return not self.landed() and not self.unregistered() and self.checks.is_whole()

    # What a process does with its life.

    def live(self, me: Process) -> None:
        """Finish what was begun, then do one thing after the other until nothing is left."""
        store = SimulatedStore(self.disk, Hands(self, me))
        if self.leases is not None:
            me.lease = self.leases.wanted_by(me.number)
            for _ in range(TRIES):
                if self.leases.acquired(me.lease):
                    break
                self.scheduler.wait(me)
            else:
                return
            store.fence.lock = me.lease
        slots = self.draw.choice((1, 1, 2))
        runner = SimulatedRunner(self.disk, self.items, slots, store.steps.step)
        lake = Lake(cast("Any", store), self.declared(), runner, self._limits())
        try:
            self._recover(lake)
            while self._one_more(lake):
                pass
        except LockedError:  # another took over while it slept
            self.scheduler.overtaken += 1
            return
        except StoreUnavailable:  # it failed for longer than the client has patience
            self.scheduler.gave_up += 1
        except LakeError:  # a plan was replaced while its writer slept
            if not me.disturbed:
                raise
        if me.lease is not None:
            me.lease.tear()
            me.lease.give_back()

    def _limits(self) -> Limits:
        return Limits(
            self.draw.choice((3, 6, 1000)),
            self.draw.choice((1, 2, 32)),
            self.draw.choice((None, 1, 2)),
            self.draw.choice((1, 2, 3, 50)),
        )

    def _recover(self, lake: Lake) -> None:
        registry.recover(lake.store)
        ingest_run.recover(lake.store, lake.settings, lake.runner)
        drive.finish(lake, lake.lane(FEED))

    def _one_more(self, lake: Lake) -> bool:
        """Do the next thing; False where nothing is left, but what the next process recovers."""
        doings = [
            *([self._ingest] * 3 if self.landed() else []),
            *([self._register] if self.unregistered() else []),
            self._advance,
        ]
        if len(doings) == 1:
            self._advance_all(lake)
            return False
        if self.draw.random() < 0.05:
            doings = [self._again]
        self.draw.choice(doings)(lake)
        return True

    def _ingest(self, lake: Lake) -> None:
        """Take some of what has landed."""
        ingest_run.ingest(lake.store, lake.settings, lake.runner, NOW)

    def look(self, _store: SimulatedStore, _feed: Feed, *_: object) -> Looked:
        """Stands in for the look into a landing folder: some of what has landed is complete."""
        lands = self.landed()[: self.draw.choice((1, 1, 2, 3))]
        own = [(FEED, i.path, (i.path,), (1,), (0,), (i.path,), i.path, i.key) for i in lands]
        return Looked([NewDelivery(*each) for each in own])

    def _register(self, lake: Lake) -> None:
        """Register the next query."""
        name = self.draw.choice(self.unregistered())
        changes = QueryChanges(gone=pa.array([name]))
        registry.register(lake.store, lake.settings, changes, NOW)

    def _advance(self, lake: Lake) -> None:
        """Evaluate up to some partition, or only a group or two."""
        until = self.draw.choice((None, None, *KEYS))
        for _ in islice(drive.advance(lake, lake.lane(FEED), until), self.draw.choice((1, 2, 99))):
            pass

    def _advance_all(self, lake: Lake) -> None:
        for _ in drive.advance(lake, lake.lane(FEED)):
            pass

    def _again(self, lake: Lake) -> None:
        """Evaluate from some epoch on once more, though nothing has changed."""
        drive.finish(lake, lake.lane(FEED))
        chain = drive.chain_of(lake.store, FEED)
        group = drive.plan(lake, lake.lane(FEED), again_from=self.draw.randint(1, len(chain) + 1))
        if group:
            drive.execute(lake, lake.lane(FEED), drive.chain_of(lake.store, FEED), group)

    def clock(self) -> float:
        """Give the time: each step takes a second, and who waits does so for some."""
        return self.scheduler.steps + self.scheduler.waited

    def step(self) -> None:
        """Let whoever runs pass a step."""
        self.scheduler.step(self.scheduler.running)

    def passed(self, _name: str) -> None:
        """Hear of a named point."""
        self.step()

    def run(self) -> Ran:
        """Run to the end, and look at what stands."""
        off = crash_points.on_point(self.passed)
        try:
            with (
                mock.patch.object(job, "ONE_TASK", self.draw.choice((-1, 1000))),
                mock.patch.object(ingest_run, "looked_for", self.look),
                self.odd.in_place() if self.odd is not None else nullcontext(),
            ):
                self.scheduler.run()
        finally:
            off()
        self.checks.at_the_end()
        done = self.scheduler
        return Ran(
            self.seed,
            len(done.processes),
            done.steps,
            done.kills,
            done.zombies,
            done.lost,
            0 if self.odd is None else self.odd.odd,
            done.gave_up,
            done.overtaken,
            len(self.checks.force),
            self.checks.generations - 1,
        )


def registered(disk: Disk) -> set[str]:
    """Give the queries whose registration is done."""
    done = {
        row["registry_version"]
        for row in disk.rows("arrivals")
        if row["kind"] == "registry" and row["state"] == DONE
    }
    return {row["id"] for row in disk.rows("queries") if row["registry_version"] in done}


def compared(held: set[str], changes: QueryChanges, _: object) -> Compared:
    """Stands in for the comparison of queries: one is new, or stands already."""
    rows = [{"id": name} for name in changes.gone.to_pylist() if name not in held]
    return Compared(Laid({"id": pa.string()}, rows), len(rows), 0, 0, 0, 0)


@contextmanager
def simulated(seed: int = 0) -> Iterator[None]:
    """Put the stand-ins in their places: hashes, names, query sets, and files to be read."""
    names = random.Random(seed)  # noqa: S311
    ins: list[tuple[Any, str, Any]] = [
        (drive, "content_hash", hash_of),
        (job, "content_hash", hash_of),
        (sequence, "content_hash", hash_of),
        (registry, "content_hash", hash_of),
        (registry, "compare", compared),
        (registry, "newest", lambda store: registered(store.disk)),
        (registry, "by_feed_and_id", lambda rows: rows),
        (FeedLane, "_crossings", lambda _l, _s, version: f"r{version}" if version else None),
        (FeedLane, "_matches", lambda _l, _s, _version: None),
        (FeedLane, "fingerprint", lambda _l, _s, version: f"r{version}"),
        (drive, "code_version", lambda: "simulated"),
        (execute, "_files", lambda _feed, planned, _again: (FilePart(0, planned.path, 1, 0),)),
        (uuid, "uuid4", lambda: uuid.UUID(int=names.getrandbits(128))),
    ]
    with ExitStack() as stack:
        for where, name, stand_in in ins:
            stack.enter_context(mock.patch.object(where, name, stand_in))
        yield


def run(seed: int) -> Ran:
    """Run one seed; Violation, or whatever went wrong, tells the seed and how to see it again."""
    try:
        with simulated(seed):
            return World(seed).run()
    except Exception as fault:
        fault.add_note(f"seed {seed}: python -m tests.simulated {seed}")
        raise
