"""Regions and the base layer as a report draws them: in place, with shared edges, few enough."""

import itertools
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import Faults, InputError
from fencepost.shapes.earth import haversine
from pipelines.serve.report.base import read_base
from pipelines.serve.report.outlines import (
    DEGREE,
    LARGE,
    Ground,
    outlines,
    ring_about,
    thinned,
)
from pipelines.serve.report.thin import PARTS, Scale

TOWN = Ground(Scale(2.4, 2.6), Scale(54.6, 54.8), earth=True)
FLOOR = Ground(Scale(0.0, 100.0), Scale(0.0, 50.0), earth=False)
SQUARE = [[2.4, 54.6], [2.5, 54.6], [2.5, 54.7], [2.4, 54.7], [2.4, 54.6]]


def summed(flat: list[int]) -> list[tuple[int, int]]:
    """Read flat differences as the page does."""
    return [tuple(at) for at in np.cumsum(np.reshape(flat, (-1, 2)), axis=0).tolist()]


def test_a_polygon_is_its_rings_without_the_closing_vertices():
    hole = [[2.42, 54.62], [2.44, 54.62], [2.44, 54.64], [2.42, 54.62]]
    region = {"type": "Polygon", "coordinates": [SQUARE, hole]}
    (drawn,) = outlines([region], TOWN)
    assert drawn is not None
    half = PARTS // 2
    assert summed(drawn["rings"][0]) == [(0, 0), (half, 0), (half, half), (0, half)]
    assert len(drawn["rings"][1]) == 6
    many = {"type": "MultiPolygon", "coordinates": [[SQUARE], [hole]]}
    assert outlines([None, many], TOWN) == [None, drawn]


@pytest.mark.parametrize("ground", [TOWN, FLOOR])
def test_a_circle_has_the_radii_that_its_metres_are_on_the_map(ground):
    centre = [(side.low + side.high) / 2 for side in (ground.x, ground.y)]
    region = {"circle": {"center": centre, "radius": 20}}
    (drawn,) = outlines([region], ground)
    assert drawn is not None
    x, y, wide, high = drawn["circle"]
    assert (x, y) == (PARTS // 2, PARTS // 2)
    if not ground.earth:
        assert (wide, high) == (PARTS * 0.2, PARTS * 0.4)
        return
    east = centre[0] + wide / PARTS * 0.2
    assert haversine(centre[0], centre[1], east, centre[1]) == pytest.approx(20, rel=1e-3)
    north = centre[1] + high / PARTS * 0.2
    assert haversine(centre[0], centre[1], centre[0], north) == pytest.approx(20, rel=1e-3)


def test_a_corridor_is_its_line_and_half_its_width():
    region = {"corridor": {"line": SQUARE[:3], "width": 200}}
    (drawn,) = outlines([region], TOWN)
    assert drawn is not None
    assert len(summed(drawn["line"])) == 3
    assert drawn["half"] / PARTS * 0.2 * DEGREE == pytest.approx(100, rel=1e-3)


@given(lon=st.floats(-180, 180), lat=st.floats(-89.9, 89.9), metres=st.floats(LARGE, 9_000_000.0))
def test_oracle_a_large_circle_is_a_ring_of_places_that_far_away(lon, lat, metres):
    ring = ring_about(lon, lat, metres)
    if len(ring) == 4:  # the belt up to a pole that is inside
        assert haversine(lon, lat, lon, math.copysign(90.0, lat)) <= metres + 1e-6
        assert set(ring[:, 0].tolist()) == {-180.0, 180.0}
        return
    for x, y in ring.tolist():
        assert haversine(lon, lat, x, y) == pytest.approx(metres, rel=1e-6)


def jagged(rows: int, jags: int) -> list[np.ndarray]:
    """A grid of cells whose neighbours have the same jagged edge between them."""

    def edge(a: tuple[int, int], b: tuple[int, int]) -> list[list[int]]:
        draws = np.random.default_rng(a + b).integers(-9, 9, (jags, 2))
        draws[0] = 0
        there, way = np.array(a) * 400, np.array(b) - np.array(a)
        places = there + np.outer(np.arange(jags), way * 400 // jags) + draws
        return [list(at) for at in places.tolist()]

    cells = []
    for x, y in itertools.product(range(rows), repeat=2):
        south, east = edge((x, y), (x + 1, y)), edge((x + 1, y), (x + 1, y + 1))
        north = [*edge((x, y + 1), (x + 1, y + 1)), [400 * x + 400, 400 * y + 400]]
        west = [*edge((x, y), (x, y + 1)), [400 * x, 400 * y + 400]]
        cells.append(np.array([*south, *east, *north[:0:-1], *west[:0:-1]]))
    return cells


@pytest.mark.parametrize("most", [10_000, 2_000, 900])
def test_neighbours_share_their_edge_however_few_vertices_are_left(most):
    cells = jagged(6, 40)
    rings = [summed(flat) for flat in thinned(cells, most, closed=True)]
    assert sum(map(len, rings)) <= max(most, 8 * len(rings))
    around = (zip(ring, ring[1:] + ring[:1], strict=True) for ring in rings)
    edges = Counter(frozenset(pair) for pairs in around for pair in pairs)
    inner = [edge for edge in edges if all(100 < end < 2_300 for at in edge for end in at)]
    assert len(inner) > 100
    assert {edges[edge] for edge in inner} == {2}


def test_a_line_keeps_its_ends_and_a_short_one_all_of_it():
    long = np.column_stack([np.arange(5_000), np.zeros(5_000, np.int64)])
    short = np.array([[0, 0], [3, 0], [6, 0], [6, 0]])
    found = [summed(flat) for flat in thinned([long, short], 100, closed=False)]
    assert found[0][0] == (0, 0)
    assert found[0][-1] == (4_999, 0)
    assert len(found[0]) < 100
    assert found[1] == [(0, 0), (3, 0), (6, 0)]
    assert thinned([], 100, closed=True) == []


def written(folder: Path, *geometries: object) -> Path:
    features = [{"type": "Feature", "properties": {}, "geometry": each} for each in geometries]
    file = folder / "base.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return file


def test_a_base_is_what_is_near_the_map_and_on_the_same_ground(tmp_path):
    through = [[-170, 54.7], [2.3, 54.7], [2.5, 54.65], [2.7, 54.7], [170, 54.7]]
    far = [[100, 10], [101, 11]]
    park = {"type": "Polygon", "coordinates": [[*SQUARE[:-1], SQUARE[0]]]}
    both = {"type": "MultiLineString", "coordinates": [through, far]}
    inner = {
        "type": "GeometryCollection",
        "geometries": [park, {"type": "Point", "coordinates": [2, 1]}],
    }
    base = read_base(written(tmp_path, both, inner, None))
    assert base is not None
    assert base.earth
    drawn = base.drawn(TOWN)["base"]
    (line,) = drawn["lines"]
    assert summed(line)[2] == (PARTS // 2, PARTS // 4)
    assert [len(area) for area in drawn["areas"]] == [1]
    assert base.drawn(FLOOR) == {}
    plan = read_base(
        written(tmp_path, {"type": "LineString", "coordinates": [[0, 0, 7], [400, 50, 7]]})
    )
    assert plan is not None
    assert not plan.earth
    assert plan.drawn(FLOOR)["base"]["lines"] == [[0, 0, 4 * PARTS, PARTS]]
    assert plan.drawn(TOWN) == {}
    assert read_base(None) is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "base.geojson:1: "),
        ('{"type": "Topology"}', "TopoJSON"),
        (
            '{"type": "Feature", "geometry": {"type": "LineString", "coordinates": [[1, "b"]]}}',
            "a list of positions was expected",
        ),
        (
            '{"type": "Feature", "geometry": {"type": "MultiPolygon", "coordinates": 7}}',
            "a list was expected, not 7",
        ),
        (
            '{"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [[[1e999, 2]]]}}',
            "not finite",
        ),
    ],
)
def test_a_base_that_is_none_is_refused_with_its_key(tmp_path, content, words):
    file = tmp_path / "base.geojson"
    file.write_text(content)
    with pytest.raises(Faults, match=r"\[report\] base") as refused:
        read_base(file)
    assert words in str(refused.value)


def test_a_base_that_is_missing_or_elsewhere_is_refused(tmp_path):
    with pytest.raises(Faults, match=r"base\.geojson: there is no such file"):
        read_base(tmp_path / "base.geojson")
    crs = {"type": "name", "properties": {"name": "EPSG:3857"}}
    file = tmp_path / "mercator.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "crs": crs, "features": []}))
    with pytest.raises(InputError, match="convert it"):
        read_base(file)
