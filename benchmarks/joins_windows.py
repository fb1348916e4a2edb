"""S3: window joins against IBS-JS at equal count windows of 100, 1,000 and 10,000 (§7.4).

Both feeds have four attributes, uniform in [0, 1]; a query has a join condition between two of them
and selections over all eight (S3's conditions, see `conjunctions`). A delivery of new tuples of the
left feed meets a full window of the right one. The rival has already walked its trees for the
tuples of the window; ours is given the window as columns, and starts from nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.baselines.ibs_join import IbsJoin, Kept
from benchmarks.matches_made import Scale, Work, conjunctions, elements, in_turns, span
from benchmarks.report import Line
from fencepost.joins.windows import LEFT, NEVER, RIGHT, Live, Pairs, WindowIndex
from fencepost.queries.joins import FOREVER, WindowJoins
from fencepost.queries.joins.regions import SideRegions
from fencepost.times import ALWAYS_FROM, ALWAYS_TO
from fencepost.tuples import Doubles, Int64s

ATTRIBUTES = 4
WINDOWS = (100, 1_000, 10_000)
QUERIES = (10_000, 100_000)
DELIVERY: Mapping[int, int] = {100: 100, 1_000: 50, 10_000: 10}  # new tuples, by window size
FAITHFUL = 100_000  # pairs that SJ-Join is given, at most
PAPER: Mapping[int, float] = {100: 2.6, 1_000: 3.9, 10_000: 6.9}  # at best, over N_query
AHEAD = 1.0
WALKED = 100
"""Tuples of a window whose walks are timed; the others' are reckoned from them."""


def window_joins(count: int, last: int, seed: int = 1) -> WindowJoins:
    """S3's queries: op is one of >, >=, =, <, <=, as likely; all windows are the same."""
    draw = np.random.default_rng(seed)
    boxes = conjunctions(count, 2 * ATTRIBUTES, seed=seed)
    left, right = draw.integers(0, ATTRIBUTES, (2, count))
    right += ATTRIBUTES  # the axes of both sides are numbered consecutively
    op = draw.integers(0, 5, count)
    turned = op > 2  # > and >= are < and <= the other way round
    one, other = np.where(turned, right, left), np.where(turned, left, right)
    tests = np.stack([one, np.where(turned, op - 3, op), other], axis=1)
    each = np.arange(count + 1, dtype=np.int64)
    return WindowJoins(
        "left",
        "right",
        (tuple("abcd"), tuple("efgh")),
        pa.array([str(number) for number in range(count)], pa.string()),
        np.ones(count, np.int32),
        np.zeros(count, np.int64),
        np.full(count, FOREVER),
        np.full(count, last, np.int64),
        np.full(count, ALWAYS_FROM),
        np.full(count, ALWAYS_TO),
        each,
        boxes.lo,
        boxes.hi,
        each,
        tests.astype(np.int32),
        np.zeros((count, 2)),
        (SideRegions.none(count), SideRegions.none(count)),
    )


def full_window(size: int) -> Live:
    """As many tuples as the window has."""
    none = np.zeros(size, np.int64)
    values = elements(size, ATTRIBUTES, seed=3)
    return Live(none.astype(np.int32), np.arange(size), values, np.arange(size), none)


@dataclass(frozen=True)
class Match:
    """A set of queries and a window, as ours and the rival have them."""

    index: WindowIndex
    live: Live
    rival: IbsJoin
    kept: Kept

    @classmethod
    def of(cls, queries: int, window: int) -> "Match":
        """Build both, and let the rival load the window."""
        joins, live = window_joins(queries, window), full_window(window)
        rival = IbsJoin.build(joins)
        return cls(WindowIndex.build(joins), live, rival, rival.take(RIGHT, live.values))

    def ours(self, new: Doubles, index: WindowIndex | None = None) -> Pairs:
        """Probe."""
        ts: Int64s = np.full(new.shape[1], len(self.live))
        taken = len(self.live)
        return (index or self.index).probe(LEFT, ts, new, self.live, NEVER, taken)

    def assert_equal(self, new: Doubles) -> Pairs:
        """Compare ours with the rival, pair by pair."""
        theirs, ours = self.rival.probe(LEFT, new, self.kept), self.ours(new)
        order = np.lexsort((theirs.query, theirs.old, theirs.new))
        columns = zip(
            (theirs.new, theirs.old, theirs.query), (ours.new, ours.old, ours.query), strict=True
        )
        assert all(np.array_equal(one[order], other) for one, other in columns), "pairs differ"
        return ours

    def works(self, new: Doubles) -> dict[str, Work]:
        """Time the whole delivery, and its first tuple alone."""
        one = np.ascontiguousarray(new[:, :1])
        return {
            "IBS-JS": lambda: self.rival.probe(LEFT, new, self.kept),
            "ours": lambda: self.ours(new),
            "IBS-JS alone": lambda: self.rival.probe(LEFT, one, self.kept),
            "ours alone": lambda: self.ours(one),
        }

    def printed(self, new: Doubles) -> dict[str, Work]:
        """Time S3's own join beside ours and the rival, whose walks of some tuples are apart."""
        spatial = WindowIndex.build(self.index.queries, method="spatial_join")
        ours, theirs = self.ours(new), self.ours(new, spatial)
        assert np.array_equal(ours.query, theirs.query), "SJ-Join finds other pairs"
        some = np.ascontiguousarray(self.live.values[:, :WALKED])
        return {
            "IBS-JS": lambda: self.rival.probe(LEFT, new, self.kept),
            "walks": lambda: self.rival.take(RIGHT, some),
            "SJ": lambda: self.ours(new, spatial),
            "ours": lambda: self.ours(new),
        }


def against_trees(scale: Scale) -> Iterator[Line]:
    """Ours, then the paper's own join."""
    yield from windows_against_trees(scale)
    yield from faithful(scale)


def windows_against_trees(scale: Scale) -> Iterator[Line]:
    """N_query of 10 K and 100 K, windows of 100 to 10,000: a delivery, and a tuple alone."""
    for full in scale.some(QUERIES):
        queries = scale.of(full, 1_000)
        for window in scale.some(WINDOWS):
            match = Match.of(queries, window)
            new = elements(DELIVERY[window], ATTRIBUTES, seed=4)
            match.assert_equal(np.ascontiguousarray(new[:, :1]))
            found = match.assert_equal(new)
            times = in_turns(match.works(new), scale.repeats)
            pairs = {name: window * (1 if "alone" in name else new.shape[1]) for name in times}
            each = {name: span(took / pairs[name]) for name, took in times.items()}
            ts = np.full(new.shape[1], window)
            chosen = match.index.choice(LEFT, ts, new, match.live, NEVER, window).name
            what = f"window {window:,}, N = {queries:,}: IBS-JS"
            yield Line(
                f"{what}, of ours ({chosen})",
                times["IBS-JS"] / times["ours"],
                AHEAD,
                at_least=True,
                facts=f"S3 up to {PAPER[window]} ×; {new.shape[1]} new tuples; a pair of tuples: "
                f"IBS-JS {each['IBS-JS']}, ours {each['ours']}; "
                f"{len(found) / pairs['ours']:,.1f} results",
            )
            yield Line(
                f"{what}, of ours, a tuple alone",
                times["IBS-JS alone"] / times["ours alone"],
                facts=f"a pair: IBS-JS {each['IBS-JS alone']}, ours {each['ours alone']}; a probe: "
                f"{span(times['IBS-JS alone'])}, {span(times['ours alone'])}",
            )


def faithful(scale: Scale) -> Iterator[Line]:
    """SJ-Join as S3 has it, conditions in four pieces, against IBS-JS without and with memory.

    Without memory it walks the trees for each tuple of the window at each new one.
    """
    for full in scale.some(QUERIES):
        queries = scale.of(full, 1_000)
        for window in scale.some(WINDOWS):
            match = Match.of(queries, window)
            many = max(1, min(DELIVERY[window], scale.of(FAITHFUL, 1_000) // window))
            new = elements(many, ATTRIBUTES, seed=4)
            match.assert_equal(new)
            works = match.printed(new)
            del works["ours"]
            times = in_turns(works, 1)
            pairs = window * many
            walked = times["walks"] / min(WALKED, window) * pairs + times["IBS-JS"]
            what = f"window {window:,}, N = {queries:,}: IBS-JS"
            yield Line(
                f"{what} that keeps nothing, of SJ-Join",
                walked / times["SJ"],
                facts=f"S3 up to {PAPER[window]} ×; {many} new tuples; a pair: SJ-Join "
                f"{span(times['SJ'] / pairs)}, IBS-JS {span(walked / pairs)}, its walks reckoned "
                f"from those of {min(WALKED, window)} tuples",
            )
            yield Line(
                f"{what} that keeps its walks, of SJ-Join",
                times["IBS-JS"] / times["SJ"],
                facts=f"a pair: IBS-JS {span(times['IBS-JS'] / pairs)}",
            )
