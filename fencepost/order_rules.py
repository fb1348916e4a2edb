"""How a feed's arrivals are ordered and judged: what it declares, and nothing else."""

from dataclasses import dataclass
from typing import Literal, get_args

from fencepost.errors import InputError

Ties = Literal["all", "first"]


@dataclass(frozen=True)
class OrderRules:
    """How a feed's arrivals are ordered and judged.

    ties      of several tuples of a stream at one instant: `all` are steps, in the order in which
              they came, or the `first` only. Tuples that have a `sequence` go by that instead
    lateness  how long a tuple waits for earlier ones, in µs
    idle      None: all streams wait for the feed's clock. Given: each waits for its own, until it
              is so many µs behind the feed's
    """

    ties: Ties = "all"
    lateness: int = 0
    idle: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        if self.ties not in get_args(Ties):
            raise InputError(f"ties is {self.ties!r}: 'all' or 'first' was expected")
        for name, span in (("allowed lateness", self.lateness), ("idle time", self.idle or 0)):
            if span < 0:
                raise InputError(f"an {name} of {span} µs, expected 0 or more")

    @property
    def behind(self) -> int:
        """How far the feed's watermark is behind the largest ts that was seen."""
        return self.lateness if self.idle is None else self.idle


AS_THEY_COME = OrderRules()
"""Every tuple is a step, and none waits."""
