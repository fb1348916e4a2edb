"""The audit of near joins finds the pairs of the reference, on the earth and within one feed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fencepost.reference.near import near_result_of
from pipelines.checks.audits.members import Members
from pipelines.checks.audits.nears import near_pairs
from tests.support.stories.join_stories import FEEDS, near_joins

AXES = (("x", "y"), ("x", "y"))
LONGITUDES = (-180.0, -179.0, 0.0, 1.0, 2.0, 179.0, 180.0)
places = st.tuples(st.sampled_from(LONGITUDES), st.sampled_from((-90.0, 0.0, 1.0, 89.0, 90.0)))
members = st.dictionaries(st.sampled_from(("a", "b", "z", "ü x", "é")), places)


def as_members(places: dict[str, tuple[float, float]]) -> Members:
    """In the form that an audit reads them."""
    return Members([*places], np.array([*places.values()], np.float64).reshape(-1, 2))


@given(st.data(), members, members)
def test_the_audit_of_near_joins_finds_the_pairs_of_the_reference(data, left, right):
    one = data.draw(st.booleans())
    feeds = (FEEDS[0], FEEDS[0]) if one else FEEDS
    queries = [data.draw(near_joins(AXES, f"n{n}", feeds=feeds)) for n in range(2)]
    right = left if one else right
    expected = near_result_of(left, right, queries)
    assert near_pairs(queries, as_members(left), as_members(right)) == expected.keys()
