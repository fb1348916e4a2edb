"""The regions of window joins, by side: what a tuple of the left feed must be in, and of the right.

Law: a pair satisfies a join iff a conjunct holds for it and, on each side that has a region, the
position of that side's tuple is in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.arrays import Int32s, Int64s
from fencepost.errors import QueryFault
from fencepost.queries.joins.query import Conjunct
from fencepost.queries.region import cut_box, shapes_of, some_shapes
from fencepost.shapes.columns import Shapes
from fencepost.shapes.shape import Shape

OfSides = tuple[Shape | None, Shape | None]
OnAxes = tuple[tuple[int, int] | None, tuple[int, int] | None]


@dataclass(frozen=True, eq=False)
class SideRegions:
    """The regions of one side: shape[k] is the place of query k's among the shapes, or -1."""

    shape: Int32s
    shapes: Shapes
    position: tuple[int, int] | None

    @classmethod
    def of(
        cls, regions: Sequence[Shape | None], positions: Sequence[tuple[int, int] | None]
    ) -> "SideRegions":
        """Put the regions of one side into columns."""
        position, shape, shapes = shapes_of(regions, positions)
        return cls(shape, shapes, position)

    @classmethod
    def none(cls, n: int) -> "SideRegions":
        """Give those of n queries that have none."""
        return cls.of([None] * n, [None] * n)

    def take(self, rows: Int64s) -> "SideRegions":
        """Return those of some queries."""
        shape, shapes = some_shapes(self.shape[rows], self.shapes)
        return SideRegions(shape, shapes, self.position if len(shapes) else None)


def cut_conjuncts(
    conjuncts: Sequence[Conjunct], regions: OfSides, positions: OnAxes, lefts: int
) -> tuple[Conjunct, ...]:
    """Cut the boxes of conjuncts to the bounds of the regions; a fault where none is left."""
    kept = list(conjuncts)
    for region, position, first in zip(regions, positions, (0, lefts), strict=True):
        if region is not None and position is not None:
            on = first + position[0], first + position[1]
            kept = [Conjunct(cut_box(each.box, region, on), each.tests) for each in kept]
    kept = [each for each in kept if all(lo < hi for lo, hi in each.box)]
    if conjuncts and not kept:
        raise QueryFault("the conditions and `region` never hold together")
    return tuple(kept)
