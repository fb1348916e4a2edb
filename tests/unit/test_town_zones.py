"""The town on the earth: districts that part it, circles at garages, corridors along roads."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from fencepost.errors import InputError
from pipelines.cli.commands.generate import app
from pipelines.workloads import Corridors, Districts, Garages, ParkingCircles, RoadNetwork, town
from pipelines.workloads.globe import METRES, MIDDLE, degrees

EARTH = 6_371_008.8
Place = tuple[float, float]


@pytest.fixture(scope="module")
def roads() -> RoadNetwork:
    return town(1)


def regions(table: Any) -> list[dict[str, Any]]:
    return [json.loads(text) for text in table["region"].to_pylist()]


def holds(ring: list[list[float]], at: Place) -> bool:
    """The even-odd rule in Fractions: edges half-open upwards, crossed rightward."""
    x, y = map(Fraction, at)
    inside = False
    for (xa, ya), (xb, yb) in itertools.pairwise(ring):
        if (Fraction(ya) <= y) != (Fraction(yb) <= y):
            share = (y - Fraction(ya)) / (Fraction(yb) - Fraction(ya))
            inside ^= Fraction(xa) + share * (Fraction(xb) - Fraction(xa)) > x
    return inside


def area(ring: Any) -> float:
    x, y = ring
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2


def metres_between(a: Place, b: Place) -> float:
    """Haversine."""
    (east, north), (lon, lat) = (map(math.radians, at) for at in (a, b))
    half = math.sin((lat - north) / 2) ** 2
    half += math.cos(north) * math.cos(lat) * math.sin((lon - east) / 2) ** 2
    return 2 * EARTH * math.asin(math.sqrt(half))


@pytest.mark.parametrize("seed", range(6))
def test_oracle_every_place_of_the_town_is_in_exactly_one_district(seed):
    roads = town(seed)
    rings = [each["coordinates"][0] for each in regions(Districts(count=13).table(roads))]
    corners = {tuple(at) for ring in rings for at in ring}
    assert len(corners) < sum(map(len, rings)) - len(rings)  # neighbours share some
    crossings = zip(degrees(roads.x, 0).tolist(), degrees(roads.y, 1).tolist(), strict=True)
    for at in itertools.islice(crossings, 0, None, 3):
        assert sum(holds(ring, at) for ring in rings) == 1
    inner = [at for at in corners if all(abs(at[k] - MIDDLE[k]) < 0.03 for k in (0, 1))]
    assert len(inner) > 20  # on vertices and edges, too
    for at in inner:
        assert sum(holds(ring, at) for ring in rings) == 1


@pytest.mark.parametrize("count", [0, 1, 2, 7, 36, 100, 576])
def test_there_are_as_many_districts_as_asked_and_their_areas_add_up(roads, count):
    rings = Districts(count=count).rings(roads)
    assert len(rings) == count
    areas = [area(ring) for ring in rings]
    assert all(each > 0 for each in areas)  # counterclockwise, as RFC 7946 has it
    if count:
        (whole,) = Districts(count=1).rings(roads)
        all_of_it = float(
            np.sum(whole[0] * np.roll(whole[1], -1) - np.roll(whole[0], -1) * whole[1])
        )
        assert sum(areas) == pytest.approx(all_of_it / 2)


def test_a_garage_is_a_circle_where_the_plane_has_a_square(roads):
    circles = regions(ParkingCircles(count=700).table(roads))
    x, y = Garages(count=700).middles(roads)
    at = [circle["circle"]["center"] for circle in circles]
    assert at == np.column_stack([degrees(x, 0), degrees(y, 1)]).tolist()
    assert {circle["circle"]["radius"] for circle in circles} == {"20m"}


def test_a_corridor_follows_roads_from_one_side_to_the_other(roads):
    places = list(zip(degrees(roads.x, 0).tolist(), degrees(roads.y, 1).tolist(), strict=True))
    ends = zip(roads.begin.tolist(), roads.end.tolist(), strict=True)
    there = {frozenset((places[a], places[b])) for a, b in ends}
    for region in regions(Corridors(count=5).table(roads)):
        line = [tuple(at) for at in region["corridor"]["line"]]
        assert {frozenset(pair) for pair in itertools.pairwise(line)} <= there
        assert metres_between(line[0], line[-1]) > 5_000


def test_a_metre_is_a_metre(roads):
    assert METRES[1] == pytest.approx(math.pi / 180 * EARTH, abs=1e-9)
    assert METRES[0] == pytest.approx(METRES[1] * math.cos(math.radians(MIDDLE[1])), abs=1e-9)
    x, y = degrees(roads.x, 0), degrees(roads.y, 1)
    a, b = roads.begin, roads.end
    for k in range(0, len(a), 50):
        far = metres_between((x[a[k]], y[a[k]]), (x[b[k]], y[b[k]]))
        assert far == pytest.approx(roads.length[k], rel=2e-3, abs=0.02)


@pytest.mark.parametrize(
    ("kind", "many", "words"),
    [
        (Districts, 577, "at most 576"),
        (Corridors, -1, "0 or more"),
        (ParkingCircles, -1, "garages"),
    ],
)
def test_a_number_that_cannot_be_is_refused(kind, many, words):
    with pytest.raises(InputError, match=words):
        kind(count=many)


def generated(folder: Path, *more: object) -> Path:
    made = ["--lonlat", "--objects", 8, "--updates", 5, "--districts", 5, "--garages", 2]
    result = CliRunner().invoke(app, ["locations", *map(str, (*made, *more))])
    assert result.exit_code == 0, result.output
    return folder


def test_the_same_queries_stand_in_every_form(tmp_path):
    found = {}
    for form in ("jsonl", "parquet", "geojson"):
        out, queries = tmp_path / "t.csv", tmp_path / f"q.{form}"
        generated(tmp_path, "--out", out, "--queries-out", queries, "--squares", 1)
        found[form] = queries
    rows = [json.loads(line) for line in found["jsonl"].read_text().splitlines()]
    assert [row["id"] for row in rows] == [
        *("square-1", *(f"district-{k}" for k in range(1, 6))),
        *("garage-1", "garage-2", "corridor-1"),
    ]
    table = pq.read_table(found["parquet"]).to_pylist()
    assert [row["id"] for row in table] == [row["id"] for row in rows]
    assert [row["region"] and json.loads(row["region"]) for row in table] == [
        row.get("region") for row in rows
    ]
    features = json.loads(found["geojson"].read_text())["features"]
    assert [each["properties"]["id"] for each in features] == [row["id"] for row in rows]
    square, district, *_, garage, corridor = features
    lo, hi = ([table[0][f"{axis}_{end}"] for axis in ("lon", "lat")] for end in ("lo", "hi"))
    ring = square["geometry"]["coordinates"][0]
    assert [min(at) for at in zip(*ring, strict=True)] == lo
    assert [max(at) for at in zip(*ring, strict=True)] == hi
    assert holds(ring, (lo[0], lo[1]))
    assert not holds(ring, (hi[0], lo[1]))
    assert not holds(ring, (lo[0], hi[1]))
    assert district["geometry"] == rows[1]["region"]
    assert garage["geometry"]["type"] == "Point"
    assert garage["properties"] == {"id": "garage-2", "within": "3m", "radius": "20m"}
    assert corridor["geometry"]["coordinates"] == rows[-1]["region"]["corridor"]["line"]
    assert corridor["properties"]["width"] == "40m"


def test_tracks_and_streets_are_in_degrees_and_the_same_each_time(tmp_path):
    contents = []
    for name in ("a", "b"):
        out, streets = tmp_path / f"{name}.csv", tmp_path / f"{name}.geojson"
        generated(tmp_path, "--out", out, "--roads-out", streets)
        contents.append((out.read_bytes(), streets.read_bytes()))
    assert contents[0] == contents[1]
    header, *rows = contents[0][0].decode().splitlines()
    assert header == "stream_id,ts,lon,lat,speed"
    for row in rows:
        lon, lat = (float(cell) for cell in row.split(",")[2:4])
        assert abs(lon - MIDDLE[0]) < 0.12
        assert abs(lat - MIDDLE[1]) < 0.07
    lines = json.loads(contents[0][1])["features"]
    assert len(lines) == len(town().begin)
    assert {line["properties"]["limit"] for line in lines} == {40.0, 60.0}


def test_districts_and_geojson_are_of_the_earth_alone(tmp_path):
    plain = ["locations", "--out", str(tmp_path / "t.csv")]
    result = CliRunner().invoke(app, [*plain, "--districts", "3"])
    assert result.exit_code == 2
    assert "with --lonlat only" in " ".join(result.output.split())
    result = CliRunner().invoke(app, [*plain, "--queries-out", str(tmp_path / "q.geojson")])
    assert isinstance(result.exception, InputError)
    assert list(tmp_path.iterdir()) == []
