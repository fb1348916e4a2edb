"""The features of a map become standing queries, all of them or none."""

import json

import pyarrow as pa
import pytest
import shapely  # type: ignore[import-untyped]

import fencepost as fp
from fencepost.errors import Faults
from fencepost.position import Position
from fencepost.queries.files import KnownFeeds, QueryFile, read_queries
from fencepost.queries.geojson_fields import PLAIN, FeatureFields, feature_of
from tests.support.real.data import DISTRICTS, needs_real_data

SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}
AXES = {"vans": ("lon", "lat", "speed"), "carts": ("x", "y"), "ticks": ("price",)}
POSITIONS = {"vans": Position((0, 1), earth=True), "carts": Position((0, 1), earth=False)}
FEEDS = KnownFeeds(AXES, POSITIONS)
WEB = {"type": "name", "properties": {"name": "EPSG:3857"}}


def feature(id, geometry=SQUARE, **properties):
    return {"type": "Feature", "id": id, "properties": properties, "geometry": geometry}


def opened(*features, fields=PLAIN, indent=None, **members):
    whole = {"type": "FeatureCollection", **members, "features": features}
    text = json.dumps(whole, indent=indent)
    return QueryFile.of_text("zones.geojson", text.encode(), fields)


def queries(file, feed="vans"):
    return [query for some in file.queries(FEEDS, feed) for query in some]


def refused(file, feed="vans"):
    with pytest.raises(Faults) as caught:
        queries(file, feed)
    return [str(fault) for fault in caught.value.faults]


def test_a_feature_is_the_query_that_a_line_would_be():
    given = feature("a", within="3m", tags="x,y", where="speed > 3", on_first="enter")
    line = {
        "id": "a",
        "feed": "vans",
        "within": "3m",
        "tags": ["x", "y"],
        "where": "speed > 3",
        "on_first": "enter",
        "region": SQUARE,
    }
    (query,) = queries(opened(given))
    assert [query] == queries(QueryFile.of_text("rules.jsonl", json.dumps(line).encode()))
    assert query.region is not None


def test_what_is_given_for_all_is_what_features_without_it_have():
    fields = FeatureFields(otherwise={"within": "3m", "where": "speed > 3", "radius": "1km"})
    point = {"type": "Point", "coordinates": [1, 2]}
    match = feature("m", kind="match")
    a, b, c = queries(opened(feature("a"), feature("b", point, within="1h"), match, fields=fields))
    assert (a.within, a.where) == (180_000_000, "speed > 3")
    assert (b.within, b.region.reach) == (3_600_000_000, 1000.0)
    assert (c.kind, c.within) == ("match", None)


def test_every_feature_that_is_wrong_is_reported_with_its_line_and_its_name():
    bow = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 0]]]}
    north = {"type": "Polygon", "coordinates": [[[39, 116], [40, 116], [40, 117], [39, 116]]]}
    file = opened(
        feature("a"),
        feature("bow", bow),
        feature("depot", None),
        feature("turned", north),
        feature("a"),
        feature("b", within="soon"),
        indent=1,
    )
    found = refused(file)
    assert len(found) == 5
    assert found[0].startswith("zones.geojson:")
    assert "feature 2 ('bow'): ring 1 has 3 positions" in found[0]
    assert "feature 3 ('depot'): `geometry` is null" in found[1]
    assert "feature 4 ('turned'): ring 1, vertex 1, (39, 116), is not on the earth" in found[2]
    assert "these look exchanged" in found[2]
    assert "feature 5 ('a'): feature 1 has the same id" in found[3]
    assert "feature 6 ('b'): `within`" in found[4]


def test_many_vertices_are_read_some_at_a_time(monkeypatch):
    monkeypatch.setattr("fencepost.queries.features.MOST_VERTICES", 9)
    file = opened(*map(feature, "abcde"))
    parts = [[query.id for query in some] for some in file.queries(FEEDS, "vans")]
    assert parts == [["a", "b", "c"], ["d", "e"]]
    standing = read_queries([file], AXES, "vans", POSITIONS)
    assert standing.sets["vans"].ids.to_pylist() == [*"abcde"]
    last = opened(*map(feature, "abcde"), feature("f", None))
    with pytest.raises(Faults, match="1 fault"):
        read_queries([last], AXES, "vans", POSITIONS)


def test_a_fault_of_all_features_is_reported_once():
    (fault,) = refused(opened(feature("a"), feature("b")), None)
    assert "its features name no feed" in fault
    (fault,) = refused(opened(feature("a"), feature("b"), crs=WEB))
    assert "its coordinates are in EPSG:3857" in fault
    assert "ogr2ogr" in fault


def test_on_a_plane_any_reference_system_will_do():
    assert len(queries(opened(feature("a"), crs=WEB), "carts")) == 1


def test_a_feed_without_a_position_is_refused_with_what_to_declare():
    (fault,) = refused(opened(feature("a")), "ticks")
    assert "the feed 'ticks' has no `position`" in fault
    (fault,) = refused(opened(feature("a", feed="trams")))
    assert "unknown feed 'trams'" in fault


def test_an_altitude_is_left_out():
    high = {"type": "Polygon", "coordinates": [[[0, 0, 9], [1, 0, 9], [1, 1, 9], [0, 0, 9]]]}
    (query,) = queries(opened(feature("a", high)))
    assert query.region.parts == ((((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)),),)


def test_a_nan_is_refused_with_its_vertex():
    text = json.dumps(feature("a")).replace("[1, 1]", "[1, NaN]")
    (fault,) = refused(QueryFile.of_text("zones.geojson", text.encode()))
    assert "feature 1 ('a'): ring 1, vertex 3 has a coordinate that is no finite number" in fault


@pytest.mark.parametrize(
    "query",
    [
        {"id": "a", "feed": "vans", "where": "ALL", "region": SQUARE, "tags": ["x"], "note": "ü"},
        {"id": "a", "feed": "vans", "region": {"circle": {"center": [1, 2], "radius": 150}}},
        {"id": "a", "region": {"corridor": {"line": [[1, 2], [3, 4]], "width": 50}}, "leaps": True},
        {"id": "a", "kind": "match", "region": SQUARE, "streams": ["van,1"]},
    ],
)
def test_a_query_written_as_a_feature_reads_back(query):
    written = json.loads(json.dumps(feature_of(query)))
    assert PLAIN.query_of(written) == (query, [])


def test_a_query_without_a_region_is_no_feature():
    assert feature_of({"id": "a", "where": "ALL"}) is None


def test_geoparquet_is_read_like_geojson():
    geo = {"primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"}}}
    square = shapely.to_wkb(shapely.from_geojson(json.dumps(SQUARE)))
    table = pa.table({"id": ["a"], "within": ["3m"], "geometry": [square]})
    table = table.replace_schema_metadata({"geo": json.dumps(geo)})
    assert queries(QueryFile.of_table("zones.parquet", table)) == queries(
        opened(feature("a", within="3m"))
    )


def test_the_api_takes_a_file_of_features(tmp_path):
    path = tmp_path / "zones.geojson"
    whole = {"type": "FeatureCollection", "features": [feature("square")]}
    path.write_text(json.dumps(whole))
    rules = fp.rules(path)
    assert repr(rules) == "<1 rule of tuples>"
    tuples = {
        "stream_id": ["van"] * 3,
        "ts": [f"2026-11-17T08:0{minute}:00Z" for minute in range(3)],
        "lon": [-0.5, 0.5, 1.0],
        "lat": [0.5, 0.5, 0.5],
    }
    result = fp.evaluate(pa.table(tuples), rules, position=("lon", "lat"))
    assert result.events["type"].to_pylist() == ["I", "O"]


@needs_real_data
def test_the_districts_of_beijing_are_queries():
    fields = FeatureFields(of={"id": ("name",)})
    file = QueryFile.of_text(DISTRICTS.name, DISTRICTS.read_bytes(), fields)
    standing = read_queries([file], AXES, "vans", POSITIONS)
    assert len(standing.sets["vans"]) == 18
    assert int(standing.sets["vans"].shapes.vertex_ptr[-1]) > 2_700


class GeoFrame:
    """What a GeoDataFrame shows of itself."""

    def __init__(self, zones):
        self.__geo_interface__ = zones


def test_the_api_takes_zones_as_python_has_them():
    square = {**SQUARE, "coordinates": ((tuple(map(tuple, SQUARE["coordinates"][0]))),)}
    zones = {"type": "FeatureCollection", "features": [{**feature("0", square, name="square")}]}
    tuples = {"stream_id": ["v", "v"], "ts": [0, 1], "lon": [-0.5, 0.5], "lat": [0.5, 0.5]}
    for given in (zones, zones["features"][0], GeoFrame(zones)):
        for id, expected in ((None, "0"), ("name", "square")):
            rules = fp.rules(given, id=id)
            result = fp.evaluate(pa.table(tuples), rules, position=("lon", "lat"), ts_unit="s")
            assert result.events["query_id"].to_pylist() == [expected]
    with pytest.raises(Faults, match="`geometry` is null"):
        fp.rules({"type": "Feature", "id": "a", "properties": {}, "geometry": None})


def test_a_field_of_text_that_is_a_list_is_refused_like_any_other():
    deep = json.loads("[" * 900 + "]" * 900)
    (fault,) = refused(opened(feature("a", note=deep)))
    assert "`note` must be text, not a list" in fault
    (fault,) = refused(opened(feature("a", tags={"x": 1})))
    assert "tag 1 of `tags` must be text, not an object" in fault
