"""A set of matches carries the tests of each box through all that can be done to a set."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import BrokenIndex, InputError
from fencepost.queries import QuerySet, StandingQuery
from tests.support.query_columns import as_lists

INF = math.inf
AXES = ("x", "y")


def query(id="q", **fields):
    boxes = (((1.0, 2.0), (-INF, INF)),)
    return replace(StandingQuery(id=id, feed="f", where="", boxes=boxes), **fields)


def set_of(*queries):
    return QuerySet.from_queries("f", AXES, queries)


def contents(queries):
    """All of a set, as plain Python."""
    arrays = as_lists(queries.columns())
    return queries.feed, queries.axes, queries.kind, arrays


def match(id="m", tests=(((0, "<", 1),),), **fields):
    return query(id, kind="match", tests=tests, **fields)


def matches_of(*queries):
    return QuerySet.from_queries("f", AXES, queries, "match")


TWO = (((1.0, 2.0), (-INF, INF)), ((-INF, 0.0), (0.0, 1.0)))
MATCHES = (
    match("plain", tests=()),
    match("one"),
    match("two", boxes=TWO, tests=((), ((1, "=", 0), (0, "<=", 1)))),
    match("named", boxes=TWO[::-1], tests=(((0, "<=", 1),), ()), streams=("b",), valid_to=9),
)


def test_the_tests_of_matches_are_laid_end_to_end_box_by_box():
    queries = matches_of(*MATCHES)
    queries.check()
    assert queries.kind == "match"
    assert queries.box_ptr.tolist() == [0, 1, 2, 4, 6]
    assert queries.test_ptr.tolist() == [0, 0, 1, 1, 3, 4, 4]
    assert queries.tests.tolist() == [[0, 0, 1], [1, 2, 0], [0, 1, 1], [0, 1, 1]]


def test_crossings_have_no_tests():
    queries = set_of(query("q", boxes=TWO))
    queries.check()
    assert (queries.kind, queries.test_ptr.tolist()) == ("crossing", [0, 0, 0])
    assert queries.tests.shape == (0, 3)


@given(st.lists(st.integers(0, 3), unique=True), st.lists(st.integers(0, 3), unique=True))
def test_matches_taken_added_and_removed_keep_their_tests(rows, others):
    whole = matches_of(*MATCHES)
    some = whole.take(rows)
    some.check()
    assert contents(some) == contents(matches_of(*(MATCHES[row] for row in rows)))
    behind = [row for row in others if row not in rows]
    more = some.with_added(whole.take(behind))
    more.check()
    assert contents(more) == contents(whole.take([*rows, *behind]))
    less = more.with_removed([MATCHES[row].id for row in rows])
    assert contents(less) == contents(whole.take(behind))
    assert less.fingerprint == whole.take(behind).fingerprint
    assert less.kind == "match"


def test_a_match_set_is_named_for_its_kind_and_its_tests():
    plain = query("q")
    names = {
        set_of(plain).fingerprint,
        matches_of(replace(plain, kind="match")).fingerprint,
        matches_of(match("q")).fingerprint,
        matches_of(match("q", tests=(((1, "<", 0),),))).fingerprint,
        matches_of(match("q", tests=(((0, "<=", 1),),))).fingerprint,
        set_of().fingerprint,
        matches_of().fingerprint,
    }
    assert len(names) == 7
    boxes, tests = TWO, ((), ((1, "=", 0), (0, "<=", 1)))
    turned = match("q", boxes=boxes[::-1], tests=(tests[1][::-1], tests[0]))
    assert (
        matches_of(turned).fingerprint
        == matches_of(match("q", boxes=boxes, tests=tests)).fingerprint
    )
    swapped = match("q", boxes=boxes, tests=tests[::-1])
    assert matches_of(swapped).fingerprint != matches_of(turned).fingerprint


def test_crossing_sets_keep_the_names_they_always_had():
    assert set_of().fingerprint == "c66fa7936a32f302bcb898aebca5be9d"
    two = set_of(query("q"), query("r", boxes=TWO, streams=("a",)))
    assert two.fingerprint == "745b49182f92ebefa1e3074302e153f9"


@pytest.mark.parametrize(
    ("queries", "kind", "told"),
    [
        ([match()], "crossing", "the query 'm' is of the kind 'match', the set of 'crossing'"),
        ([query()], "match", "the query 'q' is of the kind 'crossing', the set of 'match'"),
        ([query(tests=(((0, "<", 1),),))], "crossing", "compares two axes: only `match` queries"),
        ([match(tests=((), ()))], "match", "has 1 boxes, and tests for 2"),
        ([match(tests=(((0, "<", 2),),))], "match", "has the test (0, '<', 2): two of its 2 axes"),
        ([match(tests=(((1, "<", 1),),))], "match", "has the test (1, '<', 1)"),
        ([match(tests=(((0, ">", 1),),))], "match", "one of <, <=, = between them"),
    ],
)
def test_queries_that_are_not_of_the_kind_are_refused(queries, kind, told):
    with pytest.raises(InputError) as refused:
        QuerySet.from_queries("f", AXES, queries, kind)
    assert told in str(refused.value)


def test_matches_and_crossings_never_join():
    with pytest.raises(InputError, match="match queries cannot join crossing queries"):
        set_of(query()).with_added(matches_of(match()))


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"tests": np.array([[0, 3, 1]] * 4, np.int32)}, r"test 0 is \[0, 3, 1\]"),
        ({"tests": np.array([[0, 0, 2]] * 4, np.int32)}, r"two of 2 axes"),
        ({"tests": np.zeros((4, 3), np.int64)}, r"tests is int64\[4, 3\], int32\[4, 3\]"),
        ({"test_ptr": np.array([0, 0, 1, 1, 3, 4, 3])}, "test_ptr runs from 0 to 3, 0 to 4"),
        ({"test_ptr": np.array([0, 2, 1, 1, 3, 4, 4])}, "test_ptr falls from 2 to 1 at box 1"),
        ({"within": np.array([-1, 0, -1, -1])}, r"query 1 \('one'\) is a match, and has within"),
        ({"kind": "crossing"}, "crossing queries have 4 tests of two axes"),
    ],
)
def test_a_broken_law_of_matches_is_told(broken, told):
    with pytest.raises(BrokenIndex, match=told):
        replace(matches_of(*MATCHES), **broken).check()
