"""Deliveries that are to get a number, judged once more by the ledger that gives it.

Between the look and the number another run may have planned the same. So what a look has found is
filtered when the number is taken, by the ledger of that very version; and if that version is not
the newest any more, it is filtered again.

Law: of runs that find the same at once, with or without a lock, one plans it; content that another
run has planned under another name is refused as a repeat.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.ingest import delta_source
from pipelines.ingest.deliveries import Runs
from pipelines.ingest.landing import KnownFiles, LandedDelivery, Refusal, judged_again
from pipelines.lake.sequence import ARRIVALS
from pipelines.lake.store import Store
from pipelines.project.settings import Settings


@dataclass(frozen=True)
class Candidate:
    """A delivery that is to get a number; `lines` are the rows of each file, None: all."""

    delivery: LandedDelivery
    lines: Sequence[Runs] | None = None

    @property
    def size(self) -> int:
        """Bytes that are to be read."""
        return 0 if isinstance(self.delivery, Refusal) else sum(self.delivery.sizes)


def still_new(
    store: Store, settings: Settings, now: int, some: Sequence[Candidate]
) -> list[Candidate]:
    """Give what of these is new by the ledger as it is now, and refuse what has become a repeat.

    O(files of these); no file is opened.
    """
    found = [each.delivery for each in some]
    known = store.fold(ARRIVALS, KnownFiles)
    left: list[LandedDelivery] = []
    for feed in (settings.feeds[name] for name in sorted({each.feed for each in found})):
        own = [each for each in found if each.feed == feed.name]
        if feed.form == delta_source.FORM:
            left += delta_source.judged_again(feed, store.rows(ARRIVALS), own, now)
        else:
            left += judged_again(feed, known.of(feed.name), own, now)
    return ordered(map(Candidate, left))


def ordered(some: Iterable[Candidate]) -> list[Candidate]:
    """Give them in the order of their numbers: by path, bytewise, whatever feed they belong to."""
    return sorted(some, key=lambda each: (each.delivery.path.encode(), each.delivery.feed))
