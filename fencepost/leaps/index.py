"""The queries that ask for leaps, arranged for the steps of a path."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from fencepost.arrays import Doubles, Int32s, Int64s
from fencepost.arrow import codes_in
from fencepost.crossings.path import Path
from fencepost.leaps import leap_kernels, twins
from fencepost.leaps.leap_kernels import LeapBoxes, LeapCells, LeapSteps
from fencepost.leaps.result import Leaps
from fencepost.parallel import in_parallel
from fencepost.queries import QuerySet
from fencepost.queries.stream_boxes import StreamBoxes
from fencepost.ragged import ptr_of
from fencepost.shapes.prepare import prepared

MOST_ENTRIES = 12  # for each box, in all its cells
FEWEST_APIECE = 4096  # places that are worth a thread


@dataclass(frozen=True, eq=False)
class LeapIndex:
    """The k boxes of the queries with `leaps`, in even cells over one or two axes.

    build   O(k)      find    O(steps + boxes that overlap the bounding box of a step)
    size    at most 12 entries of 4 bytes a box, and eight cells of 8 bytes
    """

    queries: QuerySet
    rows: Int64s  # [query] its row in the set
    boxes: LeapBoxes
    cells: LeapCells
    names: pa.StringArray  # the streams that queries name: segment k + 1 is of names[k]

    @classmethod
    def of(cls, queries: QuerySet) -> "LeapIndex":
        """Build from the queries of a set that ask for leaps."""
        rows = np.flatnonzero(queries.leaps)
        mine = queries.take(rows)
        query = np.repeat(np.arange(len(mine), dtype=np.int32), np.diff(mine.box_ptr))
        boxes = LeapBoxes(
            np.ascontiguousarray(mine.lo),
            np.ascontiguousarray(mine.hi),
            query,
            mine.box_ptr,
            mine.valid_from,
            mine.valid_to,
            mine.shape,
            prepared(mine.shapes, fast=True),
            np.array(mine.position or (), np.int64),
        )
        box, segment, names = _by_segment(mine, query)
        cells = _cells(boxes, box, segment, len(names) + 1)
        return cls(mine, rows, boxes, cells, names)

    def find(self, path: Path, threads: int = 1, *, fast: bool | None = None) -> Leaps:
        """Find the leaps of a path: by place, then by row. By the twin where `fast` is False."""
        own = codes_in(path.names, self.names)[path.stream].astype(np.int64) + 1
        own[own == 0] = -1
        if fast is False:
            return self._by_query(path, *self._by_twin(path, own))
        parts = max(1, min(threads, len(path) // FEWEST_APIECE, len(path.stream)))
        runs = np.searchsorted(path.starts, np.linspace(0, len(path), parts + 1)[1:-1])
        edges = [0, *runs.tolist(), len(path.stream)]
        found = in_parallel(lambda a, b: self._of_runs(path, own, a, b), list(pairwise(edges)))
        place, box, share = (np.concatenate(each, axis=-1) for each in zip(*found, strict=True))
        return self._by_query(path, place, box, share)

    def _of_runs(
        self, path: Path, own: Int64s, begin: int, end: int
    ) -> tuple[Int64s, Int32s, Doubles]:
        """Find the boxes that the steps of some streams meet."""
        starts = path.starts[begin : end + 1]
        steps = LeapSteps(starts, path.values, path.ts, own[begin:end])
        room = max(1024, int(starts[-1] - starts[0]) // 16 if len(starts) else 0)
        while True:
            place, box = np.empty(room, np.int64), np.empty(room, np.int32)
            share = np.empty((2, room))
            many = leap_kernels.leaps(self.cells, self.boxes, steps, place, box, share)
            if many <= room:
                break
            room = many
        if len(self.boxes.position):
            leap_kernels.through_shapes(self.boxes, path.values, place, box, share, many)
        met = np.flatnonzero(share[0, :many] <= share[1, :many])
        return place[met], box[met], share[:, met]

    def _by_twin(self, path: Path, own: Int64s) -> tuple[Int64s, Int32s, Doubles]:
        """Look at every step of the streams that a box is for. O(boxes · steps)."""
        found = [(np.empty(0, np.int64), np.empty(0, np.int32), np.empty((2, 0)))]
        sizes = np.diff(path.starts)
        first = np.repeat(path.starts[:-1], sizes)
        steps = np.flatnonzero(np.arange(len(path)) > first)
        segment_of = np.repeat(own, sizes)[steps]
        for box, segment in zip(*_by_segment(self.queries, self.boxes.query)[:2], strict=True):
            mine = steps if segment == 0 else steps[segment_of == segment]
            found.append(
                twins.leaps(self.boxes, box, twins.TwinSteps.of(path.values, path.ts, mine))
            )
        place, box_of, share = (np.concatenate(each, axis=-1) for each in zip(*found, strict=True))
        return place, box_of, share

    def _by_query(self, path: Path, place: Int64s, box: Int32s, share: Doubles) -> Leaps:
        """Put the boxes of a query together: first in, last out."""
        if not len(place):
            return Leaps.none()
        query = self.boxes.query[box]
        patterns = self.queries.patterns
        if patterns is not None:
            run = np.searchsorted(path.starts, place, side="right") - 1
            kept = patterns.kept(query, path.stream[run], path.names)
            if kept is not None:
                place, query, share = place[kept], query[kept], share[:, kept]
        order = np.lexsort((query, place))
        place, query, share = place[order], query[order], share[:, order]
        first = np.flatnonzero(
            (np.diff(place, prepend=-1) != 0) | (np.diff(query, prepend=-1) != 0)
        )
        if not len(first):
            return Leaps.none()
        return Leaps(
            place[first],
            self.rows[query[first]].astype(np.int32),
            np.minimum.reduceat(share[0], first),
            np.maximum.reduceat(share[1], first),
        )


def _by_segment(queries: QuerySet, query: Int32s) -> tuple[Int64s, Int64s, pa.StringArray]:
    """List the boxes by segment: 0 is of all streams, k + 1 of names[k]."""
    named = StreamBoxes.of(queries, query.astype(np.int64))
    everywhere = np.flatnonzero(queries.everywhere[query])
    box = np.concatenate([everywhere, named.rows])
    segment = np.concatenate([np.zeros(len(everywhere), np.int64), named.segment + 1])
    return box, segment, named.names


def _cells(boxes: LeapBoxes, box: Int64s, segment: Int64s, segments: int) -> LeapCells:
    """Cut each segment into about eight cells a box, over its narrowest axes."""
    lo, hi = (np.clip(ends[:, box], -1e300, 1e300) for ends in (boxes.lo, boxes.hi))
    axes = _narrowest(boxes.lo[:, box], boxes.hi[:, box])
    many = np.bincount(segment, minlength=segments)
    origin, scale = np.zeros((2, segments)), np.zeros((2, segments))
    count = np.ones((2, segments), np.int64)
    for side, axis in enumerate(axes.tolist()):
        if side == 1 and axes[0] == axes[1]:
            continue
        low, high = np.full(segments, np.inf), np.full(segments, -np.inf)
        for ends, given in ((lo[axis], boxes.lo[axis, box]), (hi[axis], boxes.hi[axis, box])):
            finite = np.isfinite(given)
            np.minimum.at(low, segment[finite], ends[finite])
            np.maximum.at(high, segment[finite], ends[finite])
        wide = high > low
        along = (4 - 2 * side) * np.sqrt(many) if axes[0] != axes[1] else 8 * many
        count[side] = np.where(wide, np.maximum(along, 1), 1).astype(np.int64)
        origin[side] = np.where(wide, low, 0.0)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            per_unit = np.where(wide, count[side] / (high - low), 0.0)
        scale[side] = np.where(np.isfinite(per_unit), per_unit, 0.0)
    while True:
        cell_ptr = ptr_of((count[0] * count[1]).astype(np.int64))
        cells = LeapCells(
            axes, origin, scale, count, cell_ptr, np.empty(0, np.int64), np.empty(0, np.int32)
        )
        sizes = np.zeros(cell_ptr[-1], np.int64)
        leap_kernels.listed(cells, boxes.lo, boxes.hi, box, segment, sizes, np.empty(0, np.int32))
        if sizes.sum() <= MOST_ENTRIES * len(box) or count.max(initial=1) == 1:
            break
        halved = np.maximum(count // 2, 1)
        scale, count = scale * (halved / count), halved
    ptr = ptr_of(sizes)
    entries = np.empty(ptr[-1], np.int32)
    if len(entries):
        leap_kernels.listed(cells, boxes.lo, boxes.hi, box, segment, ptr[:-1].copy(), entries)
    return cells._replace(ptr=ptr, entries=entries)


@np.errstate(invalid="ignore", over="ignore")
def _narrowest(lo: Doubles, hi: Doubles) -> Int64s:
    """Choose the two axes on which boxes are narrowest, in shares of all that they span."""
    widths = []
    for low, high in zip(lo, hi, strict=True):
        ends = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
        span = ends.max() - ends.min() if len(ends) else 0.0
        shares = np.minimum((high - low) / span, 1.0) if 0 < span < np.inf else np.ones(1)
        widths.append(float(shares.mean()) if len(shares) else 1.0)
    order = np.argsort(np.array(widths), kind="stable")
    return np.array([order[0], order[1 if len(order) > 1 else 0]], np.int64)
