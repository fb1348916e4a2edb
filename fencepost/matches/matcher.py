"""Which of a feed's queries hold each tuple: any index, under queries that come and go.

Queries for all streams are in one index over the feed's axes. Those for named streams are in a
second one with one more axis, the stream's number: so with a million alerts on single tickers a
tuple pays only for its own. Registration adds a part beside the existing ones, removal a mark, as
with crossings.

Law: whatever index is chosen and however the set came about, the same queries hold.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from fencepost.arrow import codes_in
from fencepost.errors import BrokenIndex, InputError
from fencepost.matches.auto import AUTO, IndexChoice, choose
from fencepost.matches.boxes import Boxes
from fencepost.matches.exact import AllOf, AxisTests, Exact, ShapeTests
from fencepost.matches.index import KINDS, Parameter
from fencepost.matches.regions import Regions, chosen
from fencepost.matches.result import ProbeResult
from fencepost.parallel import in_parallel
from fencepost.queries import QuerySet
from fencepost.queries.slots import (
    REMOVED,
    check_slots,
    rows_with_added,
    rows_with_removed,
    without,
)
from fencepost.queries.stream_boxes import StreamBoxes
from fencepost.shapes.prepare import prepared
from fencepost.times import ALWAYS_FROM, ALWAYS_TO
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

REBUILD_SHARE = 8  # rebuilt when an eighth of the first part has come or gone
REBUILD_FLOOR = 4096
MOST_PARTS = 8
SOON = 20_000_000  # pairs of box and tuple that are compared before an index is loaded
REQUESTED = "requested"
SCANS = "few tuples: compared sooner than an index is loaded"
FEWEST_APIECE = 2048  # points that are worth a thread


@dataclass(frozen=True, eq=False)
class ProbeInput:
    """Points to be matched, their streams and their times.

    names   the streams      stream  of each point, a place in `names`
    """

    points: Doubles  # [axis, point]
    names: pa.StringArray
    stream: Int32s
    ts: Int64s | None

    def part(self, begin: int, end: int) -> "ProbeInput":
        """Cut out the points from `begin` to `end`. O(their values)."""
        ts = None if self.ts is None else self.ts[begin:end]
        points = np.ascontiguousarray(self.points[:, begin:end])
        return ProbeInput(points, self.names, self.stream[begin:end], ts)


@dataclass(frozen=True, eq=False)
class Matcher:
    """n queries in one or more parts.

    build          that of the index chosen        probe          that of the index, of each part
    with_added     that of k new queries, at times a build        with_removed   O(n)
    """

    queries: QuerySet
    parts: tuple["MatcherPart", ...]
    row_of: Int32s | None  # [slot] the query's row in `queries`, or REMOVED; None: slots are rows
    index: str
    batch: int | None
    parameters: dict[str, Parameter]
    scans: bool = False  # because only few tuples are to be probed

    @classmethod
    def build(
        cls,
        queries: QuerySet,
        index: str = AUTO,
        *,
        batch: int | None = None,
        tuples: int | None = None,
        **parameters: Parameter,
    ) -> "Matcher":
        """Build the index of a name over a set; `auto` chooses one for batches of about `batch`.

        Where it is known how many `tuples` will ever be probed, and all of them are compared sooner
        than a compiled index is loaded, no index is built; see `serving`.
        """
        if index == AUTO and parameters:
            raise InputError(f"auto chooses the parameters, too: {', '.join(parameters)} given")
        scans = index == AUTO and tuples is not None and _soon(queries, tuples)
        part = MatcherPart.build(
            queries, 0, "scan" if scans else index, batch, parameters, scans=scans
        )
        return cls(queries, (part,), None, index, batch, parameters, scans)

    def serving(self, tuples: int) -> "Matcher":
        """Return a matcher fit for `tuples` in all: this one, if it is."""
        if not self.scans or _soon(self.queries, tuples):
            return self
        return Matcher.build(self.queries, self.index, batch=self.batch)

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def nbytes(self) -> int:
        """Bytes of all parts; the query set's own columns are its own."""
        rows = 0 if self.row_of is None else self.row_of.nbytes
        return rows + sum(part.nbytes for part in self.parts)

    def probe(self, probes: ProbeInput, threads: int = 1) -> ProbeResult:
        """Find the rows of the queries that hold each point; all of them, where ts is None."""
        count = probes.points.shape[1]
        shares = max(1, min(threads, count // FEWEST_APIECE))
        edges = np.linspace(0, count, shares + 1).astype(np.int64).tolist()
        if shares == 1:
            return self._probe(probes)
        parts = in_parallel(lambda a, b: self._probe(probes.part(a, b)), list(pairwise(edges)))
        return ProbeResult.together(parts)

    def _probe(self, probes: ProbeInput) -> ProbeResult:
        found = ProbeResult.beside([part.probe(probes) for part in self.parts])
        if self.row_of is None:
            return found
        row = self.row_of[found.ids]
        return chosen(ProbeResult(found.ptr, row), row != REMOVED)

    def with_added(self, added: QuerySet) -> "Matcher":
        """Return a matcher of these queries too."""
        return self.grown(self.queries.with_added(added), added)

    def with_removed(self, ids: Iterable[str]) -> "Matcher":
        """Return a matcher without these queries; an unknown id is refused."""
        return self.shrunk(*without(self.queries, ids))

    def grown(self, queries: QuerySet, added: QuerySet) -> "Matcher":
        """Return a matcher of the set with the added behind, made already."""
        if len(added) == 0:
            return replace(self, queries=queries)
        slots = self._slots
        if self._crowded(slots + len(added) - len(self.parts[0].queries)):
            return self._rebuilt(queries)
        part = self._part(added, slots)
        row_of = rows_with_added(self.row_of, len(self.queries), len(queries))
        return replace(self, queries=queries, parts=(*self.parts, part), row_of=row_of)

    def shrunk(self, queries: QuerySet, kept: Bools) -> "Matcher":
        """Return a matcher of the kept rows, a set made already."""
        if len(queries) == len(self.queries):
            return self
        if self._crowded(self._slots - len(queries)):
            return self._rebuilt(queries)
        return replace(self, queries=queries, row_of=rows_with_removed(self.row_of, kept))

    def _rebuilt(self, queries: QuerySet) -> "Matcher":
        part = self._part(queries, 0)
        return replace(self, queries=queries, parts=(part,), row_of=None)

    def _part(self, queries: QuerySet, slot: int) -> "MatcherPart":
        name = "scan" if self.scans else self.index
        return MatcherPart.build(queries, slot, name, self.batch, self.parameters, scans=self.scans)

    @property
    def _slots(self) -> int:
        return self.parts[-1].slot + len(self.parts[-1].queries)

    def _crowded(self, changed: int) -> bool:
        share = max(REBUILD_FLOOR, len(self.parts[0].queries) // REBUILD_SHARE)
        return changed > share or len(self.parts) == MOST_PARTS

    def check(self) -> None:
        """Raise BrokenIndex unless every invariant holds."""
        for part in self.parts:
            part.check()
        sizes = ((part.slot, len(part.queries)) for part in self.parts)
        check_slots(sizes, self.row_of, len(self.queries), "part")

    @property
    def choices(self) -> tuple[IndexChoice, ...]:
        """What was chosen for each part, and why."""
        return tuple(choice for part in self.parts for choice in part.choices)

    def describe(self) -> list[str]:
        """Describe each index, in the order of `choices`."""
        indexes = [regions for part in self.parts for regions in (part.everywhere, part.of_named)]
        return [regions.index.describe() for regions in indexes if regions is not None]


def _soon(queries: QuerySet, tuples: int) -> bool:
    return int(queries.box_ptr[-1]) * tuples <= SOON


@dataclass(frozen=True, eq=False)
class MatcherPart:
    """Some of the queries, indexed once.

    Those for all streams over the axes, those for named ones with the stream as one axis more.
    """

    queries: QuerySet
    slot: int  # the number of its first query among all that were ever indexed
    everywhere: Regions | None
    of_named: Regions | None
    names: pa.StringArray  # the streams that queries name: segment k belongs to names[k]
    timed: Bools | None  # [query] whether it is not always valid; None: none is
    choices: tuple[IndexChoice, ...]

    @classmethod
    def build(
        cls,
        queries: QuerySet,
        slot: int,
        index: str,
        batch: int | None,
        parameters: dict[str, Parameter],
        *,
        scans: bool = False,
    ) -> "MatcherPart":
        """Build the index requested, or auto's where it is not for so many axes.

        `scans` means that there is no index because few tuples are expected.
        """
        query = np.repeat(np.arange(len(queries), dtype=np.int32), np.diff(queries.box_ptr))
        why = SCANS if scans else REQUESTED
        builder = _PartBuilder(queries, query, _tests_of(queries), index, batch, parameters, why)
        boxes = np.flatnonzero(queries.everywhere[query])
        everywhere = builder.build(boxes, None) if len(boxes) or not len(queries) else None
        named = StreamBoxes.of(queries, query.astype(np.int64))
        of_named = builder.build(named.rows, named.segment) if len(named.rows) else None
        always = (queries.valid_from == ALWAYS_FROM) & (queries.valid_to == ALWAYS_TO)
        timed = None if always.all() else ~always
        return cls(queries, slot, everywhere, of_named, named.names, timed, tuple(builder.choices))

    @property
    def nbytes(self) -> int:
        """Bytes of the indexes and of the columns beside them."""
        indexes = [each for each in (self.everywhere, self.of_named) if each is not None]
        timed = 0 if self.timed is None else self.timed.nbytes
        return int(sum(each.nbytes for each in indexes) + self.names.nbytes + timed)

    def probe(self, probes: ProbeInput) -> ProbeResult:
        """Find the slots of the queries that hold each point."""
        count = probes.points.shape[1]
        found = [] if self.everywhere is None else [self.everywhere.probe(probes.points)]
        if self.of_named is not None:
            found.append(self._named(probes))
        here = ProbeResult.beside(found) if found else ProbeResult.nothing(count)
        if self.timed is not None and probes.ts is not None:
            here = self._in_time(here, probes.ts)
        patterns = self.queries.patterns
        if patterns is not None:
            kept = patterns.kept(here.ids, probes.stream[here.points], probes.names)
            here = here if kept is None else chosen(here, kept)
        return ProbeResult(here.ptr, here.ids + np.int32(self.slot)) if self.slot else here

    def _named(self, probes: ProbeInput) -> ProbeResult:
        """Probe for the points of streams that some query names."""
        own = codes_in(probes.names, self.names)[probes.stream]
        rows = np.flatnonzero(own >= 0)
        if self.of_named is None or not len(rows):
            return ProbeResult.nothing(len(own))
        points = np.concatenate([probes.points[:, rows], own[rows][None].astype(np.float64)])
        found = self.of_named.probe(points)
        ptr = np.zeros(len(own) + 1, np.int64)
        ptr[rows + 1] = found.counts
        return ProbeResult(np.cumsum(ptr), found.ids)

    def _in_time(self, found: ProbeResult, ts: Int64s) -> ProbeResult:
        """Keep the queries that are valid at the point's time."""
        queries, timed = self.queries, self.timed
        limited = np.flatnonzero(timed[found.ids]) if timed is not None else np.empty(0, np.int64)
        if not len(limited):
            return found
        query, at = found.ids[limited], ts[found.points[limited]]
        kept = np.ones(len(found.ids), np.bool_)
        kept[limited] = (queries.valid_from[query] <= at) & (at < queries.valid_to[query])
        return chosen(found, kept)

    def check(self) -> None:
        """Raise BrokenIndex unless the indexes are whole and hold what the queries say."""
        self.queries.check()
        query = np.repeat(np.arange(len(self.queries)), np.diff(self.queries.box_ptr))
        boxes = np.flatnonzero(self.queries.everywhere[query])
        named = StreamBoxes.of(self.queries, query)
        for regions, rows, segment in (
            (self.everywhere, boxes, None),
            (self.of_named, named.rows, named.segment),
        ):
            if regions is not None:
                regions.check()
                self._check_regions(regions, rows, query[rows], segment)
            elif len(rows):
                raise BrokenIndex(f"{len(rows)} boxes stand in no index")

    def _check_regions(
        self, regions: Regions, rows: Int64s, query: Int64s, segment: Int64s | None
    ) -> None:
        """Compare an index with the queries: boxes, streams, owners, tests."""
        lo, hi = self.queries.lo[:, rows], self.queries.hi[:, rows]
        if segment is not None:
            lo, hi = np.vstack([lo, segment]), np.vstack([hi, segment + 1.0])
        indexed = regions.index.boxes
        if not (np.array_equal(indexed.lo, lo) and np.array_equal(indexed.hi, hi)):
            raise BrokenIndex("the boxes in the index are not those of the queries")
        owner = np.arange(len(rows)) if regions.query is None else regions.query
        if not np.array_equal(owner, query):
            raise BrokenIndex("a box in the index is said to be of another query")
        if not _same(regions.exact, _some(_tests_of(self.queries), rows)):
            raise BrokenIndex("the tests beside the boxes are not those of the queries")


@dataclass
class _PartBuilder:
    """One part on its way, and what was chosen for it."""

    queries: QuerySet
    query: Int32s
    tests: tuple[AxisTests | ShapeTests, ...]
    index: str
    batch: int | None
    parameters: dict[str, Parameter]
    why: str

    def __post_init__(self) -> None:
        self.choices: list[IndexChoice] = []

    def build(self, rows: Int64s, segment: Int64s | None) -> Regions:
        """Index some of the boxes, with the stream's number as a further axis if there is one."""
        lo, hi = self.queries.lo[:, rows], self.queries.hi[:, rows]
        if segment is not None:
            own = segment.astype(np.float64)[None]
            lo, hi = np.concatenate([lo, own]), np.concatenate([hi, own + 1.0])
        boxes = Boxes(np.ascontiguousarray(lo), np.ascontiguousarray(hi))
        fits = self.index == AUTO or self.index not in KINDS
        fits = fits or KINDS[self.index].axes in (None, boxes.axes)
        name = self.index if fits or segment is None else AUTO
        choice = choose(boxes, self.batch) if name == AUTO else IndexChoice(name, {}, self.why)
        parameters = {**choice.parameters, **(self.parameters if name != AUTO else {})}
        self.choices.append(
            replace(choice, boxes=len(boxes), axes=boxes.axes, named=segment is not None)
        )
        exact = _some(self.tests, rows)
        return Regions.build(boxes, choice.name, query=self.query[rows], exact=exact, **parameters)


def _tests_of(queries: QuerySet) -> tuple[AxisTests | ShapeTests, ...]:
    """Give what the boxes of the queries are refined by."""
    tests: list[AxisTests | ShapeTests] = []
    if len(queries.tests):
        tests.append(AxisTests(queries.test_ptr, queries.tests))
    if queries.position is not None:
        shape = np.repeat(queries.shape, np.diff(queries.box_ptr))
        tests.append(ShapeTests(prepared(queries.shapes), shape, queries.position))
    return tuple(tests)


def _some(tests: Sequence[AxisTests | ShapeTests], rows: Int64s) -> Exact | None:
    """Return the tests of some boxes; None where they have none."""
    chosen = [each for each in (tests_of.some(rows) for tests_of in tests) if each.asks.any()]
    if len(chosen) > 1:
        return AllOf(tuple(chosen))
    return chosen[0] if chosen else None


def _same(mine: Exact | None, tests: Exact | None) -> bool:
    """Say whether two test the same; of shapes, the places in the set's columns."""
    if isinstance(mine, AllOf) and isinstance(tests, AllOf):
        return all(map(_same, mine.tests, tests.tests))
    if isinstance(mine, AxisTests) and isinstance(tests, AxisTests):
        return np.array_equal(mine.ptr, tests.ptr) and np.array_equal(mine.tests, tests.tests)
    if isinstance(mine, ShapeTests) and isinstance(tests, ShapeTests):
        return mine.axes == tests.axes and np.array_equal(mine.shape, tests.shape)
    return mine is None and tests is None
