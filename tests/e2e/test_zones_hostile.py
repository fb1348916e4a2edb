"""Zones that are large, deep, damaged or not meant for us: clear errors, nothing half taken."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands.commands import fencepost
from tests.support.commands.files import written

TOML = '[feeds.vans]\naxes = ["lon", "lat"]\nposition = ["lon", "lat"]\nsource = "landing"\n'
HEAD, TAIL = '{"type": "FeatureCollection", "features": [\n', "\n]}\n"
GOOD = '{"type": "Feature", "id": "good", "properties": {}, "geometry": {"type": "Polygon", '
GOOD += '"coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}}'
POINT = '{"type": "Point", "coordinates": [1, 2]}'
COMMAND = "import sys\nfrom fencepost.__main__ import main\nsys.argv[1:] = {arguments!r}\nmain()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with an empty lake, which no test changes."""
    return project(tmp_path_factory.mktemp("project"))


def project(folder: Path) -> Path:
    written(folder, "fencepost.toml", TOML)
    assert fencepost("init", folder).code == 0
    return folder


def imported(folder, text, name="zones.geojson"):
    path = written(folder, name, text)
    return fencepost("queries", "import", path, "--config", folder)


def registered(folder):
    return fencepost("queries", "export", "--config", folder).out


def feature(geometry, **members):
    return (
        json.dumps({"type": "Feature", "id": "bad", "properties": {}, **members})[:-1]
        + f', "geometry": {geometry}}}'
    )


BAD = {
    "deep geometry": (
        feature('{"type": "Polygon", "coordinates": ' + "[" * 50_000 + "]" * 50_000 + "}"),
        "lists and objects nest too deeply",
    ),
    "less deep": (
        feature('{"type": "Polygon", "coordinates": ' + "[" * 500 + "]" * 500 + "}"),
        "feature 2 ('bad'): ring 1, vertex 1 is no position",
    ),
    "twice": (GOOD, "feature 2 ('good'): feature 1 has the same id"),
    "mixed": (feature(POINT), "feature 2 ('bad'): a circle needs a radius"),
    "nothing": (feature("null"), "feature 2 ('bad'): `geometry` is null"),
    "a collection": (
        feature(f'{{"type": "GeometryCollection", "geometries": [{POINT}]}}'),
        "feature 2 ('bad'): a GeometryCollection is no region",
    ),
    "latitude first": (
        feature(
            '{"type": "Polygon", "coordinates": [[[39, 116], [40, 116], [40, 117], [39, 116]]]}'
        ),
        "these look exchanged",
    ),
    "open": (
        feature('{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1]]]}'),
        "feature 2 ('bad'): ring 1 is open",
    ),
    "two points": (
        feature('{"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [0, 0]]]}'),
        "feature 2 ('bad'): ring 1 has 3 positions",
    ),
    "no number": (
        feature('{"type": "Polygon", "coordinates": [[[0, 0], [1, NaN], [1, 1], [0, 0]]]}'),
        "feature 2 ('bad'): ring 1, vertex 2",
    ),
    "its own crs": (
        feature(
            '{"type": "Polygon", "crs": {"type": "name", "properties": {"name": "EPSG:3857"}}, '
            '"coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}'
        ),
        "EPSG:3857",
    ),
    "cut off": (GOOD[: len(GOOD) // 2], "not JSON"),
}


@pytest.mark.parametrize("case", BAD)
def test_one_bad_zone_is_named_and_none_is_taken(folder, case):
    bad, why = BAD[case]
    said = imported(folder, HEAD + GOOD + ",\n" + bad + TAIL)
    assert (said.code, said.out) == (2, ""), said.err
    assert why in said.err
    assert "1 fault, nothing imported." in said.err
    assert registered(folder) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("\x00\x01", "not JSON"),
        ("[]", "`{` was expected"),
        ('{"type": "Topology", "objects": {}, "arcs": []}', "this is TopoJSON"),
        (POINT, "a Point alone has no id"),
        (HEAD.replace("features", "geometries") + TAIL, "`features` is missing"),
        (
            '{"type": "FeatureCollection", "crs": {"type": "link"}, "features": [' + GOOD + "]}",
            "crs",
        ),
    ],
)
def test_what_is_no_zones_at_all_is_refused(folder, text, why):
    said = imported(folder, text)
    assert said.code == 2
    assert why in said.err
    assert registered(folder) == ""


def ring(vertices):
    """A circle of so many vertices, as text."""
    from math import cos, pi, sin

    turns = [2 * pi * k / (vertices - 1) for k in range(vertices - 1)]
    points = [f"[{cos(t):.12f}, {sin(t):.12f}]" for t in turns]
    return f"[{', '.join([*points, points[0]])}]"


def polygon(name, vertices):
    geometry = f'{{"type": "Polygon", "coordinates": [{ring(vertices)}]}}'
    return f'{{"type": "Feature", "id": "{name}", "properties": {{}}, "geometry": {geometry}}}'


def limited(folder, arguments, megabytes):
    """Run the command in a process that may take so much memory and no more; give what it said."""
    program = COMMAND.format(arguments=arguments)
    size = megabytes << 20
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (size, size)),
    )


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_polygon_of_a_million_vertices_is_a_zone_and_one_of_more_is_refused(tmp_path):
    folder = project(tmp_path)
    said = imported(folder, HEAD + polygon("coast", 1_000_000) + TAIL)
    assert said.code == 0, said.err
    assert registered(folder).count("[") > 999_999
    said = imported(folder, HEAD + polygon("coast", 1_000_001) + TAIL, "more.geojson")
    assert said.code == 2
    assert "1,000,001 positions; the limit is 1,000,000" in said.err


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_two_hundred_megabytes_are_read_whole_or_refused_whole_in_bounded_memory(tmp_path):
    folder = project(tmp_path)
    one = polygon("{}", 1_000)
    count = 200_000_000 // len(one)
    zones = [one.replace("{}", f"z{k}", 1) for k in range(count)]
    path = written(folder, "zones.geojson", HEAD + ",\n".join(zones) + TAIL)
    assert path.stat().st_size > 199_000_000
    zones[-1] = zones[-1].replace("Polygon", "Polygone")
    written(folder, "bad.geojson", HEAD + ",\n".join(zones) + TAIL)
    del zones
    done = limited(folder, ["queries", "import", "bad.geojson"], 3_000)
    assert done.returncode == 2, done.stderr
    assert f"feature {count:,} ('z{count - 1}')" in done.stderr
    assert registered(folder) == ""
    done = limited(folder, ["queries", "import", "zones.geojson"], 3_000)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{count:,} added")
