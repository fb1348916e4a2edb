"""The kernels of shapes and leaps, checked as plain Python: a part of what `make mutants` runs.

Seeded shapes on a coarse grid, where points fall on vertices and edges all the time, against the
twins; all that is expected is computed first.
"""

import math
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from fencepost.arrow import codes_in
from fencepost.crossings.path import Path
from fencepost.crossings.state import Heads
from fencepost.errors import QueryFault
from fencepost.leaps import leap_kernels
from fencepost.leaps.index import LeapIndex
from fencepost.position import Position
from fencepost.queries import QuerySet, StandingQuery
from fencepost.queries.query import query_from_json
from fencepost.shapes import inside_kernels, twins, way_kernels, way_twins
from fencepost.shapes.columns import Shapes
from fencepost.shapes.earth import haversine
from fencepost.shapes.parse import shape_of
from fencepost.shapes.prepare import Prepared, prepared
from fencepost.shapes.shape import Point
from fencepost.tuples import Bools
from tests.support.oracles.rank_checks import Check

METRES = 111_195.0  # in a degree
SIDE = 6
AXES = ("x", "speed", "y")


def region(draw: Random, kind: str, *, earth: bool, up: int = 0) -> Any:
    """A region on the grid, `up` from the equator; a polygon may cross itself, of many vertices."""

    def corner() -> list[float]:
        return [draw.randint(0, SIDE), draw.randint(0, SIDE) + up]

    reach = draw.choice([0.6, 1.0, 1.7]) * (METRES if earth else 1.0)
    if kind == "circle":
        return {"circle": {"center": corner(), "radius": reach}}
    if kind == "corridor":
        line = [corner() for _ in range(draw.choice([2, 3]))]
        if draw.random() < 0.4:  # of so many short segments that they are listed by bands
            line = [[draw.randint(4, 8) // 2, k / 2 + up] for k in range(14)]
        return {"corridor": {"line": line, "width": 2 * reach}}
    parts = []
    for _ in range(draw.choice([1, 1, 2])):
        rings = [
            [corner() for _ in range(draw.choice([3, 5, 16]))] for _ in range(draw.choice([1, 2]))
        ]
        if draw.random() < 0.4:
            rings.append([[x / 2, y / 2 + up] for x, y in round_ring(draw)])
        parts.append([[*ring, ring[0]] for ring in rings])
    return {"type": "MultiPolygon", "coordinates": parts}


def round_ring(draw: Random) -> list[tuple[int, int]]:
    """A ring of so many short edges that they are listed by bands."""
    turns = [2 * math.pi * k / 32 for k in range(32)]
    reach = [draw.choice([4, 5, 6]) for _ in turns]
    return [
        (SIDE + round(r * math.cos(turn)), SIDE + round(r * math.sin(turn)))
        for r, turn in zip(reach, turns, strict=True)
    ]


KINDS = ("polygon", "circle", "corridor")


def shapes_of(seed: int, *, earth: bool, up: int = 0) -> list[Prepared]:
    """The same shapes, with lists of edges and without."""
    draw = Random(seed)  # noqa: S311  the same each time
    regions = [region(draw, KINDS[k % 3], earth=earth, up=up) for k in range(9)]
    drawn = [shape_of(each, earth=earth) for each in regions]
    shapes = Shapes.of(drawn, earth)
    return [prepared(shapes, fast=fast) for fast in (True, False)]


# ── inside ────────────────────────────────────────────────────────────────────────────────────────


def check_inside(ready: Prepared, rows: Any, x: Any, y: Any, expected: Bools) -> None:
    """Each pair, written where nothing is yet."""
    found = ~expected
    inside_kernels.holds(ready, rows, x, y, found)
    assert np.array_equal(found, expected)


def inside_checks() -> Iterator[tuple[str, Check]]:
    """Every shape at every half of the grid, and about its borders."""
    at = np.arange(-1, 2 * SIDE + 2) / 2
    x, y = (each.ravel() for each in np.meshgrid(at, at))
    x = np.concatenate([x, np.nextafter(x, -9)])
    y = np.concatenate([y, y])
    for seed in range(6):
        for earth in (False, True):
            for ready in shapes_of(seed, earth=earth):
                rows = np.repeat(np.arange(len(ready.kind)), len(x))
                xs, ys = np.tile(x, len(ready.kind)), np.tile(y, len(ready.kind))
                expected = twins.holds(ready, rows, xs, ys)
                name = f"inside {seed}, earth {earth}, {len(ready.bands.entries)} listed"
                yield name, partial(check_inside, ready, rows, xs, ys, expected)
    yield "inside, at the rim of circles", partial(check_inside, *at_the_rim())


def at_the_rim() -> tuple[Prepared, Any, Any, Any, Bools]:
    """Circles on the earth, each with one point at its very rim, where a chord leaves doubt."""
    draw = Random(1)  # noqa: S311
    drawn, points = [], []
    for k in range(400):
        centre = draw.uniform(-170, 170), draw.uniform(-80, 80)
        aside = 10 ** draw.uniform(-5, 0.9)
        point = centre[0] + aside * draw.uniform(-1, 1), centre[1] + aside * draw.uniform(-1, 1)
        reach = haversine(*centre, *point) * (1.0 + draw.choice([-1, 0, 1]) * (k % 2) * 1e-15)
        drawn.append(shape_of({"circle": {"center": centre, "radius": reach}}, earth=True))
        points.append(point)
    ready, (x, y) = prepared(Shapes.of(drawn, earth=True)), np.array(points).T
    rows = np.arange(len(drawn))
    expected = twins.holds(ready, rows, x, y)
    assert 50 < expected.sum() < len(rows) - 50
    return ready, rows, x, y, expected


# ── ways ──────────────────────────────────────────────────────────────────────────────────────────

Way = tuple[int, Point, Point, float, float]


def check_ways(ready: Prepared, ways: list[Way], expected: list[way_twins.Stretch]) -> None:
    """Each way through its shape, and nothing where it is not inside."""
    for (s, here, there, begin, end), found in zip(ways, expected, strict=True):
        enter, leave = way_kernels.passage(ready, s, *here, *there, begin, end)
        assert (enter <= leave) == (found[0] <= found[1])
        if enter <= leave:
            assert abs(enter - found[0]) < 1e-9
            assert abs(leave - found[1]) < 1e-9


def way_checks() -> Iterator[tuple[str, Check]]:
    """Ways from half to half of the grid: through corners, along edges, and of no length."""
    for seed in range(4):
        for earth, up in ((False, 0), (True, 0), (True, 60)):
            ready, _ = shapes_of(seed, earth=earth, up=up)
            draw = Random(seed)  # noqa: S311

            def place(draw: Random = draw, up: int = up) -> Point:
                x, y = (draw.randint(-2, 2 * SIDE + 2) / 2 for _ in "xy")
                return x, y + up

            ways: list[Way] = []
            for s in range(len(ready.kind)):
                for _ in range(24 if s % 3 == 0 else 6):
                    here = place()
                    there = draw.choice(
                        [place(), (here[0], place()[1]), (place()[0], here[1]), here]
                    )
                    ways.append((s, here, there, *draw.choice([(0.0, 1.0), (0.25, 0.75)])))
            expected = [
                way_twins.passage(ready, s, here, there, begin, end)
                for s, here, there, begin, end in ways
            ]
            yield f"ways {seed}, earth {earth}, {up} up", partial(check_ways, ready, ways, expected)


# ── leaps ─────────────────────────────────────────────────────────────────────────────────────────


def rules_of(draw: Random, *, earth: bool, named: bool) -> list[StandingQuery]:
    """Rules over three axes, some with regions, some or all for named streams, some for a while."""
    found = []
    for number in range(12):
        low, high = draw.randint(0, 5), draw.randint(0, 5)
        fields: dict[str, Any] = {
            "where": draw.choice(
                [
                    "ALL",
                    f"x >= {low} AND x < {low + 1}",
                    f"x > {low} AND y BETWEEN {high} AND {high + 1.5}",
                    f"speed >= 2 AND speed < 3 AND y < {high}",
                    f"x BETWEEN 1 AND 2 OR x BETWEEN 4 AND 4.5 OR y = {high}",
                ]
            )
        }
        if number % 2:
            fields["region"] = region(draw, KINDS[number // 2 % 3], earth=earth)
        if named or number % 5 == 4:
            fields["streams"] = draw.choice([["a"], ["b", "c"], ["d"]])
        if number % 7 == 6:
            fields |= {"valid_from": "1970-01-01T00:00:03Z", "valid_to": "1970-01-01T00:00:09Z"}
        rule = {"id": f"q{number}", "feed": "f", "leaps": True, **fields}
        with suppress(QueryFault):  # a polygon without area has no box
            found.append(query_from_json(rule, {"f": AXES}, {"f": Position((0, 2), earth)}))
    return found


def path_of(draw: Random, *, round_: bool) -> Path:
    """The paths of a few streams, on halves of the grid; some places are half the globe away."""
    names = ["a", "b", "c", "d"]
    sizes = [16, 12, 1, 14]
    streams = np.repeat(np.arange(4, dtype=np.int32), sizes)
    ts = np.concatenate([np.arange(size) for size in sizes]) * 1_000_000
    halves = [[draw.randint(-2, 2 * SIDE + 2) / 2 for _ in streams] for _ in AXES]
    values = np.array(halves)
    for axis in values:  # often along an axis, and so along the end of a range
        for k in range(1, len(axis)):
            axis[k] = axis[k - 1] if draw.random() < 0.4 else axis[k]
    if round_:
        side = np.where(values[0] > 2, 1.0, -1.0)
        far = np.array([draw.choice([0, 0, 0, 1, 2]) for _ in streams])
        values[0] = np.choose(far, [values[0], side * (180 - np.abs(values[0]) / 4), side * 90])
    nobody, delivery = Heads.empty(AXES), np.zeros(len(ts), np.int32)
    return Path.build(nobody, pa.array(names), streams, ts, values, delivery)


def check_leaps(index: LeapIndex, path: Path, expected: Any) -> None:
    """By place and row; the shares to a rounding."""
    found = index.find(path)
    assert np.array_equal(found.place, expected.place)
    assert np.array_equal(found.query, expected.query)
    assert np.allclose(found.enter, expected.enter, rtol=0, atol=1e-9)
    assert np.allclose(found.leave, expected.leave, rtol=0, atol=1e-9)


def leap_checks() -> Iterator[tuple[str, Check]]:
    """Small sets of rules and a few streams, on a plane and on the earth."""
    index, path = many_leaps()
    expected = index.find(path, fast=False)
    assert len(expected) > 1024
    yield "many leaps", partial(check_leaps, index, path, expected)
    for seed in range(6):
        for earth in (False, True):
            draw = Random(seed)  # noqa: S311
            rules = rules_of(draw, earth=earth, named=seed > 3)
            index = LeapIndex.of(QuerySet.from_queries("f", AXES, rules))
            path = path_of(draw, round_=seed % 2 == 0)
            expected = index.find(path, fast=False)
            assert len(expected) > 2
            yield f"leaps {seed}, earth {earth}", partial(check_leaps, index, path, expected)
            yield f"cells {seed}, earth {earth}", partial(check_built, rules, path, expected)
            near = near_by(index, path)
            yield f"looks {seed}, earth {earth}", partial(check_looks, index, path, near)


def many_leaps() -> tuple[LeapIndex, Path]:
    """More leaps than there is room for at first."""
    bands = [{"where": f"x >= {n / 8} AND x < {n / 8 + 1}"} for n in range(1, 9)]
    rules = [
        query_from_json({"id": f"q{n}", "feed": "f", "leaps": True, **band}, {"f": AXES})
        for n, band in enumerate(bands)
    ]
    values = np.zeros((len(AXES), 160))
    values[0, 1::2] = 3.0
    streams, ts = np.zeros(160, np.int32), np.arange(160) * 1_000_000
    nobody, delivery = Heads.empty(AXES), np.zeros(160, np.int32)
    path = Path.build(nobody, pa.array(["a"]), streams, ts, values, delivery)
    return LeapIndex.of(QuerySet.from_queries("f", AXES, rules)), path


def near_by(index: LeapIndex, path: Path) -> int:
    """Count the boxes about all steps: those that their bounding boxes meet on the cells' axes."""
    boxes, cells = index.boxes, index.cells
    axes = cells.axes.tolist()
    own = codes_in(path.names, index.names)[path.stream] + 1
    count = 0
    for run, (begin, end) in enumerate(pairwise(path.starts.tolist())):
        for segment in {0, int(own[run])}:
            first, last = cells.ptr[cells.cell_ptr[segment : segment + 2]]
            mine = np.unique(cells.entries[first:last])
            for c in range(begin + 1, end):
                low, high = np.sort(path.values[:, c - 1 : c + 1], axis=1).T
                if boxes.prepared.earth and high[0] - low[0] > 180.0:
                    low[0], high[0] = -np.inf, np.inf
                met = [(boxes.lo[a, mine] <= high[a]) & (low[a] <= boxes.hi[a, mine]) for a in axes]
                count += int(np.all(met, axis=0).sum())
    return count


def check_looks(index: LeapIndex, path: Path, expected: int) -> None:
    """Each box about a step is looked at once, and no other."""
    with mock.patch.object(leap_kernels, "_met", return_value=(1.0, 0.0)) as met:
        assert len(index.find(path)) == 0
        assert met.call_count == expected


def check_built(rules: list[StandingQuery], path: Path, expected: Any) -> None:
    """With the cells made again."""
    check_leaps(LeapIndex.of(QuerySet.from_queries("f", AXES, rules)), path, expected)


def checks() -> list[tuple[str, Check]]:
    """All of it, by name."""
    return [*inside_checks(), *way_checks(), *leap_checks()]
