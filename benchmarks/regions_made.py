"""Fences and movers for the benchmarks of regions: a town on the earth, and who drives there."""

from math import pi, sqrt

import numpy as np
import pyarrow as pa

from benchmarks.walks import laid
from fencepost.crossings import BorderIndex, Walk, walk
from fencepost.crossings.columns import Events
from fencepost.crossings.path import Path
from fencepost.queries import QuerySet
from fencepost.queries.columns import no_likes, no_tests
from fencepost.shapes.columns import Shapes
from fencepost.shapes.holds import holds
from fencepost.shapes.prepare import prepared
from fencepost.shapes.shape import CIRCLE
from fencepost.times import ALWAYS_FROM, ALWAYS_TO
from fencepost.tuples import Doubles
from pipelines.workloads import MovingObjects, town
from pipelines.workloads.globe import AXES, METRES, MIDDLE, tuples_on_earth
from pipelines.workloads.roads import EXTENT

UPDATES = 100
FEED = "locations"


def movers(objects: int) -> Path:
    """Vehicles and walkers on the roads, a fix each half minute, a hundred each."""
    plan = MovingObjects(objects=objects, updates=UPDATES, speed=False)
    return laid(tuples_on_earth(plan.tuples(town())))


def polygons(count: int, vertices: int, cover: float, seed: int = 1) -> Shapes:
    """Stars of so many vertices all over the town, whose areas sum up to a share of it."""
    draw = np.random.default_rng(seed)
    angle = np.sort(draw.random((count, vertices)) * 2 * pi, axis=1)
    far = draw.uniform(0.6, 1.0, (count, vertices))
    size = sqrt(cover * EXTENT**2 / count / (pi * float((far**2).mean())))
    middle = draw.random((2, count, 1)) * EXTENT
    rings = middle + size * far * np.stack([np.cos(angle), np.sin(angle)])
    return _rings(rings)


def rectangles(count: int, vertices: int, cover: float, seed: int = 1) -> Shapes:
    """Squares of the same area, with so many vertices along their sides."""
    draw = np.random.default_rng(seed)
    side = sqrt(cover * EXTENT**2 / count)
    along = np.arange(vertices // 4) / (vertices // 4)
    none, whole = np.zeros_like(along), np.ones_like(along)
    square = np.stack(
        [
            np.concatenate([along, whole, 1 - along, none]),
            np.concatenate([none, along, whole, 1 - along]),
        ]
    )
    return _rings(draw.random((2, count, 1)) * EXTENT + side * square[:, None, :])


def degrees_of(metres: Doubles) -> Doubles:
    """Give the longitudes and latitudes of x and y, not rounded: so no fix is on a border."""
    columns = zip(metres, MIDDLE, METRES, strict=True)
    return np.stack([middle + (m - EXTENT / 2) / scale for m, middle, scale in columns])


def _rings(metres: Doubles) -> Shapes:
    _, count, vertices = metres.shape
    xy, one = degrees_of(metres.reshape(2, -1)), np.arange(count + 1)
    return Shapes(np.zeros(count, np.int8), one, one, vertices * one, xy, np.zeros(count), True)


def circles(count: int, least: float, most: float, seed: int = 1) -> Shapes:
    """Circles all over the town, of radii in metres."""
    draw = np.random.default_rng(seed)
    middles = degrees_of(draw.random((2, count)) * EXTENT)
    return circles_about(middles, draw.uniform(least, most, count))


def circles_about(degrees: Doubles, radii: Doubles) -> Shapes:
    """Circles about places of the earth, of radii in metres."""
    kinds, one = np.full(len(radii), CIRCLE, np.int8), np.arange(len(radii) + 1)
    return Shapes(kinds, one, one, one, degrees, radii, True)


def fences(shapes: Shapes, *, as_boxes: bool = False) -> QuerySet:
    """A standing query for each shape; or for its bounding box, without the shape."""
    count = len(shapes)
    lo, hi = shapes.bounds()
    none = np.zeros(count, np.bool_)
    return QuerySet(
        FEED,
        AXES,
        pa.array([f"fence-{k}" for k in range(count)]),
        np.ones(count, np.int32),
        np.arange(count + 1),
        lo,
        hi,
        ~none,
        np.zeros(count + 1, np.int64),
        pa.array([], pa.string()),
        np.full(count, -1),
        none,
        np.full(count, ALWAYS_FROM),
        np.full(count, ALWAYS_TO),
        *no_tests(count),
        *no_likes(),
        none,
        np.full(count, -1, np.int32) if as_boxes else np.arange(count, dtype=np.int32),
        shapes.take(np.empty(0, np.int64)) if as_boxes else shapes,
        position=None if as_boxes else (0, 1),
    )


def indexed(queries: QuerySet) -> BorderIndex:
    """Build an index, its cells too."""
    index = BorderIndex.build(queries)
    for layer in index.layers:
        if layer.shaped:
            _ = layer.shaped.cells
    return index


def walked(index: BorderIndex, path: Path, threads: int = 1) -> Walk:
    """Walk all of the path."""
    return walk(index, path, fast=True, threads=threads)


def assert_right(found: Walk, sample: int = 60) -> Events:
    """Compare the events of some fences with who holds, fix by fix, from scratch."""
    events, path, queries = found.events, found.path, found.index.queries
    tests = prepared(queries.shapes)
    rows = np.unique(np.linspace(0, len(queries) - 1, sample).astype(np.int64))
    begins = np.zeros(len(path), np.bool_)
    begins[path.starts[:-1]] = True
    for q in rows.tolist():
        held = holds(tests, np.full(len(path), q), *path.values, fast=True).astype(np.int8)
        change = np.diff(held, prepend=held[:1])
        change[begins] = 0
        mine = events.query == q
        kinds = np.zeros(len(path), np.int8)
        kinds[events.place[mine]] = events.type[mine]
        assert np.array_equal(kinds, change), f"fence {q}"
        assert mine.sum() == (change != 0).sum(), f"fence {q}: an event came twice"
    return events


def keys_of(events: Events, fences: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Name each event by a number: its place, fence and type."""
    place, query = events.place.astype(np.int64), events.query.astype(np.int64)
    return np.sort((place * fences + query) * 2 + (events.type > 0))
