"""Which sizes of cells a grid has, and which boxes go to which: the least cost within the memory.

Boxes of similar size on both axes are one bin. Every size of cell is a site that may be opened: it
costs a look-up, its table, and for each bin what its boxes cost there, in candidates at a probe and
in bytes. Sites are opened greedily while one more saves something; the price of a byte rises until
all of it fits. All lengths are in positions of the rulers, so that a crowd is as even as a desert.
"""

from dataclasses import dataclass

import numpy as np

from fencepost.tuples import Doubles, Int64s

BINS_AN_OCTAVE = 2
FINEST = 12  # at most 2^12 cells on an axis
MOST_LEVELS = 6
LOOK_UP, TEST, COPY = 35.0, 0.4, 0.2  # ns a level and point, ns a candidate, ns one that is sure
REACHING, COVERING, CELL = 12, 4, 8  # bytes of an entry, and of a cell
FIRST_PRICE = 1e-6  # ns a byte


@dataclass(frozen=True, eq=False)
class GridPlan:
    """For each level, by how many bits a position on x and on y is shifted to give a cell."""

    shifts: Int64s  # [level, (x, y)]
    level: Int64s  # of each box


def plan_levels(wide: Int64s, tall: Int64s, sizes: tuple[int, int], budget: float) -> GridPlan:
    """Choose cells for boxes of these widths and heights; `budget` bytes in all."""
    bins = (BINS_AN_OCTAVE * np.log2(np.stack((wide, tall)) + 1.0)).astype(np.int64)
    key = bins[0] * 1000 + bins[1]
    _, bin_of, counts = np.unique(key, return_inverse=True, return_counts=True)
    lengths = [np.bincount(bin_of, side) / counts for side in (wide, tall)]
    axes = [_Axis.of(length, size) for length, size in zip(lengths, sizes, strict=True)]
    time, weight, tables = _costs(axes[0], axes[1], counts)
    price = FIRST_PRICE
    while True:
        sites, site = _opened(time + price * weight, LOOK_UP + price * CELL * tables)
        used = weight[site, np.arange(len(counts))].sum() + CELL * tables[sites].sum()
        if used <= budget or price > 1e3:
            break
        price *= 2
    shifts = np.stack(np.divmod(sites, len(axes[1].shifts)), axis=1)
    chosen = np.stack((axes[0].shifts[shifts[:, 0]], axes[1].shifts[shifts[:, 1]]), axis=1)
    return GridPlan(chosen, np.searchsorted(sites, site)[bin_of])


@dataclass(frozen=True, eq=False)
class _Axis:
    """For each size of cell and each bin: the share of points that meet a box there, and so on."""

    shifts: Int64s
    cells: Doubles
    met: Doubles  # share of the points in whose cell a box of the bin is
    covered: Doubles  # and in whose cell it covers all
    reached: Doubles  # cells that it meets
    full: Doubles  # cells that it covers

    @classmethod
    def of(cls, length: Doubles, size: int) -> "_Axis":
        bits = (size - 1).bit_length()
        shifts = np.arange(bits, max(0, bits - FINEST) - 1, -1)
        wide = (1 << shifts)[:, None].astype(np.float64)
        cells = np.ceil(size / wide)
        covered = np.maximum(length - wide, 0.0)
        # A box that spans the axis (as one with infinite ends does) covers its outermost cells too.
        covered = np.where(length >= size, float(size), covered)
        return cls(
            shifts,
            cells[:, 0],
            np.minimum(length + wide, size) / size,
            covered / size,
            np.minimum(length / wide + 1, cells),
            np.minimum(covered / wide, cells),
        )


def _costs(x: _Axis, y: _Axis, counts: Int64s) -> tuple[Doubles, Doubles, Doubles]:
    """Return the ns a point and the bytes by [site, bin], and the cells by [site]."""

    def both(ours: Doubles, theirs: Doubles) -> Doubles:
        product: Doubles = ours[:, None, :] * theirs[None, :, :] * counts
        return product.reshape(-1, len(counts))

    met, covered = both(x.met, y.met), both(x.covered, y.covered)
    reached, full = both(x.reached, y.reached), both(x.full, y.full)
    time = TEST * (met - covered) + COPY * covered
    weight = REACHING * (reached - full) + COVERING * full
    return time, weight, np.multiply.outer(x.cells, y.cells).ravel()


def _opened(cost: Doubles, fixed: Doubles) -> tuple[Int64s, Int64s]:
    """Open sites while one more saves something; return them, and the site of each bin."""
    sites: list[int] = []
    now = np.full(cost.shape[1], np.inf)
    total = np.inf
    while len(sites) < MOST_LEVELS:
        each = np.minimum(cost, now).sum(axis=1) + fixed
        best = int(np.argmin(each))
        if each[best] + fixed[sites].sum() >= total:
            break
        sites.append(best)
        now = np.minimum(cost[best], now)
        total = each[best] + fixed[sites[:-1]].sum()
    some = np.array(sorted(sites))
    site = some[np.argmin(cost[some], axis=0)]
    return np.unique(site), site
