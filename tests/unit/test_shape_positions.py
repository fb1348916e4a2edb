"""The positions of a shape are read by column where that is the same as one by one."""

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import QueryFault
from fencepost.shapes.parse import _Positions

NUMBERS = st.one_of(
    st.floats(-180, 180),
    st.integers(-90, 90),
    st.sampled_from(
        [90.5, -0.0, 180, 2**53 + 1, 1e200, float("nan"), float("inf"), True, "1", None]
    ),
)
LISTS = st.lists(st.lists(NUMBERS, min_size=1, max_size=4) | NUMBERS, min_size=1, max_size=6)
POSITIONS = st.lists(st.tuples(st.floats(-180, 180), st.integers(-90, 90)), min_size=1)


def read(listed, *, earth):
    try:
        line = _Positions(earth).line(listed, "ring 1")
    except QueryFault as fault:
        return fault.message, fault.hint
    return [tuple(map(repr, vertex)) for vertex in line]


@given(LISTS | POSITIONS)
def test_differential_positions_read_by_column_are_those_read_one_by_one(listed):
    for earth in (False, True):
        with mock.patch.object(_Positions, "plain", return_value=None):
            one_by_one = read(listed, earth=earth)
        assert read(listed, earth=earth) == one_by_one


def test_positions_in_range_are_read_by_column():
    earth = _Positions(earth=True)
    assert earth.plain([[1, 2], [-0.0, 3.5]]) == ((1.0, 2.0), (0.0, 3.5))
    assert earth.plain([[1, 2, 9], [3, 4, 9]]) == ((1.0, 2.0), (3.0, 4.0))
    for odd in ([], [[181, 2]], [[1, 2], [3, 4, 5]], [[1, float("nan")]], [[True, 1]]):
        assert earth.plain(odd) is None
