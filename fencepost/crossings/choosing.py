"""To walk, or to ask twice and compare: measured on some steps of the path.

FL and W, as S1 has them, are shares of the axis; what they cost is counted in posts: a step passes
2 FL N of them on an axis, and W N boxes hold at a place. Both are counted on a sample here, for any
axes, stripes and skew, and weighed with what each has been measured to cost.

Law: the choice depends on the path and the index alone, and changes no row.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fencepost.crossings.difference import Difference
from fencepost.crossings.index import BorderIndex
from fencepost.crossings.path import Path
from fencepost.crossings.walk import COMPILE_FROM, Walk, walk
from fencepost.errors import InputError
from fencepost.matches.auto import holding
from fencepost.tuples import Doubles

Method = Literal["auto", "walk", "difference"]
METHODS: tuple[Method, ...] = ("auto", "walk", "difference")

WINDOWS, LENGTH = 64, 16  # stretches of the path that are looked at, and places in each
NEAR = 48  # posts and candidates a step that a walk always passes more quickly
POST, CANDIDATE = 1.5, 6.0  # ns (measured): a post passed, a candidate confirmed
PROBE, MATCH = 250.0, 5.0  # ns: to ask at a place; for each that holds there, found and compared
BUILD = 200.0  # ns a query: the index that is asked, unless it stands


@dataclass(frozen=True)
class Chosen:
    """How crossings were found, and why.

    fl, w  fluctuation level and width as shares of the queries; None where nobody looked
    """

    method: str
    why: str
    fl: float | None = None
    w: float | None = None

    def as_json(self) -> dict[str, Any]:
        """The record that is kept with an epoch."""
        told = {"crossings": self.method, "why": self.why, "fl": self.fl, "w": self.w}
        return {name: value for name, value in told.items() if value is not None}


def cross(
    index: BorderIndex, path: Path, *, method: Method, fast: bool | None, threads: int
) -> tuple[Walk | Difference, Chosen]:
    """Find the crossings along a path, by the way asked for or the cheaper one."""
    if method not in METHODS:
        raise InputError(f"method '{method}' was given, expected one of: {', '.join(METHODS)}")
    chosen = _choose(index, path, fast) if method == "auto" else Chosen(method, "asked for")
    if chosen.method == "walk":
        return walk(index, path, fast=fast, threads=threads), chosen
    held = (chosen.w or 0.0) * len(index)
    return Difference(index.stabbing, path, held, fast, threads), chosen


def _choose(index: BorderIndex, path: Path, fast: bool | None) -> Chosen:
    steps = len(path) - len(path.stream)
    compiled = len(path) >= COMPILE_FROM if fast is None else fast
    if not compiled or steps < COMPILE_FROM or len(index) <= NEAR:
        return Chosen("walk", "few steps or few queries")
    from fencepost.crossings import expand

    some = _some(path)
    sample = walk(index, some, fast=True)
    taken = max(1, len(some) - len(some.stream))
    passed, met = sample.passed / taken, expand.candidates(sample) / taken
    touched, n = passed + met, len(index)
    fl = touched / (2 * n)
    if touched <= NEAR:
        return Chosen("walk", f"a step meets {touched:.1f} posts", fl)
    w = _held(index, some.values) / n
    build = 0.0 if index.has_stabbing else BUILD * n / steps
    by_walk = POST * passed + CANDIDATE * met
    by_difference = PROBE + MATCH * w * n + build
    method = "walk" if by_walk <= by_difference else "difference"
    why = (
        f"a step meets {touched:.0f} posts and {w * n:.0f} queries hold at a place: "
        f"{by_walk:.0f} ns against {by_difference:.0f}"
    )
    return Chosen(method, why, fl, w)


def _some(path: Path) -> Path:
    """Cut some stretches out of a path, each a run of its own."""
    run = np.repeat(np.arange(len(path.stream)), np.diff(path.starts))
    begins = np.unique(np.linspace(0, max(0, len(path) - 2), WINDOWS).astype(np.int64))
    ends = np.minimum(begins + LENGTH, path.starts[run[begins] + 1])
    begins, ends = begins[ends - begins > 1], ends[ends - begins > 1]
    counts = ends - begins
    starts = np.zeros(len(begins) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    places = np.repeat(begins - starts[:-1], counts) + np.arange(starts[-1])
    runs = run[begins]
    return Path(
        path.names,
        path.stream[runs],
        starts,
        np.ascontiguousarray(path.values[:, places]),
        path.ts[places],
        path.delivery[places],
        np.zeros(len(runs), np.bool_),
        path.begun[:, runs],
        path.ended[:, runs],
    )


def _held(index: BorderIndex, points: Doubles) -> float:
    """Estimate how many queries hold at these points, for all streams or named ones alike."""
    q = index.queries
    query = np.repeat(np.arange(len(q)), np.diff(q.box_ptr))
    everywhere = q.everywhere[query]
    share = holding(q.lo[:, everywhere], q.hi[:, everywhere], points)
    named = np.flatnonzero(~everywhere)
    if len(named):  # each stands for its own streams only
        streams = max(1, len(np.unique(q.streams.to_numpy(zero_copy_only=False))))
        share += holding(q.lo[:, named], q.hi[:, named], points) / streams
    return share
