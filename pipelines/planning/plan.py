"""The next group of epochs of a lane.

An epoch is a run of whole deliveries of one partition, between two registry commits, that are
judged alike; a group is up to a limit of epochs that are committed together. If the deliveries are
no longer those that the chain has (an old partition got another one), the plan goes back to the
first epoch that differs, under the next generation: everything behind it is stale, and nothing
advances over it.

Law: the same ledgers give the same plan; and the rows that all plans together lead to depend on the
deliveries and the registry alone, not on the limits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from fencepost.errors import LakeError
from fencepost.order import OrderRules
from pipelines.planning import rules as order_rules
from pipelines.planning.chain import Chain, Epoch
from pipelines.planning.deliveries import Delivery, numbers_of


@dataclass(frozen=True)
class Limits:
    """The limits of a group.

    epoch_rows  rows of an epoch, unless a single delivery has more
    group       epochs that are committed together
    epoch_deliveries  deliveries of an epoch; None: as many as have arrived
    snapshot_every    epochs at least between two snapshots of the state
    """

    epoch_rows: int = 10_000_000
    group: int = 32
    epoch_deliveries: int | None = None
    snapshot_every: int = 50


@dataclass(frozen=True)
class Context:
    """The inputs of a plan besides the chain and the deliveries.

    lateness  by feed: of deliveries whose own is not recorded
    is_grown  whether the state has grown enough since a chain's last snapshot to pay for another
    """

    lateness: Mapping[str, int]
    registry_version_at: Callable[[int], int]
    fingerprint: Callable[[int], str]
    is_grown: Callable[[Chain], bool]
    bases: Mapping[str, int]
    code: str
    plan: str

    def rules_of(self, delivery: Delivery) -> OrderRules:
        """Give the rules that a delivery is judged by."""
        return delivery.rules or order_rules.unrecorded(self.lateness[delivery.feed])


def first_difference(chain: Chain, deliveries: Sequence[Delivery]) -> int:
    """Count the epochs that are still those of the deliveries. O(deliveries), 1 ns each."""
    covered, now = chain.deliveries, numbers_of(deliveries)
    many = min(len(covered.numbers), len(now))
    differ = np.flatnonzero(covered.numbers[:many] != now[:many])
    same = int(differ[0]) if len(differ) else many
    return int(np.searchsorted(covered.ends, same, side="right"))


def next_group(
    chain: Chain,
    deliveries: Sequence[Delivery],
    context: Context,
    limits: Limits,
    until: str | None = None,
    again_from: int | None = None,
) -> list[Epoch]:
    """Plan the next group, up to the partition `until`; empty where nothing is to be done.

    `again_from` is the first epoch to evaluate again, changed or not.
    """
    if chain.open:
        raise LakeError(f"the epochs {chain.open[0].epoch}–{chain.open[-1].epoch} are not done")
    kept = first_difference(chain, deliveries)
    if again_from is not None:
        kept = min(kept, again_from - 1)
    base = chain.upto(kept)
    if kept < chain.horizon:
        raise LakeError(
            f"the deliveries of '{chain.lane}' have changed from epoch {kept + 1} on, and the "
            f"states before epoch {chain.horizon} are gone: that is as far back as this lake can "
            "be evaluated anew. Make a new lake from the landing files for older ones"
        )
    covered = len(base.deliveries.numbers)
    waiting = [d for d in deliveries[covered:] if until is None or d.key <= until]
    if not waiting:
        return []
    generation = chain.generation + (kept < len(chain))
    cuts = _cut(waiting, context, limits)
    return _epochs(base, generation, cuts, context, limits)


def _cut(waiting: Sequence[Delivery], context: Context, limits: Limits) -> list[list[Delivery]]:
    """Divide the deliveries into the epochs of one group.

    Those of a feed in one epoch are judged alike, and have all a sequence or none.
    """
    cuts: list[list[Delivery]] = []
    rows = 0
    for (_, _), run in groupby(waiting, key=lambda d: (d.key, context.registry_version_at(d.n))):
        mine: list[Delivery] = []
        in_epoch = 0
        judged: dict[str, tuple[OrderRules, bool]] = {}
        for delivery in run:
            how = context.rules_of(delivery), delivery.sequenced
            full = in_epoch + delivery.tuples > limits.epoch_rows
            otherwise = judged.get(delivery.feed, how) != how
            if mine and (full or otherwise or len(mine) == limits.epoch_deliveries):
                cuts.append(mine)
                mine, in_epoch, judged = [], 0, {}
            if cuts and (len(cuts) == limits.group or rows + delivery.tuples > limits.epoch_rows):
                return cuts
            mine.append(delivery)
            judged[delivery.feed] = how
            in_epoch += delivery.tuples
            rows += delivery.tuples
        if mine:
            cuts.append(mine)
        if len(cuts) == limits.group:
            return cuts
    return cuts


def _epochs(
    base: Chain,
    generation: int,
    cuts: Sequence[Sequence[Delivery]],
    context: Context,
    limits: Limits,
) -> list[Epoch]:
    first, last = len(base) + 1, len(base) + len(cuts)
    before, stands = base.watermark, base.feed_watermarks
    due = last - base.snapshot >= limits.snapshot_every and context.is_grown(base)
    epochs = []
    for number, cut in enumerate(cuts, first):
        marks = []
        rules = {delivery.feed: context.rules_of(delivery) for delivery in cut}
        for delivery in cut:
            feed = delivery.feed
            stands[feed] = moved(stands[feed], delivery.max_ts, rules[feed].behind)
            marks.append(of_lane(stands))
        version = context.registry_version_at(cut[0].n)
        epochs.append(
            Epoch(
                base.lane,
                number,
                generation,
                context.plan,
                first,
                last,
                cut[0].key,
                tuple(delivery.n for delivery in cut),
                version,
                context.fingerprint(version),
                before,
                tuple(marks),
                number == last and due,
                dict(context.bases),
                context.code,
                feed_watermarks=tuple(stands.values()) if len(stands) > 1 else (),
                rules=rules,
            )
        )
        before = marks[-1]
    return epochs


def moved(before: int | None, latest: int | None, behind: int) -> int | None:
    """Give a feed's watermark after a delivery, by the latest ts in it.

    `behind` is how far it is behind that: by the allowed lateness, or where each stream has a
    watermark of its own, by what a stream may be idle. Rejected tuples cannot move it: a late
    tuple is older than an accepted one, a duplicate or a conflict as old.
    """
    if latest is None:
        return before
    return latest - behind if before is None else max(before, latest - behind)


def of_lane(marks: Mapping[str, int | None]) -> int | None:
    """Give the watermark of a lane: of two feeds the smaller, None while one has none."""
    known = [mark for mark in marks.values() if mark is not None]
    return min(known) if len(known) == len(marks) else None
