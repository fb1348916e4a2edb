"""The regions of queries: their shapes as columns, and boxes cut to where a region may be.

Law: cutting changes no tuple's answer. A box that is left is within the region's bounds. Each shape
of a set is that of one query, in the order of the queries; all are on the same two axes.
"""

from collections.abc import Sequence

import numpy as np

from fencepost.arrays import Bools, Int32s
from fencepost.errors import InputError, QueryFault
from fencepost.queries.columns import NO_SHAPE, QueryColumns, no_shapes
from fencepost.queries.condition import Box, Tests
from fencepost.shapes.columns import Shapes
from fencepost.shapes.shape import Shape

Boxes = tuple[tuple[Box, ...], tuple[Tests, ...]]
"""Boxes, and () or the tests of each."""


def cut_to(
    shape: Shape, axes: tuple[int, int], boxes: Sequence[Box], tests: Sequence[Tests]
) -> Boxes:
    """Cut boxes to the bounds of a shape on its two axes; a fault where none is left."""
    if any(lo >= hi for lo, hi in shape.bounds):
        raise QueryFault("`region` holds no point: it has no area")
    cut = [cut_box(box, shape, axes) for box in boxes]
    left = [place for place, box in enumerate(cut) if all(lo < hi for lo, hi in box)]
    if not left:
        raise QueryFault("`where` and `region` never hold together: they have no place in common")
    return tuple(cut[place] for place in left), tuple(tests[place] for place in left if tests)


def cut_box(box: Box, shape: Shape, axes: tuple[int, int]) -> Box:
    """Cut one box; what is left may be empty."""
    ends = list(box)
    for axis, (low, high) in zip(axes, shape.bounds, strict=True):
        lo, hi = ends[axis]
        ends[axis] = max(lo, low), min(hi, high)
    return tuple(ends)


def shapes_of(
    regions: Sequence[Shape | None], positions: Sequence[tuple[int, int] | None]
) -> tuple[tuple[int, int] | None, Int32s, Shapes]:
    """Give the axes that the regions of queries are on, the place of each, and all of them."""
    listed = [region for region in regions if region is not None]
    if not listed:
        return None, *no_shapes(len(regions))
    has = np.fromiter((region is not None for region in regions), np.bool_, len(regions))
    places = {
        (position, region.earth)
        for region, position in zip(regions, positions, strict=True)
        if region is not None
    }
    if len(places) > 1:
        raise InputError(f"regions of one set are on the same axes: {sorted(places)} were given")
    ((position, earth),) = places
    return position, _numbered(has), Shapes.of(listed, earth=earth)


Placed = tuple[tuple[int, int] | None, QueryColumns]
"""Columns, and the axes that their shapes are on."""


def appended(mine: Placed, more: Placed) -> tuple[tuple[int, int] | None, Int32s, Shapes]:
    """Give the same of two sets, one behind the other."""
    (here, columns), (there, others) = mine, more
    shape = np.concatenate([columns.shape, others.shape])
    if here is None or there is None:
        shapes = others.shapes if here is None else columns.shapes
        return there if here is None else here, shape, shapes
    if (here, columns.shapes.earth) != (there, others.shapes.earth):
        raise InputError("regions on other axes, or in other units, cannot join those of a set")
    return here, _numbered(shape != NO_SHAPE), columns.shapes.with_added(others.shapes)


def some_shapes(shape: Int32s, shapes: Shapes) -> tuple[Int32s, Shapes]:
    """Give the columns of some queries, whose places among the shapes these are."""
    has = shape != NO_SHAPE
    return _numbered(has), shapes.take(shape[has].astype(np.int64))


def _numbered(has: Bools) -> Int32s:
    """Number the queries with a shape, in their order."""
    return np.where(has, np.cumsum(has) - 1, NO_SHAPE).astype(np.int32)


def listed_regions(shape: Int32s, shapes: Shapes) -> list[Shape | None]:
    """Give the region of each query of a set."""
    return [None if at < 0 else shapes.shape(int(at)) for at in shape]
