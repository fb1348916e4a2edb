"""A join is taken as its JSON says, or refused with all that is wrong with it."""

import json
from collections.abc import Mapping
from dataclasses import fields
from math import inf

import numpy as np
import pytest

from fencepost.errors import Faults, QueryFault
from fencepost.lanes import lane_of, sides_of
from fencepost.queries import (
    StandingQuery,
    check_query,
    parted,
    query_from_json,
    read_queries_jsonl,
)
from fencepost.queries.joins import (
    BandJoins,
    JoinQuery,
    WindowJoins,
)
from fencepost.queries.joins.on import parse_join
from fencepost.queries.joins.regions import SideRegions
from fencepost.queries.region import listed_regions
from fencepost.shapes.shape import Shape
from fencepost.times import SECOND, parse_instant

Row = Mapping[str, object]

AXES_OF = {
    "ticks": ("price", "volume"),
    "orders": ("limit", "volume"),
    "bids": ("price", "a.b"),
    "asks": ("price",),
}
ON = "left.price >= right.limit AND left.volume BETWEEN right.volume - 10 AND right.volume + 10"
WINDOW = {
    "id": "w",
    "kind": "window_join",
    "left": "ticks",
    "right": "orders",
    "on": ON,
    "window": "5m",
}
BAND = {
    "id": "b",
    "kind": "band_join",
    "left": "bids.price",
    "right": "asks.price",
    "between": [-0.5, 0.5],
}


def join(obj: Row) -> JoinQuery:
    query, faults = check_query(obj, AXES_OF)
    assert faults == []
    assert isinstance(query, JoinQuery)
    return query


def faults_of(obj: Row, **fields: object) -> list[QueryFault]:
    query, faults = check_query({**obj, **fields}, AXES_OF)
    assert (query is None) == bool(faults)
    return faults


def test_a_window_join_is_what_its_fields_say():
    query = join(
        {
            **WINDOW,
            "where": "left.price > 5",
            "valid_from": "2026-11-18T00:00:00Z",
            "valid_to": "2026-11-19T00:00:00+01:00",
            "owner": "ops",
            "tags": ["a", "a"],
            "note": "the new\none",
        }
    )
    assert query == JoinQuery(
        id="w",
        kind="window_join",
        left="ticks",
        right="orders",
        on=ON,
        where="left.price > 5",
        conjuncts=parse_join(
            ON, "left.price > 5", ("ticks", "orders"), (AXES_OF["ticks"], AXES_OF["orders"])
        ),
        window=300 * SECOND,
        valid_from=parse_instant("2026-11-18T00:00:00Z"),
        valid_to=parse_instant("2026-11-19T00:00:00+01:00"),
        owner="ops",
        tags=("a", "a"),
        note="the new\none",
    )
    assert query.lane == "ticks~orders" == lane_of("ticks", "orders")
    assert sides_of(query.lane) == ("ticks", "orders")


def test_a_window_is_a_time_in_text_or_a_count_in_digits():
    for window, time, count in (
        ("0s", 0, None),
        ("PT1M", 60 * SECOND, None),
        (1, None, 1),
        (2**53, None, 2**53),
    ):
        query = join({**WINDOW, "window": window})
        assert (query.window, query.last) == (time, count)


def test_a_band_join_is_what_its_fields_say():
    assert join({**BAND, "note": "n"}) == JoinQuery(
        id="b",
        kind="band_join",
        left="bids",
        right="asks",
        left_axis="price",
        right_axis="price",
        low=-0.5,
        high=0.5,
        note="n",
    )


def test_the_axis_is_all_behind_the_first_dot():
    assert join({**BAND, "left": "bids.a.b"}).left_axis == "a.b"


def test_an_open_end_of_a_band_is_null_and_a_band_may_be_one_value():
    for between, ends in (
        ([None, 1], (-inf, 1.0)),
        ([-1, None], (-1.0, inf)),
        ([None, None], (-inf, inf)),
        ([2, 2], (2.0, 2.0)),
        ([-0.0, 0], (0.0, 0.0)),
        ([-(2**60), 2**60], (-(2.0**60), 2.0**60)),
    ):
        query = join({**BAND, "between": between})
        assert (query.low, query.high) == ends
    assert str(join({**BAND, "between": [-0.0, 0]}).low) == "0.0"


def test_an_optional_field_that_is_null_is_absent():
    optional = ("where", "valid_from", "valid_to", "owner", "tags", "note")
    assert join({**WINDOW, **dict.fromkeys(optional)}) == join(WINDOW)
    others = ("feed", "streams", "within", "on_first", "between")
    assert join({**WINDOW, **dict.fromkeys(others)}) == join(WINDOW)
    of_windows = ("feed", "on", "where", "window", "valid_from", "valid_to")
    assert join({**BAND, **dict.fromkeys(of_windows)}) == join(BAND)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": None}, "`id` is missing"),
        ({"left": None}, "`left` is missing"),
        ({"left": 7}, "`left` must be text, not a number"),
        ({"right": "order"}, "unknown feed 'order'"),
        ({"right": "ticks"}, "`left` and `right` are both 'ticks'"),
        ({"on": None}, "`on` is missing"),
        ({"on": 1}, "`on` must be text, not a number"),
        ({"on": "left.price > 5"}, "`left.` or `right.` and an axis was expected at column 14"),
        ({"on": '"\ud800"'}, "`on` holds half a surrogate pair"),
        ({"where": 1}, "`where` must be text, not a number"),
        ({"where": "price > 5"}, "`left.` or `right.` and an axis was expected at column 1"),
        ({"window": None}, "`window` is missing"),
        ({"window": 0}, "`window` is a count: an integer from 1 to 2**53 was expected"),
        ({"window": -5}, "`window` is a count"),
        ({"window": 2**53 + 1}, "`window` is a count"),
        ({"window": 10.0}, "`window` is a count"),
        ({"window": True}, "`window` must be a time or a count, not true"),
        ({"window": []}, "`window` must be a time or a count, not a list"),
        ({"window": "1000"}, "`window`: '1000' is not a duration like"),
        ({"window": "-5m"}, "`window`: '-5m' is not a duration like"),
        ({"window": ""}, "`window`: '' is not a duration like"),
        ({"valid_from": "2026-11-18"}, "`valid_from`: '2026-11-18' is not an instant like"),
        ({"tags": ["a", 1]}, "tag 2 of `tags` must be text, not a number"),
        ({"feed": "ticks"}, "a `window_join` has no `feed`"),
        ({"streams": ["a"]}, "a `window_join` has no `streams`"),
        ({"within": "3m"}, "a `window_join` has no `within`"),
        ({"on_first": "enter"}, "a `window_join` has no `on_first`"),
        ({"between": [0, 1]}, "a `window_join` has no `between`"),
        ({"windw": 5}, "unknown field `windw`"),
    ],
)
def test_a_field_of_a_window_join_that_is_wrong_is_one_fault_that_names_it(fields, message):
    (fault,) = faults_of(WINDOW, **fields)
    assert fault.message.startswith(message)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"left": None}, "`left` is missing"),
        ({"left": "bids"}, "`left` is 'bids': `feed.axis` was expected"),
        ({"left": "bids."}, "`left` is 'bids.': `feed.axis` was expected"),
        ({"left": ""}, "`left` is '': `feed.axis` was expected"),
        ({"left": ".price"}, "the feed of `left` is empty"),
        ({"left": "bid.price"}, "unknown feed 'bid'"),
        ({"left": "bids.prize"}, "unknown axis 'prize' in `left`"),
        ({"right": "bids.price"}, "`left` and `right` are both 'bids'"),
        ({"between": None}, "`between` is missing"),
        ({"between": 5}, "`between` must be a list of two numbers, not a number"),
        ({"between": {}}, "`between` must be a list of two numbers, not an object"),
        ({"between": [1]}, "`between` has 1 members: two were expected"),
        ({"between": [1, 2, 3]}, "`between` has 3 members: two were expected"),
        ({"between": ["1", 2]}, "the lower end of `between` must be a number, not text"),
        ({"between": [1, True]}, "the upper end of `between` must be a number, not true"),
        ({"between": [1, 0.5]}, "`between` is [1.0, 0.5]: put the lower end first"),
        ({"between": [float("nan"), 1]}, "the lower end of `between` is nan"),
        ({"between": [0, inf]}, "the upper end of `between` is inf"),
        ({"between": [0, 2**53 + 1]}, "the upper end of `between`: 9007199254740993 has no"),
        ({"between": [0, 10**400]}, "the upper end of `between`: an integer of 1329 bits"),
        ({"feed": "bids"}, "a `band_join` has no `feed`"),
        ({"streams": ["a"]}, "a `band_join` has no `streams`"),
        ({"on": "ALL"}, "a `band_join` has no `on`"),
        ({"where": "ALL"}, "a `band_join` has no `where`"),
        ({"window": "5m"}, "a `band_join` has no `window`"),
        ({"valid_from": "2026-11-18T00:00:00Z"}, "a `band_join` has no `valid_from`"),
        ({"valid_to": "x"}, "a `band_join` has no `valid_to`"),
        ({"betwen": [0, 1]}, "unknown field `betwen`"),
        ({"kind": "band_joins"}, "unknown `kind` 'band_joins'"),
    ],
)
def test_a_field_of_a_band_join_that_is_wrong_is_one_fault_that_names_it(fields, message):
    (fault,) = faults_of(BAND, **fields)
    assert fault.message.startswith(message)


def test_hints_say_what_was_probably_meant():
    def hint(obj, **fields):
        (fault,) = faults_of(obj, **fields)
        return fault.hint

    assert hint(WINDOW, windw=1) == "Did you mean 'window'?"
    listed = "a query has: id, kind, left, right, on, where, region, window"
    assert hint(WINDOW, zzz=1).startswith(listed)
    assert hint(BAND, zzz=1).endswith("left, right, between, owner, tags, note")
    assert hint(WINDOW, window="1000") == "a count of tuples is a number without quotes"
    assert hint(WINDOW, left="tick").endswith("Did you mean 'ticks'?")
    assert hint(BAND, left="bids.prize") == (
        "the feed 'bids' has: price, a.b.  Did you mean 'price'?"
    )
    assert hint(WINDOW, left="ticks.price") == "name the feed without an axis: 'ticks'"
    assert hint(BAND, between=[0, inf]) == "an open end is null"
    assert (
        hint(BAND, valid_from="x") == "its result is kept up from its registration to its removal"
    )
    assert hint(WINDOW, feed="x") == "a join names its feeds by `left` and `right`"
    assert hint(WINDOW, between=[1, 2]) == "BETWEEN stands in `on`; a `band_join` has `between`"


def test_all_faults_of_a_join_are_told_at_once_with_their_columns():
    faults = faults_of(
        {},
        kind="window_join",
        feed="x",
        left="tick",
        right="orders",
        on="left.price > right.size",
        where="right.limit >",
        window="x",
        tags=1,
    )
    assert [(fault.message.split(" at ")[0], fault.column) for fault in faults] == [
        ("a `window_join` has no `feed`", None),
        ("`id` is missing", None),
        ("unknown feed 'tick'", None),
        ("unknown axis 'size' of right in `on`", 20),
        ("`right.limit >` ends where a number was expected (column 14)", 14),
        ("`window`: 'x' is not a duration like '90s', '3m', '1h30m' or 'PT3M'", None),
        ("`tags` must be a list of texts, not a number", None),
    ]
    assert len(faults_of(BAND, left="bid.price", right="asks.prize", between=[None, "x"])) == 3


def test_where_feeds_may_be_absent_the_syntax_counts_and_the_conjuncts_wait():
    elsewhere = {**WINDOW, "right": "trades", "on": "left.price > right.any + 1"}
    query, faults = check_query(elsewhere, AXES_OF, feeds_may_be_absent=True)
    assert isinstance(query, JoinQuery)
    assert (faults, query.conjuncts, query.lane) == ([], (), "ticks~trades")
    for on, column in (("left.price > right.any *", 24), ("left.prize > right.any", 6)):
        _, (fault,) = check_query({**elsewhere, "on": on}, AXES_OF, feeds_may_be_absent=True)
        assert fault.column == column
    band = {**BAND, "left": "quotes.x", "right": "trades.y"}
    query, faults = check_query(band, {}, feeds_may_be_absent=True)
    assert isinstance(query, JoinQuery)
    assert (faults, query.left_axis, query.right_axis) == ([], "x", "y")
    known, _ = check_query(WINDOW, AXES_OF, feeds_may_be_absent=True)
    assert known == join(WINDOW)


def test_a_join_is_no_query_of_one_feed():
    with pytest.raises(QueryFault, match="`kind` is 'band_join': a query of one feed was expected"):
        query_from_json(BAND, AXES_OF)


def test_lines_hold_queries_of_all_kinds_and_they_are_parted():
    plain = {"id": "q", "feed": "ticks", "where": "price > 1"}
    lines = [json.dumps(each).encode() for each in (BAND, plain, WINDOW)]
    read = read_queries_jsonl(lines, "q.jsonl", AXES_OF)
    assert [query.id for query in read] == ["b", "q", "w"]
    watching, joins = parted(read)
    assert [query.id for query in watching] == ["q"]
    assert [query.id for query in joins] == ["b", "w"]
    assert isinstance(watching[0], StandingQuery)
    with pytest.raises(Faults, match="occurs twice"):
        read_queries_jsonl([*lines, lines[0]], "q.jsonl", AXES_OF)


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ("0, 9007199254740993", "the upper end of `between`: 9007199254740993 has no"),
        ("0, 9007199254740993.0", "the upper end of `between`: '9007199254740993.0' has no"),
        ("-1e999, 0", "the lower end of `between`: '-1e999' overflows"),
        ("NaN, 0", "not JSON: `NaN` is no number of JSON"),
    ],
)
def test_a_number_that_no_double_holds_is_refused_as_it_stands_in_its_line(ends, message):
    line = json.dumps(BAND).replace("-0.5, 0.5", ends).encode()
    with pytest.raises(Faults) as told:
        read_queries_jsonl([line], "q.jsonl", AXES_OF)
    (fault,) = told.value.faults
    assert fault.message.startswith(message)


# ── sets of them ──────────────────────────────────────────────────────────────────────────────────


def test_rows_taken_from_a_set_are_the_set_of_those_queries():
    axes = (AXES_OF["ticks"], AXES_OF["orders"])
    texts = (ON, "left.price < right.limit OR left.price = right.limit + 5", "ALL")
    queries = [join({**WINDOW, "id": f"w{n}", "on": on}) for n, on in enumerate(texts)]
    whole = WindowJoins.from_queries(("ticks", "orders"), axes, queries, [4, 5, 6])
    for rows in ([], [1], [2, 0], [0, 1, 2], [2, 1]):
        chosen = [queries[row] for row in rows]
        registered = [4 + row for row in rows]
        expected = WindowJoins.from_queries(("ticks", "orders"), axes, chosen, registered)
        taken = whole.take(np.array(rows, np.int64))
        same_columns(taken, expected)


def test_rows_taken_from_a_set_of_bands_are_the_set_of_those():
    axes = (AXES_OF["bids"], AXES_OF["asks"])
    queries = [join({**BAND, "id": f"b{n}", "between": [n, None]}) for n in range(3)]
    whole = BandJoins.from_queries(("bids", "asks"), axes, queries, [1, 2, 3])
    expected = BandJoins.from_queries(("bids", "asks"), axes, queries[::-2], [3, 1])
    same_columns(whole.take(np.array([2, 0])), expected)


def listed(regions: SideRegions) -> list[Shape | None]:
    return listed_regions(regions.shape, regions.shapes)


def same_columns(one: WindowJoins | BandJoins, other: WindowJoins | BandJoins) -> None:
    for field in fields(one):
        mine, its = getattr(one, field.name), getattr(other, field.name)
        if field.name == "regions":
            assert [listed(each) for each in mine] == [listed(each) for each in its]
        elif isinstance(mine, np.ndarray):
            assert (mine.shape, mine.dtype) == (its.shape, its.dtype), field.name
            assert mine.tolist() == its.tolist(), field.name
            assert mine.flags.c_contiguous, field.name
        else:
            assert mine == its, field.name
