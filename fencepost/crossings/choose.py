"""To walk, or to probe twice and compare: measured on some steps of the path.

FL and W, as S1 has them, are shares of the axis; what they cost is counted in posts: a step passes
2 FL N of them on an axis, and W N boxes hold at a place. Both are counted on a sample here, for any
axes, stripes and skew, and weighed with what each has been measured to cost. The walk's first pass
is made in any case: its ranks say what the second would pass.

Law: no choice changes a row. It depends on the path, the index, and whether the index to be probed
exists already; so two runs of one plan may choose differently.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc

from fencepost.crossings import twins
from fencepost.crossings.difference import Difference
from fencepost.crossings.index import BorderIndex
from fencepost.crossings.path import Path
from fencepost.crossings.walk import Walk, walk
from fencepost.errors import InputError
from fencepost.matches.auto import holding
from fencepost.matches.costs import cheapest
from fencepost.tuples import Doubles, Int64s

Method = Literal["auto", "walk", "difference"]
METHODS: tuple[Method, ...] = ("auto", "walk", "difference")

STEPS = 1024  # in the sample
PLACES, BOXES = 64, 1024  # compared to estimate how many boxes hold a place
WINDOWS, LENGTH = 64, 16  # stretches in which candidates are met, and places in each
FEW, SHORT = 48, 1000  # queries, and steps, too few to be worth sampling
CHEAP = 40.0  # ns a step, below which a walk is hardly beaten
POST, POSTS, FAR_POST = 1.6, 200, 0.5  # ns (measured): a post passed, of the first POSTS; beyond
LIST = 17.0  # a checked list
CUT, CUTS, FAR_CUT = 125.0, 1, 20.0  # the first border of its stripes; each beyond
CANDIDATE = 3.0  # one that is met there
CELL, TEST = 20.0, 20.0  # a cell of shapes, and a place tested against a border in it
REFINE = 35.0  # a place tested against a shape whose bounds an index found
PROBE = 45.0  # a place that is probed and compared, whatever holds there
COMPARE, WRITE = 3.5, 5.0  # a query that holds, here and at the next place; an event
BUILD = 200.0  # a query of the index to be probed, unless it exists


@dataclass(frozen=True)
class Chosen:
    """How crossings were found, and why.

    fl, w  fluctuation level and width as shares of the queries; None where not measured
    each   the crossings of a step on the path, expected at most; 0 where not measured
    """

    method: Method
    why: str
    fl: float | None = None
    w: float | None = None
    each: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """The record that is kept with an epoch."""
        record = {"crossings": self.method, "why": self.why, "fl": self.fl, "w": self.w}
        return {name: value for name, value in record.items() if value is not None}


def cross(
    index: BorderIndex, path: Path, *, method: Method, fast: bool | None, threads: int
) -> tuple[Walk | Difference, Chosen]:
    """Find the crossings along a path, by the requested method or the cheaper one."""
    if method not in METHODS:
        raise InputError(f"method '{method}' was given, expected one of: {', '.join(METHODS)}")
    if method == "difference":
        holders = _holders(index, path.values[:, _steps(path)[1]])
        return Difference(
            matcher=index.stabbing, path=path, holders=holders, fast=fast, threads=threads
        ), Chosen(method, "requested")
    walked = walk(index, path, fast=fast, threads=threads)
    if method == "walk":
        return walked, Chosen(method, "requested")
    chosen = _chosen(walked)
    if chosen.method == "walk":
        return walked, chosen
    holders = (chosen.w or 0.0) * len(index)
    return Difference(
        matcher=index.stabbing,
        path=path,
        holders=holders,
        fast=fast,
        threads=threads,
        rankings=walked.rankings,
    ), chosen


def parts_of(walked: Walk | Difference, chosen: Chosen, queries: int, most: int) -> list[Path]:
    """Cut a path between streams; each part is expected to have about `most` crossings.

    A stream is in one part, so its crossings are found and decided there as along the whole path;
    one may have more alone. O(places), and nothing where there cannot be more.
    """
    path = walked.path
    runs = len(path.stream)
    if len(path) * queries <= most or runs == 1:
        return [path]
    expected = _expected(walked, chosen, most)
    if expected is None:
        return [path]
    upto = np.append(0.0, np.cumsum(expected))
    parts, first = [], 0
    while first < runs:
        last = int(np.searchsorted(upto, upto[first] + most, side="right")) - 1
        last = min(max(last, first + 1), runs)
        parts.append(path.part(first, last))
        first = last
    return parts


def _expected(walked: Walk | Difference, chosen: Chosen, most: int) -> Int64s | Doubles | None:
    """Expect so many crossings of each stream: those counted, or those of the sampled steps.

    None where these are `most` at most together.
    """
    path = walked.path
    if isinstance(walked, Difference) or walked.suspects or walked.shaped:
        sampled = np.diff(path.starts) * chosen.each
        return sampled if sampled.sum() > most else None
    passed = np.zeros(len(path), np.int64)
    for ranking in walked.rankings:
        for ranks in (ranking.begun, ranking.ended):
            passed[1:] += np.abs(np.diff(ranks))
    passed[path.starts[:-1]] = 0
    return np.add.reduceat(passed, path.starts[:-1]) if passed.sum() > most else None


def _chosen(walked: Walk) -> Chosen:
    """Weigh the second pass of a walk against the difference; the first pass is soon made."""
    index, path = walked.index, walked.path
    steps, n = len(path) - len(path.stream), len(index)
    if not walked.fast or steps < SHORT or n <= FEW:
        return Chosen("walk", "few steps or few queries")
    p, c = _steps(path)
    share = steps / (steps + path.left_out)  # of all steps, those on the path
    passed, (lists, cuts) = _passed(walked, p, c), _checked(walked, p, c)
    by_walk = _falling(passed, POST, POSTS, FAR_POST) + _falling(cuts, CUT, CUTS, FAR_CUT)
    cells = sum(len(each.queries.cells.columns.shifts) for each in walked.shaped)
    tested = _tested(walked)
    by_walk += LIST * lists + CELL * cells + TEST * tested
    if by_walk <= CHEAP:
        return Chosen("walk", f"a step meets {share * passed:.1f} posts", share * passed / (2 * n))
    met = _met(walked)
    by_walk += CANDIDATE * met
    touched = passed + met
    holders = _holders(index, path.values[:, c])
    probe = cheapest(len(path.values), n, holders, holders, steps)
    build = 0.0 if index.has_stabbing else BUILD * n / steps
    probe += REFINE * holders * float((index.queries.shape >= 0).mean())
    by_difference = PROBE + probe + COMPARE * holders + WRITE * min(touched, 2 * holders) + build
    method: Method = "walk" if by_walk <= by_difference else "difference"
    where = f" in {lists + cuts:.1f} stripes" if lists else ""
    where += f" and {tested:.1f} borders of regions" if cells else ""
    why = (
        f"a step meets {share * touched:,.0f} posts{where} and {holders:,.0f} queries hold "
        f"at a place: {by_walk:,.0f} ns against {by_difference:,.0f}"
    )
    each = touched if method == "walk" else min(touched, 2 * holders)
    return Chosen(method, why, share * touched / (2 * n), holders / n, each)


def _falling(many: float, each: float, some: int, beyond: float) -> float:
    """Count the first ones in full, those beyond at less: they are met in order."""
    return each * min(many, some) + beyond * max(0.0, many - some)


def _steps(path: Path) -> tuple[Int64s, Int64s]:
    """Choose some steps, evenly: the places of each, from p to c."""
    c = np.unique(np.linspace(1, max(1, len(path) - 1), STEPS).astype(np.int64))
    c = c[c < len(path)]
    run = np.searchsorted(path.starts, c, side="right") - 1
    c = c[path.starts[run] < c]
    return c - 1, c


def _passed(walked: Walk, p: Int64s, c: Int64s) -> float:
    """How many posts of plain lists a step passes."""
    total = sum(
        int(np.abs(ranks[c] - ranks[p]).sum(dtype=np.int64))
        for ranking in walked.rankings
        for ranks in (ranking.begun, ranking.ended)
    )
    return total / max(1, len(c))


def _checked(walked: Walk, p: Int64s, c: Int64s) -> tuple[float, float]:
    """How many checked lists a step has to do with, and how many borders of stripes it passes."""
    lists, cuts = 0, 0
    run = np.searchsorted(walked.path.starts, c, side="right") - 1
    for suspect in walked.suspects:
        mine = suspect.segment[run] >= 0
        here, there = (twins.stripe(suspect.stripes, walked.path.steps, at[mine]) for at in (p, c))
        lists += int(mine.sum())
        cuts += int(np.abs(there - here).sum())
    return lists / max(1, len(c)), cuts / max(1, len(c))


def _met(walked: Walk) -> float:
    """How many candidates of checked lists a step meets."""
    if not walked.suspects:
        return 0.0
    from fencepost.crossings import expand

    some = _some(walked.path)
    sample = walk(walked.index, some, fast=True)
    return expand.candidates(sample) / max(1, len(some) - len(some.stream))


def _tested(walked: Walk) -> float:
    """How many queries with a region a step is tested against."""
    if not walked.shaped:
        return 0.0
    from fencepost.crossings import expand

    some = _some(walked.path)
    return expand.tested(walk(walked.index, some, fast=True)) / max(1, len(some))


def _some(path: Path) -> Path:
    """Cut some stretches out of a path, each a run of its own."""
    begins = np.unique(np.linspace(0, max(0, len(path) - 2), WINDOWS).astype(np.int64))
    run = np.searchsorted(path.starts, begins, side="right") - 1
    ends = np.minimum(begins + LENGTH, path.starts[run + 1])
    long = ends - begins > 1
    begins, ends, runs = begins[long], ends[long], run[long]
    counts = ends - begins
    starts = np.zeros(len(begins) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    places = np.repeat(begins - starts[:-1], counts) + np.arange(starts[-1])
    return Path(
        names=path.names,
        stream=path.stream[runs],
        starts=starts,
        values=np.ascontiguousarray(path.values[:, places]),
        ts=path.ts[places],
        delivery=path.delivery[places],
        fresh=np.zeros(len(runs), np.bool_),
        begun=path.begun[:, runs],
        ended=path.ended[:, runs],
    )


def _holders(index: BorderIndex, points: Doubles) -> float:
    """Estimate how many queries hold at these places, from a sample of their boxes."""
    q = index.queries
    boxes = q.lo.shape[1]
    if not boxes:
        return 0.0
    points = np.ascontiguousarray(points[:, :: max(1, points.shape[1] // PLACES)])
    rows = np.arange(boxes)
    if boxes > BOXES:
        rows = np.random.default_rng(0).integers(0, boxes, BOXES)
    watching = q.everywhere[np.searchsorted(q.box_ptr, rows, side="right") - 1]
    holders = holding(q.lo[:, rows[watching]], q.hi[:, rows[watching]], points)
    if not watching.all():  # each of these counts for its own streams only
        named = rows[~watching]
        streams = max(1, len(pc.unique(q.streams)))
        holders += holding(q.lo[:, named], q.hi[:, named], points) / streams
    return float(holders * boxes / len(rows))
