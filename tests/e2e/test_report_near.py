"""Streams that came near each other are on the report's page, and who still is."""

from pathlib import Path

import pytest

from tests.e2e.test_report import data
from tests.support.commands.browser import in_browser, opened
from tests.support.commands.reported import reported

RULE = {"id": "close", "kind": "near_join", "left": "vans", "right": "vans", "distance": 5}
ROWS = """stream_id,ts,x,y
ann,2026-11-18T00:00:00Z,0,0
bob,2026-11-18T00:00:01Z,4,0
bob,2026-11-18T00:00:02Z,6,0
cem,2026-11-18T00:00:03Z,3,4
cem,2026-11-18T00:00:04Z,3,4.5
"""
"""ann and bob come near and part; cem comes near both, then leaves them."""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page, said = reported(tmp_path_factory.mktemp("near"), [RULE], ROWS)
    assert "6 near changes" in said.out
    assert "band change" not in said.out
    return page


def test_who_came_near_and_who_is_still_there(page_file):
    (lane,) = data(page_file)["lanes"]
    assert (lane["came_in"], lane["went_out"], lane["near"]["changes"]) == (3, 3, 6)
    assert lane["near"]["of"] == 0
    (row,) = lane["queries"]["rows"]
    assert (row["kind"], row["came_in"], row["went_out"], row["in_now"]) == ("near_join", 3, 3, 0)


class TestBrowser:
    """What the page shows; skipped where there is no chromium."""

    pytestmark = in_browser

    def test_the_page_says_so(self, chromium, page_file):
        with opened(chromium, page_file.as_uri()) as (page, seen):
            lane = page.locator("#lane-vans-vans")
            assert "1 near join; 3 pairs of streams came in" in lane.inner_text()
            assert lane.get_by_text("Near each other now", exact=True).count() == 1
            assert page.get_by_text("Near now", exact=True).count() == 1
            assert seen.errors == []
