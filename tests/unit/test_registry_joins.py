"""Joins stand in the registry beside all others: their texts are kept, and their sets made anew."""

import json
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.queries import check_query, parted, read_queries_jsonl
from fencepost.queries.joins import FOREVER, JoinQuery
from pipelines.registry.cache import compiled_joins, joins_fingerprint
from pipelines.registry.joins import join_sets, joins_of, lanes
from pipelines.registry.listing import QueryFilter, describe, list_queries
from pipelines.registry.queries import rows_of_each, standing
from pipelines.registry.query_files import read_given
from pipelines.registry.text import condition_text, json_lines
from pipelines.serve.views.duckdb import duckdb_session
from tests.support.commands.files import written
from tests.support.lakes.join_rules import (
    LANE,
    MINUTE,
    TURNED,
    band,
    sets,
    window,
    without_none,
)
from tests.support.lakes.registry_lake import AXES, Lake, Row, query, said


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake.new(tmp_path)


# ── what stands ───────────────────────────────────────────────────────────────────────────────────


def test_each_kind_is_a_set_of_its_lane_beside_the_queries_of_one_feed(lake):
    lake.put(query("q"), window("w", where="left.price > 5"), band("b"))
    lake.put(window("t", left="locations", right="ticks", on="left.x < right.price", window=7))
    windows, bands, _ = sets(lake)
    assert (windows.lane, windows.axes) == (LANE, (AXES["ticks"], AXES["locations"]))
    assert (windows.ids.to_pylist(), bands.ids.to_pylist()) == (["w"], ["b"])
    assert (windows.window.tolist(), windows.last.tolist()) == ([5 * MINUTE], [FOREVER])
    assert windows.tests.tolist() == [[2, 1, 0]]
    assert windows.lo[0].tolist() == [np.nextafter(5, inf)]
    assert (bands.low.tolist(), bands.high.tolist()) == ([-0.5], [0.5])
    turned, none, _ = join_sets(lake.store, lake.settings, TURNED)
    assert (turned.ids.to_pylist(), len(none)) == (["t"], 0)
    assert (turned.window.tolist(), turned.last.tolist()) == ([FOREVER], [7])
    assert lake.set().ids.to_pylist() == ["q"]
    assert lake.ids() == ["b", "q", "w", "t"]


def test_a_join_takes_tuples_from_the_registry_on_in_which_its_version_began(lake):
    lake.put(window("a"), window("b"), band("c"))
    lake.put(window("d"), window("a", note="edited"))
    lake.put(window("b", window="6m"), band("c", owner="ada"))
    lake.put(band("c", between=[0, 1]), window("a", tags=["t"]))
    windows, bands, _ = sets(lake)
    assert windows.ids.to_pylist() == ["a", "d", "b"]
    assert windows.registered.tolist() == [1, 2, 3]
    assert windows.versions.tolist() == [1, 1, 2]
    assert (bands.registered.tolist(), bands.versions.tolist()) == ([4], [2])
    windows, bands, _ = sets(lake, 2)
    assert windows.ids.to_pylist() == ["a", "b", "d"]
    assert windows.registered.tolist() == [1, 1, 2]
    assert bands.registered.tolist() == [1]


def test_a_join_registered_again_after_its_removal_begins_then(lake):
    lake.put(window("w"))
    lake.put(gone=("w",))
    assert len(sets(lake)[0]) == 0
    lake.put(window("w"))
    windows, _, _ = sets(lake)
    assert (windows.registered.tolist(), windows.versions.tolist()) == ([3], [2])


def test_an_id_may_change_its_kind_and_its_lane(lake):
    lake.put(window("j"), query("q"))
    lake.put(band("j"))
    assert [len(each) for each in sets(lake)] == [0, 1, 0]
    assert [len(each) for each in sets(lake, 1)] == [1, 0, 0]
    lake.put(query("j"), window("q"))
    windows, bands, _ = sets(lake)
    assert (windows.ids.to_pylist(), windows.registered.tolist(), len(bands)) == (["q"], [3], 0)
    assert lake.set().ids.to_pylist() == ["j"]


def test_a_lane_stays_one_when_its_last_join_is_gone(lake):
    assert lanes(lake.store) == []
    lake.put(query("q"), window("t", left="locations", right="ticks", on="ALL"))
    assert lanes(lake.store) == [TURNED]
    lake.put(window("w"), band("b"), gone=("t",))
    assert lanes(lake.store) == [TURNED, LANE]
    lake.put(gone=("w", "b"))
    assert lanes(lake.store) == [TURNED, LANE]


# ── what is a new version ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "other",
    [
        window(on="left.price > right.x"),
        window(on="left.price >= right.x + 1"),
        window(where="left.price > 6"),
        window(where=None),
        window(window="6m"),
        window(window=300),
        window(valid_to="2027-01-01T00:00:00Z"),
        window(left="locations", right="ticks", on="right.price >= left.x", where=None),
        band("w", where=None),
        query("w"),
    ],
)
def test_a_change_of_what_a_window_join_pairs_is_the_next_version(lake, other):
    lake.put({"where": "left.price > 5", "note": "n"} | window(), query("stays"))
    changed = {"where": "left.price > 5", "note": "n"} | other
    assert said(lake.put(changed)) == {"changed": 1}
    (row,) = [row for row in lake.standing() if row["id"] == "w"]
    assert row["version"] == 2
    assert said(lake.put(changed)) == {"unchanged": 1}


@pytest.mark.parametrize(
    "other",
    [
        {"between": [-0.5, 0.6]},
        {"between": [None, 0.5]},
        {"left": "ticks.volume"},
        {"right": "locations.y"},
    ],
)
def test_a_change_of_a_band_or_of_its_axes_is_the_next_version(lake, other):
    lake.put(band(note="n"))
    assert said(lake.put(band(note="n") | other)) == {"changed": 1}
    assert said(lake.put(band(note="n") | other)) == {"unchanged": 1}


@pytest.mark.parametrize(
    "other",
    [
        {"owner": "ada"},
        {"tags": ["t"]},
        {"note": "n"},
        {"on": "right.x <= left.price"},
        {"on": "NOT (left.price < right.x)"},
        {"where": "5 < left.price"},
    ],
)
def test_free_words_and_the_spelling_of_a_condition_are_an_edit_of_the_same_version(lake, other):
    lake.put(window(where="left.price > 5"))
    before = joins_fingerprint(compiled_joins(lake.store, lake.settings, LANE, 1))
    assert said(lake.put(window(where="left.price > 5") | other)) == {"edited": 1}
    assert said(lake.put(window(where="left.price > 5") | other)) == {"unchanged": 1}
    (row,) = lake.standing()
    assert row["version"] == 1
    assert joins_fingerprint(compiled_joins(lake.store, lake.settings, LANE, 2)) == before


# ── words ─────────────────────────────────────────────────────────────────────────────────────────

ALL_WORDS = [
    window(
        "w1",
        where="left.price > 5 OR right.y < 2",
        valid_from="2026-01-01T00:00:00Z",
        valid_to="2027-01-01T00:00:00.5Z",
        owner="ada",
        tags=["x", "y"],
        note="the\nnote",
    ),
    window("w2", window=1000),
    window("w3", window="0s", on='left."price" BETWEEN right.x - 1e-3 AND right.x +1'),
    band("b1", note="n", owner="o", tags=["t"]),
    band("b2", between=[None, 0.1]),
    band("b3", between=[2.0**60, 1e300]),
    band("b4", between=[None, None]),
    query("q", feed="ticks"),
]


def test_what_is_exported_is_what_was_given_and_imports_to_the_same(lake, tmp_path):
    lake.put(*ALL_WORDS)
    lines = list(json_lines(standing(lake.store), AXES))
    given = {row["id"]: without_none(row) for row in ALL_WORDS}
    assert {line["id"]: line for line in map(json.loads, lines)} == given
    file = written(tmp_path, "out.jsonl", "".join(f"{line}\n" for line in lines))
    again = lake.register(read_given([str(file)], AXES, None))
    assert said(again) == {"unchanged": len(ALL_WORDS)}


@st.composite
def several_joins(draw: st.DrawFn) -> list[JoinQuery]:
    ends = st.none() | st.floats(allow_nan=False, allow_infinity=False)
    found = []
    for n in range(draw(st.integers(0, 4))):
        low, high = draw(ends), draw(ends)
        if low is not None and high is not None and low > high:
            low, high = high, low
        plus = draw(st.floats(-(2.0**53), 2.0**53))
        of_windows: Row = {
            "on": f"left.price < right.x + {plus!r}".replace("+ -", "-"),
            "where": draw(st.none() | st.just("right.y >= 0")),
            "window": draw(st.integers(1, 2**53) | st.sampled_from(["0s", "1us", "400d"])),
        }
        kind = draw(st.booleans())
        row = window(f"j{n}", **of_windows) if kind else band(f"j{n}", between=[low, high])
        joined, faults = check_query(without_none(row), AXES)
        assert faults == []
        assert isinstance(joined, JoinQuery)
        found.append(joined)
    return found


@given(several_joins())
def test_joins_become_rows_and_lines_and_come_back_to_the_bit(joins):
    rows = rows_of_each(joins)
    assert joins_of(rows, AXES) == joins
    lines = [line.encode() for line in json_lines(rows, AXES)]
    watching, read = parted(read_queries_jsonl(lines, "exported", AXES))
    assert (watching, read) == ([], joins)


def test_a_list_says_what_each_join_asks_for(lake):
    lake.put(query("q"), window("w", where="left.price > 5", window=1000), band(between=[None, 1]))
    shown = list_queries(lake.store, QueryFilter(), AXES, 0, in_json=False)
    pairs = "ticks~locations"
    assert [" ".join(line.split()) for line in shown] == [
        "id version kind feed where streams within window owner tags",
        "q 1 crossing ticks price >= 2 AND price < 5 all",
        f"b 1 band_join {pairs} ticks.price - locations.x <= 1.0 all",
        f"w 1 window_join {pairs} ON left.price >= right.x WHERE left.price > 5 all 1,000 tuples",
    ]
    for feed, ids in (("ticks", ["q", "b", "w"]), ("locations", ["b", "w"])):
        mine = list_queries(lake.store, QueryFilter(feed), AXES, 0, in_json=False)
        assert [line.split()[0] for line in mine[1:]] == ids
    only = list_queries(lake.store, QueryFilter(kind="band_join"), AXES, 0, in_json=False)
    assert len(only) == 2
    plain = list_queries(lake.store, QueryFilter(kind="crossing"), AXES, 0, in_json=False)
    assert "window" not in plain[0]


@pytest.mark.parametrize(
    ("between", "words"),
    [
        ([-0.5, 0.5], "ticks.price - locations.x BETWEEN -0.5 AND 0.5"),
        ([1, None], "ticks.price - locations.x >= 1.0"),
        ([None, 1], "ticks.price - locations.x <= 1.0"),
        ([None, None], "ticks.price - locations.x is any"),
    ],
)
def test_a_band_is_said_as_its_ends_are(lake, between, words):
    lake.put(band(between=between))
    (row,) = lake.standing()
    assert condition_text(row, AXES) == words


def test_a_join_is_shown_with_its_past_and_its_json(lake):
    lake.put(window("w", where="left.price > 5"))
    lake.put(window("w", where="left.price > 6", window=3))
    lines = describe(lake.store, "w", AXES, in_json=False)
    assert lines[0] == "w  version 2, active"
    assert [line.split(maxsplit=1) for line in lines[2:7]] == [
        ["kind", "window_join"],
        ["lane", LANE],
        ["on", "left.price >= right.x"],
        ["where", "left.price > 6"],
        ["window", "3 tuples"],
    ]
    assert any(line.endswith("changed: where, window") for line in lines)
    assert json.loads(lines[-1]) == without_none(window("w", where="left.price > 6", window=3))
    as_json = json.loads(describe(lake.store, "w", AXES, in_json=True)[0])
    assert (as_json["version"], as_json["left"], len(as_json["history"])) == (2, "ticks", 2)
    lake.put(band("b"))
    lake.put(band("b", between=[0, 1], right="locations.y"))
    lines = describe(lake.store, "b", AXES, in_json=False)
    assert "  band        ticks.price - locations.y BETWEEN 0.0 AND 1.0" in lines
    assert any(line.endswith("changed: right, between") for line in lines)


def test_views_tell_joins_by_their_own_columns(lake):
    lake.put(query("q"), window("w"), window("n", window=7), band("b", between=[None, 0.5]))
    lake.put(band("b", between=[0.25, None]))
    with duckdb_session(lake.root, lake.settings.tables) as session:
        rows = session.execute(
            "SELECT id, kind, feed, joined_on, window_us, window_count, left_axis, at_least, "
            "at_most FROM queries ORDER BY id"
        ).fetchall()
        ended = session.execute(
            "SELECT version, at_most, until_registry_version FROM query_versions WHERE id = 'b'"
        ).fetchall()
    on = "left.price >= right.x"
    assert rows == [
        ("b", "band_join", LANE, None, None, None, "price", 0.25, None),
        ("n", "window_join", LANE, on, None, 7, None, None, None),
        ("q", "crossing", "ticks", None, None, None, None, None, None),
        ("w", "window_join", LANE, on, 5 * MINUTE, None, None, None, None),
    ]
    assert sorted(ended) == [(1, 0.5, 2), (2, None, None)]
