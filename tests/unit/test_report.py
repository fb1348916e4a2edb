"""The pieces of a report: what is asked for, what is thinned, and that no text becomes markup."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InputError
from fencepost.position import Position
from pipelines.project.settings import Feed, Settings
from pipelines.serve.report import default_path
from pipelines.serve.report.moves import place_of
from pipelines.serve.report.page import SCRIPTS, as_block, named, page, part
from pipelines.serve.report.scope import Range, within
from pipelines.serve.report.thin import FAR, Scale, differences, main_part, short, without_rests

DAY = Range.of("2026-11-17", "2026-11-18")


@pytest.mark.parametrize(
    ("key", "held"),
    [
        ("2026-11-16", False),
        ("2026-11-16T23", False),
        ("2026-11-17", True),
        ("2026-11-17T00", True),
        ("2026-11-18T23", True),
        ("2026-11-18", True),
        ("2026-11-19T00", False),
    ],
)
def test_a_range_of_days_holds_their_hours_first_and_last_included(key, held):
    assert DAY.holds_key(key) is held


def test_an_hour_is_of_its_day_where_a_feed_has_days():
    assert Range.of("2026-11-17T09", "2026-11-17T10").holds_key("2026-11-17")
    assert not Range.of("2026-11-17T09", "2026-11-17T10").holds_key("2026-11-18")


def test_a_time_bounds_what_happened_and_no_partition():
    asked = Range.of("1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z")
    assert asked.holds_key("2026-11-17")
    assert asked.times == "t.ts >= make_timestamptz(1000000) AND t.ts < make_timestamptz(2000000)"
    assert asked.holds_some(None, 1_000_000)
    assert not asked.holds_some(0, 999_999)
    assert not asked.holds_some(2_000_000, 3_000_000)


@pytest.mark.parametrize(
    ("since", "until", "told"),
    [
        ("2026-11-18", "2026-11-17", "the range would be empty"),
        ("2026-11-18T09Z", None, "a partition like 2026-11-18 or 2026-11-18T09, or a time"),
        ("2026-02-30", None, "'2026-02-30' is not a day or hour of the calendar"),
        (None, "2026-11-18T24", "'2026-11-18T24' is not a day or hour of the calendar"),
        ("2026-11-18T09:00Z", "2026-11-18T09:00Z", "the range would be empty"),
        ("'; DROP TABLE events; --", None, "where a partition like"),
    ],
)
def test_a_bound_that_is_none_is_refused_with_what_was_expected(since, until, told):
    with pytest.raises(InputError, match=re.escape(told)):
        Range.of(since, until)


@pytest.mark.parametrize(
    ("bounds", "name"),
    [
        ((None, None, None), "town.html"),
        ((None, None, "2026-11-18T09"), "town-2026-11-18T09.html"),
        (("2026-11-17", "2026-11-18", None), "town-2026-11-17--2026-11-18.html"),
        (("2026-11-18T09:30Z", None, None), "town-2026-11-18T093000Z.html"),
        ((None, "2026-11-18", None), "town-until-2026-11-18.html"),
    ],
)
def test_a_report_s_name_tells_its_lake_and_its_range(bounds, name):
    settings = Settings(Path("/p/town/fencepost.toml"), Path("/p/town/lake"), {})
    assert default_path(settings, *bounds) == Path("/p/town/reports") / name


@given(st.lists(st.integers(0, 60)))
def test_runs_of_numbers_say_exactly_those_numbers(numbers):
    said = within("n", numbers)
    runs = [(int(a), int(b)) for a, b in re.findall(r"BETWEEN (\d+) AND (\d+)", said)]
    assert {n for a, b in runs for n in range(a, b + 1)} == set(numbers)
    assert (said == "FALSE") is (not numbers)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_what_is_placed_lies_within_one_part_of_its_value(values):
    given_ = np.array(values)
    span = Scale.of(given_, 1024)
    placed = span.placed(given_)
    width = span.high / 2 - span.low / 2
    back = span.low / 2 + placed / 1024 * width
    assert np.all(np.abs(placed) <= FAR)
    assert np.all(np.abs(back - given_ / 2) <= width / 1024 + np.abs(given_) * 1e-12)
    assert np.cumsum(differences(placed)).tolist() == placed.tolist()


def test_of_a_rest_the_first_and_the_last_point_stay():
    stream = np.array([0, 0, 0, 0, 1, 1, 1])
    x = np.array([5, 5, 5, 5, 5, 5, 6])
    keep = without_rests(stream, x, np.zeros(7, np.int64))
    assert keep.tolist() == [True, False, False, True, True, True, True]
    assert without_rests(stream[:1], x[:1], x[:1]).tolist() == [True]


def test_a_few_values_far_off_do_not_make_a_map_small():
    crowd = np.linspace(0, 10, 10_000)
    low, high = main_part(np.append(crowd, 1e300))
    assert 0 <= low < high <= 10.1
    assert main_part(crowd) == (0.0, 10.0)


def test_numbers_are_short_and_an_open_end_is_null():
    assert [short(v) for v in (1.0, 0.1 + 0.2, float("inf"), 1e300)] == [1, 0.3, None, 1e300]


def test_a_feed_with_places_is_a_map():
    def place(*axes: str, position: tuple[str, ...] = ()) -> Position | None:
        return place_of(Feed("f", axes, Path(), position=position))

    assert place("speed", "y", "x") == Position((2, 1), earth=False)
    assert place("latitude", "longitude") == Position((1, 0), earth=True)
    assert place("price", "x") is None
    declared = place("north", "x", "y", "east", position=("east", "north"))
    assert declared == Position((3, 0), earth=False)


@given(st.text())
@pytest.mark.fault(68)
def test_no_text_ends_the_block_that_it_stands_in(text):
    block = as_block({"id": text, text: ["</script>", "\u2028"]})
    assert not re.search("[<>&\u2028\u2029]", block)
    assert json.loads(block) == {"id": text, text: ["</script>", "\u2028"]}


def test_the_policy_allows_this_style_and_this_script_and_nothing_else():
    said = page({"lake": "a <lake>", "feeds": []})
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', said)
    style = re.search(r"<style>(.*?)</style>", said, re.DOTALL)
    script = re.findall(r"<script>(.*?)</script>", said, re.DOTALL)
    assert policy
    assert style
    assert len(script) == 1
    assert policy[1].split("; ") == [
        "default-src 'none'",
        f"style-src '{named(style[1])}'",
        f"script-src '{named(script[0])}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert "<title>Fencepost report: a &lt;lake&gt;</title>" in said


@pytest.mark.fault(67)
def test_the_page_asks_nobody_for_anything():
    parts = [part(f"{name}.js") for name in SCRIPTS] + [part("page.css"), part("page.html")]
    for asking in (r"https?://", r"\bsrc\s*=", r"url\(", "@import", r"\bfetch\(", "innerHTML"):
        assert not [text for text in parts if re.search(asking, text)], asking
