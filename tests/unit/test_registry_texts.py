"""What the registry writes is read back to the bit, and what it prints moves no cursor."""

import json
import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import LakeError, QueryFault
from fencepost.queries import OPS, parse_match, parse_where
from fencepost.text import escaped
from fencepost.times import EARLIEST, LATEST, LONGEST, parse_duration, parse_instant
from pipelines.registry.text import (
    aligned,
    as_json,
    duration_text,
    instant_text,
    json_line,
    number_text,
    where_text,
)

INF = math.inf
AXES = ("price", "volume")
doubles = st.floats(allow_nan=False).map(lambda x: x + 0.0)
ranges = st.tuples(doubles, doubles).filter(lambda ends: ends[0] < ends[1] > -1.7e308)
boxes = st.lists(st.tuples(ranges, ranges), min_size=1, max_size=4, unique=True)


@given(boxes)
def test_boxes_are_spelled_so_that_they_parse_to_the_same_boxes(drawn):
    lo = [lo for box in drawn for lo, _ in box]
    hi = [hi for box in drawn for _, hi in box]
    assert parse_where(where_text(AXES, lo, hi), AXES) == tuple(drawn)


def test_a_box_without_an_end_is_all():
    assert where_text(AXES, [-INF, -INF], [INF, INF]) == "ALL"
    assert where_text(AXES, [-INF, 2.5], [1e22, INF]) == "price < 1e+22 AND volume >= 2.5"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_back_to_the_bit(value):
    ((box, _),) = parse_where(f"price >= {number_text(value + 0.0)}", AXES)
    assert box == (value + 0.0, INF)


@given(st.integers(0, LONGEST) | st.integers(0, 10**7))
def test_a_duration_is_read_back(us):
    assert parse_duration(duration_text(us)) == us


@given(st.integers(EARLIEST, LATEST - 1) | st.integers(-9999, 9999).map(lambda s: s * 1_000_000))
def test_an_instant_is_read_back(us):
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
    text = instant_text(at)
    assert text is not None
    assert parse_instant(text) == us


def test_what_is_short_is_written_short():
    assert duration_text(0) == "0s"
    assert duration_text(180_000_000) == "3m"
    assert duration_text(5_400_000_001) == "1h30m1us"
    assert instant_text(datetime(2026, 11, 18, 14, tzinfo=UTC)) == "2026-11-18T14:00:00Z"
    assert instant_text(None) is None


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
@pytest.mark.fault(68)
def test_whatever_a_text_holds_it_prints_and_as_json_is_read_back(text):
    line = json_line({"note": text})
    assert json.loads(line) == {"note": text}
    assert line.isprintable()
    assert escaped(text).isprintable()
    assert len(escaped(text, 10)) <= 10


def test_columns_stand_under_one_another():
    table = aligned(("id", "where"), [("a", "x > 1"), ("long", "")])
    assert list(table) == ["id    where", "a     x > 1", "long"]


def test_boxes_of_a_feed_that_is_gone_cannot_be_named():
    named = {"id": "q", "feed": "bonds", "kind": "match", "where": None, "region": None}
    row = {**named, "lo": [1.0], "hi": [2.0]}
    with pytest.raises(LakeError, match=r"'q' watches the feed 'bonds', which is not in"):
        as_json(row, {"ticks": AXES})


@given(
    st.lists(
        st.tuples(ranges, ranges, st.sampled_from(("<", "<=", "=", ">", ">=", None))),
        min_size=1,
        max_size=4,
    )
)
def test_boxes_and_tests_are_spelled_so_that_they_parse_to_the_same(drawn):
    texts = []
    for *box, op in drawn:
        lo, hi = zip(*box, strict=True)
        text = where_text(AXES, lo, hi)
        texts.append(text if op is None else f"{text} AND price {op} volume")
    try:
        boxes, tests = parse_match(" OR ".join(texts), AXES)
    except QueryFault:  # nothing is in any of them
        return
    ends = [end for box in boxes for end in box]
    laid = [
        number
        for box, its in enumerate(tests)
        for left, op, right in its
        for number in (box, left, OPS.index(op), right)
    ]
    text = where_text(AXES, [lo for lo, _ in ends], [hi for _, hi in ends], laid or None)
    assert parse_match(text, AXES) == (boxes, tests)


def test_a_test_stands_behind_the_bounds_of_its_box():
    lo, hi = [-INF, -INF, 1.0, -INF], [INF, INF, INF, 9.0]
    assert (
        where_text(AXES, lo, hi, [0, 1, 0, 0]) == "volume < price OR price >= 1.0 AND volume < 9.0"
    )
    assert where_text(AXES, lo, hi, [1, 0, 2, 1, 1, 1, 1, 0]).endswith(
        "AND volume < 9.0 AND price = volume AND volume <= price"
    )
