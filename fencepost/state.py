"""What a step starts from and leaves: of a feed's past, all that the next step needs."""

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.crossings.state import Heads
from fencepost.queries import QuerySet
from fencepost.transitions import Pending
from fencepost.tuples import TupleBatch


@dataclass(frozen=True, eq=False)
class FeedState:
    """All that a feed's past means for its future. `watermark` is None until something was seen.

    What waits is numbered: `waiting.nth` says which of its stream and ts came first.
    """

    feed: str
    heads: Heads
    waiting: TupleBatch
    pending: Pending
    watermark: int | None = None

    @classmethod
    def empty(cls, feed: str, axes: Sequence[str]) -> "FeedState":
        """Nothing was ever seen."""
        nothing = Pending.empty(QuerySet.empty(feed, tuple(axes)))
        return cls(feed, Heads.empty(axes), TupleBatch.empty(feed, axes), nothing)
