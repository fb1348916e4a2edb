"""`fencepost eval` with the zones of a map: GeoJSON in, crossings of polygons and circles out."""

import json
from pathlib import Path

import pytest

from tests.support.commands.commands import fencepost, rows
from tests.support.commands.files import written

SQUARE = [[116, 39], [117, 39], [117, 40], [116, 40], [116, 39]]
ZONES = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": "square", "limit": "3m"},
            "geometry": {"type": "Polygon", "coordinates": [SQUARE]},
        },
        {
            "type": "Feature",
            "properties": {"name": "stop", "limit": None},
            "geometry": {"type": "Point", "coordinates": [116.5, 39.5]},
        },
    ],
}
FIXES = ((115.9, 39.5), (116.5, 39.5009), (116.6, 39.5), (117, 39.5))
TRACK = "stream_id,ts,lon,lat\n" + "".join(
    f"van-1,2026-11-17T08:0{minute}:00Z,{lon},{lat}\n" for minute, (lon, lat) in enumerate(FIXES)
)
MAPPED = ("--id", "name", "--map", "within=limit", "--radius", "101m")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written(tmp_path, "zones.geojson", json.dumps(ZONES))
    written(tmp_path, "track.csv", TRACK)
    return tmp_path


def evaluated(folder, *options, tuples="track.csv"):
    return fencepost(
        *("eval", "-q", folder / "zones.geojson", "-t", folder / tuples),
        *(*options, "-o", folder / "out"),
    )


@pytest.mark.parametrize("position", [["--position", "lon,lat"], ["--guess"]])
def test_zones_are_crossed_where_they_are_on_the_earth(folder, position):
    said = evaluated(folder, *MAPPED, *position)
    assert said.code == 0, said.err
    found = [
        (row["type"], row["query_id"], row["ts"][14:16])
        for row in rows(folder / "out" / "events.csv")
    ]
    assert found == [
        ("I", "square", "01"),
        ("I", "stop", "01"),
        ("O", "stop", "02"),
        ("O", "square", "03"),
    ]
    (transition,) = rows(folder / "out" / "transitions.csv")
    assert (transition["type"], transition["query_id"]) == ("pass_through", "square")


def test_on_a_plane_the_same_zones_are_in_its_units(folder):
    said = evaluated(folder, *MAPPED, "--position", "lon,lat", "--position-in", "plane")
    assert said.code == 0, said.err
    assert {row["query_id"] for row in rows(folder / "out" / "events.csv")} == {"square"}


def test_a_config_says_where_its_feed_is(folder):
    toml = '[feeds.vans]\naxes = ["lon", "lat"]\nsource = "in"\nposition = ["lon", "lat"]\n'
    config = written(folder, "fencepost.toml", toml)
    said = fencepost(
        *("eval", "-q", folder / "zones.geojson", "-t", f"vans={folder / 'track.csv'}"),
        *("--config", config, *MAPPED, "-o", folder / "out"),
    )
    assert said.code == 0, said.err
    assert len(rows(folder / "out" / "events.csv")) == 4


def test_without_a_position_it_is_said_once_what_is_missing(folder):
    said = evaluated(folder, *MAPPED)
    assert said.code == 2
    assert said.err.count("the feed 'tuples' has no `position`") == 1
    assert "--position lon,lat" in said.err
    assert not (folder / "out").exists()


def test_a_position_the_wrong_way_round_is_refused(folder):
    said = evaluated(folder, *MAPPED, "--position", "lat,lon")
    assert said.code == 2
    assert "--position lat,lon: longitude comes first" in said.err
    assert "1 fault" in said.err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--id", "nam"], "Did you mean 'name'?"),
        (["--id", "name"], "a circle needs a radius"),
        (["--map", "colour=red"], "FIELD=PROPERTY was expected"),
        (["--map", "within=a,b"], "one property was expected"),
    ],
)
def test_options_that_do_not_fit_are_refused(folder, options, why):
    said = evaluated(folder, *options, "--position", "lon,lat")
    assert said.code == 2
    assert why in said.err
