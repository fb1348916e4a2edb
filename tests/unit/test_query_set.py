"""A query set is a value: whole columns that keep their laws, named by what they hold."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import BrokenIndex, InputError
from fencepost.queries import QuerySet, StandingQuery
from fencepost.times import ALWAYS_FROM, ALWAYS_TO
from tests.support.query_columns import as_lists

INF = math.inf
AXES = ("x", "y")
GRID = (-INF, -1.5, 0.0, 1.0, 2.0, INF)


def query(id="q", **fields):
    boxes = (((1.0, 2.0), (-INF, INF)),)
    return replace(StandingQuery(id=id, feed="f", where="", boxes=boxes), **fields)


def set_of(*queries, axes=AXES):
    return QuerySet.from_queries("f", axes, queries)


def contents(queries):
    """All of a set, as plain Python."""
    arrays = as_lists(queries.columns())
    return queries.feed, queries.axes, arrays


@st.composite
def standing(draw, id):
    ranges = st.sampled_from([(lo, hi) for lo in GRID for hi in GRID if lo < hi])
    boxes = st.lists(st.tuples(*[ranges] * len(AXES)), min_size=1, max_size=3, unique=True)
    names = st.lists(st.sampled_from(("a", "b", "ü c", "x" * 40)), min_size=1, unique=True)
    begin, end = draw(st.none() | st.integers(0, 5)), draw(st.none() | st.integers(6, 9))
    return StandingQuery(
        id=id,
        feed="f",
        where="",
        boxes=tuple(draw(boxes)),
        streams=draw(st.none() | names.map(tuple)),
        streams_like=draw(st.none() | st.just(("a*",)) | names.map(tuple)),
        within=draw(st.none() | st.integers(0, 3)),
        on_first=draw(st.sampled_from(("silent", "enter"))),
        valid_from=begin,
        valid_to=end,
        version=draw(st.integers(1, 3)),
    )


@st.composite
def standings(draw, least=0):
    ids = st.sampled_from(("a", "b", "ab", "x" * 8, "x" * 9, "é", "e\u0301", "ids of many words"))
    names = draw(st.lists(ids, min_size=least, max_size=8, unique=True))
    return [draw(standing(name)) for name in names]


# ── the columns ───────────────────────────────────────────────────────────────────────────────────


def test_a_set_is_the_columns_of_its_queries():
    everywhere = query("everywhere", version=3)
    named = query(
        "named",
        boxes=(((-INF, 5.0), (1.0, 2.0)), ((7.0, INF), (-0.0, 1.0))),
        streams=("b", "a"),
        within=0,
        on_first="enter",
        valid_from=10,
        valid_to=20,
    )
    both = set_of(everywhere, named)
    both.check()
    assert len(both) == 2
    assert both.ids.to_pylist() == ["everywhere", "named"]
    assert both.versions.tolist() == [3, 1]
    assert both.box_ptr.tolist() == [0, 1, 3]
    assert both.lo.tolist() == [[1.0, -INF, 7.0], [-INF, 1.0, 0.0]]
    assert both.hi.tolist() == [[2.0, 5.0, INF], [INF, 2.0, 1.0]]
    assert not np.signbit(both.lo[1, 2])
    assert both.everywhere.tolist() == [True, False]
    assert both.stream_ptr.tolist() == [0, 0, 2]
    assert both.streams.to_pylist() == ["b", "a"]
    assert both.within.tolist() == [-1, 0]
    assert both.enters_on_first.tolist() == [False, True]
    assert both.valid_from.tolist() == [ALWAYS_FROM, 10]
    assert both.valid_to.tolist() == [ALWAYS_TO, 20]
    assert both.nbytes > 100


def test_a_set_may_be_empty():
    none = QuerySet.empty("f", AXES)
    none.check()
    assert (len(none), none.lo.shape, none.box_ptr.tolist()) == (0, (2, 0), [0])
    assert contents(none) == contents(set_of(query()).with_removed(["q"]))
    assert contents(none.with_added(set_of(query()))) == contents(set_of(query()))
    assert contents(QuerySet.from_table("f", AXES, pa.table({"id": pa.array([], pa.string())})))


def test_a_set_never_changes():
    queries = set_of(query())
    with pytest.raises(ValueError, match="read-only"):
        queries.lo[0, 0] = 5.0
    with pytest.raises(AttributeError):
        queries.feed = "g"


def test_a_set_travels():
    queries = set_of(query("a"), query("b", streams=("s",)))
    there = pickle.loads(pickle.dumps(queries))  # noqa: S301
    there.check()
    assert contents(there) == contents(queries)
    assert there.fingerprint == queries.fingerprint


@pytest.mark.parametrize(
    ("queries", "why"),
    [
        ([query(feed="g")], "the query 'q' watches 'g', not 'f'"),
        ([query(boxes=())], "the query 'q' has no boxes: it was read without its feed's axes"),
        ([query(boxes=(((1.0, 2.0),),))], "'q' has boxes over 1 axes, 'f' has 2"),
        ([query(streams=())], "names no stream: None watches all"),
        ([query("a"), query("b"), query("a")], "the feed 'f' is given 'a' twice"),
        ([query(boxes=(((2.0, 2.0), (0.0, 1.0)),))], "the query 'q' has an empty box"),
        ([query("p"), query(boxes=(((math.nan, 2.0), (0.0, 1.0)),))], "'q' has an empty box"),
    ],
)
def test_what_is_no_query_of_the_feed_is_refused(queries, why):
    with pytest.raises(InputError, match=why):
        set_of(*queries)


# ── adding, removing, choosing ────────────────────────────────────────────────────────────────────


@given(standings(), st.data())
def test_oracle_adding_and_removing_are_those_of_a_list(queries, data):
    cut = data.draw(st.integers(0, len(queries)))
    first, more = set_of(*queries[:cut]), set_of(*queries[cut:])
    if data.draw(st.booleans()):
        assert first.fingerprint
    whole = first.with_added(more)
    whole.check()
    assert contents(whole) == contents(set_of(*queries))
    assert whole.fingerprint == set_of(*queries).fingerprint

    gone = set(data.draw(st.lists(st.sampled_from(queries)) if queries else st.just([])))
    left = whole.with_removed(q.id for q in gone)
    left.check()
    kept = set_of(*(q for q in queries if q not in gone))
    assert contents(left) == contents(kept)
    assert left.fingerprint == kept.fingerprint


@given(standings(least=1), st.data())
def test_oracle_chosen_rows_are_those_of_a_list(queries, data):
    order = data.draw(st.permutations(range(len(queries))))
    rows = order[: data.draw(st.integers(0, len(queries)))]
    whole = set_of(*queries)
    some = whole.take(np.array(rows, np.int64))
    some.check()
    assert contents(some) == contents(set_of(*(queries[row] for row in rows)))
    assert whole.rows_of([queries[row].id for row in rows]).tolist() == rows
    assert whole.rows_of(some.ids).tolist() == rows


def test_an_id_that_stands_already_is_not_added_and_one_that_does_not_is_not_removed():
    queries = set_of(*(query(f"q{k}") for k in range(9)))
    with pytest.raises(InputError, match="the feed 'f' has 'q3' already"):
        queries.with_added(set_of(query("q3"), query("new")))
    with pytest.raises(InputError, match="'q0', 'q1', 'q2' and 6 more already"):
        queries.with_added(queries)
    with pytest.raises(InputError, match="the feed 'f' has no 'q9'"):
        queries.with_removed(["q1", "q9"])
    with pytest.raises(InputError, match="of the feed 'f' with the axes y, x cannot join"):
        queries.with_added(set_of(query("new"), axes=("y", "x")))
    with pytest.raises(InputError, match="requested twice"):
        queries.take(np.array([1, 1]))
    for outside in (-1, 9):
        with pytest.raises(InputError, match="requested from 9 queries"):
            queries.take(np.array([outside]))
    assert queries.rows_of(["q5", "q5", "q0"]).tolist() == [5, 5, 0]
    assert queries.with_removed([]) is queries


# ── the fingerprint ───────────────────────────────────────────────────────────────────────────────


@given(standings(), st.randoms(use_true_random=False))
def test_a_fingerprint_has_no_order(queries, random):
    shuffled = [
        replace(
            q,
            boxes=tuple(random.sample(q.boxes, len(q.boxes))),
            streams=q.streams and tuple(random.sample(q.streams, len(q.streams))),
            streams_like=q.streams_like and tuple(reversed(q.streams_like)),
        )
        for q in random.sample(queries, len(queries))
    ]
    assert set_of(*shuffled).fingerprint == set_of(*queries).fingerprint


def test_every_field_counts_in_the_fingerprint():
    base = query("q", streams=("a", "b"), within=5, valid_from=1, valid_to=9)
    (((x_lo, x_hi), (y_lo, y_hi)),) = base.boxes
    others = [
        replace(base, id="r"),
        replace(base, id="q\0"),
        replace(base, version=2),
        replace(base, boxes=(((x_lo, x_hi + 1e-15), (y_lo, y_hi)),)),
        replace(base, boxes=(((x_lo + 1e-15, x_hi), (y_lo, y_hi)),)),
        replace(base, boxes=(((y_lo, y_hi), (x_lo, x_hi)),)),
        replace(base, boxes=(*base.boxes, ((5.0, 6.0), (5.0, 6.0)))),
        replace(base, streams=None),
        replace(base, streams=("a",)),
        replace(base, streams=("ab",)),
        replace(base, streams=("a", "b", "")),
        replace(base, streams_like=("a",)),
        replace(base, streams=None, streams_like=("a",)),
        replace(base, streams=None, streams_like=("b",)),
        replace(base, streams=None, streams_like=("a", "b")),
        replace(base, within=None),
        replace(base, within=0),
        replace(base, on_first="enter"),
        replace(base, valid_from=None),
        replace(base, valid_to=10),
    ]
    names = {set_of(q).fingerprint for q in (base, *others)}
    names |= {set_of(base, axes=("x", "z")).fingerprint, set_of().fingerprint}
    names.add(QuerySet.from_queries("g", AXES, [replace(base, feed="g")]).fingerprint)
    names |= {set_of(base, query("a")).fingerprint, set_of(base, query("b")).fingerprint}
    assert len(names) == 1 + len(others) + 5
    assert all(len(name) == 32 and int(name, 16) for name in names)
    unseen = replace(base, owner="o", tags=("t",), note="n", where="ALL")
    assert set_of(unseen).fingerprint == set_of(base).fingerprint


def test_a_fingerprint_is_the_same_on_every_machine():
    queries = [query(f"query {k}", boxes=(((k, k + 1.5), (-INF, INF)),)) for k in range(50)]
    queries += [query("named", streams=("a", "a long name of a stream"), within=7, version=2)]
    assert set_of(*queries).fingerprint == "25e8219a546dde31217a263531ae1ae4"


def test_a_fingerprint_does_not_depend_on_where_a_row_stands():
    n = 40_000  # more than are hashed at once
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "id": [f"{k:x}" * (k % 4 + 1) for k in range(n)],
            "x_lo": rng.normal(size=n),
            "streams": [None if k % 3 else [f"s{k % 7}"] for k in range(n)],
        }
    )
    whole = QuerySet.from_table("f", AXES, table)
    order = rng.permutation(n)
    assert whole.take(order).fingerprint == whole.fingerprint
    cut = QuerySet.from_table("f", AXES, table.slice(5, n - 9))
    assert cut.fingerprint == whole.take(np.arange(5, n - 4)).fingerprint
    assert whole.with_removed(whole.ids[:5]).with_removed(whole.ids[n - 4 :]).fingerprint == (
        cut.fingerprint
    )


# ── check ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("column", "values", "facts"),
    [
        ("versions", np.array([1, 0], np.int32), "query 1 has the version 0"),
        ("versions", np.array([1, 1]), r"versions is int64\[2\], int32\[2\] was expected"),
        ("box_ptr", np.array([0, 1, 3]), "box_ptr runs from 0 to 3, 0 to 2 was expected"),
        ("box_ptr", np.array([0, 0, 2]), r"query 0 \('a'\) has no box"),
        ("box_ptr", np.array([0, 3, 2]), "box_ptr falls from 3 to 2 at query 1"),
        ("lo", np.full((2, 2), 3.0), r"box 0 is empty on x: \[3.0, 2.0\)"),
        ("lo", np.full((2, 2), math.nan), r"box 0 is empty on x: \[nan, 2.0\)"),
        ("lo", np.full((2, 2), -0.0), "lo of box 0 on x is -0.0"),
        ("lo", np.zeros((1, 2)), r"lo is float64\[1, 2\], float64\[2, 2\] was expected"),
        ("lo", np.zeros((2, 2)).T, "lo is not contiguous"),
        ("stream_ptr", np.array([0, 0, 0]), "stream_ptr runs from 0 to 0, 0 to 1 was expected"),
        ("everywhere", np.array([True, True]), r"query 1 \('b'\) watches everywhere, and names 1"),
        ("everywhere", np.array([False, False]), r"query 0 \('a'\) watches no stream, and names 0"),
        ("within", np.array([-2, 0]), "query 0 has -2 µs for within"),
        ("valid_to", np.array([5, ALWAYS_FROM]), "query 1 is valid from"),
        ("ids", pa.array(["a", "a"]), "queries 0 and 1 are both 'a'"),
        ("ids", pa.array(["a", ""]), "ids holds '' in row 1, which is no id"),
        ("ids", pa.array(["a", None]), "ids is string with 1 nulls"),
        ("streams", pa.array(["\x07"]), r"streams holds '\\x07' in row 0, which is no id"),
    ],
)
def test_check_tells_the_law_that_is_broken_with_the_facts(column, values, facts):
    queries = set_of(query("a"), query("b", streams=("s",)))
    queries.check()
    with pytest.raises(BrokenIndex, match=facts):
        replace(queries, **{column: values}).check()
