"""A query is taken as its JSON says, or refused with all that is wrong with it."""

import json
import math

import pytest

from fencepost.errors import Faults, QueryFault
from fencepost.queries import (
    StandingQuery,
    check_query,
    parse_where,
    query_from_json,
    read_queries_jsonl,
)
from fencepost.times import LONGEST, parse_instant

AXES_OF = {"ticks": ("price", "volume"), "locations": ("x", "y", "speed")}
PLAIN = {"id": "q", "feed": "ticks", "where": "price > 5"}


def faults_of(**fields):
    query, faults = check_query({**PLAIN, **fields}, AXES_OF)
    assert (query is None) == bool(faults)
    return [fault.message for fault in faults]


def lines(*queries):
    return [json.dumps(query).encode() + b"\n" for query in queries]


def refused(*raw):
    with pytest.raises(Faults) as caught:
        read_queries_jsonl(raw, "q.jsonl", AXES_OF)
    return caught.value


def test_a_query_is_what_its_fields_say():
    query = query_from_json(
        {
            "id": "depot-7",
            "feed": "locations",
            "kind": "crossing",
            "where": "x BETWEEN 4200 AND 4230 AND y BETWEEN 880 AND 910",
            "streams": ["van 1", "van 2", "van 1"],
            "within": "3m",
            "on_first": "enter",
            "valid_from": "2026-11-18T00:00:00Z",
            "valid_to": "2026-11-19T00:00:00+01:00",
            "owner": "ops",
            "tags": ["a", "a"],
            "note": "the new\ndepot",
        },
        AXES_OF,
    )
    where = "x BETWEEN 4200 AND 4230 AND y BETWEEN 880 AND 910"
    assert query == StandingQuery(
        id="depot-7",
        feed="locations",
        kind="crossing",
        where=where,
        boxes=parse_where(where, AXES_OF["locations"]),
        streams=("van 1", "van 2"),
        within=180_000_000,
        on_first="enter",
        valid_from=parse_instant("2026-11-18T00:00:00Z"),
        valid_to=parse_instant("2026-11-18T23:00:00Z"),
        owner="ops",
        tags=("a", "a"),
        note="the new\ndepot",
        version=1,
    )


def test_what_is_absent_or_null_is_what_semantics_says():
    absent = query_from_json(PLAIN, AXES_OF)
    fields = ("kind", "streams", "within", "on_first", "valid_from", "valid_to", "owner", "tags")
    assert query_from_json({**PLAIN, **dict.fromkeys(fields)}, AXES_OF) == absent
    assert absent == StandingQuery(
        id="q",
        feed="ticks",
        where="price > 5",
        boxes=(((math.nextafter(5, 9), math.inf), (-math.inf, math.inf)),),
    )


@pytest.mark.parametrize(
    "name", ["x", "ü c", "😀", " ", "a/b\\c'\"", "x" * 256, "\u200b", "\u2028"]
)
def test_an_id_is_any_text_of_1_to_256_characters(name):
    assert query_from_json({**PLAIN, "id": name, "streams": [name]}, AXES_OF).id == name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "is empty"),
        ("x" * 257, "has 257 characters; the limit is 256"),
        ("a\tb", "holds a control character, U+0009, as character 2"),
        ("\x00", "holds a control character, U+0000, as character 1"),
        ("ab\x7f", "holds a control character, U+007F, as character 3"),
        ("\x85", "holds a control character, U+0085, as character 1"),
        ("\ud800", "holds half a surrogate pair, U+D800, as character 1"),
    ],
)
def test_any_other_id_is_refused(name, why):
    assert faults_of(id=name) == [f"`id` {why}"]
    assert faults_of(streams=["ok", name]) == [f"stream 2 of `streams` {why}"]
    _, faults = check_query({**PLAIN, "feed": name}, AXES_OF, feeds_may_be_absent=True)
    assert [fault.message for fault in faults] == [f"`feed` {why}"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": None}, "`id` is missing"),
        ({"id": 7}, "`id` must be text, not a number"),
        ({"feed": None}, "`feed` is missing"),
        ({"feed": ["ticks"]}, "`feed` must be text, not a list"),
        ({"feed": "tick"}, "unknown feed 'tick'"),
        ({"kind": "crossings"}, "unknown `kind` 'crossings'"),
        ({"kind": ""}, "unknown `kind` ''"),
        ({"kind": 1}, "`kind` must be text, not a number"),
        ({"where": None}, "`where` is missing"),
        ({"where": True}, "`where` must be text, not true"),
        ({"where": "price >"}, "`price >` ends where a number was expected (column 8)"),
        ({"where": '"\ud800" > 1'}, "`where` holds half a surrogate pair"),
        ({"streams": "AAPL"}, "`streams` must be a list of stream ids, not text"),
        ({"streams": []}, "`streams` is an empty list"),
        ({"streams": ["AAPL", None]}, "stream 2 of `streams` must be text, not null"),
        ({"within": 180}, "`within` must be text, not a number"),
        ({"within": "3 minutes"}, "`within`: '3 minutes' is not a duration like"),
        ({"within": "-3m"}, "`within`: '-3m' is not a duration like"),
        ({"within": "500000d"}, "`within`: '500000d' is longer than 400 years"),
        ({"on_first": "Enter"}, "`on_first` is 'Enter': 'silent' or 'enter' was expected"),
        ({"on_first": ""}, "`on_first` is '': 'silent' or 'enter' was expected"),
        ({"on_first": False}, "`on_first` must be text, not false"),
        ({"valid_from": "2026-11-18"}, "`valid_from`: '2026-11-18' is not an instant like"),
        ({"valid_to": "2026-11-18T00:00:00"}, "`valid_to`: '2026-11-18T00:00:00' has no offset"),
        ({"valid_to": 1795010531}, "`valid_to` must be text, not a number"),
        ({"owner": {}}, "`owner` must be text, not an object"),
        ({"note": "\udfff"}, "`note` holds half a surrogate pair"),
        ({"tags": "a"}, "`tags` must be a list of texts, not text"),
        ({"tags": ["a", 1]}, "tag 2 of `tags` must be text, not a number"),
        ({"tags": ["\ud800"]}, "tag 1 of `tags` holds half a surrogate pair"),
        ({"whre": "ALL"}, "unknown field `whre`"),
        ({"version": 2}, "unknown field `version`"),
    ],
)
def test_a_field_that_is_not_what_semantics_says_is_one_fault_that_names_it(fields, message):
    (fault,) = faults_of(**fields)
    assert fault.startswith(message)
    with pytest.raises(QueryFault) as caught:
        query_from_json({**PLAIN, **fields}, AXES_OF)
    assert caught.value.message == fault


def test_a_validity_ends_after_it_begins():
    noon, later = "2026-11-18T12:00:00Z", "2026-11-18T13:00:00+01:00"
    assert faults_of(valid_from=noon, valid_to=later) == [
        f"`valid_from` '{noon}' is not before `valid_to` '{later}'"
    ]
    assert faults_of(valid_from=noon, valid_to="2026-11-18T12:00:00.000001Z") == []


def test_the_longest_within_is_taken():
    assert query_from_json({**PLAIN, "within": "146097d"}, AXES_OF).within == LONGEST
    assert query_from_json({**PLAIN, "within": "0s"}, AXES_OF).within == 0


def test_hints_say_what_was_probably_meant():
    def hint(**fields):
        _, (fault,) = check_query({**PLAIN, **fields}, AXES_OF)
        return fault.hint

    assert hint(feed="tick") == "the feeds are: ticks, locations.  Did you mean 'ticks'?"
    assert hint(whre="x") == "Did you mean 'where'?"
    assert hint(zzz="x").startswith("a query has: id, feed, kind, where")
    assert hint(where="prize > 1") == "the feed 'ticks' has: price, volume.  Did you mean 'price'?"
    assert hint(kind="corssing").endswith("Did you mean 'crossing'?")


def test_all_faults_of_a_query_are_told_at_once():
    query, faults = check_query(
        {"feed": "tick", "where": "price >", "within": "x", "on_first": 1, "tags": 1}, AXES_OF
    )
    assert query is None
    assert [fault.message.split()[0] for fault in faults] == [
        *("`id`", "unknown", "`price", "`within`:", "`on_first`", "`tags`")
    ]


@pytest.mark.parametrize("obj", [None, 7, "q", [PLAIN], True, 1.5])
def test_a_query_is_an_object(obj):
    query, (fault,) = check_query(obj, AXES_OF)
    assert query is None
    assert fault.message.startswith("a query is a JSON object, not ")


def test_what_only_joins_have_is_no_field_of_a_query_of_one_feed():
    only = "only joins have it: `kind` is `window_join` or `band_join` or `near_join`"
    for field in ("left", "right", "on", "window", "between"):
        _, (fault,) = check_query({**PLAIN, field: "x"}, AXES_OF)
        assert (fault.message, fault.hint) == (f"unknown field `{field}`", only)


def test_of_an_unknown_kind_its_fields_are_not_told_too():
    _, (fault,) = check_query({"id": "j", "kind": "window_jion", "left": "a", "on": ""}, AXES_OF)
    assert fault.hint is not None
    assert fault.hint.endswith("Did you mean 'window_join'?")


def test_where_feeds_may_be_absent_the_syntax_counts_and_the_boxes_wait():
    other = {"id": "q", "feed": "orders", "where": 'limit > 5 AND "n o" < 2'}
    query, faults = check_query(other, AXES_OF, feeds_may_be_absent=True)
    assert faults == []
    assert isinstance(query, StandingQuery)
    assert (query.boxes, query.where) == ((), 'limit > 5 AND "n o" < 2')
    _, (fault,) = check_query({**other, "where": "limit >"}, {}, feeds_may_be_absent=True)
    assert fault.column == 8
    known, _ = check_query(PLAIN, AXES_OF, feeds_may_be_absent=True)
    assert known == query_from_json(PLAIN, AXES_OF)


def test_lines_are_queries_in_their_order():
    raw = [b"\xef\xbb\xbf" + lines(PLAIN)[0], b"\r\n", b"  \n", *lines({**PLAIN, "id": "ü"})]
    assert [q.id for q in read_queries_jsonl(raw, "q.jsonl", AXES_OF)] == ["q", "ü"]
    assert read_queries_jsonl([], "q.jsonl", AXES_OF) == []


def test_every_bad_line_is_told_with_its_place():
    first, *_ = lines(PLAIN)
    error = refused(
        first,
        b'{"id": "a", "feed": "ticks", "where": "prize >= 231.5"}',
        b'{"id": "b", "feed": "ticks", "where": "price > 1"',
        b'{"id": "c", "feed": "ticks", "where": "price > 1", "within": "x", "on_first": "y"}',
        b'{"id": "d\xff"}',
        b"[1]",
    )
    assert [(f.line, f.column) for f in error.faults] == [
        *((2, 1), (3, 50), (4, None), (4, None), (5, 10), (6, None))
    ]
    assert str(error).splitlines()[:4] == [
        "q.jsonl:2: unknown axis 'prize' in `where` at column 1",
        "    prize >= 231.5",
        "    ^^^^^",
        "    the feed 'ticks' has: price, volume.  Did you mean 'price'?",
    ]
    assert str(error).endswith("6 faults, nothing imported.")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{", "not JSON: expecting property name enclosed in double quotes at column 2"),
        (b'{"id": "q"} x', "not JSON: extra data at column 13"),
        (b"{'id': 1}", "not JSON: expecting property name"),
        (b'{"id": "a\tb"}', "not JSON: invalid control character"),
        (b'{"id": "a", "id": "a"}', "the key `id` occurs twice in one object"),
        (b'{"owner": {"a": 1, "a": 2}}', "the key `a` occurs twice in one object"),
        (b'{"id": NaN}', "not JSON: `NaN` is no number of JSON"),
        (b'{"id": -Infinity}', "not JSON: `-Infinity` is no number of JSON"),
        (b'{"id": "\xe9"}', "not UTF-8: byte 0xE9 at column 9"),
        (b"[" * 100_000, "not a query: lists and objects nest too deeply"),
        (b'{"id": ' + b"9" * 5000 + b"}", "not a query: a number has more digits"),
        (b'"q"', "a query is a JSON object, not text"),
    ],
)
def test_a_line_that_is_no_strict_json_object_is_refused(raw, message):
    (fault,) = refused(raw).faults
    assert fault.message.startswith(message)
    assert fault.line == 1


def test_an_id_stands_once_whatever_the_feed():
    other = {"id": "q", "feed": "locations", "where": "x > 1"}
    error = refused(*lines(PLAIN, {**PLAIN, "id": "r"}, other, {**PLAIN, "where": ""}))
    assert [(f.line, f.message) for f in error.faults] == [
        (3, "the id 'q' occurs twice: in lines 1 and 3"),
        (4, "`where` is empty"),
        (4, "the id 'q' occurs twice: in lines 1 and 4"),
    ]


def test_a_message_can_be_printed_whatever_the_input_holds():
    error = refused(b'{"id": "q", "feed": "\\ud800", "\\udc00\\n": 1, "where": "\\n\\u0000 > 1"}')
    assert str(error).encode()


# ── matches ───────────────────────────────────────────────────────────────────────────────────────

MATCH = {"id": "m", "feed": "ticks", "kind": "match", "where": "price > volume AND volume > 5"}


def test_a_match_is_its_boxes_and_the_tests_beside_them():
    query = query_from_json(
        {**MATCH, "streams": ["a"], "valid_from": "2026-11-18T00:00:00Z"}, AXES_OF
    )
    assert (query.kind, query.streams, query.within, query.on_first) == (
        "match", ("a",), None, "silent"
    )  # fmt: skip
    assert query.tests == (((1, "<", 0),),)
    low = math.nextafter(5.0, math.inf)
    assert query.boxes == (((low, math.inf), (low, math.inf)),)


def test_a_match_without_tests_has_none_and_a_crossing_never_has():
    assert query_from_json({**MATCH, "where": "price > 1 OR volume > 1"}, AXES_OF).tests == ()
    assert query_from_json({**MATCH, "kind": "crossing", "where": "price > 1"}, AXES_OF).tests == ()
    _, (fault,) = check_query({**MATCH, "kind": "crossing"}, AXES_OF)
    assert fault.hint == "only `match` queries compare two axes"


@pytest.mark.parametrize("field", [{"within": "3m"}, {"on_first": "silent"}, {"on_first": "enter"}])
def test_a_match_has_nothing_of_crossings(field):
    query, (fault,) = check_query({**MATCH, **field}, AXES_OF)
    assert query is None
    assert fault.message == f"a `match` has no `{next(iter(field))}`"
    assert "it matches each tuple alone" in (fault.hint or "")
    assert check_query({**MATCH, next(iter(field)): None}, AXES_OF)[1] == []


def test_the_syntax_of_a_match_of_an_absent_feed_is_checked():
    elsewhere = {**MATCH, "feed": "elsewhere", "where": "p > q"}
    query, faults = check_query(elsewhere, AXES_OF, feeds_may_be_absent=True)
    assert isinstance(query, StandingQuery)
    assert (faults, query.boxes) == ([], ())
    _, (fault,) = check_query({**elsewhere, "kind": None}, AXES_OF, feeds_may_be_absent=True)
    assert "a number was expected" in fault.message
