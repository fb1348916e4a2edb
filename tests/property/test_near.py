"""Near joins against brute force, on a plane and on the earth, of two feeds and of one."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.stories.near_play import (
    GROUNDS,
    Ground,
    Near,
    Pair,
    Plain,
    Update,
    applied,
    cover_of,
    listed,
    nears,
    plane_of,
    played,
    updates,
)

Played = tuple[Ground, list[Near], list[Update]]
PLAYED = GROUNDS.flatmap(
    lambda ground: st.tuples(
        st.just(ground),
        st.lists(nears(ground), min_size=1, max_size=4),
        st.lists(updates(ground), max_size=25),
    )
)


@given(PLAYED, st.integers(0, 25))
def test_oracle_changes_and_pairs_equal_brute_force(play: Played, cut: int) -> None:
    ground, joins, given_ = play
    plane, plain = plane_of(ground, joins), Plain(ground)
    for part in (given_[:cut], given_[cut:]):
        assert applied(plane, part) == played(plain, joins, part)
        plane.check()
        found = plane.pairs()
        pairs = listed(found, one=ground.one)
        wanted = plain.pairs(joins)
        assert sorted(zip(pairs, found.distance.tolist(), strict=True)) == sorted(wanted.items())


@given(PLAYED)
def test_differential_built_where_everybody_is_a_plane_finds_what_one_that_got_there_does(
    play: Played,
) -> None:
    ground, joins, given_ = play
    moved = plane_of(ground, joins)
    half = len(given_) // 2
    applied(moved, given_[:half])
    built = type(moved).build(
        cover_of(ground, joins), earth=ground.earth, left=moved.members(0), right=moved.members(1)
    )
    built.check()
    assert applied(built, given_[half:]) == applied(moved, given_[half:])


@given(PLAYED)
def test_metamorphic_with_the_sides_changed_over_left_and_right_are(play: Played) -> None:
    ground, joins, given_ = play
    mirrored = [Near(join.distance, join.right, join.left) for join in joins]
    other = [u if ground.one else u._replace(side=1 - u.side) for u in given_]
    found = applied(plane_of(ground, joins), given_)
    mirror = applied(plane_of(ground, mirrored), other)
    assert rows_of(found, turned=not ground.one) == rows_of(mirror, turned=False)


def rows_of(rows: Sequence[tuple[int, int, Pair, float]], *, turned: bool) -> Sequence[object]:
    return sorted(
        (u, change, row, *((b, a) if turned else (a, b)), length)
        for u, change, (row, a, b), length in rows
    )


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_differential_a_crowd_that_comes_one_by_one_is_where_all_at_once_is(
    seed: int, earth: bool, one: bool
) -> None:
    rng = np.random.default_rng(seed)
    many = 300
    x, y = (rng.random((2, many)) - [[0.5], [0.5]]) * [[0.1], [0.05]]
    side = np.zeros(many, np.int8) if one else rng.integers(0, 2, many).astype(np.int8)
    stream = rng.permutation(many).astype(np.int32)
    scale = 1.0 if earth else 1e5
    ground = Ground(earth=earth, one=one, grid=())
    plane = plane_of(ground, [Near(800.0)])
    found = plane.apply(side, stream, x * scale, y * scale, np.zeros(many, np.bool_))
    plane.check()
    assert len(found) == len(plane.pairs()) > 0
    away = plane.apply(side, stream, x, y, np.ones(many, np.bool_))
    assert sorted(away.pairs.distance) == sorted(found.pairs.distance)
    assert len(plane.pairs()) == 0
