"""The lane of two feeds that are joined, or of one with itself; the joins divided among tasks."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pipelines.lake.store import Store
from pipelines.lanes.lane import Lane, below
from pipelines.planning.chain import Chain, Epoch
from pipelines.planning.deliveries import Arrivals, Delivery
from pipelines.registry.cache import compiled_joins, joins_fingerprint

if TYPE_CHECKING:
    from pipelines.execute.joins.job import JoinJob


class JoinLane(Lane):
    """Planned by the deliveries of both feeds, with a registry that never falls along them."""

    owner = "join"
    noun = "joins"

    def registry_versions(
        self, arrivals: Arrivals, deliveries: Sequence[Delivery]
    ) -> Callable[[int], int]:
        """Give the newest registry version of any delivery up to there."""
        return arrivals.rising_versions(deliveries)

    def fingerprint(self, store: Store, version: int) -> str:
        """Name the content of the joins of a registry."""
        return joins_fingerprint(compiled_joins(store, self.settings, self.name, version))

    def is_grown(self, store: Store, chain: Chain) -> bool:
        """Whether a snapshot pays: always, since what windows drop is left out of it."""
        del store, chain
        return True

    def job(
        self, store: Store, slots: int, chain: Chain, group: Sequence[Epoch], arrivals: Arrivals
    ) -> "JoinJob":
        """Gather what a group needs: the joins of its registries, and of the one before them."""
        from pipelines.execute.joins.job import JoinJob

        before = chain.upto(group[0].epoch - 1)
        standing = before.epochs[-1].registry_version if before.epochs else 0
        versions = {epoch.registry_version for epoch in group}
        return JoinJob(
            store,
            self.settings.columns,
            before,
            tuple(group),
            arrivals.by_number,
            slots,
            self.lateness,
            before.feed_watermarks,
            {version: self._joins(store, version) for version in {standing, *versions}},
            standing,
            arrivals.registrations(standing, max(versions)),
        )

    def summary(self, counts: Mapping[str, int]) -> str:
        """Describe in a line the results of epochs with these counts."""
        said = f"pairs {counts['paired']:,}"
        if counts["came_in"] or counts["went_out"]:
            said += f" · band pairs +{counts['came_in']:,} −{counts['went_out']:,}"
        if counts["came_near"] or counts["went_away"]:
            said += f" · near pairs +{counts['came_near']:,} −{counts['went_away']:,}"
        return said

    def _joins(self, store: Store, version: int) -> str | None:
        """Name the file with the joins of a registry, written if missing."""
        if version == 0:
            return None
        return below(store, compiled_joins(store, self.settings, self.name, version))
