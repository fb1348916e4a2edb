"""Time partitions, evaluated in order and, on request, again: what Dagster calls.

Law: the same input gives the same rows. Where a partition's input has changed its epochs are
evaluated under the next generation; the later ones are stale until they are evaluated too, and
nothing advances over them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fencepost.errors import InputError
from fencepost.hashing import added
from fencepost.text import did_you_mean
from pipelines.epochs.drive import (
    GroupReport,
    Lake,
    advance,
    arrivals_of,
    chain_of,
    execute,
    finish,
    plan,
)
from pipelines.execute.share import TaskResult
from pipelines.execute.task import rows_hash
from pipelines.ingest.landing import key_in_path
from pipelines.lanes import Lane
from pipelines.planning.chain import Chain, Epoch
from pipelines.planning.deliveries import Delivery
from pipelines.planning.plan import first_difference
from schemas.epochs import COUNTS


@dataclass(frozen=True)
class PartitionReport:
    """What became of a partition.

    epochs   those in force, in order
    changed  it was evaluated just now, for the first time or because its input had changed
    proved   it was evaluated again just now, and gave the very rows that were there
    """

    lane: Lane
    key: str
    epochs: tuple[Epoch, ...]
    changed: bool
    proved: bool
    groups: tuple[GroupReport, ...]

    @property
    def counts(self) -> dict[str, int]:
        """The counts of its epochs together."""
        total = {name: sum(e.counts[name] for e in self.epochs) for name in COUNTS}
        return {**total, "waiting": self.epochs[-1].counts["waiting"] if self.epochs else 0}


def partitions(
    lake: Lake, lane: Lane, keys: Sequence[str], *, again: bool = False
) -> Iterator[PartitionReport]:
    """Evaluate partitions of a lane, and before them all earlier ones that are not up to date.

    With `again`, those that are up to date are evaluated once more. If the rows are the same,
    nothing is written; if not (another version of Fencepost), they are replaced. Each partition is
    reported when it is done; one that fails leaves those before it as reported.
    """
    _refuse_bad(lake, lane, keys)
    ordered = sorted(set(keys))
    return _once_more(lake, lane, ordered) if again else _up_to_date(lake, lane, ordered)


def _up_to_date(lake: Lake, lane: Lane, keys: Sequence[str]) -> Iterator[PartitionReport]:
    """Evaluate what is missing, as many partitions in a group as the limits allow."""
    before = chain_of(lake.store, lane.name)
    groups: list[GroupReport] = []
    reported = 0

    def report(key: str) -> PartitionReport:
        now = _of(chain_of(lake.store, lane.name), key)
        mine = tuple(group for group in groups if key in {epoch.key for epoch in group.epochs})
        return PartitionReport(lane, key, now, now != _of(before, key), proved=False, groups=mine)

    for group in advance(lake, lane, until=keys[-1]) if keys else ():
        groups.append(group)
        while reported < len(keys) and keys[reported] < group.epochs[-1].key:
            yield report(keys[reported])
            reported += 1
    for key in keys[reported:]:
        yield report(key)


def _once_more(lake: Lake, lane: Lane, keys: Sequence[str]) -> Iterator[PartitionReport]:
    """Evaluate each partition, also where it is up to date."""
    for key in keys:
        (report,) = _up_to_date(lake, lane, [key])
        if report.changed or not report.epochs:
            yield report
        elif is_proved(lake, lane, report.epochs):
            yield replace(report, proved=True)
        else:
            groups = (*report.groups, *_anew(lake, lane, report.epochs[0], key))
            now = _of(chain_of(lake.store, lane.name), key)
            yield replace(report, epochs=now, changed=True, groups=groups)


def keys_of(lake: Lake, lane: Lane) -> list[str]:
    """List the partitions of a lane that have deliveries, in order."""
    _refuse_unknown(lake, lane)
    return sorted({delivery.key for delivery in arrivals_of(lake.store).deliveries(lane.name)})


def stale_keys(lake: Lake, lane: Lane) -> list[str]:
    """List the partitions whose epochs are stale: their input or an earlier one changed."""
    return stale_in(chain_of(lake.store, lane.name), arrivals_of(lake.store).deliveries(lane.name))


def stale_in(chain: Chain, deliveries: Sequence[Delivery]) -> list[str]:
    """List the stale partitions among epochs and deliveries that were read already."""
    kept = first_difference(chain, deliveries)
    stale = {epoch.key for epoch in (*chain.epochs[kept:], *chain.replaced)}
    return sorted(stale)


def is_proved(lake: Lake, lane: Lane, epochs: Sequence[Epoch]) -> bool:
    """Evaluate epochs once more, and say whether that gives the very rows that are there."""
    chain = chain_of(lake.store, lane.name)
    arrivals = arrivals_of(lake.store)
    job = lane.job(lake.store, lake.runner.slots, chain, epochs, arrivals)
    answers = job.answers(lake.settings, lake.runner, snapshot=False)
    try:
        return all(_same(lake, table.name, chain, epochs, answers) for table in lane.tables)
    finally:
        for answer in answers:
            for name, files in answer.files.items():
                for file in files:
                    (lake.store.folder(name) / file["path"]).unlink(missing_ok=True)


def _same(
    lake: Lake, name: str, chain: Chain, epochs: Sequence[Epoch], answers: Sequence[TaskResult]
) -> bool:
    stand = rows_of(lake, name, chain, epochs)
    hashed = 0
    for answer in answers:
        hashed = added(hashed, answer.hashes.get(name, 0))
    rows = sum(answer.rows.get(name, 0) for answer in answers)
    return (stand.num_rows, rows_hash(stand)) == (rows, hashed)


def rows_of(lake: Lake, name: str, chain: Chain, epochs: Sequence[Epoch]) -> pa.Table:
    """Read the rows that epochs wrote to a table, without snapshots. O(rows of their files)."""
    first, last = epochs[0].epoch, epochs[-1].epoch
    rows = lake.store.rows_between(name, chain.lane, "epoch", first, last)
    number = rows["epoch"].fill_null(-1).to_numpy()
    generation = rows["generation"].fill_null(-1).to_numpy()
    mine = (
        rows[lake.store.tables[name].lane_column or ""].to_numpy(zero_copy_only=False) == chain.lane
    )
    force = np.zeros(len(number), np.bool_)
    for epoch in epochs:
        force |= (number == epoch.epoch) & (generation == epoch.generation)
    if "snapshot" in rows.column_names:
        force &= ~rows["snapshot"].to_numpy(zero_copy_only=False).astype(np.bool_)
    return rows.filter(pa.array(mine & force))


def _anew(lake: Lake, lane: Lane, first: Epoch, key: str) -> list[GroupReport]:
    """Evaluate a partition again under the next generation, whatever is there."""
    groups = []
    begun = finish(lake, lane)
    if begun is not None:
        groups.append(begun)
    group = plan(lake, lane, key, again_from=first.epoch)
    if group:
        groups.append(execute(lake, lane, chain_of(lake.store, lane.name), group))
    return [*groups, *advance(lake, lane, until=key)]


def _of(chain: Chain, key: str) -> tuple[Epoch, ...]:
    return tuple(epoch for epoch in chain.epochs if epoch.key == key and epoch.done)


def _refuse_unknown(lake: Lake, lane: Lane) -> None:
    known = lake.lanes()
    if lane not in known:
        names = [each.name for each in known]
        near = did_you_mean(lane.name, names)
        what = "join over" if lane.joins else "feed"
        raise InputError(f"there is no {what} '{lane}'; there are: {', '.join(names)}.{near}")


def _refuse_bad(lake: Lake, lane: Lane, keys: Sequence[str]) -> None:
    _refuse_unknown(lake, lane)
    units = {feed.partition for feed in lane.feeds}
    like = {"day": "2026-11-18", "hour": "2026-11-18T09"}
    for key in keys:
        if all(key_in_path(key, unit) != key for unit in units):
            said = " or ".join(f"of one {unit}, written like {like[unit]}" for unit in units)
            raise InputError(f"'{key}' is no partition of '{lane}': its partitions are {said}")
