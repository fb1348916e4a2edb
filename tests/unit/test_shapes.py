"""Polygons, circles and corridors: how they are read, written and stored as columns."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fencepost.errors import QueryFault
from fencepost.shapes.columns import Shapes
from fencepost.shapes.holds import holds
from fencepost.shapes.parse import shape_of
from fencepost.shapes.shape import Shape

SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]
HOLE = [[1, 1], [1, 2], [2, 2], [2, 1], [1, 1]]


def polygon(*rings: Sequence[Sequence[object]]) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


def held_at(shape: Shape, *points: tuple[float, float]) -> list[bool]:
    """Whether a shape holds each of the points, by kernel and twin alike."""
    shapes = Shapes.of([shape], shape.earth)
    x, y = np.array(points, np.float64).T
    both = [holds(shapes, np.zeros(len(x), np.int64), x, y, fast=fast) for fast in (True, False)]
    assert both[0].tolist() == both[1].tolist()
    listed: list[bool] = both[0].tolist()
    return listed


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (polygon(SQUARE), '{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,4],[0,0]]]}'),
        (
            "POLYGON ((0 0, 4.5 0, -0 1e-1, 0 0))",
            '{"type":"Polygon","coordinates":[[[0,0],[4.5,0],[0,0.1],[0,0]]]}',
        ),
        (
            "SRID=4326; multipolygon z (((0 0 9, 4 0 9, 4 4 9, 0 0 9)))",
            '{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,0]]]}',
        ),
        (
            '{"circle": {"center": [1, 2, 30], "radius": "0.15km"}}',
            '{"circle":{"center":[1,2],"radius":150}}',
        ),
        (
            {"corridor": {"line": [[0, 0], [1, 1]], "width": "1 ft"}},
            '{"corridor":{"line":[[0,0],[1,1]],"width":0.3048}}',
        ),
    ],
)
def test_a_shape_has_one_text_however_it_was_given(given: object, text: str) -> None:
    shape = shape_of(given, earth=True)
    assert shape.text == text
    assert shape_of(json.loads(text), earth=True) == shape


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        (5, "`region` is no object", "a region is"),
        ({"type": "Point", "coordinates": [1, 2]}, "is a Point", "a radius is a circle"),
        ({"type": "polygon"}, "is a polygon", "Did you mean 'Polygon'"),
        (polygon(SQUARE[:-1]), "ring 1 is open", "repeats the first"),
        (polygon(SQUARE, [[1, 1], [2, 2], [1, 1]]), "ring 2 has 3 positions", None),
        (polygon(SQUARE, [[1, 1], [2, None], [1, 1]]), "ring 2, vertex 2 has a coord", None),
        (polygon([*SQUARE[:2], [math.nan, 1], [0, 0]]), "vertex 3 has a coordinate", None),
        (polygon([[39, 116], [40, 116], [40, 117], [39, 116]]), "not on the", "exchanged"),
        (polygon([[181, 1], [182, 1], [182, 2], [181, 1]]), "not on the earth", "antimeridian"),
        (polygon([[4e5, 5e6], [4e5, 6e6], [0, 0], [4e5, 5e6]]), "not on the earth", "transform"),
        (polygon([[170, 0], [-170, 0], [-170, 5], [170, 0]]), "vertex 1 to 2", "-wrapdateline"),
        (
            polygon([[-150, 60], [-60, 60], [60, 60], [150, 60], [-150, 60]]),
            "around a pole",
            "map's border",
        ),
        ({**polygon(SQUARE), "crs": {"name": "EPSG:3857"}}, "`crs` is EPSG:3857", "transform"),
        ({"circle": {"center": [1, 2]}}, "`circle` has no `radius`", None),
        ({"circle": {"center": [1, 2], "radius": "9 parsecs"}}, "is not a distance", None),
        ({"circle": {"center": [1, 2], "radius": 0}}, "more than 0", None),
        ({"circle": {"center": [1, 2], "radius": 3e7}}, "at most was expected", None),
        ({"circle": {"centre": [1, 2], "radius": 1}}, "has no `centre`", "'center'"),
        ({"corridor": {"line": [[1, 2]], "width": 1}}, "has 1 positions", None),
        ({"corridor": {"line": [[1, 2], [-179, -2]], "width": 1}}, "opposite ends", "between"),
    ],
)
def test_what_is_no_shape_is_refused_with_its_place(
    given: object, message: str, hint: str | None
) -> None:
    with pytest.raises(QueryFault) as refused:
        shape_of(given, earth=True)
    assert message in refused.value.message
    assert hint is None or hint in str(refused.value.hint)


@pytest.mark.parametrize(
    ("text", "column"),
    [("CIRCLE(1 2)", 1), ("POLYGON((0 0, 4 x))", 17), ("POLYGON((0 0, 1 1)", 19)],
)
def test_a_fault_in_wkt_has_its_column(text: str, column: int) -> None:
    with pytest.raises(QueryFault) as refused:
        shape_of(text, earth=False)
    assert refused.value.column == column


def test_a_polygon_is_half_open_as_a_box_is_and_a_hole_is_cut_out() -> None:
    shape = shape_of(polygon(SQUARE, HOLE), earth=False)
    assert shape.bounds == ((0, 4), (0, 4))
    assert held_at(shape, (0, 0), (0, 3), (4, 3), (3, 4), (3, 0)) == [
        True,
        True,
        False,
        False,
        True,
    ]
    assert held_at(shape, (1, 1), (2, 1.5), (1.5, 2), (1.5, 1.5)) == [False, True, True, False]


def test_a_circle_holds_what_is_at_its_radius() -> None:
    flat = shape_of({"circle": {"center": [0, 0], "radius": 5}}, earth=False)
    assert held_at(flat, (3, 4), (5, 0), (0, -5), (3.1, 4)) == [True, True, True, False]
    globe = shape_of({"circle": {"center": [179.9995, 0], "radius": "150m"}}, earth=True)
    assert held_at(globe, (-179.9995, 0), (-179.999, 0), (180, 0)) == [True, False, True]


def test_a_corridor_follows_the_great_circle_and_ends_round() -> None:
    far = shape_of({"corridor": {"line": [[-40, 60], [40, 60]], "width": "1km"}}, earth=True)
    top = math.degrees(math.atan(math.tan(math.radians(60)) / math.cos(math.radians(40))))
    assert held_at(far, (0, top), (0, 60), (40.008, 60), (40.01, 60)) == [True, False, True, False]
    flat = shape_of({"corridor": {"line": [[0, 0], [10, 0], [10, 0]], "width": 2}}, earth=False)
    assert held_at(flat, (5, 1), (5, 1.1), (11, 0), (10.8, 0.8)) == [True, False, True, False]


def test_columns_give_back_what_was_put_in_and_hash_its_content() -> None:
    given = [
        polygon(SQUARE, HOLE),
        {"circle": {"center": [1, 2], "radius": 3}},
        {"type": "MultiPolygon", "coordinates": [[SQUARE], [HOLE]]},
        {"corridor": {"line": [[0, 0], [1, 1]], "width": 1}},
    ]
    listed = [shape_of(each, earth=False) for each in given]
    shapes = Shapes.of(listed, earth=False)
    shapes.check()
    assert [shapes.shape(i) for i in range(len(shapes))] == listed
    assert np.stack(shapes.bounds(), axis=2).transpose(1, 0, 2).tolist() == [
        [list(ends) for ends in shape.bounds] for shape in listed
    ]
    backwards = np.arange(4)[::-1]
    turned = shapes.take(backwards[:2]).with_added(shapes.take(backwards[2:]))
    turned.check()
    assert turned.hashes().T.tolist() == shapes.hashes().T.tolist()[::-1]
    assert len({*map(tuple, shapes.hashes().T.tolist())}) == 4
    assert Shapes.of([], earth=False).hashes().shape == (2, 0)
