"""The live window of one side: the tuples that a later one of the other side may still pair with.

It is columns and nothing else, so it can be saved anywhere and read back.

Law: tuples are in the order of their acceptance: `place` rises, `registry` never falls. What
`trimmed` drops pairs with no tuple of a later delivery, whatever comes.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fencepost.errors import StateError
from fencepost.queries.joins import FOREVER, WindowJoins
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

NEVER = int(np.iinfo(np.int64).min)
"""The mark of a lane while one of its feeds has no watermark."""


class Reach(NamedTuple):
    """How far back the window joins of a lane look: µs, and tuples; None where none counts so."""

    window: int | None
    last: int | None

    @classmethod
    def of(cls, queries: WindowJoins) -> "Reach":
        """Take the longest window of each kind; FOREVER where one has no end at all."""
        timed, counted = queries.window < FOREVER, queries.last < FOREVER
        if bool((~timed & ~counted).any()):
            return cls(FOREVER, None)
        return cls(
            int(queries.window[timed].max()) if timed.any() else None,
            int(queries.last[counted].max()) if counted.any() else None,
        )


@dataclass(frozen=True, eq=False)
class Live:
    """n tuples of one side, 28 + 8 d bytes each.

    stream    int32[n], in the codes of whoever keeps it
    ts        int64[n], µs               values    float64[d, n]
    place     int64[n], rises by one with each accepted tuple of the feed, from any number on
    registry  int64[n], the version of the registry in force when it was accepted
    ts_place  int32[n], which of its stream and ts it is; None where each is the first
    """

    stream: Int32s
    ts: Int64s
    values: Doubles
    place: Int64s
    registry: Int64s
    ts_place: Int32s | None = None

    @classmethod
    def empty(cls, axes: int) -> "Live":
        """No tuples over so many axes."""
        none = np.empty(0, np.int64)
        return cls(np.empty(0, np.int32), none, np.empty((axes, 0)), none, none)

    def __len__(self) -> int:
        """How many tuples."""
        return len(self.ts)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        columns = (self.stream, self.ts, self.values, self.place, self.registry)
        return sum(column.nbytes for column in columns)

    @property
    def places(self) -> Int32s:
        """Which of its stream and ts each of them is, from 0."""
        return np.zeros(len(self), np.int32) if self.ts_place is None else self.ts_place

    def with_added(
        self,
        stream: Int32s,
        ts: Int64s,
        values: Doubles,
        *,
        accepted: int,
        registry: int,
        ts_place: Int32s | None = None,
    ) -> "Live":
        """Append tuples in this order; `accepted` of the feed came before them. O(n)."""
        n = len(ts)
        if not n:
            return self
        places = None
        if self.ts_place is not None or ts_place is not None:
            new = np.zeros(n, np.int32) if ts_place is None else ts_place
            places = np.concatenate([self.places, new])
        return Live(
            np.concatenate([self.stream, stream.astype(np.int32, copy=False)]),
            np.concatenate([self.ts, ts]),
            np.concatenate([self.values, values], axis=1),
            np.concatenate([self.place, np.arange(accepted, accepted + n)]),
            np.concatenate([self.registry, np.full(n, registry, np.int64)]),
            places,
        )

    def take(self, rows: Int64s | Bools) -> "Live":
        """Give some of them, in this order."""
        return Live(
            self.stream[rows],
            self.ts[rows],
            np.ascontiguousarray(self.values[:, rows]),
            self.place[rows],
            self.registry[rows],
            None if self.ts_place is None else self.ts_place[rows],
        )

    def trimmed(self, reach: Reach, mark: int, accepted: int) -> "Live":
        """Drop what can never pair again, given the watermark and the count of its feed. O(n).

        A window of time may still need e if mark <= e.ts + window, one of n tuples if e is among
        the last n. Where no query looks back, nothing is kept.
        """
        kept = np.zeros(len(self), np.bool_)
        if reach.window is not None:
            kept |= self.ts >= _before(mark, reach.window)
        if reach.last is not None:
            kept |= self.place >= accepted - reach.last
        return self if kept.all() else self.take(kept)

    def check(self) -> None:
        """Raise StateError unless the columns fit together and are in the order of acceptance."""
        n = len(self)
        shapes = [column.shape[-1] for column in (self.stream, self.values, self.place)]
        if [*shapes, len(self.registry)] != [n] * 4:
            raise StateError(f"the live window has {n} times, and columns of {shapes} entries")
        for name, column, least in (("place", self.place, 1), ("registry", self.registry, 0)):
            for row in np.flatnonzero(np.diff(column) < least)[:1]:
                first, second = next(pairwise(column[row : row + 2].tolist()))
                raise StateError(f"{name} goes from {first} to {second} at row {row + 1}")


def _before(mark: int, window: int) -> int:
    """The earliest ts that the window still reaches, as an int64."""
    return max(NEVER, mark - window)
