"""What plans are made of, deliveries, registries and limits; and the ledger they are written to."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from fencepost.order import OrderRules
from pipelines.planning.chain import Chain, Epoch
from pipelines.planning.deliveries import Delivery
from pipelines.planning.plan import (
    Context,
    Limits,
    next_group,
)

LANE = "grid"
DEFAULT = Limits()
NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEYS = ("2026-01-01", "2026-01-02", "2026-01-03")


def delivery(
    n: int,
    key: str = KEYS[0],
    tuples: int = 1,
    max_ts: int | None = 0,
    feed: str = LANE,
    rules: OrderRules | None = None,
    *,
    sequenced: bool = False,
) -> Delivery:
    return Delivery(
        n, feed, key, tuples, tuples, 0, 0, max_ts, (f"{n}.csv",), False, rules, sequenced
    )


def ordered(deliveries: Sequence[Delivery]) -> list[Delivery]:
    return sorted(deliveries, key=lambda d: (d.key, d.n))


def context(
    commits: Sequence[int] = (),
    lateness: int = 0,
    plan: str = "p",
    deliveries: Sequence[Delivery] = (),
    grown_after: int = 0,
) -> Context:
    """A registry commit stands at each of these numbers; states grow enough in so many epochs."""
    late = dict.fromkeys({LANE, *(d.feed for d in deliveries)}, lateness)

    def version_at(n: int) -> int:
        return sum(commit < n for commit in commits)

    def is_grown(chain: Chain) -> bool:
        return len(chain) - chain.snapshot >= grown_after

    return Context(
        late, version_at, lambda version: f"f{version}", is_grown, {"epochs": 7}, "c", plan
    )


class Ledger:
    """The rows of `epochs`, as a lane's plans leave them."""

    def __init__(self) -> None:
        self.rows: list[Epoch] = []
        self.plans = 0

    @property
    def chain(self) -> Chain:
        return Chain.of(LANE, self.rows)

    def plan(
        self, deliveries: Sequence[Delivery], limits: Limits = DEFAULT, **more: Any
    ) -> list[Epoch]:
        """Plan the next group, as if with a commit."""
        self.plans += 1
        names = ("commits", "lateness", "grown_after")
        own = {name: more.pop(name) for name in names if name in more}
        in_order = ordered(deliveries)
        made = context(plan=f"p{self.plans}", deliveries=in_order, **own)
        group = next_group(self.chain, in_order, made, limits, **more)
        self.rows += group
        return group

    def advance(
        self, deliveries: Sequence[Delivery], limits: Limits = DEFAULT, **more: Any
    ) -> list[list[Epoch]]:
        """Plan and do group after group."""
        groups: list[list[Epoch]] = []
        while group := self.plan(deliveries, limits, **more):
            self.rows += [replace(epoch, done=True) for epoch in group]
            groups.append(group)
            assert len(groups) < 100
            more.pop("again_from", None)
        return groups


arrived = st.lists(
    st.tuples(st.sampled_from(KEYS), st.integers(0, 4), st.none() | st.integers(0, 50)),
    max_size=9,
).map(lambda drawn: [delivery(n, *each) for n, each in enumerate(drawn, 1)])
limits = st.builds(
    Limits,
    epoch_rows=st.integers(1, 12),
    group=st.integers(1, 4),
    epoch_deliveries=st.sampled_from((None, 1, 2, 3)),
    snapshot_every=st.integers(1, 5),
)
registrations = st.sets(st.integers(0, 9), max_size=2)
