"""The lane of one feed: crossings, transitions and matches, the streams divided among tasks."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fencepost.queries.columns import CROSSING, MATCH
from pipelines.lake.store import Store
from pipelines.lanes.lane import Lane, below
from pipelines.planning.chain import Chain, Epoch
from pipelines.planning.deliveries import Arrivals, Delivery
from pipelines.registry.cache import compiled_queries, named
from schemas.events import TRANSITIONS

if TYPE_CHECKING:
    from pipelines.execute.job import FeedJob

GROWN = 2
"""A log is read from a snapshot on until what came since is this part of it: a half."""


class FeedLane(Lane):
    """Planned by the feed's deliveries, each with the registry of its arrival."""

    owner = "feed"
    noun = "feed"

    def registry_versions(
        self, arrivals: Arrivals, deliveries: Sequence[Delivery]
    ) -> Callable[[int], int]:
        """Give the version of the last registry commit before a delivery."""
        del deliveries
        return arrivals.registry_version_at

    def fingerprint(self, store: Store, version: int) -> str:
        """Name the content of both query sets; without `match` queries, that of crossings."""
        (_, crossings), (count, matches) = (
            named(compiled_queries(store, self.settings, self.name, version, kind))
            for kind in (CROSSING, MATCH)
        )
        return crossings + (f"+{matches}" if count else "")

    def is_grown(self, store: Store, chain: Chain) -> bool:
        """Whether the log of the streams has grown by half since the last snapshot.

        A snapshot writes every stream anew, moved or not. Before then that costs more than it
        spares those who read the log from the last one on.
        """
        last, whole, since = chain.snapshot, 0, 0
        for file in store.files(self.logs[0].name):
            first, until = int(file.least("epoch") or 0), int(file.most("epoch") or 0)
            if file.partition["feed"] == self.name and until >= last:
                whole += file.rows if first <= last else 0
                since += file.rows if first > last else 0
        return GROWN * since >= whole

    def job(
        self, store: Store, slots: int, chain: Chain, group: Sequence[Epoch], arrivals: Arrivals
    ) -> "FeedJob":
        """Gather what a group needs: the query sets of its registries."""
        from pipelines.execute.job import FeedJob

        versions = {epoch.registry_version for epoch in group}
        return FeedJob(
            store,
            self.settings.columns,
            chain.upto(group[0].epoch - 1),
            tuple(group),
            arrivals.by_number,
            slots,
            self.lateness[self.name],
            {version: self._crossings(store, version) for version in versions},
            {version: self._matches(store, version) for version in versions},
        )

    def summary(self, counts: Mapping[str, int]) -> str:
        """Describe in a line the results of epochs with these counts."""
        transitions = sum(counts[kind] for kind in TRANSITIONS)
        parts = [f"I {counts['entered']:,}", f"O {counts['left']:,}"]
        parts += [f"transitions {transitions:,}"] if transitions else []
        parts += [f"matches {counts['matched']:,}"] if counts["matched"] else []
        return " · ".join(parts)

    def _crossings(self, store: Store, version: int) -> str | None:
        """Name the file with the query set of a registry, written if missing."""
        if version == 0:
            return None
        return below(store, compiled_queries(store, self.settings, self.name, version))

    def _matches(self, store: Store, version: int) -> str | None:
        """Name the file with the `match` queries; None where there are none."""
        if version == 0:
            return None
        path = compiled_queries(store, self.settings, self.name, version, MATCH)
        count, _ = named(path)
        return below(store, path) if count else None
