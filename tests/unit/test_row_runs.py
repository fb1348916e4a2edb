"""Rows that files hold in order are put behind each other, run by run, and others are sorted."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipelines.execute.tuples import FEW_RUNS, Keys, runs_of, sorted_by

Row = tuple[int, int, int]


def keys_of(rows: list[Row]) -> Keys:
    place, file, line = np.array(rows, np.int64).reshape(-1, 3).T
    return Keys(place.astype(np.int32), file.astype(np.int32), line)


@given(st.data())
def test_each_streams_rows_are_in_order_however_they_were_cut_into_files(data):
    keys = st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 20))
    rows = sorted(data.draw(st.sets(keys, max_size=30)))
    codes = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    dealt = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    files = [[k for k in range(len(rows)) if dealt[k] == file] for file in range(3)]
    if data.draw(st.booleans()):  # of streams: each file has its own
        files = [[k for k in range(len(rows)) if codes[k] % 3 == file] for file in range(3)]
    if data.draw(st.booleans()):
        files = [data.draw(st.permutations(some)) for some in files]
    given_rows = [k for some in files for k in some]
    codes_of_rows = np.array([codes[k] for k in given_rows], np.int32)
    keys_of_rows = keys_of([rows[k] for k in given_rows])
    pieces = [len(some) for some in files if some]
    runs = runs_of(codes_of_rows, keys_of_rows, 4, pieces)
    order = (
        sorted_by(codes_of_rows, keys_of_rows).tolist()
        if runs is None
        else [k for run in runs for k in range(run.start, run.stop)]
    )
    assert sorted(order) == list(range(len(rows)))
    stands = [given_rows[k] for k in order]
    assert [rows[k][0] for k in stands] == sorted(rows[k][0] for k in stands)
    for stream in range(4):
        mine = [k for k in stands if codes[k] == stream]
        assert mine == sorted(mine)


def test_files_of_other_streams_are_not_sorted_and_those_of_the_same_are():
    rows = [(0, 0, line) for line in (1, 3, 5, 2, 4, 6)]
    apart, mixed = np.array([0, 1, 0, 2, 3, 2], np.int32), np.array([0, 1, 0, 2, 1, 2], np.int32)
    assert runs_of(apart, keys_of(rows), 4, [3, 3]) == [slice(0, 3), slice(3, 6)]
    assert runs_of(mixed, keys_of(rows), 4, [3, 3]) is None


def test_files_that_follow_each_other_may_have_the_same_streams():
    rows = [(0, 0, 4), (0, 0, 5), (0, 0, 1), (0, 0, 3), (1, 0, 1)]
    runs = runs_of(np.zeros(5, np.int32), keys_of(rows), 1, [2, 3])
    assert runs == [slice(2, 4), slice(0, 2), slice(4, 5)]


def test_rows_in_no_order_are_sorted_one_by_one():
    line = np.arange(1, 2 * FEW_RUNS + 3)[::-1]
    rows = [(0, 0, int(k)) for k in line]
    assert runs_of(np.zeros(len(rows), np.int32), keys_of(rows), 1) is None
    assert sorted_by(np.zeros(len(rows), np.int32), keys_of(rows)).tolist() == [
        *range(len(rows) - 1, -1, -1)
    ]
