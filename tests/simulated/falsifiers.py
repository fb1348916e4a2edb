"""The protocol, broken on purpose: each way is one that such a protocol has been broken in.

Law: the simulation notices each of them; the tests say within how many seeds.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

from fencepost.order import OrderRules
from pipelines.epochs import drive
from pipelines.execute import job
from pipelines.ingest import execute
from pipelines.ingest import run as ingest_run
from pipelines.lake import append, sequence
from pipelines.lake.data_files import DataFile
from pipelines.lake.evidence import Evidence
from pipelines.lake.lease import Lease
from pipelines.lake.lock import Fence
from pipelines.lake.obsolete import Obsolete
from pipelines.lanes import Lane
from pipelines.planning import plan
from pipelines.planning.deliveries import Arrivals, Delivery
from pipelines.registry import commit
from tests.simulated.store import SimulatedStore

Broken = Callable[[], Any]
"""Gives a context in which the protocol is broken."""

ROOMS = (append, sequence, drive, job, execute, ingest_run, commit)
COMMITTED = append.committed
NEXT_GROUP = plan.next_group
DIFFERENCE = plan.first_difference
DELIVERIES = Arrivals.deliveries
COMMIT = job.Job.commit
MAKE = SimulatedStore.make


@contextmanager
def everywhere(name: str, stand_in: Callable[..., Any]) -> Iterator[None]:
    """Put a function in the place of another, in every room that knows it by name."""
    with ExitStack() as stack:
        for room in ROOMS:
            if hasattr(room, name):
                stack.enter_context(mock.patch.object(room, name, stand_in))
        yield


def nobody_looks_for_evidence() -> Any:
    return everywhere("committed", lambda *_: False)


def evidence_goes_by_number() -> Any:
    """As transaction ids do: a number that was used is passed over, whatever its content."""

    def by_number(tables: Any, name: str, evidence: Evidence, *_: int | None) -> bool:
        mine = (evidence.what, evidence.lane, evidence.first, evidence.last)
        return mine in {(e.what, e.lane, e.first, e.last) for e in tables.evidence(name, -1)}

    return everywhere("committed", by_number)


def an_unknown_outcome_is_taken_for_success() -> Any:
    def once(
        tables: Any,
        name: str,
        evidence: Evidence,
        files: Callable[[], Any],
        since: int,
        replaces: Obsolete | None = None,
    ) -> bool:
        if COMMITTED(tables, name, evidence, since):
            return False
        while True:
            try:
                tables.append(name, tables.version(name), files(), evidence, replaces)
            except append.Unknown:
                return True
            except append.Conflict:
                continue
            return True

    return everywhere("append_once", once)


def done_is_said_before_the_rows_stand() -> Any:
    def commit(mine: job.Job, answers: Sequence[Any], seconds: Any) -> Any:
        done = COMMIT(mine, [replace(answer, rows={}) for answer in answers], seconds)
        for name in (table.name for table in mine.targets):
            rows = sum(answer.rows.get(name, 0) for answer in answers)
            hashed = sum(answer.hashes.get(name, 0) for answer in answers) % 2**64
            files = [DataFile.from_json(f) for a in answers for f in a.files.get(name, ())]
            if rows:
                told = mine._evidence("evaluate", rows, hashed)
                append.append_once(mine.store, name, told, partial(list, files), 0)
        return done

    return mock.patch.object(job.Job, "commit", commit)


def a_plan_is_not_written_down() -> Any:
    """The epochs are evaluated at once, and their ledger gets them when they are done."""

    def plan_only(lake: Any, lane: Lane, until: Any = None, again_from: Any = None) -> Any:
        store = lake.store
        arrivals = drive.arrivals_of(store)
        deliveries = arrivals.deliveries(lane.name)
        context = lane.context(store, arrivals, deliveries, uuid.uuid4().hex, "simulated")
        chain = drive.chain_of(store, lane.name)
        group = NEXT_GROUP(chain, deliveries, context, lake.limits, until, again_from)
        return tuple(group)

    return mock.patch.object(drive, "plan", plan_only)


def stale_epochs_are_not_replaced() -> Any:
    """What comes late into an old partition is put behind what was taken."""

    def in_order_of_arrival(mine: Any, lane: str) -> Any:
        return sorted(DELIVERIES(mine, lane), key=lambda delivery: delivery.n)

    return mock.patch.object(Arrivals, "deliveries", in_order_of_arrival)


def later_epochs_stand_though_earlier_ones_changed() -> Any:
    """Only the first epoch that differs is evaluated anew, and the later ones are left."""

    def blind(chain: Any, deliveries: Any) -> int:
        taken = [n for epoch in chain.epochs for n in epoch.arrivals]
        kept = DIFFERENCE(chain, deliveries)
        return len(chain) if len(taken) < len(deliveries) else kept

    return mock.patch.object(plan, "first_difference", blind)


def a_commit_names_no_version() -> Any:
    """Whoever appends makes the next version, as a retrying writer does."""

    def make(
        store: SimulatedStore,
        name: str,
        _at: int,
        files: Sequence[DataFile],
        evidence: Evidence,
        gone: frozenset[str] = frozenset(),
    ) -> None:
        at = store.disk.version(name)
        MAKE(store, name, at, files, evidence, gone)

    return mock.patch.object(SimulatedStore, "make", make)


def a_generation_does_not_rise() -> Any:
    def group(chain: Any, *rest: Any) -> Any:
        return [replace(e, generation=max(chain.generation, 1)) for e in NEXT_GROUP(chain, *rest)]

    return mock.patch.object(drive, "next_group", group)


def what_was_replaced_is_left() -> Any:
    """A reader of the tables would have to know the ledger."""
    return mock.patch.object(job.Job, "replaced", None)


def rows_are_removed_from_an_epoch_on_whatever_their_generation() -> Any:
    """So a writer that slept takes newer rows away, in a table in which it has none itself."""

    def all_from(mine: job.Job) -> Obsolete:
        return Obsolete(mine.lane, since=mine.group[0].first, below=1 << 30)

    return mock.patch.object(job.Job, "replaced", property(all_from))


def numbers_are_taken_without_comparing() -> Any:
    """The next number is read, and later written, whoever wrote in between."""

    def take(store: Any, what: str, name: str, lane: str, make: Callable[[int], Any]) -> Any:
        planned = make(store.fold("arrivals", sequence.Numbers).newest + 1)
        evidence = sequence._evidence(what, name, lane, planned)
        files = store.write("arrivals", planned)
        append.append_once(store, "arrivals", evidence, lambda: files, 0)
        return planned

    return everywhere("take_numbers", take)


def what_a_look_found_is_planned_unseen() -> Any:
    """Nobody looks at the ledger again when the number is taken."""
    return everywhere("still_new", lambda _store, _settings, _now, some: list(some))


def no_commit_is_refused_for_its_token() -> Any:
    """A writer that was overtaken commits after the next."""

    def passed(fence: Fence, _newest: int) -> int | None:
        return None if fence.lock is None else fence.lock.token

    return mock.patch.object(Fence, "passed", passed)


def a_lease_is_taken_from_one_who_renews_it() -> Any:
    return mock.patch.object(Lease, "_is_free", return_value=True)


def a_lease_is_renewed_after_it_lapsed() -> Any:
    """The holder writes its own object, however late, and believes to have the lease."""

    def renew(lease: Lease) -> bool:
        assert lease.mine is not None
        lease.cell.write(f"{lease.token:020}.json", lease.mine.content())
        lease.fresh_until = lease.clock() + lease.term
        return True

    return mock.patch.object(Lease, "renew", renew)


def deliveries_are_read_as_declared_now() -> Any:
    return everywhere("as_recorded", lambda feed, _record: feed)


def epochs_are_judged_as_declared_now() -> Any:
    def now(context: plan.Context, delivery: Delivery) -> OrderRules:
        return OrderRules("first", context.lateness[delivery.feed])

    return mock.patch.object(plan.Context, "rules_of", now)


BROKEN: Sequence[Broken] = (
    nobody_looks_for_evidence,
    evidence_goes_by_number,
    an_unknown_outcome_is_taken_for_success,
    done_is_said_before_the_rows_stand,
    a_plan_is_not_written_down,
    stale_epochs_are_not_replaced,
    later_epochs_stand_though_earlier_ones_changed,
    a_commit_names_no_version,
    a_generation_does_not_rise,
    what_was_replaced_is_left,
    rows_are_removed_from_an_epoch_on_whatever_their_generation,
    numbers_are_taken_without_comparing,
    what_a_look_found_is_planned_unseen,
    no_commit_is_refused_for_its_token,
    a_lease_is_taken_from_one_who_renews_it,
    a_lease_is_renewed_after_it_lapsed,
    deliveries_are_read_as_declared_now,
    epochs_are_judged_as_declared_now,
)
