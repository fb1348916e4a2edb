"""LCI-BV(DT): a bit for each virtual interval, and lists only for those that a query uses.

S2 names LCI-BV(DT) as its best variant and defines neither BV nor DT. This is our reading. BV: a
bit vector marks the intervals that are activated, and the lists of these alone are packed; the
list of an interval is found by its rank, the marks before it, which a directory has for every
word of 64 and a count of bits within the word. DT: the difference table is a bit mask, the
same for every position, so that one AND of it with the marks from V_min on leaves only the lists
worth reading.

Law: as of LCI, whose lists these are, in the same order.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from fencepost.errors import BrokenIndex
from fencepost.matches.boxes import Boxes
from fencepost.matches.index import Parameter
from fencepost.matches.papers.vci import kernels
from fencepost.matches.papers.vci.construct import Construct
from fencepost.matches.papers.vci.index import Lci
from fencepost.matches.papers.vci.kernels import Shorts, Words
from fencepost.matches.papers.vci.lists import IntervalLists
from fencepost.matches.parameters import only
from fencepost.matches.result import ProbeResult, gathered
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

SHORT = 1 << 16


@dataclass(frozen=True, eq=False)
class LciBv:
    """Logarithmic construct intervals behind a bit vector.

    build   as LCI's, and a pass over the marks
    probe   O(L k / 64 + lists in use + candidates)
    size    1/4 byte for each of R (k + 1) intervals, 2 for each list in use, 4 for each piece:
            less than LCI's, save where 64 lists side by side hold 65,536 pieces; there a list in
            use costs 4 bytes, and if all are in use that is 1/4 byte for each more than LCI's
    """

    name: ClassVar[str] = "lci_bv"
    lists: IntervalLists
    marks: Words  # bit L (k + 1) + v: a query uses interval v; none is used below position 0
    directory: Int32s  # [word, (lists, pieces)] before it, and one more
    starts: Shorts  # [list]: pieces before it in its word
    table: Words  # the difference table: bit i, whether V_min + i is read

    @classmethod
    def build(cls, boxes: Boxes, **parameters: Parameter) -> Self:
        """Cut every box as LCI does, and pack what is used."""
        only(cls.name, parameters, *Lci.known)
        lists, starts = IntervalLists.build(boxes, cls.name, parameters)
        return cls(lists, *_packed(starts, lists.construct), _mask(lists.construct))

    @property
    def boxes(self) -> Boxes:
        """What it was built of."""
        return self.lists.boxes

    @property
    def nbytes(self) -> int:
        """Bytes of the lists, the marks, and what finds a list by its mark."""
        own = (self.marks, self.directory, self.starts, self.table)
        return self.lists.nbytes + sum(array.nbytes for array in own)

    def probe(self, points: Doubles) -> ProbeResult:
        """Find the boxes that hold each point: O(L k / 64 + lists in use + candidates) a point."""
        lists = self.lists
        values = np.ascontiguousarray(points[0], np.float64)
        each = lists.construct.each

        def find(ptr: Int64s, room: Int32s, first: int) -> int:
            return int(
                kernels.find_marked(
                    values, lists.grid.axis, each, self.table, self.marks, self.directory,
                    self.starts, lists.ids, lists.outside, lists.bounds, ptr, room, first,
                )
            )  # fmt: skip

        return gathered(len(values), find, lists.guess)

    def check(self) -> None:
        """Raise BrokenIndex unless every invariant holds. O(pieces log pieces)."""
        construct, directory = self.lists.construct, self.directory
        if not np.array_equal(self.table, _mask(construct)):
            raise BrokenIndex(f"the difference table is not that of length {construct.length}")
        numbers, word = _marked(self.marks, construct)
        virtual = self.lists.grid.positions * construct.each
        for wrong in numbers[(numbers < 0) | (numbers >= virtual)][:1]:
            raise BrokenIndex(f"interval {wrong} is marked, and there is none")
        before = np.searchsorted(word, np.arange(len(self.marks) + 1))
        for wrong in np.flatnonzero(directory[:, 0] != before)[:1]:
            raise BrokenIndex(
                f"the directory has {directory[wrong, 0]} lists before word {wrong}, the marks "
                f"{before[wrong]}"
            )
        if len(self.starts) != len(numbers):
            raise BrokenIndex(f"{len(self.starts)} lists, and {len(numbers)} marks")
        begin = directory[word, 1] + self.starts.astype(np.int64)
        every = np.append(begin, self.lists.pieces)
        for wrong in np.flatnonzero(directory[:, 1] != every[before])[:1]:
            raise BrokenIndex(
                f"the directory has {directory[wrong, 1]} pieces before word {wrong}, the lists "
                f"{every[before[wrong]]}"
            )
        lengths = np.diff(every)
        for wrong in np.flatnonzero(lengths <= 0)[:1]:
            raise BrokenIndex(f"interval {numbers[wrong]} is marked, its list has {lengths[wrong]}")
        self.lists.check(np.repeat(numbers, lengths))

    def describe(self) -> str:
        """Say where positions are, how long intervals may be, and what came of it."""
        lists = self.lists
        virtual = lists.grid.positions * lists.construct.each
        return (
            f"{lists.grid.describe()}; {lists.construct.describe()}; {lists.pieces:,} pieces, "
            f"{len(self.starts):,} of {virtual:,} intervals in use"
        )


def _mask(construct: Construct) -> Words:
    """Return the difference table as bits from V_min on."""
    runs = construct.runs()
    bits = np.zeros(int(runs.max()) + 1, np.bool_)
    for start, stop in runs:
        bits[start:stop] = True
    return _as_words(bits)


def _as_words(bits: Bools) -> Words:
    filled = np.concatenate([bits, np.zeros(-len(bits) % kernels.WORD, np.bool_)])
    return np.packbits(filled, bitorder="little").view(np.uint64)


def _marked(marks: Words, construct: Construct) -> tuple[Int64s, Int64s]:
    """Return the intervals marked, ascending, and the word of each."""
    bits = np.flatnonzero(np.unpackbits(marks.view(np.uint8), bitorder="little"))
    return bits - construct.length * construct.each, bits // kernels.WORD


def _packed(starts: Int32s, construct: Construct) -> tuple[Words, Int32s, Shorts]:
    """Mark the lists in use, and give their marks, the directory, and where they begin."""
    used = np.diff(starts) > 0
    # Unset in front, so that no probe begins before the marks; behind, so that it may read on.
    front = np.zeros(construct.length * construct.each, np.bool_)
    behind = np.zeros(3 * kernels.WORD, np.bool_)
    marks = _as_words(np.concatenate([front, used, behind]))
    _, word = _marked(marks, construct)
    begin = starts[:-1][used].astype(np.int64)
    before = np.searchsorted(word, np.arange(len(marks) + 1))
    pieces = np.append(begin, starts[-1])[before]
    within = begin - pieces[word]
    short = int(within.max(initial=0)) < SHORT
    directory = np.stack([before, pieces], axis=1).astype(np.int32)
    return marks, directory, within.astype(np.uint16 if short else np.uint32)
