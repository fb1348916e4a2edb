"""Zones of a map, as a user types it: imported, crossed, asked for in SQL, and exported again."""

import gzip
import json
from pathlib import Path

import pytest
from pyogrio.raw import read_arrow

from fencepost.shapes.wkb import geometry_of
from tests.support.commands.commands import fencepost
from tests.support.commands.files import written

TOML = """\
[feeds.vans]
axes = ["lon", "lat", "speed"]
position = ["lon", "lat"]
source = "landing/vans"

[feeds.carts]
axes = ["x", "y"]
position = ["x", "y"]
source = "landing/carts"
"""
SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}
RIGHT = {"type": "Polygon", "coordinates": [[[1, 0], [2, 0], [2, 1], [1, 1], [1, 0]]]}
STOP = {"type": "Point", "coordinates": [0.5, 0.5]}
ROAD = {"type": "LineString", "coordinates": [[0, 2], [1, 2]]}


def feature(name, geometry, **properties):
    return {"type": "Feature", "properties": {"name": name, **properties}, "geometry": geometry}


def collection(*features):
    return json.dumps({"type": "FeatureCollection", "features": features})


ZONES = collection(
    feature("left", SQUARE, class_="district", text="of the left"),
    feature("right", RIGHT, class_="district", within="1h"),
    feature("stop", STOP, radius="150m", where="speed < 1"),
    feature("road", ROAD, width="1km"),
)
MAPPED = ("--feed", "vans", "--id", "name", "--map", "tags=class_", "--map", "note=text")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an empty lake, and zones in `zones.geojson`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FENCEPOST_RUNNER", "here")
    written(tmp_path, "fencepost.toml", TOML)
    written(tmp_path, "zones.geojson", ZONES)
    assert fencepost("init").code == 0
    return tmp_path


def read_by_gdal(path):
    """The ids and the kinds of geometry that another reader finds."""
    _, table = read_arrow(str(path))
    kinds = [geometry_of(wkb)["type"] for wkb in table["wkb_geometry"].to_pylist()]
    return dict(zip(table["id"].to_pylist(), kinds, strict=True))


def imported(*more):
    return fencepost("queries", "import", "zones.geojson", *MAPPED, "--within", "3m", *more)


def exported(*options):
    said = fencepost("queries", "export", *options)
    assert said.code == 0, said.err
    return [json.loads(line) for line in said.out.splitlines()]


@pytest.mark.usefixtures("folder")
def test_zones_become_queries():
    said = imported()
    assert said.code == 0, said.err
    assert said.out.startswith("4 added: registry version 1")
    by_id = {query["id"]: query for query in exported()}
    assert by_id["left"] == {
        "id": "left",
        "feed": "vans",
        "region": SQUARE,
        "within": "3m",
        "tags": ["district"],
        "note": "of the left",
    }
    assert by_id["right"]["within"] == "1h"
    assert by_id["stop"]["where"] == "speed < 1"
    assert by_id["stop"]["region"] == {"circle": {"center": [0.5, 0.5], "radius": 150}}
    assert by_id["road"]["region"]["corridor"]["width"] == 1000
    assert imported().out.startswith("4 unchanged")
    assert imported("--leaps").out.startswith("4 changed")
    assert all(query["leaps"] for query in exported())


@pytest.mark.usefixtures("folder")
def test_properties_that_are_no_field_are_named():
    assert imported().err == ""
    said = fencepost("queries", "import", "zones.geojson", "--feed", "vans", "--id", "name")
    hint = "--map FIELD=PROPERTY makes one a field"
    assert said.err == f"note: 2 properties are no fields of a query: class_, text; {hint}\n"


def test_what_is_exported_as_geojson_is_imported_as_the_same(folder):
    imported()
    fencepost("queries", "add", "--id", "fast", "--feed", "vans", "--where", "speed > 9")
    said = fencepost("queries", "export", "--out", "out.geojson.gz")
    assert (said.code, said.out) == (0, "out.geojson.gz: 4 standing queries\n")
    assert said.err == "note: 1 query has no region, and cannot be on a map\n"
    assert fencepost("queries", "export", "--out", "out.geojson").code == 0
    assert read_by_gdal(folder / "out.geojson") == {
        "left": "Polygon",
        "right": "Polygon",
        "road": "LineString",
        "stop": "Point",
    }
    content = json.loads(gzip.decompress((folder / "out.geojson.gz").read_bytes()))
    assert content["features"][3]["geometry"] == STOP
    before = exported()
    again = fencepost("queries", "import", "out.geojson.gz")
    assert again.out.startswith("4 unchanged"), again.err
    ids = [query["id"] for query in before]
    assert fencepost("queries", "remove", *ids, "--yes").code == 0
    assert fencepost("queries", "import", "out.geojson.gz").out.startswith("4 added")
    assert exported() == [query for query in before if query["id"] != "fast"]


def test_a_moved_vertex_is_a_new_version_and_another_name_is_not(folder):
    imported()
    changed = ZONES.replace("[2, 1]", "[3, 1]").replace("of the left", "of all lefts")
    written(folder, "zones.geojson", changed)
    said = imported("--json").summary
    assert (said["changed"], said["edited"], said["unchanged"]) == (1, 1, 2)


def test_a_file_with_one_bad_zone_changes_nothing(folder):
    nowhere = feature("nowhere", None)
    far = feature("far", {"type": "Point", "coordinates": [39, 116]}, radius=5)
    written(folder, "zones.geojson", collection(feature("left", SQUARE), nowhere, far))
    said = imported()
    assert (said.code, said.out) == (2, "")
    assert "zones.geojson:1: feature 2 ('nowhere'): `geometry` is null" in said.err
    assert "feature 3 ('far')" in said.err
    assert "these look exchanged" in said.err
    assert "2 faults, nothing imported." in said.err
    assert exported() == []


@pytest.mark.usefixtures("folder")
def test_of_several_feeds_the_zones_must_name_one():
    said = fencepost("queries", "import", "zones.geojson", "--id", "name")
    assert said.code == 2
    assert "its features name no feed" in said.err
    assert "--feed FEED" in said.err


def test_on_a_plane_a_metre_is_a_unit(folder):
    written(folder, "zones.geojson", collection(feature("stop", STOP, radius="0.25m")))
    said = fencepost("queries", "import", "zones.geojson", "--feed", "carts", "--id", "name")
    assert said.code == 0, said.err
    (query,) = exported()
    assert query["region"] == {"circle": {"center": [0.5, 0.5], "radius": 0.25}}


def test_tracks_through_zones_give_visits_and_a_map(folder):
    imported()
    rows = "stream_id,ts,lon,lat,speed\n" + "".join(
        f"van-1,2026-11-17T08:0{minute}:00Z,{lon},{lat},0\n"
        for minute, (lon, lat) in enumerate(((-1, 0.5), (0.5, 0.5), (1, 0.5), (2, 0.5), (0.5, 2)))
    )
    written(folder / "landing" / "vans", "day.csv", rows)
    assert fencepost("run").code == 0
    said = fencepost("sql", "select query_id, duration from visits order by entered_ts, query_id")
    assert said.out.splitlines()[2:] == [
        "left          60.0",
        "stop          60.0",
        "right         60.0",
        "road",
    ]
    said = fencepost("sql", "select * from events order by ts, query_id", "-f", "geojson")
    first, *_ = json.loads(said.out)["features"]
    assert first["geometry"] == {"type": "Point", "coordinates": [0.5, 0.5]}
    assert first["properties"]["query_id"] == "left"
    said = fencepost("sql", "select id, region from queries order by id", "-f", "geojson")
    shown = [each["geometry"]["type"] for each in json.loads(said.out)["features"]]
    assert shown == ["Polygon", "Polygon", "LineString", "Point"]


@pytest.mark.usefixtures("folder")
def test_one_zone_is_added_by_its_text():
    words = ("--feed", "vans", "--region", "POLYGON ((0 0, 1 0, 1 1, 0 0))", "--leaps")
    assert fencepost("queries", "add", "--id", "corner", *words).code == 0
    (query,) = exported()
    assert query["region"]["coordinates"] == [[[0, 0], [1, 0], [1, 1], [0, 0]]]
    assert query["leaps"] is True
    circle = '{"circle": {"center": [1, 2], "radius": "1 nmi"}}'
    said = fencepost("queries", "add", "--id", "buoy", "--feed", "vans", "--region", circle)
    assert said.code == 0, said.err
    said = fencepost("queries", "add", "--id", "oops", "--feed", "vans", "--region", "POINT (1 2)")
    assert said.code == 2
    assert "oops" not in json.dumps(exported())
