"""The path that every driver takes: finish what was begun, plan the next group, evaluate, commit.

`fencepost run`, `watch` and a Dagster partition call the same functions; the choice changes
no row.

Law: nothing advances over a stale epoch, and of a lane one group is open at most.
"""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from fencepost.errors import LakeError
from fencepost.row_hashes import content_hash
from pipelines.epochs.lost_plans import refuse_lost_plans
from pipelines.lake.append import Conflict, Unknown, committed
from pipelines.lake.crash_points import point
from pipelines.lake.evidence import Evidence
from pipelines.lake.sequence import ARRIVALS
from pipelines.lake.store import Store
from pipelines.lanes import Lane, lane_named, lanes_of
from pipelines.planning.chain import EPOCHS, Chain, Chains, Epoch
from pipelines.planning.deliveries import Arrivals
from pipelines.planning.plan import Limits, next_group
from pipelines.project.settings import Settings
from pipelines.spark.runner import Runner
from schemas.arrivals import PLANNED
from schemas.epochs import COUNTS


@dataclass(frozen=True)
class Lake:
    """A lake being worked on: its tables, its settings, and its runner."""

    store: Store
    settings: Settings
    runner: Runner
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def of(cls, store: Store, settings: Settings, runner: Runner) -> "Lake":
        """Take the limits from the settings."""
        limits = Limits(settings.epoch_rows, settings.group, None, settings.snapshot_every)
        return cls(store, settings, runner, limits)

    def lanes(self) -> list[Lane]:
        """List its lanes."""
        return lanes_of(self.store, self.settings)

    def lane(self, name: str) -> Lane:
        """Give the lane of a name, whether the lake has it or not."""
        return lane_named(self.settings, name)


@dataclass(frozen=True)
class GroupReport:
    """A group that was committed: its epochs with their counts, and how the time divides."""

    lane: Lane
    epochs: tuple[Epoch, ...]
    seconds: Mapping[str, float]

    @property
    def counts(self) -> dict[str, int]:
        """The counts of its epochs together; `waiting` is that of the last one."""
        total = {name: sum(e.counts[name] for e in self.epochs) for name in COUNTS}
        return {**total, "waiting": self.epochs[-1].counts["waiting"]}


def chain_of(store: Store, lane: str) -> Chain:
    """Read the epochs in force of a lane."""
    return store.fold(EPOCHS, Chains).of(lane)


def chains_of(store: Store) -> Mapping[str, Chain]:
    """Read the epochs in force of every lane that ever had one, declared or not."""
    return store.fold(EPOCHS, Chains).every()


def arrivals_of(store: Store) -> Arrivals:
    """Read what has arrived."""
    return store.fold(ARRIVALS, Arrivals)


def finish(lake: Lake, lane: Lane) -> GroupReport | None:
    """Carry out the plan that is not done, if there is one."""
    chain = chain_of(lake.store, lane.name)
    if not chain.open:
        return None
    return execute(lake, lane, chain, chain.open)


def advance(lake: Lake, lane: Lane, until: str | None = None) -> Iterator[GroupReport]:
    """Bring a lane up to date, up to the partition `until`, group after group."""
    begun = finish(lake, lane)
    if begun is not None:
        yield begun
    while True:
        started = time.perf_counter()
        group = plan(lake, lane, until)
        if not group:
            return
        planned = time.perf_counter() - started
        yield execute(lake, lane, chain_of(lake.store, lane.name), group, planned)


def plan(
    lake: Lake, lane: Lane, until: str | None = None, again_from: int | None = None
) -> tuple[Epoch, ...]:
    """Plan the next group, durably, before anything is evaluated; empty if there is nothing to do.

    `again_from` is the first epoch to evaluate again.
    """
    name = uuid.uuid4().hex
    store = lake.store
    while True:
        arrivals = arrivals_of(store)
        deliveries = arrivals.settled(lane.name)
        context = lane.context(store, arrivals, deliveries, name, code_version())
        chain = chain_of(store, lane.name)
        group = next_group(chain, deliveries, context, lake.limits, until, again_from)
        if not group:
            return ()
        refuse_lost_plans(store, chain, lane.tables, context.bases)
        at = datetime.now(UTC)
        rows = store.as_table(EPOCHS, [epoch.as_row(PLANNED, at) for epoch in group])
        evidence = Evidence(
            "plan",
            name,
            lane.name,
            group[0].epoch,
            group[-1].epoch,
            group[0].generation,
            rows.num_rows,
            content_hash(rows),
        )
        try:
            store.append(EPOCHS, context.bases[EPOCHS], store.write(EPOCHS, rows), evidence)
        except (Conflict, Unknown):
            if not committed(store, EPOCHS, evidence, context.bases[EPOCHS]):
                continue
        point("epochs.planned")
        return tuple(group)


def execute(
    lake: Lake, lane: Lane, chain: Chain, group: Sequence[Epoch], planned: float = 0.0
) -> GroupReport:
    """Evaluate a planned group and commit it."""
    started = time.perf_counter()
    if tuple(chain.epochs[group[0].epoch - 1 : group[-1].epoch]) != tuple(group):
        raise LakeError(
            f"the plan for epoch {group[0].epoch} of '{lane}' was replaced by another "
            "writer's before it was carried out: run again"
        )
    job = lane.job(lake.store, lake.runner.slots, chain, group, arrivals_of(lake.store))
    seconds = {"plan": planned, "prepare": time.perf_counter() - started}
    started = time.perf_counter()
    answers = job.answers(lake.settings, lake.runner)
    seconds["job"] = time.perf_counter() - started
    for name in ("read", "sort", "evaluate", "write"):
        seconds[name] = sum(answer.seconds.get(name, 0.0) for answer in answers)
    started = time.perf_counter()
    done = job.commit(answers, {name: round(s, 4) for name, s in seconds.items()})
    seconds["commit"] = time.perf_counter() - started
    return GroupReport(lane, tuple(done), seconds)


@cache
def code_version() -> str:
    """Give the version of Fencepost; the first call reads the package's description, 3 ms."""
    try:
        return version("fencepost")
    except PackageNotFoundError:
        return "source"
