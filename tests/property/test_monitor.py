"""A monitor: cuts between instants change no row, and neither does a save and a load at each."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fencepost as fp

RULES: list[dict[str, Any]] = [
    {"id": "low", "feed": "a", "where": "v < 4", "within": "3s"},
    {"id": "mid", "feed": "a", "where": "v BETWEEN 3 AND 6", "on_first": "enter"},
    {"id": "one", "feed": "a", "where": "v >= 5", "streams": ["s1"], "within": "0s"},
    {"id": "odd", "feed": "a", "where": "v > 2 AND w < 5", "kind": "match"},
]
JOINS: list[dict[str, Any]] = [
    {
        "id": "near",
        "kind": "window_join",
        "left": "a",
        "right": "b",
        "on": "left.v >= right.v",
        "window": "4s",
    },
    {
        "id": "last",
        "kind": "window_join",
        "left": "a",
        "right": "b",
        "on": "left.v <= right.v",
        "window": 2,
    },
    {"id": "band", "kind": "band_join", "left": "a.v", "right": "b.v", "between": [-1, 1]},
    {"id": "close", "kind": "near_join", "left": "a", "right": "b", "distance": 2},
    {"id": "own", "kind": "near_join", "left": "a", "right": "a", "distance": 5, "streams": ["s1"]},
    {
        "id": "some",
        "kind": "near_join",
        "left": "a",
        "right": "a",
        "distance": 3,
        "streams_like": {"left": "s[01]"},
    },
]
FOUND = (
    *("events", "transitions", "matches", "leaps"),
    *("pairs", "band_changes", "near_changes", "rejected"),
)
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 8), st.integers(0, 8)),
    min_size=1,
    max_size=40,
)
ORDERS = st.sampled_from(
    [
        {"ties": "first"},
        {},
        {"sequence": "n"},
        {"lateness_by": "stream", "idle": "9s"},
        {"ties": "first", "lateness_by": "stream", "idle": "0s"},
    ]
)


def table(rows: Sequence[tuple[int, ...]]) -> pa.Table:
    streams, seconds, v, w = np.array(rows, np.int64).reshape(-1, 4).T
    return pa.table(
        {
            "stream_id": pa.array([f"s{n}" for n in streams], pa.string()),
            "ts": seconds,
            "v": v.astype(float),
            "w": w.astype(float),
            "n": w,
        }
    )


def monitor(rules: Sequence[dict[str, Any]], lateness: int = 0, **order: Any) -> fp.Monitor:
    axes = {feed: ["v", "w"] for feed in ("a", "b")}
    late, where = f"{lateness}s", ("v", "w")
    return fp.Monitor(rules, ts_unit="s", axes=axes, position=where, allowed_lateness=late, **order)


def rows_of(results: Sequence[fp.Result], name: str) -> list[str]:
    """The rows of a table over some results; their order is not compared."""
    return sorted(str(row) for result in results for row in getattr(result, name).to_pylist())


@given(ROWS, st.lists(st.integers(0, 20), max_size=4), st.sampled_from([0, 2, 5]), ORDERS)
def test_how_tuples_are_cut_into_batches_changes_no_row(rows, cuts, lateness, order):
    whole = monitor(RULES, lateness, **order).push({"a": table(rows)})
    cut = monitor(RULES, lateness, **order)
    edges = [-1, *sorted(cuts), 99]
    parts = [
        cut.push({"a": table([row for row in rows if begin < row[1] <= end])})
        for begin, end in pairwise(edges)
    ]
    for name in FOUND[:-1]:
        assert rows_of(parts, name) == rows_of([whole], name), name
    assert sum(part.accepted for part in parts) == whole.accepted
    assert parts[-1].waiting == whole.waiting


@given(
    st.lists(st.tuples(st.booleans(), ROWS), min_size=2, max_size=5),
    st.sampled_from([0, 3]),
    ORDERS,
)
def test_a_monitor_saved_and_loaded_between_batches_gives_the_same_rows(batches, lateness, order):
    rules = [*RULES, *JOINS]
    whole = monitor(rules, lateness, **order)
    again = monitor(rules, lateness, **order)
    for is_right, rows in batches:
        pushed = {"b" if is_right else "a": table(rows)}
        expected = whole.push(pushed)
        again = fp.Monitor.from_bytes(again.to_bytes(), rules, threads=2)
        found = again.push(pushed)
        for name in FOUND:
            assert getattr(found, name).to_pylist() == getattr(expected, name).to_pylist(), name
        assert (found.accepted, found.waiting) == (expected.accepted, expected.waiting)


@pytest.mark.parametrize("lateness", [0, 5])
def test_a_join_that_is_new_at_a_load_begins_with_what_is_in(lateness):
    rows = [(0, 1, 3, 0), (1, 2, 7, 0)]
    first = monitor(RULES, lateness)
    first.push({"a": table(rows)})
    state = first.to_bytes()
    with_joins = [*RULES, *JOINS]
    begun = fp.Monitor.from_bytes(state, with_joins)
    result = begun.push({"b": table([(9, 20, 3, 0)])})
    pairs = result.band_changes.to_pylist()
    on_time = [] if lateness else [("s0", "s9", 1)]
    assert [(r["left_stream_id"], r["right_stream_id"], r["change"]) for r in pairs] == on_time
    assert result.pairs.num_rows == 0  # the tuples before came before the rule
