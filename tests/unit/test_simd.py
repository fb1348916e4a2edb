"""Each instruction does in a kernel what its plain function does outside of one."""

import numpy as np
import pytest
from numba import njit

from fencepost import simd
from fencepost.matches.bitmaps.kernels import meet
from fencepost.simd import LANES, WORDS, U


@njit
def _bits(words):
    return [(simd.ones(word), simd.lowest(word)) for word in words]


def test_bits_are_counted_and_found_alike() -> None:
    words = np.array([0, 1, 1 << 63, 0b1011000, (1 << 64) - 1], np.uint64)
    assert _bits(words) == [(simd.ones(word), simd.lowest(word)) for word in words]
    assert _bits(words)[0] == (0, 64)


@njit
def _compared(lo, hi, codes, at, value, code):
    return (
        simd.within(lo, at, hi, at + U(1), value),
        simd.above(lo, at, value),
        simd.up_to(lo, at, value),
        simd.bytes_up_to(codes, at, code),
        simd.bytes_from(codes, at, code),
    )


@pytest.mark.parametrize("seed", range(8))
def test_comparisons_mark_the_same_places(seed: int) -> None:
    draw = np.random.default_rng(seed)
    lo, codes = draw.integers(-3, 4, 40).astype(float), draw.integers(0, 9, 80).astype(np.uint8)
    hi, value, code = (
        lo + draw.integers(0, 3, 40),
        float(draw.integers(-3, 4)),
        int(draw.integers(9)),
    )
    lo[5], hi[7] = -np.inf, np.inf
    marked = _compared(lo, hi, codes, U(3), value, code)
    assert marked == _compared.py_func(lo, hi, codes, U(3), value, code)
    places = range(LANES)
    assert marked[0] == sum((lo[3 + k] <= value < hi[4 + k]) << k for k in places)
    assert marked[1] | marked[2] == (1 << LANES) - 1
    assert not marked[1] & marked[2]


@njit
def _written(ids, room, mask, many):
    end = simd.put(ids, U(2), room, U(1), mask)
    simd.copy(ids, U(4), room, U(40), many)
    return end


@pytest.mark.parametrize("mask", [0, 1, 0b1000000000000001, 0b0110111101101001, 0xFFFF])
def test_chosen_ids_are_written_side_by_side(mask: int) -> None:
    ids = np.arange(100, 140, dtype=np.int32)
    room, other = np.zeros((2, 80), np.int32)
    end = _written(ids, room, U(mask), U(mask % 17))
    assert end == _written.py_func(ids, other, U(mask), U(mask % 17))
    assert room[1:end].tolist() == [102 + k for k in range(LANES) if mask >> k & 1]
    assert (room[1:end] == other[1:end]).all()
    assert (room[40:] == other[40:]).all(), "behind what is copied nothing is written"


@njit
def _rows(rows):
    simd.copy_range(rows, U(0), U(WORDS), rows, U(2 * WORDS))
    simd.keep_range(rows, U(0), U(WORDS), rows, U(3 * WORDS))
    left = simd.and_rows(rows, U(3 * WORDS), rows, U(4 * WORDS), rows, U(5 * WORDS))
    more = simd.or_row(rows, U(WORDS), rows, U(6 * WORDS))
    simd.exchange(rows, U(7 * WORDS), U(8 * WORDS), U(8), U(0x00FF00FF00FF00FF))
    return left, more


@pytest.mark.parametrize("seed", range(4))
def test_rows_meet_alike(seed: int) -> None:
    rows = np.random.default_rng(seed).integers(0, 1 << 64, 9 * WORDS, np.uint64, endpoint=False)
    other = rows.copy()
    assert _rows(rows) == _rows.py_func(other)
    assert (rows == other).all()
    difference = rows[WORDS : 2 * WORDS] & ~rows[:WORDS]
    assert (rows[2 * WORDS : 3 * WORDS] == difference).all()


@njit
def _met(words, rows, axes, sure, unsure):
    return meet(words, U(WORDS), rows, U(1), axes, sure, unsure)


@pytest.mark.parametrize("seed", range(4))
def test_the_rows_of_a_point_meet_alike(seed: int) -> None:
    draw = np.random.default_rng(seed)
    words = draw.integers(0, 1 << 64, 200, np.uint64) | draw.integers(0, 1 << 64, 200, np.uint64)
    rows = draw.integers(0, 10, 4).astype(np.uint32)
    one, other = np.zeros((2, 2, WORDS), np.uint64)
    assert _met(words, rows, U(3), *one) == _met.py_func(words, rows, U(3), *other)
    assert (one == other).all()


def test_fetching_ahead_has_no_effect() -> None:
    @njit
    def fetched(array):
        simd.prefetch(array, 3)
        return array.sum()

    assert fetched(np.arange(5.0)) == 10.0
    assert simd.prefetch(np.arange(5.0), 3) is None
