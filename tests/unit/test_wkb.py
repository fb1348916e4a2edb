"""Well-known binary is written as shapely writes it, and read in all the ways it is written."""

import json

import pytest
import shapely  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import QueryFault
from fencepost.shapes.parse import shape_of
from fencepost.shapes.wkb import geometry_of, wkb_of

NUMBER = st.floats(-90, 90).map(lambda x: x + 0.0)
VERTEX = st.tuples(NUMBER, NUMBER)
POINT = VERTEX.map(shapely.Point)
LINE = st.lists(VERTEX, min_size=2, max_size=5).map(shapely.LineString)
POLYGON = st.lists(st.lists(VERTEX, min_size=3, max_size=5), min_size=1, max_size=3).map(
    lambda rings: shapely.Polygon(rings[0], rings[1:])
)
GEOMETRY = st.one_of(
    POINT,
    LINE,
    POLYGON,
    st.lists(POINT, min_size=1, max_size=3).map(shapely.MultiPoint),
    st.lists(LINE, min_size=1, max_size=3).map(shapely.MultiLineString),
    st.lists(POLYGON, min_size=1, max_size=3).map(shapely.MultiPolygon),
    st.lists(st.one_of(POINT, POLYGON), min_size=1, max_size=3).map(shapely.GeometryCollection),
)


def as_shapely_says(geometry):
    return json.loads(shapely.to_geojson(geometry))


@given(GEOMETRY, st.sampled_from([0, 1]), st.sampled_from(["extended", "iso"]), st.booleans())
def test_differential_wkb_is_read_as_shapely_reads_it(geometry, order, flavor, is_3d):
    written = shapely.force_3d(geometry, 7.0) if is_3d else geometry
    if flavor == "extended":
        written = shapely.set_srid(written, 4326)
    wkb = shapely.to_wkb(written, byte_order=order, flavor=flavor, include_srid=flavor != "iso")
    assert geometry_of(wkb) == as_shapely_says(geometry)


def test_shapes_are_written_as_shapely_writes_them():
    square = [[0, 0], [3, 0], [3, 3], [0, 3], [0, 0]]
    hole = [[1, 1], [2, 1], [2, 2], [1, 1]]
    for kind, coordinates in (
        ("Polygon", [square]),
        ("Polygon", [square, hole]),
        ("MultiPolygon", [[square], [square, hole]]),
    ):
        given = {"type": kind, "coordinates": coordinates}
        wkb = wkb_of(shape_of(given, earth=False))
        assert wkb == shapely.to_wkb(shapely.from_geojson(json.dumps(given)), byte_order=1)
        assert geometry_of(wkb) == given


def test_a_circle_is_written_as_its_centre_and_a_corridor_as_its_line():
    circle = shape_of({"circle": {"center": [1, 2], "radius": 3}}, earth=True)
    assert geometry_of(wkb_of(circle)) == {"type": "Point", "coordinates": [1, 2]}
    corridor = shape_of({"corridor": {"line": [[1, 2], [3, 4]], "width": 3}}, earth=True)
    line = {"type": "LineString", "coordinates": [[1, 2], [3, 4]]}
    assert geometry_of(wkb_of(corridor)) == line


SQUARE = shapely.to_wkb(shapely.box(0, 0, 1, 1), byte_order=1)


@pytest.mark.parametrize("end", range(len(SQUARE)))
def test_what_is_cut_off_is_refused(end):
    with pytest.raises(QueryFault, match="no well-known binary"):
        geometry_of(SQUARE[:end])


@pytest.mark.parametrize(
    ("wkb", "why"),
    [
        (SQUARE + b"\0", "1 bytes follow"),
        (b"\x07" + SQUARE[1:], "begins with 7"),
        (b"\x01\x0a\x00\x00\x00", "a CurvePolygon"),
        (b"\x01\x63\x00\x00\x00", "kind 99"),
        (b"\x01\x88\x13\x00\x00", "its kind is 5000"),
        (b"\x01\x03\x00\x00\x00\xff\xff\xff\xff", "is cut off"),
        (b"\x01\x02\x00\x00\x00\xff\xff\xff\xff" + bytes(64), "is cut off"),
        (b"\x01\x07\x00\x00\x00\x01\x00\x00\x00" * 100, "nest too deeply"),
    ],
)
def test_what_is_no_wkb_is_refused_with_the_reason(wkb, why):
    with pytest.raises(QueryFault, match=why):
        geometry_of(wkb)
