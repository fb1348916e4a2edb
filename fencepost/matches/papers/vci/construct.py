"""Virtual construct intervals as S2 §2 numbers them, cuts queries into them, and finds them again.

SCI has L intervals at each position, of lengths 1 to L; LCI has k + 1, of lengths 1, 2, 4 to 2^k,
which is L. All are closed. Those that cover a position have the numbers V_min + D, where D is the
same for every position: so they are enumerated by additions.

Law: the pieces of [x, y] run end to end from x to y; each is the longest that fits, so there are
⌊(y − x) / L⌋ of length L and then the remnant, one piece in SCI, its binary digits in LCI.
"""

from dataclasses import dataclass

import numpy as np

from fencepost.errors import InputError
from fencepost.tuples import Int32s, Int64s

MOST_LENGTH = 4096


@dataclass(frozen=True)
class Construct:
    """The intervals [a, a + l] at every position a, and their numbers. Position 0 is a_0 of S2."""

    dyadic: bool  # LCI, else SCI
    length: int  # L, the longest

    @classmethod
    def of(cls, kind: str, length: int) -> "Construct":
        """Return the construct of "sci" or "lci" with a longest interval; a power of two in LCI."""
        if kind not in {"sci", "lci"}:
            raise InputError(f"virtual intervals are 'sci' or 'lci', given '{kind}'")
        if not 1 <= length <= MOST_LENGTH or (kind == "lci" and length & (length - 1)):
            wanted = "a power of two" if kind == "lci" else "a whole number"
            raise InputError(f"length is {length}, expected {wanted} from 1 to {MOST_LENGTH:,}")
        return cls(kind == "lci", length)

    @property
    def each(self) -> int:
        """How many begin at each position: L in SCI, k + 1 in LCI."""
        return self.length.bit_length() if self.dyadic else self.length

    @property
    def lengths(self) -> Int64s:
        """Their lengths, ascending."""
        exponents = np.arange(self.each, dtype=np.int64)
        return 1 << exponents if self.dyadic else exponents + 1

    def number(self, a: int, b: int) -> int:
        """Return the number of [a, b]: aL + (b − a) − 1 in SCI, a(k + 1) + log2(b − a) in LCI."""
        inside = (b - a).bit_length() - 1 if self.dyadic else b - a - 1
        return a * self.each + inside

    def intervals(self, numbers: Int64s) -> tuple[Int64s, Int64s]:
        """Return a and b of the intervals of these numbers."""
        a, inside = np.divmod(numbers, self.each)
        return a, a + self.lengths[inside]

    def decompose(self, x: int, y: int) -> list[tuple[int, int]]:
        """Cut [x, y] from the left, always the longest that fits. O(pieces)."""
        pieces = []
        while x < y:
            piece = min(y - x, self.length)
            if self.dyadic:
                piece = 1 << (piece.bit_length() - 1)
            pieces.append((x, x + piece))
            x += piece
        return pieces

    def pieces(self, widths: Int32s | Int64s) -> Int64s:
        """Count what widths are cut into, without cutting. O(n)."""
        full, remnant = np.divmod(widths.astype(np.int64), self.length)
        if self.dyadic:
            remnant = np.bitwise_count(remnant).astype(np.int64)
        counts: Int64s = full + (remnant if self.dyadic else np.minimum(remnant, 1))
        return counts

    def least(self, position: int) -> int:
        """Return V_min: the number of [j − L, j]; below 0 left of L."""
        return (position - self.length) * self.each + self.each - 1

    def differences(self) -> Int64s:
        """Return D, ascending: the numbers of the intervals that cover a position, less V_min.

        The same for every position, save that left of L some of them would begin before the range.
        """
        back = np.repeat(np.arange(self.length, -1, -1), self.each)
        inside = np.tile(np.arange(self.each), self.length + 1)
        covers = np.tile(self.lengths, self.length + 1) >= back
        numbers = (self.length - back) * self.each + inside - self.least(self.length)
        table: Int64s = numbers[covers]
        return table

    def covering(self, position: int, positions: int) -> Int64s:
        """Enumerate the intervals that cover a position by additions: V_min + D.

        At the edges those are left out that would begin before position 0 or end past the last.
        """
        numbers = self.least(position) + self.differences()
        numbers = numbers[numbers >= 0]
        inside: Int64s = numbers[self.intervals(numbers)[1] < positions]
        return inside

    def runs(self) -> Int32s:
        """Return what a probe needs of D: [i, (from, to)], the numbers at i positions back.

        Without the intervals that end at the point itself, since lo <= v < hi: a query that ends
        there does not hold, and one that continues is found by its next piece. So none is found
        twice. The numbers that begin at one position are consecutive, and so are their lists.
        """
        back = np.arange(self.length)
        shortest = np.searchsorted(self.lengths, back, side="right")
        start = (self.length - back) * self.each - self.least(self.length)
        return np.stack([start + shortest, start + self.each], axis=1).astype(np.int32)

    def describe(self) -> str:
        """Say which intervals there are."""
        return f"lengths {'1, 2, 4' if self.dyadic else '1, 2, 3'} to L = {self.length:,}"


def decompose(x: int, y: int, length: int, kind: str = "lci") -> list[tuple[int, int]]:
    """Cut a query [x, y] into virtual intervals of at most `length`, as S2 §2.3 does. O(pieces)."""
    if not x < y:
        raise InputError(f"a query [{x}, {y}] has no width: y > x is expected")
    return Construct.of(kind, length).decompose(x, y)
