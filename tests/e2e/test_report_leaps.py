"""What leapt through a region between two tuples is on the report's map, where it was inside."""

from pathlib import Path

import pytest

from tests.e2e.test_report import data
from tests.e2e.test_report_regions import DRAWN
from tests.support.commands.browser import in_browser, opened
from tests.support.commands.reported import reported

STREET = {"corridor": {"line": [[50, 0], [50, 100]], "width": 10}}
ROWS = """stream_id,ts,x,y
van,2026-11-18T00:00:00Z,0,0
van,2026-11-18T00:01:40Z,100,100
van,2026-11-18T00:03:20Z,100,0
"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A van that has no tuple on the street that it crosses."""
    rule = {"id": "street", "feed": "vans", "region": STREET, "leaps": True}
    return reported(tmp_path_factory.mktemp("leaps"), [rule], ROWS)[0]


def test_a_leap_is_the_piece_of_the_way_that_was_inside(page_file):
    told = data(page_file)["feeds"][0]["map"]
    leaps = told["leaps"]
    assert (leaps["of"], leaps["names"], leaps["rule"]) == (1, ["street"], [0])
    assert leaps["t"] == [45_000]
    assert leaps["inside"] == [10_000]
    x0, y0, x1, y1 = told["extent"]
    places = [
        (x0 + (x1 - x0) * x / 65536, y0 + (y1 - y0) * y / 65536)
        for x, y in (leaps["lines"][:2], leaps["lines"][2:])
    ]
    assert places[0] == pytest.approx((45, 45), abs=0.01)
    assert places[1] == pytest.approx((55, 55), abs=0.01)
    assert (told["so_far"]["I"], told["so_far"]["O"]) == ([0] * 361, [0] * 361)


class TestBrowser:
    """What the page shows; skipped where there is no chromium."""

    pytestmark = in_browser

    def test_it_says_what_was_leapt_through_and_when(self, chromium, page_file):
        with opened(chromium, page_file.as_uri()) as (page, seen):
            canvas = page.locator("figure.map canvas")
            canvas.scroll_into_view_if_needed()
            page.evaluate(DRAWN)
            box = canvas.bounding_box()
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            said = page.locator("#tip").inner_text()
            assert said.startswith("Leapt through: street")
            assert "van between two tuples, at 2026-11-18 00:00:45Z for about 10 s" in said
            assert page.get_by_text("leapt through (1)").count() == 1
            assert seen.errors == []
