"""The path of every stream: its last tuple of before, then its new ones, one run a stream.

With the head in front of the run, each event is a fact about two neighbours, and the walk needs to
look nothing up.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from fencepost.arrays import Codes
from fencepost.crossings.columns import Steps
from fencepost.crossings.state import UNKNOWN, Heads
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

HEAD = -1
LEAST_SAMPLE, MOST_SAMPLE, PLACES_A_SAMPLE = 32, 512, 64
FEW = 8
"""Of so many places one is looked for: then to look for its run beats writing all down."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Path:
    """m places in runs, a run a stream that has new tuples. 8 d + 20 bytes a place."""

    names: pa.StringArray
    stream: Int32s  # [run] whose
    starts: Int64s  # [run + 1]
    values: Doubles  # [axis, place]
    ts: Int64s  # [place]
    delivery: Int32s  # [place] which delivery released the tuple, or HEAD
    fresh: Bools  # [run] its first place is the first sight of the stream
    begun: Int32s  # [axis, run] the pointer of the head, -1 where there is none
    ended: Int32s
    nth: Int32s | None = None  # [place] which of its stream and ts; None: each is the first
    tag: Int64s | None = None  # [place] the caller's, of the tuples; a head's is of no use
    left_out: int = 0  # accepted tuples with no place here: no step to or from them passes a post

    @classmethod
    def build(  # noqa: PLR0913  the columns of the tuples, and those that not all have
        cls,
        heads: Heads,
        names: pa.StringArray,
        stream: Int32s,
        ts: Int64s,
        values: Doubles,
        delivery: Int32s,
        nth: Int32s | None = None,
        tag: Int64s | None = None,
    ) -> "Path":
        """Put each stream's head in front of its tuples.

        These come sorted by stream, each stream's in the order of acceptance. `names` begin with
        those of the heads, in their order: so a stream's code says whether it has one.

        O(tuples + heads); one copy of the tuples.
        """
        n = len(stream)
        first = np.flatnonzero(np.diff(stream, prepend=-1))
        of_run = stream[first]
        fresh = of_run >= len(heads)
        shift = np.cumsum(~fresh)  # heads inserted so far, this run's own included
        starts = np.append(first + shift - ~fresh, n + (shift[-1] if len(shift) else 0))
        length = np.diff(np.append(first, n))
        place = np.arange(n) + np.repeat(shift, length)
        m = n + int((~fresh).sum())
        of_place = np.full(m, HEAD, np.int32)
        of_place[place] = delivery
        all_ts, all_values = np.empty(m, np.int64), np.empty((len(values), m))
        all_ts[place], all_values[:, place] = ts, values
        head, at = starts[:-1][~fresh], of_run[~fresh]
        all_ts[head], all_values[:, head] = heads.ts[at], heads.values[:, at]
        of_instant = None
        if nth is not None:
            of_instant = np.empty(m, np.int32)
            of_instant[place], of_instant[head] = nth, heads.ts_place[at]
        begun, ended = np.full((2, len(values), len(of_run)), UNKNOWN, np.int32)
        begun[:, ~fresh], ended[:, ~fresh] = heads.begun[:, at], heads.ended[:, at]
        return cls(
            names=names,
            stream=of_run,
            starts=starts.astype(np.int64),
            values=all_values,
            ts=all_ts,
            delivery=of_place,
            fresh=fresh,
            begun=begun,
            ended=ended,
            nth=of_instant,
            tag=None if tag is None else _spread(tag, place, m),
        )

    def __len__(self) -> int:
        """How many places."""
        return len(self.ts)

    def part(self, first: int, last: int) -> "Path":
        """Give some runs as a path of their own. O(axes) without copies for one axis."""
        begin = self.starts[first]
        mine, runs = slice(begin, self.starts[last]), slice(first, last)
        return Path(
            names=self.names,
            stream=self.stream[runs],
            starts=self.starts[first : last + 1] - begin,
            values=np.ascontiguousarray(self.values[:, mine]),
            ts=self.ts[mine],
            delivery=self.delivery[mine],
            fresh=self.fresh[runs],
            begun=self.begun[:, runs],
            ended=self.ended[:, runs],
            nth=None if self.nth is None else self.nth[mine],
            tag=None if self.tag is None else self.tag[mine],
        )

    def nth_of(self, at: Codes) -> Int32s:
        """Say of some places, which are no heads, which of its stream and ts each is."""
        return np.zeros(len(at), np.int32) if self.nth is None else self.nth[at]

    def stream_of(self, at: Codes) -> Int32s:
        """Give the streams of some places. O(places of the path), O(log runs) each for few."""
        if len(at) < len(self) // FEW:
            return self.stream[np.searchsorted(self.starts, at, side="right") - 1]
        return np.repeat(self.stream, np.diff(self.starts))[at]

    def before(self, at: Codes) -> tuple[Int64s, Bools]:
        """Give the places before some places, and which have none: first sights of streams."""
        return np.maximum(at.astype(np.int64) - 1, 0), self.is_first[at]

    @cached_property
    def is_first(self) -> Bools:
        """Which places are first sights of streams."""
        first = np.zeros(len(self), np.bool_)
        first[self.starts[:-1][self.fresh]] = True
        return first

    @cached_property
    def sample(self) -> tuple[Int64s, Int64s]:
        """Give some steps, evenly chosen: the places that they lead from, and to.

        A place that ends a run stands for the step to it. Few of a short path: what is learned from
        them must not cost more than the walk.
        """
        many = min(max(len(self) // PLACES_A_SAMPLE, LEAST_SAMPLE), MOST_SAMPLE)
        p = np.arange(0, len(self) - 1, max(1, len(self) // many))
        c = np.where(self._begins_run(p + 1), p, p + 1)
        c = c[~self._begins_run(c)]
        return c - 1, c

    def _begins_run(self, at: Int64s) -> Bools:
        begins: Bools = self.starts[np.searchsorted(self.starts, at)] == at
        return begins

    @property
    def steps(self) -> Steps:
        """The path, as the kernels see it."""
        return Steps(self.starts, self.values, self.ts)

    @property
    def last(self) -> Int64s:
        """The place of each run's last tuple: the stream's next head."""
        return self.starts[1:] - 1


def _spread(tag: Int64s, place: Int64s, m: int) -> Int64s:
    tags = np.zeros(m, np.int64)
    tags[place] = tag
    return tags
