"""Which method to use for a probe: by how much of the window a conjunct's narrowest range is.

Ranges pay for the order of the whole window and for each entry of a range, runs for each row of a
window; bitmaps for each block of 512 that a conjunct meets. The weights are of one machine; what
counts is how they compare.

Law: the choice depends on the new tuples, the window and the conjuncts, on nothing else; no choice
changes a row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2

import numpy as np

from fencepost.joins.windows.bitmap_kernels import BLOCK
from fencepost.joins.windows.inputs import WindowProbe
from fencepost.joins.windows.range_kernels import expect

SAMPLE = 128  # of the conjuncts that new tuples hold
OLDS = 512  # of the window
FEW = 4096  # pairs that are tested before a block is built
# Nanoseconds. Of an entry sorted, an axis and a halving; of a search, likewise; of an entry tested,
# and of one of an unsorted run, most of which are passed over at once.
SORTED, SEARCHED, TESTED, PASSED = 1.4, 3.0, 25.0, 9.0
# Of a block: to be made, an axis; of a conjunct in it, an axis; of the row of a test, or of terms,
# for a new tuple; of a conjunct and a new tuple; of an entry that may be a pair.
BLOCKED, CHOSEN, ROW, MET, WRITTEN = 11_000.0, 14.0, 45.0, 12.0, 5.0


@dataclass(frozen=True)
class Choice:
    """A method, and what each is expected to cost, ns a probe.

    rows, entries  how many tuples a conjunct's window holds, and its narrowest range, on average
    """

    name: str
    costs: Mapping[str, float]
    rows: float
    entries: float

    @property
    def why(self) -> str:
        """The choice and its reason in a line."""
        if not self.costs:
            how = "one block of bits" if self.name == "bitmaps" else "tested as they are"
            return f"the window's {self.rows:,.0f} tuples are {how}"
        costs = ", ".join(f"{name} {cost / 1000:,.0f} µs" for name, cost in self.costs.items())
        return f"{self.entries:,.0f} of {self.rows:,.0f} tuples in the narrowest range; {costs}"


def choose(probe: WindowProbe) -> Choice:
    """Choose what is expected to cost less. O(a sample)."""
    new, standing, conditions, matched = probe
    axes, n = standing.values.shape
    count = len(matched.ids)
    if n <= BLOCK:
        return Choice("runs" if count * n <= FEW else "bitmaps", {}, float(n), float(n))
    sums = np.zeros(3)
    some = np.sort(standing.values[:, :: max(1, n // OLDS)], axis=1)
    every = max(1, count // SAMPLE)
    expect(probe, some, every, sums)
    rows, entries = sums[1:] / max(sums[0], 1.0)
    depth = log2(max(n, 2))
    blocks = -(-n // BLOCK)
    met = rows / max(n, 1) * blocks + 1.0
    chosen = min(count, len(conditions.query)) * min(blocks, met * len(new.ts))
    tests = len(conditions.between) / max(len(conditions.query), 1) * count
    shared = min(tests, len(conditions.tests.code) * len(new.ts))
    shared += min(count, len(conditions.terms.last) * len(new.ts))
    costs = {
        "runs": count * (rows * PASSED + entries * TESTED),
        "ranges": axes * n * depth * SORTED
        + count * (2 * axes * depth * SEARCHED + entries * TESTED),
        "bitmaps": (axes + 1) * blocks * BLOCKED
        + chosen * axes * CHOSEN
        + met * (shared * ROW + count * MET)
        + count * entries * WRITTEN,
    }
    return Choice(min(costs, key=lambda name: costs[name]), costs, float(rows), float(entries))
