"""Band joins against brute force, after every batch of updates and of bands that come and go."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.stories.band_play import (
    BANDS,
    UPDATES,
    VALUES,
    Band,
    Plain,
    Update,
    assert_changes,
    assert_held,
    columns,
    plane_of,
)

Batch = tuple[list[Update], list[Band], list[int]]
BATCHES = st.lists(
    st.tuples(
        st.lists(UPDATES, max_size=12),
        st.lists(BANDS, max_size=3),
        st.lists(st.integers(0, 30), max_size=3),
    ),
    max_size=5,
)


@given(bands=st.lists(BANDS, max_size=12), batches=BATCHES)
def test_oracle_changes_equal_brute_force_while_bands_come_and_go(
    bands: list[Band], batches: list[Batch]
) -> None:
    plane, plain = plane_of(bands), Plain()
    for updates, added, removed in batches:
        assert_changes(plane, plain, bands, updates)
        plane.check()
        new = np.array(added, np.float64).reshape(-1, 2)
        bands = bands + added
        rows = sorted({row % len(bands) for row in removed}) if bands else []
        plane.partition = plane.partition.with_added(new[:, 0], new[:, 1])
        assert_held(plane, plain, bands, rows)
        plane.partition.check()
        plane.partition = plane.partition.with_removed(np.array(rows, np.int64))
        bands = [band for row, band in enumerate(bands) if row not in rows]
        plane.check()
        assert_held(plane, plain, bands, list(range(0, len(bands), 2)))


@given(bands=st.lists(BANDS, max_size=12), batches=st.lists(st.lists(UPDATES, max_size=12)))
def test_oracle_queries_affected_are_those_with_a_change_each_once(
    bands: list[Band], batches: list[list[Update]]
) -> None:
    plane, plain = plane_of(bands), Plain()
    for updates in batches:
        found = plane.affected(*columns(updates))
        for n, update in enumerate(updates):
            wanted = {pair[0] for _, pair in plain.changes(update, bands)}
            assert found.at(n).tolist() == sorted(wanted)
        plane.check()


@given(
    bands=st.lists(BANDS, max_size=12),
    updates=st.lists(UPDATES, max_size=20),
    side=st.integers(0, 1),
    value=VALUES,
)
def test_oracle_queries_touched_by_a_value_are_told_once(
    bands: list[Band], updates: list[Update], side: int, value: float
) -> None:
    plane, plain = plane_of(bands), Plain()
    plane.apply(*columns(updates))
    for update in updates:
        plain.take(update)
    plain.sides[side].clear()
    plain.take(Update(side, 0, value, gone=False))
    assert plane.touched(side, value).tolist() == sorted({p[0] for p in plain.pairs(bands)})


@given(updates=st.lists(UPDATES, max_size=40), cut=st.integers(0, 40), bands=st.lists(BANDS))
def test_any_cut_into_batches_tells_the_same_changes(
    updates: list[Update], cut: int, bands: list[Band]
) -> None:
    whole, parts = plane_of(bands), plane_of(bands)
    one = whole.apply(*columns(updates))
    two = [parts.apply(*columns(part)) for part in (updates[:cut], updates[cut:])]
    for name in ("query", "change", "left_stream", "right_stream", "left_value", "right_value"):
        both = np.concatenate([getattr(part, name) for part in two])
        assert np.array_equal(getattr(one, name), both)


@given(bands=st.lists(BANDS, max_size=10), added=st.lists(BANDS, max_size=10))
def test_a_layout_that_came_about_by_additions_tells_the_same(
    bands: list[Band], added: list[Band]
) -> None:
    updates = [Update(k % 2, k % 5, float(k % 7) - 3, gone=k % 11 == 0) for k in range(40)]
    fresh, grown = plane_of(bands + added), plane_of(bands)
    for band in added:
        grown.partition = grown.partition.with_added(np.array([band[0]]), np.array([band[1]]))
    one, two = fresh.apply(*columns(updates)), grown.apply(*columns(updates))
    assert np.array_equal(one.query, two.query)
    assert np.array_equal(one.change, two.change)
    assert np.array_equal(one.right_stream, two.right_stream)
