"""A GeoJSON file is read feature by feature, and all that is wrong with it is reported."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import QueryFault
from fencepost.queries.geojson import GeoJson, is_geojson, other_crs
from fencepost.queries.geojson_fields import FeatureFields
from fencepost.queries.geojson_text import WINDOW, JsonText
from tests.support.real.data import DISTRICTS, needs_real_data

SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}
FIELDS = FeatureFields(of={"id": ("name",)}, otherwise={"feed": "vans", "within": "3m"})


def feature(geometry=SQUARE, **properties):
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def collection(*features, **members):
    return {"type": "FeatureCollection", **members, "features": list(features)}


def values(content, window=WINDOW):
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    reader = GeoJson(text, window)
    return [entry.value for entry in reader.entries()]


def fault_of(content):
    (*_, last) = values(content)
    assert isinstance(last, QueryFault)
    return last.message


def query_of(given, fields=FIELDS):
    query, faults = fields.query_of(given)
    assert not faults
    return query


def wrong_with(given, fields=FIELDS):
    return [fault.message for fault in fields.query_of(given)[1]]


TWO = (feature(name="a"), feature(name="ü", note="x\ny"))


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("window", [1, 7, 1 << 20])
def test_the_features_of_a_collection_are_given_whatever_the_window(indent, window):
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    text = json.dumps(collection(*TWO, name="zones", crs=crs), indent=indent, ensure_ascii=False)
    assert values(text.encode(), window) == list(TWO)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(
    values=st.lists(VALUES, min_size=1, max_size=5),
    indent=st.sampled_from([None, 1]),
    as_ascii=st.booleans(),
    window=st.integers(1, 40),
)
def test_oracle_values_are_those_of_json_whatever_the_window(values, indent, as_ascii, window):
    lines = [json.dumps(value, indent=indent, ensure_ascii=as_ascii) for value in values]
    text = JsonText("\n".join(lines).encode("utf-8", "replace"), window)
    begins = [1 + sum(line.count("\n") + 1 for line in lines[:at]) for at in range(len(lines))]
    for line, begin in zip(lines, begins, strict=True):
        assert text.line == begin
        expected = json.loads(line.encode("utf-8", "replace"))
        assert repr(text.value()) == repr(expected)
    assert text.peek() == ""


@pytest.mark.parametrize("mark", ["", "\x1e"])
def test_features_on_lines_are_those_of_a_collection(mark):
    lines = "".join(f"{mark}{json.dumps(each)}\n" for each in TWO)
    assert values(lines.encode()) == list(TWO)


def test_one_feature_is_one():
    assert values(TWO[0]) == [TWO[0]]


def test_the_members_of_a_collection_may_come_in_any_order():
    turned = dict(reversed(collection(*TWO, name="zones").items()))
    assert values(turned) == list(TWO)


def test_the_lines_of_features_are_counted():
    text = json.dumps(collection(*TWO), indent=1).encode()
    begins = [number for number, line in enumerate(text.splitlines(), 1) if line == b"  {"]
    assert [entry.line for entry in GeoJson(text).entries()] == begins


def test_a_bad_line_hides_none_of_the_others():
    good, bad = json.dumps(TWO[0]), '{"type": "Feature", "properties": {'
    first, broken, last = values(f"{good}\n{bad}\n{good}\n".encode())
    assert (first, last) == (TWO[0], TWO[0])
    assert isinstance(broken, QueryFault)
    assert broken.message.startswith("not JSON: ")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty, where GeoJSON was expected"),
        (b" \n", "is empty, where GeoJSON was expected"),
        (b"[]", "not JSON: `{` was expected"),
        (b'{"type": "FeatureCollection", "features": [{}, {]}', "not JSON: expecting property"),
        (b'{"type": "FeatureCollection", "features": [{}', "not JSON: `,` was expected"),
        (b'{"type": "FeatureCollection", "type": "Feature"}', "the key `type` occurs twice"),
        (b'{"type": "Feature", "id": {"a": 1, "a": 2}}', "the key `a` occurs twice"),
        (b'{"type": "FeatureCollection"}', "`features` is missing"),
        (b'{"type": "FeatureCollection", "features": 3}', "`features` is a number"),
        (b'{"features": [{}]}', "no GeoJSON: the member `type` is missing"),
        (b'{"type": "Topology", "objects": {}}', "no GeoJSON: `type` is 'Topology'"),
        (json.dumps(SQUARE).encode(), "a Polygon alone has no id"),
        (b'{"type": "Feature", "id": "\xe9"}', "not UTF-8: 0xE9 is byte 28 of the file"),
        (b'{"type": "Feature", "geometry": ' + b"[" * 100_000, "nest too deeply"),
        (b'{"type": "Feature", "id": ' + b"1" * 10_000 + b"}", "more digits than can be read"),
    ],
)
def test_what_is_no_geojson_is_refused_with_the_reason(content, why):
    assert why in fault_of(content)


def test_a_fault_in_a_long_line_shows_what_is_round_it():
    many = ", ".join("[0, 0]" for _ in range(100_000))
    content = f'{{"type": "Feature", "a": [{many}, oops]}}'.encode()
    (fault,) = values(content)
    assert fault.text is not None
    assert len(fault.text) < 100
    assert fault.text[fault.column - 1 :].startswith("oops")


def test_a_nan_is_left_for_the_region_to_refuse():
    nan = values(b'{"type": "Feature", "geometry": [NaN, Infinity]}')[0]["geometry"]
    assert str(nan) == "[nan, inf]"


@pytest.mark.parametrize(
    "name", ["urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326", "urn:ogc:def:crs:EPSG::4326", "WGS84"]
)
def test_degrees_of_wgs_84_go_by_many_names(name):
    assert other_crs({"type": "name", "properties": {"name": name}}) is None


def test_another_reference_system_is_named():
    web = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}
    assert other_crs(web) == "urn:ogc:def:crs:EPSG::3857"
    assert other_crs(None) is None
    reader = GeoJson(json.dumps(collection(TWO[0], crs=web)).encode())
    assert [reader.crs for _ in reader.entries()] == ["urn:ogc:def:crs:EPSG::3857"]


def test_geojson_is_told_from_lines_of_queries_by_how_it_begins():
    query = {"id": "a", "feed": "vans", "region": SQUARE}
    deep = collection(*TWO, name="features", bbox=[0, 0, 1, 1])
    for text in (deep, TWO[0], {"id": "a", **TWO[0]}, SQUARE, {"features": [], "type": "x"}):
        for indent in (None, 2):
            assert is_geojson("zones.json", json.dumps(text, indent=indent).encode())
    assert is_geojson("zones.GEOJSON.gz", b"")
    assert not is_geojson("rules.jsonl", json.dumps(query).encode())
    assert not is_geojson("rules.jsonl", b'{"id": "a", "kind": "match", "type": "FeatureX"}')
    assert not is_geojson("rules.jsonl", b"")
    long = json.dumps(collection(feature(name="x" * 100_000))).encode()
    assert is_geojson("zones.json", long)
    assert gzip.compress(long)[:1] != b"{"


def test_a_polygon_is_a_region_and_its_properties_are_fields():
    given = feature(
        name="depot",
        tags="north, night",
        note="",
        streams=["van-1"],
        valid_from="2026-11-17T00:00:00Z",
        within=None,
        colour="red",
        kind="commercial",
    )
    assert query_of(given) == {
        "id": "depot",
        "feed": "vans",
        "within": "3m",
        "streams": ["van-1"],
        "valid_from": "2026-11-17T00:00:00Z",
        "tags": ["north", "night"],
        "region": SQUARE,
    }


def test_properties_are_mapped_to_fields():
    fields = FeatureFields(
        of={"tags": ("class", "level"), "note": ("name", "level"), "kind": ("art",)},
        otherwise={"feed": "vans", "where": "speed > 3"},
    )
    given = {**feature(name="a", level=2.0, art="match", **{"class": "x"}), "id": 7}
    assert query_of(given, fields) == {
        "id": "7",
        "feed": "vans",
        "kind": "match",
        "where": "speed > 3",
        "tags": ["x", "2"],
        "note": "a, 2",
        "region": SQUARE,
    }


def test_a_property_wins_over_what_is_given_for_all():
    assert query_of(feature(name="a", within="1h"))["within"] == "1h"


@pytest.mark.parametrize(
    ("own", "properties", "query_id"),
    [("f", {"id": "p"}, "f"), (None, {"id": "p"}, "p"), (12, {}, "12"), (2.0, {}, "2")],
)
def test_the_id_is_the_features_or_its_property(own, properties, query_id):
    given = {**feature(**properties), "id": own}
    assert query_of(given, FeatureFields())["id"] == query_id


def test_a_point_with_a_radius_is_a_circle():
    point = {"type": "Point", "coordinates": [116.4, 39.9]}
    circle = {"circle": {"center": [116.4, 39.9], "radius": "150m"}}
    assert query_of(feature(point, name="a", radius="150m"))["region"] == circle
    only = {"type": "MultiPoint", "coordinates": [[116.4, 39.9]]}
    fields = FeatureFields(of={"radius": ("buffer",)}, otherwise={"radius": "1km"})
    buffered = {**feature(only, buffer=150), "id": "a"}
    assert query_of(buffered, fields)["region"]["circle"]["radius"] == 150
    assert query_of({**feature(only), "id": "a"}, fields)["region"]["circle"]["radius"] == "1km"


def test_a_line_with_a_width_is_a_corridor():
    line = {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}
    corridor = {"corridor": {"line": [[0, 0], [1, 1]], "width": "50m"}}
    assert query_of(feature(line, name="a", width="50m"))["region"] == corridor


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (7, "a feature is a JSON object, not a number"),
        (SQUARE, "`type` is 'Polygon': 'Feature' was expected"),
        (feature(None, name="a"), "`geometry` is null: there is no region"),
        (feature([], name="a"), "`geometry` is a list: there is no region"),
        (feature(), "there is no property `name` to be the id"),
        ({**feature(), "properties": 3}, "`properties` must be an object, not a number"),
        (feature(name=True), "the id must be text or a number, not true"),
        (feature({"type": "Point"}, name="a"), "a circle needs a radius"),
        (feature({"type": "LineString"}, name="a"), "a corridor needs a width"),
        (feature({"type": "MultiPoint"}, name="a"), "a MultiPoint is no region"),
        (feature({"type": "GeometryCollection"}, name="a"), "a GeometryCollection is no region"),
        (feature({"type": "Circle"}, name="a"), "the geometry's `type` is 'Circle'"),
        (feature({"type": None}, name="a"), "the geometry's `type` is null"),
    ],
)
def test_what_is_no_zone_is_refused_with_the_reason(given, why):
    assert any(message.startswith(why) for message in wrong_with(given))


def test_the_id_that_a_project_declares_may_be_missing_where_a_feature_has_its_own():
    fields = FeatureFields(of={"id": ("name",)}, own_ids=True)
    assert query_of({**feature(name="a"), "id": "own"}, fields)["id"] == "a"
    assert query_of({**feature(), "id": "own"}, fields)["id"] == "own"
    assert wrong_with(feature(), fields) == ["there is no property `name` to be the id"]


def test_without_an_id_the_properties_are_named():
    (fault,) = FeatureFields().query_of(feature(Name="a", class_="x"))[1]
    assert "--id PROPERTY" in str(fault.hint)
    assert "Name, class_" in str(fault.hint)
    (fault,) = FIELDS.query_of(feature(Name="a"))[1]
    assert "Did you mean 'Name'?" in str(fault.hint)


def test_all_that_is_wrong_with_a_feature_is_reported_at_once():
    assert len(wrong_with(feature({"type": "Point"}))) == 2


@needs_real_data
def test_the_districts_of_beijing_are_eighteen():
    content = DISTRICTS.read_bytes()
    assert is_geojson(DISTRICTS.name, content)
    found = [query_of(entry.value) for entry in GeoJson(content).entries()]
    assert len({query["id"] for query in found}) == 18
    assert json.loads(content)["features"][3]["geometry"] == found[3]["region"]
