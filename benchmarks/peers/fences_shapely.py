"""Crossings of fences by shapely: its STRtree's bulk query, and a set difference.

Three forms. `both_ends` asks the tree for each step at either end, points made once; `once` asks it
for each fix once, and compares neighbours; `turned` has the tree over the fixes, and prepared
fences ask it. Points are closed against half-open borders: so fixes on a border would differ, and
there are none.
"""

import numpy as np
import numpy.typing as npt
import shapely

from fencepost.crossings.path import Path
from fencepost.shapes.columns import Shapes

Keys = npt.NDArray[np.int64]


class ShapelyFences:
    """Polygons of one ring each, and a path to be asked of them."""

    def __init__(self, shapes: Shapes, path: Path) -> None:
        """Build the tree, and prepare the fences: neither is timed."""
        rings = np.split(shapes.xy.T, shapes.vertex_ptr[1:-1])
        self.fences = np.array([shapely.Polygon(ring) for ring in rings])
        shapely.prepare(self.fences)
        self.tree = shapely.STRtree(self.fences)
        self.path = path
        follows = np.ones(len(path), np.bool_)
        follows[path.starts[:-1]] = False
        self.steps = np.flatnonzero(follows)
        self.follows = follows

    def points(self) -> npt.NDArray[np.object_]:
        """The fixes as shapely's points."""
        made: npt.NDArray[np.object_] = shapely.points(*self.path.values)
        return made

    def both_ends(self, points: npt.NDArray[np.object_]) -> Keys:
        """Ask for both ends of each step."""
        before = self._keys(*self.tree.query(points[self.steps - 1], predicate="intersects"))
        now = self._keys(*self.tree.query(points[self.steps], predicate="intersects"))
        came, left = np.setdiff1d(now, before, True), np.setdiff1d(before, now, True)
        return self._events(came, left, self.steps)

    def once(self, points: npt.NDArray[np.object_]) -> Keys:
        """Ask for each fix once."""
        place, fence = self.tree.query(points, predicate="intersects")
        return compared(place, fence, len(self.fences), self.follows)

    def turned(self, points: npt.NDArray[np.object_]) -> Keys:
        """Build a tree of the fixes, and ask it for each fence."""
        fence, place = shapely.STRtree(points).query(self.fences, predicate="intersects")
        return compared(place, fence, len(self.fences), self.follows)

    def _keys(self, place: Keys, fence: Keys) -> Keys:
        return place * len(self.fences) + fence

    def _events(self, came: Keys, left: Keys, places: Keys) -> Keys:
        many = len(self.fences)
        keys = [
            (places[keys // many] * many + keys % many) * 2 + kind
            for keys, kind in ((came, 1), (left, 0))
        ]
        return np.sort(np.concatenate(keys))


def compared(place: Keys, fence: Keys, many: int, follows: npt.NDArray[np.bool_]) -> Keys:
    """Give the events of places from who holds at each, by what neighbours do not share."""
    place = place.astype(np.int64)
    holds = place * many + fence
    after = holds[np.append(follows, False)[place + 1]] + many
    now = holds[follows[place]]
    came, left = np.setdiff1d(now, after, True), np.setdiff1d(after, now, True)
    return np.sort(np.concatenate([came * 2 + 1, left * 2]))
