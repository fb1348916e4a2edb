"""SCI, LCI and Dlist: an array of all lists, and a probe that copies a slice of them for each step.

S2 §2. Every virtual interval has a list, whether a query uses it or not. A probe finds the
cell of the point, adds the difference table to V_min, and has the numbers of the lists of all
queries that cover the cell. Dlist is the case L = 1: the only interval of a cell is the cell.

Law: see `lists`: each box is in exactly one of the lists that a probe reads.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from fencepost.errors import BrokenIndex
from fencepost.matches.boxes import Boxes
from fencepost.matches.index import Parameter
from fencepost.matches.papers.vci import kernels
from fencepost.matches.papers.vci.lists import IntervalLists
from fencepost.matches.parameters import only
from fencepost.matches.result import ProbeResult, gathered
from fencepost.tuples import Doubles, Int32s, Int64s


@dataclass(frozen=True, eq=False)
class _Intervals:
    """The lists, and where the list of each interval begins."""

    name: ClassVar[str]
    known: ClassVar[tuple[str, ...]] = ("length", "positions", "grid")
    lists: IntervalLists
    starts: Int32s  # [interval], and the end of all
    runs: Int32s  # the difference table: [i, (from, to)] to add to V_min, i positions back

    @classmethod
    def build(cls, boxes: Boxes, **parameters: Parameter) -> Self:
        """Cut every box into pieces. Without a length, `optimal_length` says one."""
        only(cls.name, parameters, *cls.known)
        lists, starts = IntervalLists.build(boxes, cls.name, parameters)
        return cls(lists, starts, lists.construct.runs())

    @property
    def boxes(self) -> Boxes:
        """What it was built of."""
        return self.lists.boxes

    @property
    def nbytes(self) -> int:
        """Bytes of the lists and of the array that says where they begin."""
        return self.lists.nbytes + self.starts.nbytes + self.runs.nbytes

    def probe(self, points: Doubles) -> ProbeResult:
        """Find the boxes that hold each point: O(L + candidates) a point."""
        lists = self.lists
        values = np.ascontiguousarray(points[0], np.float64)
        each = lists.construct.each

        def find(ptr: Int64s, room: Int32s, first: int) -> int:
            return int(
                kernels.find_in_lists(
                    values, lists.grid.axis, each, self.runs, self.starts, lists.ids,
                    lists.outside, lists.bounds, ptr, room, first,
                )
            )  # fmt: skip

        return gathered(len(values), find, lists.guess)

    def check(self) -> None:
        """Raise BrokenIndex unless every invariant holds. O(pieces log pieces)."""
        starts, construct = self.starts, self.lists.construct
        wanted = self.lists.grid.positions * construct.each + 1
        if len(starts) != wanted or starts[0] != 0 or starts[-1] != self.lists.pieces:
            raise BrokenIndex(
                f"{len(starts)} starts from {starts[:1]} to {starts[-1:]}, expected {wanted} from "
                f"0 to {self.lists.pieces}"
            )
        for at in np.flatnonzero(np.diff(starts) < 0)[:1]:
            raise BrokenIndex(
                f"list {at + 1} begins at {starts[at + 1]}, before list {at} at {starts[at]}"
            )
        if not np.array_equal(self.runs, construct.runs()):
            raise BrokenIndex(f"the difference table is not that of length {construct.length}")
        self.lists.check(np.repeat(np.arange(wanted - 1), np.diff(starts)))

    def describe(self) -> str:
        """Say where positions are, how long intervals may be, and what came of it."""
        used = int(np.count_nonzero(np.diff(self.starts)))
        return (
            f"{self.lists.grid.describe()}; {self.lists.construct.describe()}; "
            f"{self.lists.pieces:,} pieces in {used:,} lists"
        )


class Sci(_Intervals):
    """Simple construct intervals: of every length up to L at each of R positions.

    build   O(n + n w/L + R L), w cells a box
    probe   O(L + candidates)
    size    4 bytes for each of R L lists, 4 for each of ⌈w/L⌉ pieces a box
    """

    name = "sci"


class Lci(_Intervals):
    """Logarithmic construct intervals: of lengths 1, 2, 4 to L = 2^k at each of R positions.

    build   O(n + pieces + R k), w cells a box make ⌊w/L⌋ pieces, and up to k of the remnant
    probe   O(L + candidates)
    size    4 bytes for each of R (k + 1) lists, 4 for each piece
    """

    name = "lci"


class Dlist(_Intervals):
    """A list of the queries at every position: the quickest to read, the largest to keep.

    build   O(n w + R), w cells a box
    probe   O(1 + candidates), one slice
    size    4 bytes for each of R lists, 4 for each of w cells a box
    """

    name = "dlist"
    known = ("positions", "grid")
