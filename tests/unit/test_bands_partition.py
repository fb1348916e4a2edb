"""Stabbing partitions: canonical when cut, and never far from τ(I) while bands come and go."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import BrokenIndex, InputError
from fencepost.joins.bands import StabbingPartition
from fencepost.tuples import Doubles

INF = np.inf
End = st.integers(-6, 6).map(float)
BANDS = st.lists(
    st.tuples(End, End).map(sorted).map(tuple)
    | End.map(lambda a: (-INF, a))
    | End.map(lambda a: (a, INF)),
    max_size=7,
)


def columns(bands: list[tuple[float, float]]) -> tuple[Doubles, Doubles]:
    low, high = np.array(bands, np.float64).reshape(-1, 2).T
    return low, high


def fewest(low: Doubles, high: Doubles) -> int:
    """The least number of points that stab all, by trying all sets of ends."""
    ends = np.unique(np.concatenate([low, high, [0.0]]))
    ends = ends[np.isfinite(ends)]
    for count in range(len(low) + 1):
        for chosen in combinations(ends.tolist(), count):
            points = np.array(chosen)
            stabbed = (low[:, None] <= points) & (points <= high[:, None])
            if stabbed.any(axis=1).all():
                return count
    raise AssertionError("an end stabs its own band")


@given(BANDS)
def test_oracle_no_partition_has_fewer_groups_than_the_canonical(
    bands: list[tuple[float, float]],
) -> None:
    low, high = columns(bands)
    built = StabbingPartition.build(low, high)
    built.check()
    assert built.tau == built.optimal() == fewest(low, high) == len(built.witnesses)


@given(BANDS, st.lists(st.tuples(BANDS, st.lists(st.integers(0, 40), max_size=4)), max_size=8))
def test_oracle_groups_stay_within_twice_the_optimum_and_one(
    bands: list[tuple[float, float]],
    updates: list[tuple[list[tuple[float, float]], list[int]]],
) -> None:
    kept = StabbingPartition.build(*columns(bands))
    for added, removed in updates:
        for band in added:
            kept = kept.with_added(*columns([band]))
            bands = [*bands, band]
            kept.check()
        rows = sorted({row % len(bands) for row in removed}) if bands else []
        kept = kept.with_removed(np.array(rows, np.int64))
        bands = [band for row, band in enumerate(bands) if row not in rows]
        kept.check()
        assert list(zip(kept.low.tolist(), kept.high.tolist(), strict=True)) == bands
        assert kept.tau <= 2 * kept.optimal() + 1


def test_a_band_that_meets_a_core_joins_its_group_without_a_new_one() -> None:
    low = np.repeat([0.0, 10, 20], 40)
    kept = StabbingPartition.build(low, low + 5)
    more = kept.with_added(np.array([12.0, 15.0, -INF]), np.array([13.0, 19.0, 2.0]))
    more.check()
    assert more.tau == 4  # 12–13 narrows the core of its group, and 15–19 no longer meets it
    assert np.diff(more.ptr).tolist() == [41, 41, 40, 1]
    assert 12 <= more.stabs[1] <= 13


def test_points_of_open_bands_are_finite() -> None:
    built = StabbingPartition.build(np.array([-INF, -INF, -INF]), np.array([INF, 3.0, INF]))
    built.check()
    assert np.isfinite(built.stabs).all()
    alone = StabbingPartition.build(np.array([-INF]), np.array([INF]))
    assert alone.stabs.tolist() == [0.0]


def test_one_sided_bands_are_one_group_a_side() -> None:
    """S4: users' bands cluster at |r − s| <= a and at one-sided ones; τ is at most three."""
    a = np.arange(1.0, 1001)
    everything = np.full(1000, INF)
    built = StabbingPartition.build(
        np.concatenate([-a, -everything, a]), np.concatenate([a, -a, everything])
    )
    built.check()
    assert built.tau <= 3


def test_a_crowd_that_comes_and_goes_band_by_band_keeps_the_law() -> None:
    draw = np.random.default_rng(4)
    kept = StabbingPartition.build(*columns([]))
    for _ in range(600):
        if draw.random() < 0.55 or not len(kept):
            low = draw.integers(0, 200, 1).astype(np.float64)
            kept = kept.with_added(low, low + draw.integers(0, 12))
        else:
            kept = kept.with_removed(draw.integers(0, len(kept), 1))
        kept.check()
    assert len(kept) > 30
    emptied = kept.with_removed(np.arange(len(kept)))
    emptied.check()
    assert emptied.tau == 0


def test_what_is_no_band_is_refused() -> None:
    for low, high in ((2.0, 1.0), (np.nan, 1.0), (INF, INF), (-INF, -INF)):
        with pytest.raises(InputError, match=r"band 1 is \[.*\], expected low <= high"):
            StabbingPartition.build(np.array([0.0, low]), np.array([0.0, high]))
    built = StabbingPartition.build(np.zeros(3), np.ones(3))
    with pytest.raises(InputError, match="rows 1 to 3 of 3 bands"):
        built.with_removed(np.array([1, 3]))


Tamper = Callable[[StabbingPartition], dict[str, Any]]


def changed(array: Any, place: Any, value: float) -> Any:
    copy = array.copy()
    copy[place] = value
    return copy


BROKEN: dict[str, tuple[Tamper, str]] = {
    "a band twice": (lambda p: {"by_low": changed(p.by_low, 0, 1)}, "not each once .* lows"),
    "another low beside": (lambda p: {"lows": changed(p.lows, 0, -3)}, "the lows beside the list"),
    "a point outside": (lambda p: {"stabs": changed(p.stabs, 0, 99)}, "is not stabbed by 99.0"),
    "an open cover": (lambda p: {"covers": changed(p.covers, (0, 0), -9)}, "does not cover"),
    "groups that begin late": (lambda p: {"ptr": changed(p.ptr, 0, 1)}, "the groups begin at"),
    "witnesses that meet": (lambda p: {"witnesses": p.by_low[:2].copy()}, "the witnesses .* meet"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_check_tells_what_is_broken(name: str) -> None:
    tamper, told = BROKEN[name]
    built = StabbingPartition.build(np.array([0.0, 1, 2, 9]), np.array([5.0, 4, 6, 11]))
    built.check()
    with pytest.raises(BrokenIndex, match=told):
        replace(built, **tamper(built)).check()
