"""Spatial Join CQ (S3): a batch of points and the boxes are two sets of regions to be joined.

The query index is a multilevel grid file of the boxes under corner transformation (`mlgf`). The
data index is the batch in Hilbert order (`hilbert`), cut into clusters. Each cluster fetches the
boxes of its spatial join window, once for all its points, and is paired with them (`kernels`). A
few points are no batch: each is a cluster of its own, and what its window holds is the answer
(immediate mode).

S3 keeps what adjacent windows share in a buffer, for its pages are on a disk. Ours are in
memory, and nothing is kept: fetching costs 1 to 5% of a join at 512 points a cluster, and a buffer
could save no more than that.

Law: the window never loses a box that holds a point of the cluster; any others it holds, pairing
drops. The size of a cluster and of a page decide the time, never the rows.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from fencepost.matches.boxes import Boxes
from fencepost.matches.index import Parameter
from fencepost.matches.papers.spatial_join import kernels
from fencepost.matches.papers.spatial_join.effort import Effort
from fencepost.matches.papers.spatial_join.hilbert import order_of
from fencepost.matches.papers.spatial_join.mlgf import GridFile
from fencepost.matches.papers.spatial_join.mlgf_kernels import reach_each
from fencepost.matches.parameters import only, whole
from fencepost.matches.result import ProbeResult, gathered
from fencepost.tuples import Doubles, Int64s

PAGE = 256  # boxes; in a batch 64 to 512 measure alike, points alone are slower at 64
POOL = 1 << 16  # words at first
MOST_LOGGED = 21  # powers of two: `describe` considers batches of up to a million points
COLUMNS = 6  # what a block's row in `kept` has, see kernels.join


@dataclass(frozen=True, eq=False)
class SpatialJoin:
    """m boxes over d axes in a multilevel grid file; the points come as a batch, or alone.

    build   O(m log m)
    probe   O(d + log n) a point for its place on the curve; for 512 points and a box of their
            window, two look-ups and two vectors an axis; then each result. Alone: two vectors an
            axis for 64 boxes of the pages that the point meets
    size    18 d + 4 bytes a box, some more where a page's last 64 are not full; 16 d + 24 a page

    `cluster` is the paper's N_dc, and is used as given. None: clusters of up to 512 points,
    or none at all where points alone are cheaper; `effort` has the model.
    """

    name: ClassVar[str] = "spatial_join"
    boxes: Boxes
    file: GridFile
    cluster: int | None
    effort: Effort

    @classmethod
    def build(cls, boxes: Boxes, **parameters: Parameter) -> Self:
        """Build it. Parameters: `cluster`, points of a cluster; `page`, boxes of a page."""
        only(cls.name, parameters, "cluster", "page")
        cluster, page = whole(parameters, "cluster", 1), whole(parameters, "page", 1) or PAGE
        file = GridFile.build(boxes, page)
        return cls(boxes, file, cluster, Effort.of(file))

    @property
    def nbytes(self) -> int:
        """Bytes of the pages and the directory; the boxes as they were given are not needed."""
        return self.file.nbytes + self.effort.boxes.nbytes

    def probe(self, points: Doubles) -> ProbeResult:
        """Join the points with the boxes; a few of them one by one."""
        count = points.shape[1]
        if not count or not len(self.boxes):
            return ProbeResult.nothing(count)
        if self.alone(count):
            return self.probe_each(points)
        return self.probe_batch(points)

    def alone(self, points: int) -> bool:
        """Whether points are probed one by one: by `cluster` if given, else by `effort`'s model."""
        if self.cluster is not None:
            return self.cluster == 1
        return self.effort.alone(points) < self.effort.together(points, _even(points))

    def probe_each(self, points: Doubles) -> ProbeResult:
        """Immediate mode: each point is a cluster of its own."""
        values = np.ascontiguousarray(points, np.float64)
        tree = self.file.tree
        return gathered(
            values.shape[1],
            lambda ptr, room, first: reach_each(tree, values, ptr, room, first),
            guess=2 * self.effort.results,
        )

    def probe_batch(self, points: Doubles) -> ProbeResult:
        """Batch mode: order, cluster, join."""
        order = order_of(points, *self.file.extent)
        near = np.ascontiguousarray(points[:, order], np.float64)
        kept, pool, counts = self._joined(near)
        ptr = np.zeros(len(order) + 1, np.int64)
        ptr[1:][order] = counts
        np.cumsum(ptr, out=ptr)
        ids = np.empty(int(ptr[-1]), np.int32)
        kernels.gather(order, kept, pool, ptr, ids)
        return ProbeResult(ptr, ids)

    def _joined(self, near: Doubles) -> tuple[Int64s, kernels.Words, Int64s]:
        """Pair all clusters, in a pool that grows as it must."""
        points = near.shape[1]
        cluster = self.cluster or _even(points)
        whole, rest = divmod(min(cluster, points), kernels.BLOCK)
        blocks = -(-points // cluster) * (whole + (rest > 0))
        kept, counts = np.zeros((blocks, COLUMNS), np.int64), np.empty(points, np.int64)
        pool, state = np.empty(POOL, np.uint64), np.zeros(4, np.int64)
        while True:
            kernels.join(self.file.tree, near, cluster, kept, pool, counts, state)
            count, used, done, wanted = state.tolist()
            if done == points:
                return kept[:count], pool, counts
            rate = used / done if done else 0.0
            grown = np.empty(max(2 * wanted, int(used + 1.2 * rate * (points - done))), np.uint64)
            grown[:used] = pool[:used]
            pool = grown

    def check(self) -> None:
        """Raise BrokenIndex unless the file holds these boxes, in true regions. O(m log m)."""
        self.file.check(self.boxes)

    def describe(self) -> str:
        """Describe the pages, and how points are grouped."""
        pages, page = self.file.pages, self.file.page
        stored = f"{pages:,} pages of up to {page:,} boxes"
        if self.cluster is not None:
            return f"{stored}; clusters of {self.cluster:,} points"
        fewest = next((1 << k for k in range(MOST_LOGGED) if not self.alone(1 << k)), None)
        if fewest is None:
            return f"{stored}; every point alone"
        return f"{stored}; from some {fewest:,} points on clusters of up to {kernels.BLOCK}"


def _even(points: int) -> int:
    """Share points out to as few clusters as can be, evenly."""
    return -(-points // -(-points // kernels.BLOCK))
