"""The report of a lake with joins: what was paired, what holds now, what was refused whole."""

import contextlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands.browser import in_browser, opened
from tests.support.commands.commands import REPOSITORY, Said, fencepost
from tests.support.lakes.walkers import EVIL

UNITS = '[feeds.ticks]\nunits = { price = "USD" }'
LATE = {"id": "any", "kind": "band_join", "left": "orders.bid", "right": "ticks.price"}
MORE = f"""stream_id,ts,bid,size,cancelled
"{EVIL}",2026-11-18T18:00:00Z,19.0,100,
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days of ticks, vans and orders; a join that came later, and two refused files."""
    folder = tmp_path_factory.mktemp("joined") / "two-days"
    shutil.copytree(REPOSITORY / "examples" / "two-days", folder)
    declared = (folder / "fencepost.toml").read_text().replace("[feeds.ticks]", UNITS)
    (folder / "fencepost.toml").write_text(f'{declared}\n[run]\nrunner = "here"\n')
    landing = folder / "landing"
    with contextlib.chdir(folder):
        assert fencepost("init").code == 0
        assert fencepost("queries", "import").code == 0
        assert fencepost("run").code == 0
        (folder / "late.jsonl").write_text(json.dumps({**LATE, "between": [-200, 200]}))
        assert fencepost("queries", "import", "late.jsonl").code == 0
        (landing / "orders" / "2026-11-18-late.csv").write_text(MORE)
        shutil.copy(
            landing / "ticks" / "2026-11-18.csv", landing / "ticks" / "2026-11-18-again.csv"
        )
        (landing / "ticks" / "undated.csv").write_text("stream_id,ts,price,volume\n")
        assert fencepost("run").code in {0, 4}
    return folder


def report(project: Path, *arguments: object) -> Said:
    with contextlib.chdir(project):
        return fencepost("report", "-o", "r.html", *arguments)


def told(project: Path, *arguments: object) -> dict[str, Any]:
    """What a report's page holds."""
    assert report(project, *arguments).code == 0
    block = re.search(r'id="data">(.*?)</script>', (project / "r.html").read_text(), re.DOTALL)
    assert block
    data: dict[str, Any] = json.loads(block[1])
    return data


@pytest.fixture(scope="module")
def whole(project: Path) -> dict[str, Any]:
    """The report of the whole lake."""
    data = told(project)
    (project / "r.html").rename(project / "whole.html")
    return data


def asked(project: Path, statement: str) -> list[dict[str, Any]]:
    with contextlib.chdir(project):
        said = fencepost("sql", statement, "--json")
    assert said.code == 0, said.err
    return [json.loads(line) for line in said.out.splitlines()]


def test_oracle_what_joins_found_is_what_the_views_say(project, whole):
    (lane,) = whole["lanes"]
    found = {
        row["query_id"]: row
        for row in asked(project, "select * from join_activity where lane = 'orders~ticks'")
    }
    assert {row["id"] for row in lane["queries"]["rows"]} == set(found)
    for row in lane["queries"]["rows"]:
        view = found[row["id"]]
        counts = [row[name] for name in ("paired", "came_in", "went_out", "in_now")]
        assert counts == [view[name] for name in ("pairs", "came_in", "went_out", "in_now")]
        assert (row["lefts"], row["rights"]) == (view["left_streams"], view["right_streams"])
    assert lane["pairs"] == sum(row["pairs"] for row in found.values()) > 0
    assert sum(lane["pairs_over_time"]["up"]) == lane["pairs"]
    both = sum(lane["changes_over_time"]["up"]) + sum(lane["changes_over_time"]["down"])
    assert both + lane["by_registration"] == lane["came_in"] + lane["went_out"]
    assert lane["by_registration"] > 0
    both = "select left_stream_id l, right_stream_id r from"
    all_of_them = f"({both} pairs union all {both} band_changes)"
    counted = asked(project, f"select l, r, count(*) n from {all_of_them} group by 1, 2")  # noqa: S608
    numbers = {(row["l"], row["r"]): row["n"] for row in counted}
    listed = [(tuple(row[:2]), sum(row[3:])) for row in lane["couples"]["rows"]]
    assert lane["couples"]["of"] == len(numbers)
    assert [many for _, many in listed] == sorted(numbers.values(), reverse=True)[:10]
    assert all(numbers[pair] == many for pair, many in listed)


def test_oracle_pairs_that_hold_now_have_the_values_of_now(project, whole):
    (lane,) = whole["lanes"]
    bids, prices = (
        {row["stream_id"]: row["v"] for row in asked(project, statement)}
        for statement in (
            "select stream_id, bid v from set_members where feed = 'orders'",
            "select stream_id, price v from set_members where feed = 'ticks'",
        )
    )
    pairs = asked(project, "select query_id, left_stream_id l, right_stream_id r from band_pairs")
    assert lane["now"]["of"] == len(pairs) == len(lane["now"]["rows"]) > 0
    assert {tuple(row[:3]) for row in lane["now"]["rows"]} == {
        (row["query_id"], row["l"], row["r"]) for row in pairs
    }
    for _, left, right, _, bid, price, apart, *units in lane["now"]["rows"]:
        assert (bid, price) == (bids[left], prices[right])
        assert apart == pytest.approx(bid - price, abs=1e-6)
        assert units == [None, "USD"]


def test_a_lane_is_shown_with_either_of_its_feeds_and_of_the_range_alone(project):
    assert told(project, "--feed", "vans")["lanes"] == []
    (lane,) = told(project, "--feed", "orders", "--until", "2026-11-18T00:00Z")["lanes"]
    before = "where ts < '2026-11-18T00:00:00Z'"
    (row,) = asked(project, f"select count(*) n from pairs {before}")  # noqa: S608
    assert lane["pairs"] == row["n"] > 0
    (row,) = asked(project, f"select count(*) n from band_changes {before}")  # noqa: S608
    assert lane["came_in"] + lane["went_out"] == row["n"] > 0
    assert lane["by_registration"] == 0


def test_deliveries_that_were_refused_whole_are_listed(project, whole):
    refused = whole["refused"]
    assert refused["of"] == 2
    assert {(row[0], row[1], row[2]) for row in refused["rows"]} == {
        ("ticks", "2026-11-18-again.csv", "repeat"),
        ("ticks", "undated.csv", "no_key"),
    }
    assert refused["unanswered"] == sum(not row[4] for row in refused["rows"]) > 0
    unanswered = asked(project, "select path from refused_deliveries where answer is null")
    assert {row[1] for row in refused["rows"] if not row[4]} == {r["path"] for r in unanswered}
    assert told(project, "--feed", "vans")["refused"]["rows"] == []


def test_a_lane_s_epochs_are_told_with_what_they_found(whole):
    (lane,) = whole["lanes"]
    groups = lane["state"]["groups"]
    assert [group["state"] for group in groups] == ["done"] * len(groups)
    found = sum(group["found"] for group in groups)
    assert found == lane["pairs"] + lane["came_in"] + lane["went_out"]
    assert (lane["state"]["lag"], lane["state"]["stale"]) == (0, 0)


def test_a_stream_that_is_named_is_shown_and_an_unknown_one_is_refused(project):
    said = report(project, "--stream", "nobody")
    assert (said.code, said.out) == (2, "")
    assert "--stream: no tuple and no crossing of 'nobody' in ticks, vans, orders" in said.err
    streams = told(project, "--stream", "CRUX")["feeds"][0]["chart"]["streams"]
    assert streams[0]["id"] == "CRUX"
    many = [each for k in range(41) for each in ("--stream", f"s{k}")]
    assert "41 streams were named, but a page shows 40" in report(project, *many).err


class TestSeen:
    """The page, in a browser."""

    pytestmark = in_browser

    def test_joins_are_shown_streams_can_be_chosen_and_paper_is_not_half_empty(
        self, chromium, project, whole
    ):
        assert whole["lanes"]
        with opened(chromium, (project / "whole.html").as_uri()) as (page, seen):
            assert page.get_by_text("No rule watches this feed").count() == 0
            orders = page.locator("#feed-orders .lead")
            assert "watched by 4 joins with ticks" in orders.inner_text()
            lane = page.locator("#lane-orders-ticks")
            assert "1 window join and 3 band joins" in lane.inner_text()
            for title in ("Pairs per", "Changes of bands per", "Busiest joins", "In a band now"):
                assert lane.get_by_text(title, exact=False).count() >= 1
            assert lane.get_by_text(EVIL).count() >= 1
            assert page.locator("img").count() == 0
            assert page.get_by_text("undated.csv").count() >= 1
            canvas = page.locator("#feed-vans canvas")
            before = canvas.evaluate("each => each.toDataURL()")
            page.locator("#feed-vans select").select_option(label="van-2  ·  11 crossings")
            page.wait_for_timeout(120)
            assert canvas.get_attribute("data-stream") == "van-2"
            assert page.get_by_text("Track of van-2").count() == 1
            assert canvas.evaluate("each => each.toDataURL()") != before
            assert page.locator("#quarantine details[open]").count() == 0
            paper = page.pdf(format="A4")
            assert 5 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= 7
            assert page.locator("#quarantine details[open]").count() == 0
            assert seen.errors == []
            assert seen.asked == [(project / "whole.html").as_uri()]

    def test_a_stream_is_found_by_a_part_of_its_name(self, chromium, tmp_path):
        from tests.e2e.test_report import crowded

        made = crowded(tmp_path, 12, 3)
        with contextlib.chdir(made):
            assert fencepost("report", "-o", "r.html").code == 0
        with opened(chromium, (made / "r.html").as_uri(), width=390, height=844) as (page, seen):
            field = page.get_by_label("Find a stream")
            field.fill("S01")
            field.press("Enter")
            canvas = page.locator("figure.map canvas")
            assert canvas.get_attribute("data-stream") == "s010"
            field.fill("nobody")
            field.press("Enter")
            assert page.get_by_text("fencepost report --stream ID adds it").count() == 1
            assert canvas.get_attribute("data-stream") == "s010"
            field.fill("")
            field.press("Enter")
            assert canvas.get_attribute("data-stream") == ""
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            assert seen.errors == []
