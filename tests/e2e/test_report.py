"""`fencepost report` as a user types it, and the page as a user sees it."""

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pipelines.serve.report.streams import STREAMS
from tests.support.commands.browser import in_browser, opened
from tests.support.commands.commands import Said, fencepost
from tests.support.lakes.ledger import Ledger, at
from tests.support.lakes.walkers import (
    AXES,
    DEAR,
    EVIL,
    REGIONS,
    SECONDS,
    TOML,
    WALKERS,
    held,
    made,
    price,
)

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose lake was written by hand; nobody changes it."""
    folder = tmp_path_factory.mktemp("walks")
    made(folder)
    return folder


@pytest.fixture(scope="module")
def page_file(project: Path) -> Path:
    """The report of the whole lake."""
    assert report(project, "-o", "whole.html").code == 0
    return project / "whole.html"


def report(project: Path, *arguments: object) -> Said:
    with contextlib.chdir(project):
        return fencepost("report", *arguments)


def data(file: Path) -> dict[str, Any]:
    """The data that a page holds."""
    block = re.search(r'id="data">(.*?)</script>', file.read_text(), re.DOTALL)
    assert block
    told: dict[str, Any] = json.loads(block[1])
    return told


def levels(pairs: list[int], steps: int) -> list[int]:
    """How many are inside at each place of the slider."""
    row = [0] * (steps + 1)
    place = 0
    for on, change in zip(pairs[::2], pairs[1::2], strict=True):
        place += on
        for later in range(place, steps + 1):
            row[later] += change
    return row


def test_it_says_what_it_made_and_where(project):
    said = report(project)
    assert (said.code, said.err) == (0, "")
    path = project / "reports" / f"{project.name}.html"
    assert said.out.startswith(f"{path}: 480 tuples, ")
    assert said.out.count("\n") == 1
    assert path.stat().st_size > 10_000
    told = json.loads(report(project, "--json", "-o", "again.html").out)
    assert (told["path"], told["tuples"], told["quarantined"]) == ("again.html", 480, 1)
    assert told["matches"] == sum(price(second) >= DEAR for second in range(SECONDS)) > 0
    assert f" transitions, {told['matches']} matches " in said.out
    assert told["bytes"] == (project / "again.html").stat().st_size
    assert not list(project.glob(".*.tmp"))


def test_a_feed_may_be_called_like_a_word_of_sql(tmp_path):
    feed = '[run]\nrunner = "here"\n[feeds.order]\naxes = ["limit"]\nsource = "landing/order"\n'
    (tmp_path / "fencepost.toml").write_text(feed)
    rule = {"id": "dear", "feed": "order", "where": '"limit" > 2'}
    (tmp_path / "rules.jsonl").write_text(json.dumps(rule))
    with contextlib.chdir(tmp_path):
        assert fencepost("init").code == 0
        assert fencepost("queries", "import", "rules.jsonl").code == 0
        rows = "stream_id,ts,limit\na,2026-11-18T00:00:00Z,1\na,2026-11-18T00:00:01Z,3\n"
        Path("landing/order/a.csv").write_text(rows)
        for command in ("run", "status", "marts", "report", "explain"):
            said = fencepost(command)
            assert said.code == 0, (command, said.err)
        assert fencepost("check", "--no-contracts").code == 0
        assert "2 tuples" in fencepost("report").out


def test_each_feed_is_shown_as_what_it_is(page_file):
    feeds = {feed["name"]: feed for feed in data(page_file)["feeds"]}
    assert "map" in feeds["locations"]
    assert feeds["ticks"]["chart"]["axes"] == ["price", "volume"]
    assert not {"map", "chart"} & set(feeds["idle"])
    assert [row["reason"] for row in feeds["ticks"]["quarantine"]] == ["malformed"]
    low = next(rule for rule in feeds["ticks"]["chart"]["rules"] if rule["id"] == "low")
    assert low["boxes"] == [[None, 10, None, None]]


def test_oracle_a_region_holds_whom_a_plain_walk_finds_inside(page_file):
    told = data(page_file)["feeds"][0]["map"]
    steps, width = told["steps"], (told["end"] - told["begin"]) / told["steps"] / 1e6
    assert {rule["id"] for rule in told["rules"]} == set(REGIONS)
    for rule in told["rules"]:
        counted = levels(rule["held"], steps)
        for place in range(0, steps + 1, 7):
            second = int(place * width + 1e-9)
            assert counted[place] == held(rule["id"], second), (rule["id"], place)
    assert sum(told["so_far"]["I"]) + sum(told["so_far"]["O"]) == len(told["marks"]["type"])


def test_a_partition_is_what_its_deliveries_brought(project):
    said = report(project, "--partition", "2026-11-18T01", "-o", "late.html")
    assert said.code == 0
    told = data(project / "late.html")
    assert told["asked"] == "partition 2026-11-18T01"
    begin = told["feeds"][0]["begin"] // 1_000_000 % 86_400
    assert begin == SECONDS // 2
    assert [feed["tuples"] for feed in told["feeds"]] == [180, 60, 0]
    assert [row["rows"] for row in told["feeds"][1]["quarantine"]] == []
    assert [group["first"] for group in told["feeds"][0]["state"]["groups"]] == [2]


def test_who_was_inside_before_the_range_began_is_inside_in_it(project):
    report(project, "--since", "2026-11-18T00:01:10Z", "-o", "part.html")
    told = data(project / "part.html")["feeds"][0]["map"]
    for rule in told["rules"]:
        assert levels(rule["held"], told["steps"])[0] == held(rule["id"], 70)


@pytest.mark.fault(40)
def test_times_are_half_open(project):
    bounds = ("--since", "2026-11-18T00:00:10Z", "--until", "2026-11-18T00:00:20Z")
    said = report(project, *bounds, "--feed", "ticks", "--json", "-o", "ten.html")
    assert json.loads(said.out)["tuples"] == 10
    assert [feed["name"] for feed in data(project / "ten.html")["feeds"]] == ["ticks"]


def test_a_range_in_which_nothing_happened_gives_a_page_that_says_so(project):
    said = report(project, "--since", "2027-01-01", "-o", "none.html")
    assert said.code == 0
    assert said.out == "none.html: no data in range; the report is empty\n"
    assert all("begin" not in feed for feed in data(project / "none.html")["feeds"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--partition", "2026-11-19"], "there is no partition '2026-11-19' of locations, ticks"),
        (["--partition", "2026-11-18T05"], "there are: 2026-11-18T00 to 2026-11-18T01 (2 of them)"),
        (["--partition", "2026-11-18T05"], "`fencepost partitions FEED` lists them"),
        (["--partition", "yesterday"], "--partition: 'yesterday' was given, where a partition"),
        (["--partition", "2026-11-18T00:30Z"], "is a time, where a partition like 2026-11-18 or"),
        (["--feed", "tics"], "unknown feed 'tics'; there are: locations, ticks, idle.  Did"),
        (["--since", "2026-11-19", "--until", "2026-11-18"], "the range would be empty"),
        (
            ["--since", "2026-11-19", "--partition", "2026-11-18"],
            "cannot be combined",
        ),
        (["-o", "lake"], "lake is a folder, where a file was expected"),
    ],
)
def test_what_cannot_be_reported_is_told_and_nothing_is_written(project, arguments, told):
    before = sorted(project.rglob("*.html"))
    said = report(project, *arguments)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert sorted(project.rglob("*.html")) == before


def crowded(folder: Path, streams: int, second: int) -> Path:
    """A project with so many streams of one tuple each, all at one instant, and no rule."""
    ledger = Ledger(AXES)
    n = ledger.arrive("locations", rows=streams)
    ledger.epoch("locations", 1, [n], watermark=at(second))
    for k in range(streams):
        row = {"stream_id": f"s{k:03}", "ts": at(second), "arrival": n, "line": k}
        ledger.add("locations", **row, x=float(k), y=7.0)
    ledger.written(folder / "lake")
    (folder / "fencepost.toml").write_text(TOML)
    return folder


def test_of_many_streams_some_are_shown_and_the_page_knows_of_how_many(tmp_path):
    project = crowded(tmp_path, STREAMS + 5, 3)
    assert report(project, "-o", "r.html").code == 0
    told = data(project / "r.html")["feeds"][0]["map"]
    assert [track["id"] for track in told["tracks"]] == [f"s{k:03}" for k in range(STREAMS)]
    assert told["of_streams"] == STREAMS + 5


def test_epochs_to_be_evaluated_anew_are_stale_and_those_begun_are_open(tmp_path):
    ledger = Ledger(AXES)
    one, two = ledger.arrive("ticks"), ledger.arrive("ticks")
    ledger.epoch("ticks", 1, [one], watermark=at(10), seconds=None)
    ledger.epoch("ticks", 2, [two], watermark=at(20))
    ledger.epoch("ticks", 1, [one], generation=2, watermark=at(10))
    ledger.epoch("ticks", 2, [two], generation=2, state="planned")
    ledger.written(tmp_path / "lake")
    (tmp_path / "fencepost.toml").write_text(TOML)
    assert report(tmp_path, "-o", "r.html").code == 0
    told = data(tmp_path / "r.html")["feeds"][1]["state"]
    groups = [(each["state"], each["first"], each["generation"]) for each in told["groups"]]
    assert groups == [("open", 2, 2), ("stale", 2, 1), ("done", 1, 2)]
    assert told["stale"] == 1


class TestSeen:
    """The page, in a browser."""

    pytestmark = in_browser

    def test_the_slider_is_moved_and_marks_change(self, chromium, page_file):
        with opened(chromium, page_file.as_uri()) as (page, seen):
            canvas = page.locator("figure.map canvas")
            slider = page.locator("figure.map input[type=range]")
            marks = len(data(page_file)["feeds"][0]["map"]["marks"]["type"])
            assert canvas.get_attribute("data-marks") == str(marks)
            pictures, counts = [], []
            for key in ("Home", "PageUp", "End"):
                slider.press(key)
                page.wait_for_timeout(80)
                counts.append(int(canvas.get_attribute("data-marks")))
                pictures.append(canvas.evaluate("each => each.toDataURL()"))
            assert counts[0] < counts[1] < counts[2] == marks
            assert len(set(pictures)) == 3
            assert slider.get_attribute("aria-valuetext").startswith("2026-11-18 00:01:59")
            assert seen.errors == []
            assert seen.asked == [page_file.as_uri()]

    @pytest.mark.fault(68)
    def test_a_stream_with_markup_in_its_name_is_text(self, chromium, page_file):
        with opened(chromium, page_file.as_uri()) as (page, seen):
            assert page.get_by_text(EVIL).count() >= 1
            assert page.locator("img").count() == 0
            assert seen.errors == []

    def test_it_plays_and_stops_when_the_slider_is_taken(self, chromium, page_file):
        with opened(chromium, page_file.as_uri()) as (page, seen):
            slider = page.locator("figure.map input[type=range]")
            page.get_by_role("button", name="Play the day").click()
            page.wait_for_timeout(700)
            assert 0 < int(slider.input_value()) < 360
            slider.press("End")
            page.wait_for_timeout(80)
            assert slider.input_value() == "360"
            assert seen.errors == []

    def test_a_mark_and_a_region_say_what_they_are(self, chromium, page_file):
        with opened(chromium, page_file.as_uri()) as (page, _):
            canvas = page.locator("figure.map canvas")
            canvas.scroll_into_view_if_needed()
            box = canvas.bounding_box()
            told = set()
            for x in range(4, int(box["width"]) - 100, 6):
                page.mouse.move(box["x"] + x, box["y"] + box["height"] / 2)
                told.add(page.locator("#tip").inner_text().split("\n")[0])
            said = " ".join(told)
            assert "In: " in said
            assert "Out: " in said
            assert any(walker in said for walker in WALKERS) or "gate" in said

    def test_the_wheel_zooms_once_the_map_was_clicked_and_reset_shows_all(
        self, chromium, page_file
    ):
        with opened(chromium, page_file.as_uri()) as (page, _):
            canvas = page.locator("figure.map canvas")
            canvas.scroll_into_view_if_needed()
            whole = canvas.evaluate("each => each.toDataURL()")
            canvas.click(position={"x": 40, "y": 40})
            page.mouse.wheel(0, -300)
            page.wait_for_timeout(120)
            assert canvas.evaluate("each => each.classList.contains('far')")
            page.get_by_role("button", name="Show the whole map").click()
            page.mouse.move(2, 2)
            page.wait_for_timeout(120)
            assert canvas.evaluate("each => each.toDataURL()") == whole

    def test_another_rule_shows_its_own_crossings(self, chromium, page_file):
        with opened(chromium, page_file.as_uri()) as (page, seen):
            canvas = page.locator("figure.chart canvas")
            before = canvas.evaluate("each => each.toDataURL()")
            page.get_by_label("Rule").select_option(index=1)
            page.wait_for_timeout(120)
            assert canvas.evaluate("each => each.toDataURL()") != before
            assert seen.errors == []

    def test_a_single_instant_without_rules_is_a_page_too(self, chromium, tmp_path):
        project = crowded(tmp_path, 3, 3)
        report(project, "-o", "r.html")
        with opened(chromium, (project / "r.html").as_uri()) as (page, seen):
            page.locator("figure.map input[type=range]").press("Home")
            assert page.get_by_text("No rule watches this feed").count() == 1
            assert page.get_by_text("Neither tuples nor crossings yet").count() == 2
            assert seen.errors == []

    @pytest.mark.parametrize("dark", [False, True])
    def test_it_fits_a_phone_and_nothing_jumps(self, chromium, page_file, dark):
        with opened(chromium, page_file.as_uri(), **PHONE, dark=dark) as (page, seen):
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= PHONE["width"]
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, re.findall(r"\d+", paper))) < 200) is dark
            shift = page.evaluate(
                """() => new Promise((done) => {
                    let sum = 0;
                    new PerformanceObserver((list) => {
                        for (const entry of list.getEntries()) sum += entry.value;
                    }).observe({ type: "layout-shift", buffered: true });
                    setTimeout(() => done(sum), 300);
                })"""
            )
            assert shift < 0.02
            page.locator("#theme").click()
            assert page.evaluate("document.documentElement.dataset.theme") == "light"
            assert seen.errors == []
