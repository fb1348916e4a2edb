"""Many shapes as columns: a value, whose content has a hash.

Law: Shapes never change. What is added comes behind what was there; a shape that is read back from
its row is the one that was put in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import chain, pairwise

import numpy as np

from fencepost.arrays import Doubles, Int8s, Int64s, UInt64s
from fencepost.errors import BrokenIndex, InputError
from fencepost.hashing import finish, mix, seeded
from fencepost.ragged import members, ptr_of
from fencepost.shapes.shape import KINDS, POLYGON, Shape, reach_of


@dataclass(frozen=True, eq=False)
class Shapes:
    """k shapes on one ground: 17 bytes each, 8 a part, 8 a ring, 16 a vertex.

    Shape s has the parts part_ptr[s]:part_ptr[s+1], a part the rings ring_ptr[…], a ring the
    vertices vertex_ptr[…] of xy, the closing one left out. A circle has one part of one ring of one
    vertex, a corridor its line as one ring.
    """

    kind: Int8s
    part_ptr: Int64s
    ring_ptr: Int64s
    vertex_ptr: Int64s
    xy: Doubles
    reach: Doubles
    earth: bool = False

    @classmethod
    def of(cls, shapes: Sequence[Shape], earth: bool) -> "Shapes":
        """Put shapes into columns. O(vertices)."""
        for shape in shapes:
            if shape.earth != earth:
                ground = "the earth" if earth else "a plane"
                raise InputError(f"a shape that is not on {ground}: {shape.text[:60]}")
        parts = [part for shape in shapes for part in shape.parts]
        rings = [ring for part in parts for ring in part]
        flat = np.fromiter(chain.from_iterable(chain.from_iterable(rings)), np.float64)
        return cls(
            np.array([shape.kind for shape in shapes], np.int8),
            ptr_of([len(shape.parts) for shape in shapes]),
            ptr_of([len(part) for part in parts]),
            ptr_of([len(ring) for ring in rings]),
            np.ascontiguousarray(flat.reshape(-1, 2).T) + 0.0,
            np.array([shape.reach for shape in shapes], np.float64),
            earth,
        )

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def nbytes(self) -> int:
        """Bytes of the columns."""
        columns = (getattr(self, column.name) for column in fields(self))
        return sum(column.nbytes for column in columns if isinstance(column, np.ndarray))

    def shape(self, i: int) -> Shape:
        """Read one shape back. O(its vertices)."""
        parts = []
        for part in range(self.part_ptr[i], self.part_ptr[i + 1]):
            ends = self.vertex_ptr[self.ring_ptr[part] : self.ring_ptr[part + 1] + 1].tolist()
            rings = (self.xy[:, begin:end].T.tolist() for begin, end in pairwise(ends))
            parts.append(tuple(tuple((x, y) for x, y in ring) for ring in rings))
        return Shape(int(self.kind[i]), tuple(parts), float(self.reach[i]), self.earth)

    def take(self, rows: Int64s) -> "Shapes":
        """Return the shapes of these rows, in this order. O(rows + their vertices)."""
        part_ptr, parts = members(self.part_ptr, rows)
        ring_ptr, rings = members(self.ring_ptr, parts)
        vertex_ptr, vertices = members(self.vertex_ptr, rings)
        return Shapes(
            self.kind[rows],
            part_ptr,
            ring_ptr,
            vertex_ptr,
            np.take(self.xy, vertices, axis=1),
            self.reach[rows],
            self.earth,
        )

    def with_added(self, more: "Shapes") -> "Shapes":
        """Return the shapes with more of them behind. A copy."""
        if len(self) == 0 or len(more) == 0:
            return more if len(self) == 0 else self
        if more.earth != self.earth:
            raise InputError("shapes of a plane and of the earth cannot be in one set")
        return Shapes(
            np.concatenate([self.kind, more.kind]),
            np.concatenate([self.part_ptr, more.part_ptr[1:] + self.part_ptr[-1]]),
            np.concatenate([self.ring_ptr, more.ring_ptr[1:] + self.ring_ptr[-1]]),
            np.concatenate([self.vertex_ptr, more.vertex_ptr[1:] + self.vertex_ptr[-1]]),
            np.concatenate([self.xy, more.xy], axis=1),
            np.concatenate([self.reach, more.reach]),
            self.earth,
        )

    def vertices_ptr(self) -> Int64s:
        """Say where the vertices of each shape begin, and the end of all."""
        ends: Int64s = self.vertex_ptr[self.ring_ptr[self.part_ptr]]
        return ends

    def bounds(self) -> tuple[Doubles, Doubles]:
        """Give the half-open boxes that contain the shapes, lo and hi [2, k]. O(vertices)."""
        lo, hi = self.vertex_bounds()
        self.bound_reaching(np.flatnonzero(self.kind != POLYGON), lo, hi)
        return lo, hi

    def vertex_bounds(self) -> tuple[Doubles, Doubles]:
        """Give the boxes of the vertices alone, which are those of polygons."""
        lo, hi = np.empty((2, len(self))), np.empty((2, len(self)))
        if len(self):
            begins = self.vertices_ptr()[:-1]
            np.minimum.reduceat(self.xy, begins, axis=1, out=lo)
            np.maximum.reduceat(self.xy, begins, axis=1, out=hi)
        return lo, hi

    def bound_reaching(self, rows: Int64s, lo: Doubles, hi: Doubles) -> None:
        """Bound circles and corridors by what they reach. A circle takes 7 µs."""
        for row in rows.tolist():
            line = self.shape(row).parts[0][0]
            reach = reach_of(line, float(self.reach[row]), earth=self.earth)
            lo[:, row], hi[:, row] = np.array(reach).T

    def hashes(self) -> UInt64s:
        """Hash the content of each shape: two words a shape, whatever row it is in. O(vertices)."""
        rings = np.diff(self.vertex_ptr)
        parts = self.ring_ptr[self.part_ptr]
        place = np.arange(self.xy.shape[1]) - np.repeat(self.vertex_ptr[:-1], rings)
        # Which ring of its shape a vertex is in, and which part its ring is in.
        ring = np.arange(len(rings)) - np.repeat(parts[:-1], np.diff(parts))
        first = np.zeros(len(rings), np.int64)
        first[self.ring_ptr[:-1]] = 1
        words = seeded(self.xy.shape[1])
        for column in (self.xy[0], self.xy[1]):
            mix(words, column.view(np.uint64))
        for count in (place, np.repeat(ring, rings), np.repeat(first, rings)):
            mix(words, count.astype(np.uint64))
        finish(words)
        hashes = np.zeros((2, len(self)), np.uint64)
        if len(self):
            np.add.reduceat(words, self.vertices_ptr()[:-1], axis=1, out=hashes)
        mix(hashes, self.kind.astype(np.uint64))
        mix(hashes, self.reach.view(np.uint64))
        mix(hashes, np.full(len(self), self.earth, np.uint64))
        finish(hashes)
        return hashes

    def check(self) -> None:
        """Test every law of the columns; BrokenIndex names the first that is broken."""
        counts = (len(self), len(self.part_ptr) - 1)
        _expect(len({*counts, len(self.reach)}) == 1, "the columns have different lengths")
        pointers = (
            ("part_ptr", self.part_ptr, len(self.ring_ptr) - 1),
            ("ring_ptr", self.ring_ptr, len(self.vertex_ptr) - 1),
            ("vertex_ptr", self.vertex_ptr, self.xy.shape[1]),
        )
        for name, ptr, end in pointers:
            _expect(ptr[0] == 0 and ptr[-1] == end, f"{name} does not run from 0 to {end}")
            _expect(bool((np.diff(ptr) > 0).all()), f"{name}: one has no members")
        _expect(bool(np.isfinite(self.xy).all()), "a coordinate is no finite number")
        _expect(not np.signbit(self.xy[self.xy == 0]).any(), "a coordinate is -0.0")
        known = np.isin(self.kind, range(len(KINDS)))
        _expect(bool(known.all()), "a shape is of no known kind")
        polygons = self.kind == POLYGON
        _expect(bool((self.reach[polygons] == 0).all()), "a polygon has a reach")
        reaches = self.reach[~polygons]
        _expect(bool((np.isfinite(reaches) & (reaches > 0)).all()), "a reach is not above 0")
        _expect(bool((np.diff(self.part_ptr)[~polygons] == 1).all()), "a circle has two parts")


def _expect(holds: bool, broken: str) -> None:
    if not holds:
        raise BrokenIndex(f"shapes: {broken}")
