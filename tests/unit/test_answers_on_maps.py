"""An answer of SQL is written for maps: every row a feature, by its position or its region."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely  # type: ignore[import-untyped]

from fencepost.errors import InputError
from fencepost.queries.feature_table import FeatureTable
from pipelines.serve.views.answers import SqlAnswer
from pipelines.serve.views.geometry import PositionColumns

EARTH = (PositionColumns("x", "y", earth=False), PositionColumns("lon", "lat", earth=True))
POSITIONS = {
    "stream_id": ["van-1", "ü\n", None],
    "lon": [116.25, 116.5, None],
    "lat": [39.5, 40.0, 1.0],
    "speed": [3.5, None, 0.0],
}
SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}
REGIONS = {
    "id": ["a", "b", "c", "d"],
    "region": [
        json.dumps(SQUARE),
        '{"circle":{"center":[1,2],"radius":150}}',
        '{"corridor":{"line":[[1,2],[3,4]],"width":50}}',
        None,
    ],
}


def answer(columns, places=EARTH, rows_of_a_batch=2):
    table = pa.table(columns)
    whole = SqlAnswer.of(table.schema, table.to_batches(rows_of_a_batch))
    whole.places = places
    return whole


def features(columns, places=EARTH):
    written = json.loads("".join(answer(columns, places).lines("geojson")))
    assert written["type"] == "FeatureCollection"
    return written["features"]


def test_a_row_with_a_position_is_a_point():
    first, second, third = features(POSITIONS)
    assert first == {
        "type": "Feature",
        "properties": {"stream_id": "van-1", "speed": 3.5},
        "geometry": {"type": "Point", "coordinates": [116.25, 39.5]},
    }
    assert second["properties"] == {"stream_id": "ü\n", "speed": None}
    assert third["geometry"] is None


def test_a_row_with_a_region_is_its_shape_and_reads_back():
    polygon, circle, corridor, nothing = features(REGIONS)
    assert polygon["geometry"] == SQUARE
    assert circle["geometry"] == {"type": "Point", "coordinates": [1, 2]}
    assert circle["properties"] == {"id": "b", "radius": 150}
    assert corridor["geometry"] == {"type": "LineString", "coordinates": [[1, 2], [3, 4]]}
    assert corridor["properties"] == {"id": "c", "width": 50}
    assert nothing["geometry"] is None


def test_an_answer_without_rows_is_a_collection_without_features():
    assert features({name: pa.array([], pa.float64()) for name in ("lon", "lat")}) == []


@pytest.mark.parametrize("form", ["geojson", "geoparquet"])
def test_an_answer_without_a_position_is_refused_with_the_columns_it_needs(form, tmp_path):
    with pytest.raises(
        InputError, match=r"its columns are id\. Select x, y or lon, lat, or region"
    ):
        answer({"id": [1]}).write(form, tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("columns", [POSITIONS, REGIONS])
def test_geoparquet_has_the_features_of_geojson(columns, tmp_path):
    path = tmp_path / "out.geoparquet"
    count = len(next(iter(columns.values())))
    assert answer(columns).write("geoparquet", path) == count
    table = pq.read_table(path)
    read = FeatureTable.of_geoparquet("out", table)
    assert read is not None
    assert read.crs is None
    found = [entry.value["geometry"] for entry in read.entries()]
    assert found == [feature["geometry"] for feature in features(columns)]
    wkb = table["geometry"].drop_null().to_pylist()
    assert all(shapely.is_valid(shapely.from_wkb(wkb)))
    assert table.drop_columns(["geometry"]).cast(pa.table(columns).schema) == pa.table(columns)


def test_geoparquet_says_whether_it_is_on_the_earth(tmp_path):
    for place, crs in ((("x", "y"), {"crs": None}), (("lon", "lat"), {})):
        path = tmp_path / "-".join(place)
        answer({name: [1.5] for name in place}).write("geoparquet", path)
        said = json.loads(pq.read_schema(path).metadata[b"geo"])
        assert said["columns"]["geometry"] == {
            "encoding": "WKB",
            "geometry_types": ["Point"],
            **crs,
        }


def test_a_column_that_is_called_geometry_is_kept(tmp_path):
    path = tmp_path / "out"
    answer({"lon": [1.0], "lat": [2], "geometry": ["mine"]}).write("geoparquet", path)
    table = pq.read_table(path)
    assert table["geometry"].to_pylist() == ["mine"]
    assert json.loads(table.schema.metadata[b"geo"])["primary_column"] == "geometry_"
