"""The roads of an invented town over 15 km × 15 km, and the routes between its crossings.

The town is a grid that was bent: dense in the middle, its concentric squares rounded to rings,
every crossing moved a little. Two rings and eight radials are arterials; they bridge the river that
runs through. Side streets are missing here and there, more of them outside, and a few cut a corner.

Law: every crossing can be reached from every other, roads cross only at crossings, and all
are on the map.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fencepost.errors import BrokenIndex
from fencepost.tuples import Bools, Doubles, Int8s, Int32s
from pipelines.workloads.draws import Draws, folded
from pipelines.workloads.parts import above

EXTENT = 15_000.0  # metres: S1 §7.2
LINES = 24  # of the grid, each way: 576 crossings
RINGS = (2, 7)  # of the grid's concentric squares: the arterials that go round
SMOOTH = (*RINGS, LINES // 2, *(LINES - 1 - ring for ring in RINGS))
MARGIN = 0.97  # the fraction of the map that the town fills
BEND = 0.10
ROUND = 0.8
MISSING = 0.30  # side streets that were never built, at the edge of the town; fewer in the middle
CORNERS = 0.10  # squares with a street across
ARTERIAL_LIMIT = 60.0  # km/h
STREET_LIMIT = 40.0


@dataclass(frozen=True, eq=False)
class RoadNetwork:
    """n crossings and m roads between them, each straight and two-way; 16 m + 16 n bytes.

    routes   O(n · m · hops of the longest way): 0.15 s for a town

    x, y        metres from the south-west corner of the map
    begin, end  the crossings of a road           limit  its speed limit, km/h
    """

    extent: float
    x: Doubles
    y: Doubles
    begin: Int32s
    end: Int32s
    limit: Doubles

    @cached_property
    def length(self) -> Doubles:
        """Return each road's length in metres."""
        dx, dy = self.x[self.end] - self.x[self.begin], self.y[self.end] - self.y[self.begin]
        return np.sqrt(dx * dx + dy * dy)

    @cached_property
    def arms(self) -> tuple[Int32s, Int32s]:
        """Return where each crossing's roads lead and which they are, [n, most], −1 for none."""
        n, m = len(self.x), len(self.begin)
        at = np.concatenate([self.begin, self.end])
        to = np.concatenate([self.end, self.begin])
        road = np.tile(np.arange(m, dtype=np.int32), 2)
        order = np.argsort(at, kind="stable")
        degree = np.bincount(at, minlength=n)
        place = np.arange(2 * m) - np.repeat(np.cumsum(degree) - degree, degree)
        leads = np.full((n, degree.max()), -1, np.int32)
        roads = leads.copy()
        leads[at[order], place] = to[order]
        roads[at[order], place] = road[order]
        return leads, roads

    def routes(self, cost: Doubles) -> Int8s:
        """Return the arm to take at crossing u on the cheapest way to crossing v: [u, v].

        The costs of all routes are lowered until nothing changes; the chosen arm then always leads
        nearer, so following the table from any crossing ends at the other.
        """
        n = len(self.x)
        leads, roads = self.arms
        price = np.where(roads < 0, np.inf, cost[roads])
        far = np.full((n, n), np.inf)
        np.fill_diagonal(far, 0.0)
        while True:
            nearer = far.copy()
            for arm in range(leads.shape[1]):
                np.minimum(nearer, price[:, arm, None] + far[leads[:, arm]], out=nearer)
            if np.array_equal(nearer, far):
                break
            far = nearer
        through = [price[:, arm, None] + far[leads[:, arm]] for arm in range(leads.shape[1])]
        best: Int8s = np.argmin(np.stack(through), axis=0).astype(np.int8)
        return best

    def check(self) -> None:
        """Raise with the facts if the law is broken."""
        for name, at in (("x", self.x), ("y", self.y)):
            if at.min() < 0.0 or at.max() > self.extent:
                raise BrokenIndex(f"{name} runs from {at.min():.1f} to {at.max():.1f}, off the map")
        parts = np.unique(connected_parts(len(self.x), self.begin, self.end))
        if len(parts) != 1:
            raise BrokenIndex(f"the roads fall into {len(parts)} parts")
        crossed = crossing_roads(self)
        if crossed:
            one, other = crossed
            raise BrokenIndex(f"roads {one} and {other} cross where there is no crossing")


def town(seed: int = 1, extent: float = EXTENT) -> RoadNetwork:
    """Build the town of this seed, in about 10 ms."""
    above("extent", extent, 0.0, 1e6)
    draws = Draws(seed, "town")
    x, y = crossings(draws)
    begin, end, arterial = streets(draws)
    half = extent / 2.0
    limit = np.where(arterial, ARTERIAL_LIMIT, STREET_LIMIT)
    return RoadNetwork(extent, half + half * x, half + half * y, begin, end, limit)


def crossings(draws: Draws) -> tuple[Doubles, Doubles]:
    """Return the positions of the crossings, on [−1, 1] both ways, row by row."""
    row, column = np.divmod(np.arange(LINES * LINES), LINES)
    line = (2.0 * np.arange(LINES) + 1.0) / LINES - 1.0
    # On the rings and radials a crossing strays little, for arterials run smoothly.
    smooth = np.isin(row, SMOOTH) | np.isin(column, SMOOTH)
    stray = np.where(smooth, 0.10, 0.22) * (2.0 / LINES)
    u = line[column] + stray * draws.between(-1.0, 1.0, len(row))
    v = line[row] + stray * draws.between(-1.0, 1.0, len(row))
    # Concentric squares become nearly circles, closer in the middle; then the whole is bent.
    square, circle = np.maximum(np.abs(u), np.abs(v)), np.sqrt(u * u + v * v)
    drawn = (0.55 + 0.45 * square * square) * (1.0 - ROUND + ROUND * square / circle)
    x, y = u * drawn, v * drawn
    bend = draws.between(-BEND, BEND, 4)
    return (
        fitted(x + bend[0] * y * y + bend[1] * x * y - BEND * y),
        fitted(y + bend[2] * x * x + bend[3] * x * y + BEND * x),
    )


def fitted(at: Doubles) -> Doubles:
    """Stretch to fill the map except for a margin."""
    low, high = at.min(), at.max()
    return np.asarray(MARGIN * ((at - low) * (2.0 / (high - low)) - 1.0), np.float64)


def streets(draws: Draws) -> tuple[Int32s, Int32s, Bools]:
    """Return the roads' ends, and which roads are arterials."""
    begin, end, arterial, across = lines_and_corners(draws)
    north = north_bank(draws)
    row, column = np.divmod(begin, LINES)
    outside = np.maximum(np.abs(2 * row - LINES), np.abs(2 * column - LINES)) / LINES
    chance = draws.uniform(len(begin))
    wanted = np.where(across, chance < CORNERS, chance >= MISSING * (0.3 + 0.7 * outside))
    built = arterial | (wanted & (north[begin] == north[end]))
    while True:  # add missing streets one at a time, until all are connected
        part = connected_parts(LINES * LINES, begin[built], end[built])
        joins = np.flatnonzero(~across & (part[begin] != part[end]))
        if not len(joins):
            return begin[built], end[built], arterial[built]
        built[joins[0]] = True


def lines_and_corners(draws: Draws) -> tuple[Int32s, Int32s, Bools, Bools]:
    """Return every road that could be: its ends, is it an arterial, does it cut a corner."""
    node = np.arange(LINES * LINES, dtype=np.int32).reshape(LINES, LINES)
    line, square = np.arange(LINES), np.arange(LINES - 1)
    main = np.zeros((LINES, LINES - 1), bool)  # of each line its pieces
    main[line == LINES // 2] = True
    for ring in RINGS:
        main[[ring, LINES - 1 - ring], ring : LINES - 1 - ring] = True
    radial = (square < RINGS[-1]) | (square > LINES - 2 - RINGS[-1])
    slash = np.eye(square.size, dtype=bool)
    backslash = slash[:, ::-1]
    rising = draws.uniform(square.size * square.size).reshape(square.size, square.size) < 0.5
    rising = (rising | slash) & ~backslash
    low = np.where(rising, node[:-1, :-1], node[:-1, 1:])
    high = np.where(rising, node[1:, 1:], node[1:, :-1])
    begin = np.concatenate([node[:, :-1].ravel(), node[:-1].T.ravel(), low.ravel()])
    end = np.concatenate([node[:, 1:].ravel(), node[1:].T.ravel(), high.ravel()])
    arterial = np.concatenate([main.ravel(), main.ravel(), ((slash | backslash) & radial).ravel()])
    return begin, end, arterial, np.arange(len(begin)) >= len(begin) - low.size


def north_bank(draws: Draws) -> Bools:
    """Return which crossings are north of the river, which winds from west to east."""
    winds = np.floor(3.0 * draws.uniform(LINES)) - 1.0
    river = folded(LINES / 3.0 + np.cumsum(winds), LINES / 6.0, LINES / 2.0)
    row, column = np.divmod(np.arange(LINES * LINES), LINES)
    return row > river[column]


def connected_parts(count: int, begin: Int32s, end: Int32s) -> Int32s:
    """Return the least crossing that each crossing is connected with."""
    part = np.arange(count, dtype=np.int32)
    while True:
        least = part.copy()
        np.minimum.at(least, begin, part[end])
        np.minimum.at(least, end, part[begin])
        least = least[least]
        if np.array_equal(least, part):
            return part
        part = least


def crossing_roads(network: RoadNetwork) -> tuple[int, int] | None:
    """Return the first two roads that cross away from their ends, in O(m²); None if none do."""
    x, y, a, b = network.x, network.y, network.begin, network.end

    def side(p: Int32s, q: Int32s, r: Int32s) -> Doubles:
        turn: Doubles = (x[q] - x[p]) * (y[r] - y[p]) - (y[q] - y[p]) * (x[r] - x[p])
        return turn

    a1, b1, a2, b2 = a[:, None], b[:, None], a[None], b[None]
    apart = (a1 != a2) & (a1 != b2) & (b1 != a2) & (b1 != b2)
    split = side(a1, b1, a2) * side(a1, b1, b2) <= 0.0
    found = np.argwhere(apart & split & split.T)
    return (int(found[0, 0]), int(found[0, 1])) if len(found) else None
