"""Queries with regions in the registry: what is kept, what is a new version, what is said."""

import json
import math
from dataclasses import replace

import pyarrow as pa
import pytest

from fencepost.errors import LakeError
from fencepost.position import Position
from fencepost.queries import QuerySet, check_query
from fencepost.queries.joins import JoinQuery
from fencepost.shapes.wkb import geometry_of
from pipelines.registry.cache import (
    compiled_joins,
    compiled_queries,
    load_joins,
    load_queries,
)
from pipelines.registry.listing import QueryFilter, describe, list_queries
from pipelines.registry.queries import query_set, rows_of, rows_of_each
from pipelines.registry.regions import region_text
from pipelines.registry.text import as_json
from tests.support.lakes.registry_lake import AXES, Lake, said
from tests.support.query_columns import as_lists

PLANE = {"locations": Position((0, 1), earth=False)}
EARTH = {"locations": Position((0, 1), earth=True)}
POLYGON = {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4.5], [0, 0]]]}
TWO = "MULTIPOLYGON (((0 0, 4 0, 4 4, 0 0)), ((5 5, 9 5, 9 9, 5 5), (6 6, 7 6, 7 7, 6 6)))"
CIRCLE = {"circle": {"center": [3, 3], "radius": "1.5km"}}
CORRIDOR = {"corridor": {"line": [[0, 0], [6, 3], [7, 7]], "width": 2}}
ZONES = (
    {"id": "a", "region": POLYGON, "where": "speed > 5", "leaps": True},
    {"id": "b", "region": TWO, "streams": ["v"]},
    {"id": "c", "where": "x < 5", "leaps": True},
    {"id": "d", "region": CIRCLE, "within": "3m"},
    {"id": "e", "region": CORRIDOR},
)


def read(zone, positions=PLANE):
    found, faults = check_query({"feed": "locations"} | zone, AXES, positions)
    assert faults == []
    return found


def given(*zones, positions=PLANE):
    return rows_of_each([read(zone, positions) for zone in zones])


@pytest.fixture
def lake(tmp_path):
    return Lake.new(tmp_path)


def test_a_set_with_regions_comes_back_from_its_definitions_to_the_bit(lake):
    lake.register(given(*ZONES))
    found = query_set(lake.store, lake.settings, "locations")
    found.check()
    wanted = QuerySet.from_queries("locations", AXES["locations"], [read(z) for z in ZONES])
    assert as_lists(found.columns()) == as_lists(wanted.columns())
    assert (found.position, found.fingerprint) == ((0, 1), wanted.fingerprint)
    again = rows_of(wanted, {})
    for name in ("region", "wkb", "region_on", "on_earth", "leaps", "lo"):
        stood = sorted(lake.standing(), key=lambda row: row["id"])
        assert again[name].to_pylist() == [row[name] for row in stood]


def test_a_cached_set_has_its_regions(lake):
    lake.register(given(*ZONES))
    path = compiled_queries(lake.store, lake.settings, "locations", 1)
    found = load_queries(path)
    found.check()
    wanted = query_set(lake.store, lake.settings, "locations")
    assert as_lists(found.columns()) == as_lists(wanted.columns())
    assert (found.position, found.fingerprint) == (wanted.position, wanted.fingerprint)
    assert found.shapes.xy.shape == (2, wanted.shapes.xy.shape[1])
    earth = given({"id": "z", "region": CIRCLE}, positions=EARTH)
    lake.register(earth, tuple(zone["id"] for zone in ZONES))
    assert load_queries(compiled_queries(lake.store, lake.settings, "locations", 2)).shapes.earth


def test_wkb_is_the_geometry_that_other_programs_read(lake):
    lake.register(given(*ZONES))
    rows = {row["id"]: row for row in lake.standing()}
    geometries = {id: row["wkb"] and geometry_of(row["wkb"]) for id, row in rows.items()}
    assert geometries["a"] == POLYGON
    assert [geometries[id] and geometries[id]["type"] for id in "abcde"] == [
        *("Polygon", "MultiPolygon", None, "Point", "LineString")
    ]
    assert (rows["d"]["region_on"], rows["d"]["on_earth"]) == ([0, 1], False)
    assert rows["c"]["region_on"] is None


@pytest.mark.parametrize(
    ("zone", "changed"),
    [
        (ZONES[0] | {"region": {**POLYGON, "coordinates": [[[0, 0], [4, 0], [4, 5], [0, 0]]]}}, 1),
        (ZONES[0] | {"leaps": False}, 1),
        (ZONES[0] | {"region": CIRCLE}, 1),
        (ZONES[0] | {"region": "POLYGON ((0 0, 4 0, 4 4.5, 0 0))"}, 0),
        (ZONES[0] | {"where": "speed  >  5.0"}, 0),
        (ZONES[3] | {"region": {"circle": {"center": [3.0, 3], "radius": 1500}}}, 0),
        (ZONES[3] | {"region": {"circle": {"center": [3, 3], "radius": "1.6km"}}}, 1),
        ({"id": "e", "where": "ALL"}, 1),
    ],
)
def test_a_region_is_part_of_the_version_and_its_spelling_is_not(lake, zone, changed):
    lake.register(given(*ZONES))
    done = lake.register(given(zone))
    assert said(done).get("changed", 0) == changed
    (row,) = [row for row in lake.standing() if row["id"] == zone["id"]]
    assert row["version"] == 1 + changed


def test_a_region_on_other_axes_is_a_new_version_and_all_of_a_feed_are_on_the_same(lake):
    lake.register(given(*ZONES))
    earth = given(ZONES[3], positions=EARTH)
    assert said(lake.register(earth)) == {"changed": 1}
    with pytest.raises(LakeError, match="its position was declared otherwise"):
        query_set(lake.store, lake.settings, "locations")
    lake.register(given(*ZONES, positions=EARTH))
    assert query_set(lake.store, lake.settings, "locations").shapes.earth
    assert not query_set(lake.store, lake.settings, "locations", 1).shapes.earth


def test_what_is_exported_registers_the_same_queries(lake):
    tables = [given(*ZONES), rows_of(
        QuerySet.from_queries("locations", AXES["locations"], [replace(read(ZONES[0]), id="t")]),
        {},
    )]  # fmt: skip
    lake.register(pa.concat_tables(tables))
    rows = lake.standing()
    exported = [json.loads(json.dumps(as_json(row, AXES))) for row in rows]
    by_id = {each["id"]: each for each in exported}
    assert "where" not in by_id["b"]
    assert by_id["t"]["where"] == "speed >= 5.000000000000001"
    assert by_id["d"]["region"] == {"circle": {"center": [3, 3], "radius": 1500}}
    again = given(*exported)
    assert said(lake.register(again)) == {"unchanged": 5, "edited": 1}


def test_a_region_is_described_in_words_and_in_json(lake):
    lake.register(given(*ZONES))
    said_of = list_queries(lake.store, QueryFilter(), AXES, 0, in_json=False)
    text = "\n".join(said_of)
    assert "speed > 5, in a polygon of 3 vertices" in text
    assert "in a circle of 1500 around 3, 3" in text
    assert "in a corridor of 2 along 3 points" in text
    assert "  region      2 polygons of 9 vertices" in describe(
        lake.store, "b", AXES, in_json=False
    )
    lake.register(given(ZONES[0] | {"region": CIRCLE}))
    shown = "\n".join(describe(lake.store, "a", AXES, in_json=False))
    assert "changed: where, region" in shown
    assert "leaps       true" in shown


JOIN = {"kind": "window_join", "left": "ticks", "right": "locations", "window": "5m"}
JOIN |= {"on": "left.price >= right.speed", "where": "right.x > 1"}


def read_join(**fields):
    return check_query({"id": "w", **JOIN, **fields}, AXES, PLANE)


def test_regions_of_a_join_are_kept_by_side(lake):
    feed = replace(lake.settings.feeds["locations"], position=("x", "y"))
    lake.settings = replace(lake.settings, feeds={**lake.settings.feeds, "locations": feed})
    query, faults = read_join(region={"right": TWO})
    assert faults == []
    assert isinstance(query, JoinQuery)
    lake.register(rows_of_each([query]))
    path = compiled_joins(lake.store, lake.settings, "ticks~locations", 1)
    windows = load_joins(path).windows
    left, right = windows.regions
    assert (left.position, right.position, right.shape.tolist()) == (None, (0, 1), [0])
    assert right.shapes.shape(0) == query.regions[1]
    assert windows.lo[2:4, 0].tolist() == [math.nextafter(1.0, 2.0), 0.0]
    (row,) = lake.standing()
    exported = as_json(row, AXES)
    assert exported["region"]["right"]["type"] == "MultiPolygon"
    again, faults = check_query(json.loads(json.dumps(exported)), AXES, PLANE)
    assert faults == []
    assert isinstance(again, JoinQuery)
    assert said(lake.register(rows_of_each([again]))) == {"unchanged": 1}
    other, _ = read_join(region={"right": CIRCLE})
    assert said(lake.register(rows_of_each([other]))) == {"changed": 1}
    assert said(lake.register(rows_of_each([read_join()[0]]))) == {"changed": 1}
    gone = replace(
        lake.settings, feeds={**lake.settings.feeds, "locations": replace(feed, position=())}
    )
    with pytest.raises(LakeError, match="has no position any more"):
        compiled_joins(lake.store, gone, "ticks~locations", 2)


def test_what_the_region_of_a_join_cannot_be_is_said():
    for region, what in (
        (CIRCLE, "unknown side `circle` in `region`"),
        ({"left": CIRCLE}, "`region`, left: the feed has no `position`"),
        ("POLYGON", "`region` of a window join is an object with"),
        ({"right": {"circle": {"center": [-30, 0], "radius": 1}}}, "never hold together"),
    ):
        query, faults = read_join(region=region)
        assert query is None
        assert any(what in fault.message for fault in faults), faults


@pytest.mark.parametrize(
    ("region", "text"),
    [
        ({"circle": {"center": [116.4, 39.9], "radius": "150m"}}, "of 150 m around 116.4, 39.9"),
        ({"circle": {"center": [0, 0], "radius": "100km"}}, "of 100 km around 0, 0"),
        ({"corridor": {"line": [[0, 0], [1, 1]], "width": "50m"}}, "of 50 m along 2 points"),
    ],
)
def test_lengths_on_the_earth_are_in_metres_or_kilometres(region, text):
    (row,) = given({"id": "a", "region": region}, positions=EARTH).to_pylist()
    assert str(region_text(row)).endswith(text)
