"""Streams by pattern: a shell's, over whole ids, in every form that a query comes in."""

from fnmatch import fnmatchcase

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import Faults
from fencepost.queries import QuerySet, StandingQuery, check_query, query_from_json
from fencepost.queries.patterns import fits
from fencepost.reference.crossings import covers

AXES = {"f": ("x",)}
PLAIN = {"id": "q", "feed": "f", "where": "x > 1"}
NAMES = pa.array(["001", "002", "01", "A1", "a1", "[1]", "a\nb", ""])
TEXTS = st.text(st.sampled_from("0a1*?[!]-A\n\\"), max_size=4)


def read(**fields: object) -> StandingQuery:
    """Read the plain query with more fields."""
    return query_from_json({**PLAIN, **fields}, AXES)


@given(TEXTS, TEXTS)
def test_oracle_a_pattern_is_that_of_a_shell(pattern: str, stream: str) -> None:
    assert fits(pattern, stream) == fnmatchcase(stream, pattern)


@pytest.mark.parametrize(
    ("pattern", "streams"),
    [
        ("00*", ["001", "002"]),
        ("0?", ["01"]),
        ("[aA]1", ["A1", "a1"]),
        ("[!0]1", ["A1", "a1"]),
        ("[[]1]", ["[1]"]),
        ("a*", ["a1", "a\nb"]),
        ("0", []),
    ],
)
def test_the_whole_id_counts_and_its_letters_as_they_are(pattern: str, streams: list[str]) -> None:
    assert [name for name in NAMES.to_pylist() if fits(pattern, name)] == streams


def test_one_pattern_needs_no_list() -> None:
    assert read(streams_like="00*").streams_like == ("00*",)
    assert read(streams_like=["00*", "a", "00*"]).streams_like == ("00*", "a")
    assert read(streams_like=None).streams_like is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (7, "`streams_like` must be a pattern or a list of patterns, not a number"),
        ([], "`streams_like` is an empty list"),
        ("", "pattern 1 of `streams_like` is empty"),
        (["a", None], "pattern 2 of `streams_like` must be text, not null"),
        (["a", "b\t"], "pattern 2 of `streams_like` holds a control character"),
    ],
)
def test_what_is_no_pattern_is_refused(given: object, why: str) -> None:
    query, (fault,) = check_query({**PLAIN, "streams_like": given}, AXES)
    assert query is None
    assert fault.message.startswith(why)


@pytest.mark.parametrize("kind", ["window_join", "band_join"])
def test_a_join_has_no_patterns(kind: str) -> None:
    _, faults = check_query({"id": "j", "kind": kind, "streams_like": "a*"}, AXES)
    assert f"a `{kind}` has no `streams_like`" in [fault.message for fault in faults]


def test_in_a_table_it_is_a_column_of_texts_or_of_lists() -> None:
    columns = {"id": ["p", "q", "r"], "streams": [None, ["b"], ["c"]]}
    for likes in (["a*", "[xy]", None], [["a*"], ["[xy]", "[xy]"], None]):
        queries = QuerySet.from_table("f", ("x",), pa.table({**columns, "streams_like": likes}))
        queries.check()
        assert queries.like_query.tolist() == [0, 1]
        assert queries.likes.to_pylist() == ["a*", "[xy]"]
        assert queries.everywhere.tolist() == [True, True, False]
        same = [
            StandingQuery(id="p", feed="f", where="", boxes=ALL, streams_like=("a*",)),
            StandingQuery(
                id="q", feed="f", where="", boxes=ALL, streams=("b",), streams_like=("[xy]",)
            ),
            StandingQuery(id="r", feed="f", where="", boxes=ALL, streams=("c",)),
        ]
        assert queries.fingerprint == QuerySet.from_queries("f", ("x",), same).fingerprint


ALL = (((float("-inf"), float("inf")),),)


@pytest.mark.parametrize(
    ("likes", "why"),
    [
        ([1], "`streams_like` holds int64, lists of texts were expected"),
        ([[""]], "a pattern of `streams_like` is empty"),
        (pa.array([[]], pa.list_(pa.string())), "`streams_like` is an empty list"),
    ],
)
def test_a_table_of_other_things_is_refused(likes: object, why: str) -> None:
    with pytest.raises(Faults, match=why):
        QuerySet.from_table("f", ("x",), pa.table({"id": ["q"], "streams_like": likes}))


@given(
    st.lists(
        st.tuples(
            st.none() | st.lists(st.sampled_from(["001", "a1", "x"]), min_size=1, unique=True),
            st.none() | st.lists(st.sampled_from(["0*", "?1", "[!0]*"]), min_size=1, unique=True),
        ),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, len(NAMES) - 1)), max_size=12),
    st.booleans(),
)
def test_oracle_what_is_kept_is_what_the_query_covers(
    watched: list[tuple[list[str] | None, list[str] | None]],
    pairs: list[tuple[int, int]],
    parted: bool,
) -> None:
    listed = [
        StandingQuery(
            id=f"q{k}",
            feed="f",
            where="",
            boxes=ALL,
            streams=None if streams is None else tuple(streams),
            streams_like=None if likes is None else tuple(likes),
        )
        for k, (streams, likes) in enumerate(watched)
    ]
    queries = QuerySet.from_queries("f", ("x",), listed)
    if parted:  # the columns keep their law through additions, removals and choices
        rest = QuerySet.from_queries("f", ("x",), listed[1:])
        queries = QuerySet.from_queries("f", ("x",), listed[:1]).with_added(rest)
        queries = queries.with_removed(["q0"]).with_added(queries.take(np.array([0])))
        listed = [*listed[1:], listed[0]]
    queries.check()
    pairs = [(q, s) for q, s in pairs if q < len(listed) and bool(queries.everywhere[q])]
    query = np.array([q for q, _ in pairs], np.int32)
    stream = np.array([s for _, s in pairs], np.int32)
    expected = [covers(listed[q], NAMES[s].as_py()) for q, s in pairs]
    kept = None if queries.patterns is None else queries.patterns.kept(query, stream, NAMES)
    assert ([True] * len(pairs) if kept is None else kept.tolist()) == expected


def test_a_set_without_patterns_is_named_as_ever() -> None:
    queries = QuerySet.from_queries("f", ("x",), [read(streams=["a", "b"]), read(id="r")])
    assert queries.patterns is None
    assert queries.fingerprint == "af19f77d09edf2590ef4723b1dd119b0"
