"""What a batch would cost, one by one or in clusters: the choice of the mode.

S3 finds its N_dc by trial and leaves a model to others. Ours: a box of a window costs its cluster
the same for 5 points or for 512, and the boxes of a window, (w + e) ** d of them for boxes of width
w and a cluster of extent e, grow slower than its points, e ** d; so the best clusters are as large
as one pairing, 512 points, in even shares. On S3's queries 512 was best of 64 to 2048,
but the optimum is less flat than S3's: 1024 cost 9 to 33% more, 256 15 to 82% more (2,000 and
10,000 points, 4 and 8 axes). What is left to choose is the mode. Where windows hold a multiple of
what their points do, each point by itself is cheaper: small batches, and boxes so small that few
points share one. The model is rough: over forty cases that its constants were not fitted to, the
mode chosen cost 1.04 times the better one's time by geometric mean, 2.07 times at worst (5 axes,
50,000 boxes 30% wide, 10,000 points: alone, where clusters were better).

Law: the choice decides the time, never the rows.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from fencepost.matches.papers.spatial_join.mlgf import GridFile
from fencepost.tuples import Doubles

EXTENTS = 12  # windows of the whole, half, a quarter … of each axis
SAMPLES = 4  # of each

# Nanoseconds, read off the times of ten sets of boxes on one machine; rough, and only compared with
# each other. Of a point alone, a group of boxes it probes, and a result of it.
ALONE, GROUP, FOUND = 150.0, 25.0, 6.0
# Of a point in a cluster, and the same for each axis; of a box of the window and an axis; a result.
NEAR, NEAR_AXIS, BOX, BOX_AXIS, PAIRED = 160.0, 25.0, 5.0, 11.0, 1.3
# Of a cluster, and the same for each axis.
CLUSTER, CLUSTER_AXIS = 1000.0, 2000.0


@dataclass(frozen=True, eq=False)
class Effort:
    """What windows hold, measured on a few among the boxes' ends.

    boxes    [k] how many boxes a window has whose extent is 1 / 2 ** k of each axis
    groups   how many groups of 64 boxes a point probes
    results  how many boxes hold a point
    """

    axes: int
    boxes: Doubles
    groups: float
    results: float

    @classmethod
    def of(cls, file: GridFile) -> Self:
        """Probe windows around a few places, the same each time."""
        least, most = file.extent
        axes = len(least)
        steps = (np.arange(1, SAMPLES + 1)[:, None] * np.sqrt([*_primes(axes)])) % 1.0
        boxes = np.zeros(EXTENTS)
        for k in range(EXTENTS):
            share = 1 / (1 << k)
            for step in steps:
                low = _between(least, most, step * (1 - share))
                high = _between(least, most, step * (1 - share) + share)
                boxes[k] += len(file.window(low, high)) / SAMPLES
        groups = results = 0.0
        for step in steps:
            place = _between(least, most, step)
            groups += file.groups_at(place) / SAMPLES
            results += len(file.window(place, place)) / SAMPLES
        return cls(axes, boxes, groups, results)

    def alone(self, points: int) -> float:
        """Estimate the nanoseconds of points one by one."""
        return points * (ALONE + GROUP * self.groups + FOUND * self.results)

    def together(self, points: int, cluster: int) -> float:
        """Estimate the nanoseconds of points in clusters."""
        share = min(1.0, cluster / points) ** (1 / self.axes)
        hits = np.interp(-np.log2(share), np.arange(EXTENTS), self.boxes)
        window = CLUSTER + self.axes * CLUSTER_AXIS + hits * (BOX + self.axes * BOX_AXIS)
        each = NEAR + self.axes * NEAR_AXIS + PAIRED * self.results
        return float(points * each + -(-points // cluster) * window)


def _between(least: Doubles, most: Doubles, share: Doubles) -> Doubles:
    """Interpolate; least and most may be further apart than any double."""
    return least * (1 - share) + most * share


def _primes(count: int) -> list[int]:
    """Return the first primes: their roots spread a few places well."""
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found
