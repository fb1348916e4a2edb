"""Band joins where cells and stretches decide who is looked at, against brute force.

Far members widen the range that the cells divide: so a step of the grid is a small part of a cell,
a few cells, or a leap. A side moves several times before the other does.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.joins.bands import BandPlane
from tests.support.stories.band_play import (
    BANDS,
    STREAMS,
    VALUES,
    Band,
    Plain,
    Update,
    assert_changes,
    partition_of,
)

REACHES = (4.0, 60.0, 2_000.0, 1e6, 1.7e308)
NEARBY = st.sampled_from([k / 10 for k in range(-9, 10)])
RUNS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.lists(st.tuples(STREAMS, st.one_of(VALUES, NEARBY, NEARBY), st.integers(0, 9))),
    ),
    max_size=6,
)


@given(
    st.sampled_from(REACHES),
    st.lists(BANDS, max_size=10),
    st.lists(st.tuples(VALUES, VALUES), max_size=6),
    RUNS,
)
def test_oracle_changes_equal_brute_force_whatever_the_cells_span(
    reach: float,
    bands: list[Band],
    members: list[tuple[float, float]],
    runs: list[tuple[int, list[tuple[int, float, int]]]],
) -> None:
    values = np.array([*members, (-reach, -reach), (reach, reach)], np.float64)
    streams = np.append(np.arange(len(members)), [8, 9]).astype(np.int32)
    plane = BandPlane.build(partition_of(bands), (streams, values[:, 0]), (streams, values[:, 1]))
    plain = Plain()
    for side in (0, 1):
        plain.sides[side].update(zip(streams.tolist(), values[:, side].tolist(), strict=True))
    for side, moves in runs:
        updates = [Update(side, stream, value, gone=odd == 0) for stream, value, odd in moves]
        assert_changes(plane, plain, bands, updates)
        plane.check()


def test_oracle_a_stream_that_creeps_past_a_bound_is_seen_whenever_it_does() -> None:
    """Steps far below a cell, so that most are within a stretch; every crossing is told."""
    bands = [Band(-1.0, 1.0), Band(0.5, 0.75), Band(-np.inf, 0.25), Band(2.0, np.inf)]
    bands += [Band(-5.0, 0.0), Band(0.0, 5.0), Band(0.0, np.inf)]
    members = np.array([0.0, 40.0, 5_000.0])
    streams = np.arange(3, dtype=np.int32)
    plane = BandPlane.build(partition_of(bands), (streams, members), (streams, members))
    plain = Plain()
    for side in (0, 1):
        plain.sides[side].update(zip(streams.tolist(), members.tolist(), strict=True))
    there = [k / 64 for k in range(-200, 201)]
    creeping = [Update(0, 0, value, gone=False) for value in (*there, *reversed(there))]
    assert_changes(plane, plain, bands, creeping)
    assert_changes(plane, plain, bands, [Update(1, 0, 0.5, gone=False), *creeping[:300]])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_move_onto_a_bound_of_nothing_from_an_entry_of_nothing_is_seen(sign: float) -> None:
    """Where bound and entry are 0 there is nothing to round, and a stretch ends on the bound."""
    band = Band(-5.0, 0.0) if sign > 0 else Band(0.0, 5.0)
    right = np.arange(2, dtype=np.int32), np.array([0.0, 1000.0])
    plane = BandPlane.build(
        partition_of([band]), (np.zeros(1, np.int32), np.array([0.99 * sign])), right
    )
    plain = Plain()
    plain.sides[0][0] = 0.99 * sign
    plain.sides[1].update({0: 0.0, 1: 1000.0})
    moves = [Update(0, 0, value * sign, gone=False) for value in (0.9, 0.8, 0.7, 0.0)]
    assert_changes(plane, plain, [band], moves)
    assert len(plane.pairs()) == 1
