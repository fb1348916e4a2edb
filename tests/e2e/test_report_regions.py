"""Polygons, circles and corridors from a rule file to the map of a report, over streets."""

import contextlib
import json
import math
from pathlib import Path

import pytest

from tests.e2e.test_report import data
from tests.support.commands.browser import in_browser, opened
from tests.support.commands.commands import fencepost
from tests.support.commands.reported import reported

TOML = """
[run]
runner = "here"
[report]
base = "streets.geojson"
[feeds.vans]
axes = ["lon", "lat"]
position = ["lon", "lat"]
source = "landing/vans"
"""
WEST, SOUTH = 2.4, 54.6
CORNER = [[2.4, 54.6], [2.5, 54.6], [2.4, 54.7], [2.4, 54.6]]
"""A triangle: its bounding box is twice as large."""

REGIONS = {
    "triangle": {"type": "Polygon", "coordinates": [CORNER]},
    "round": {"circle": {"center": [2.55, 54.687], "radius": "1km"}},
    "street": {"corridor": {"line": [[2.41, 54.61], [2.59, 54.61]], "width": "400m"}},
}
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))"
STREET = {"type": "LineString", "coordinates": [[2.4, 54.65], [2.6, 54.65]]}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A van that goes round the map, through everything, and its report."""
    folder = tmp_path_factory.mktemp("regions")
    street = {"type": "Feature", "properties": {}, "geometry": STREET}
    (folder / "streets.geojson").write_text(json.dumps(street))
    rows = ["stream_id,ts,lon,lat"]
    for step in range(120):
        turn = 2 * math.pi * step / 60
        x, y = 2.5 + 0.09 * math.cos(turn), 54.65 + 0.045 * math.sin(turn)
        rows.append(f"van,2026-11-18T00:{step // 2:02}:{step % 2 * 30:02}Z,{x:.7f},{y:.7f}")
    rules = [{"id": id_, "feed": "vans", "region": at} for id_, at in REGIONS.items()]
    reported(folder, rules, "\n".join(rows), TOML)
    return folder


def test_a_region_is_drawn_as_what_it_is(project):
    told = data(project / "map.html")["feeds"][0]["map"]
    shapes = {rule["id"]: rule["shape"] for rule in told["rules"]}
    assert {id_: sorted(shape) for id_, shape in shapes.items()} == {
        "triangle": ["rings"],
        "round": ["circle"],
        "street": ["half", "line"],
    }
    assert told["geographic"]
    assert len(told["base"]["lines"]) == 1
    x0, y0, x1, y1 = told["extent"]
    _, _, wide, high = shapes["round"]["circle"]
    metres = math.radians((y1 - y0) * high / 65536) * 6_371_008.8
    assert metres == pytest.approx(1_000, rel=1e-3)
    shrink = math.cos(math.radians(54.65))
    assert (x1 - x0) * wide * shrink == pytest.approx((y1 - y0) * high, rel=1e-3)
    assert all(rule["in"] > 0 for rule in told["rules"])


class TestBrowser:
    """What the page shows; skipped where there is no chromium."""

    pytestmark = in_browser

    @pytest.mark.parametrize(
        ("lon", "lat", "expected"),
        [
            (2.42, 54.62, "triangle"),
            (2.48, 54.67, None),  # in the triangle's bounding box
            (2.55, 54.6955, "round"),
            (2.565, 54.6955, None),  # in the circle's
            (2.52, 54.611, "street"),
            (2.52, 54.613, None),
        ],
    )
    def test_what_is_under_the_pointer_is_inside_the_outline(
        self, chromium, project, lon, lat, expected
    ):
        file = project / "map.html"
        x0, y0, x1, y1 = data(file)["feeds"][0]["map"]["extent"]
        with opened(chromium, file.as_uri()) as (page, seen):
            canvas = page.locator("figure.map canvas")
            page.locator("figure.map input[type=range]").press("Home")
            canvas.scroll_into_view_if_needed()
            page.evaluate(DRAWN)
            box = canvas.bounding_box()
            shrink = math.cos(math.radians((y0 + y1) / 2))
            each = max((x1 - x0) * shrink / box["width"], (y1 - y0) / box["height"])
            x = box["x"] + box["width"] / 2 + (lon - (x0 + x1) / 2) * shrink / each
            y = box["y"] + box["height"] / 2 - (lat - (y0 + y1) / 2) / each
            page.mouse.move(x, y)
            tip = page.locator("#tip")
            found = tip.inner_text().split("\n")[0] if tip.is_visible() else None
            assert found == expected
            assert seen.errors == []

    def test_the_streets_are_below(self, chromium, project):
        with opened(chromium, (project / "map.html").as_uri()) as (page, seen):
            canvas = page.locator("figure.map canvas")
            page.wait_for_timeout(200)
            before = canvas.evaluate("each => each.toDataURL()")
            (project / "fencepost.toml").write_text(TOML.replace("base =", "# base ="))
            with contextlib.chdir(project):
                assert fencepost("report", "-o", "bare.html").code == 0
            page.goto((project / "bare.html").as_uri())
            page.wait_for_timeout(200)
            assert canvas.evaluate("each => each.toDataURL()") != before
            assert seen.errors == []
