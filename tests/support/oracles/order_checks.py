"""The kernels of rows in order and of their pieces, as plain Python: a part of `make mutants`.

Seeded rows of few keys, so that most are equal; all that is expected is computed first, by others
than the kernels.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from fencepost import piece_kernels, row_order_kernels
from fencepost.crossings.columns import Events
from fencepost.pieces import CrossingColumns
from fencepost.row_order import SortKey
from fencepost.tuples import Int32s
from tests.support.oracles.rank_checks import Check

SIZES = (0, 1, 2, 5, 40)
NAMES = 5


def check_order(key: SortKey, rows: Int32s, expected: list[int]) -> None:
    """By one key, equal ones as they come."""
    assert row_order_kernels.by_key(*key, rows).tolist() == expected


def check_in_order(pairs: Sequence[tuple[int, int]]) -> None:
    """Rows stand in order if none is before the one before."""
    first, second = (np.array([pair[k] for pair in pairs], np.int32) for k in range(2))
    backwards = np.arange(NAMES, dtype=np.int32)[::-1].copy()
    keys = SortKey(backwards[first], backwards, NAMES), SortKey(second, backwards[::-1], NAMES)
    assert row_order_kernels.are_in_order(*keys) == ([*pairs] == sorted(pairs))


def order_checks() -> Iterator[tuple[str, Check]]:
    """Codes of some names, ranked in another order; rows backwards, and only some."""
    for seed, size in enumerate(SIZES):
        chance = np.random.default_rng(seed)
        codes = chance.integers(0, NAMES - 1, size).astype(np.int32)  # one name has no row
        rank = chance.permutation(NAMES).astype(np.int32)
        for rows in (np.arange(size, dtype=np.int32)[::-1].copy(), np.flatnonzero(codes % 2)):
            expected = sorted(rows.tolist(), key=lambda row: rank[codes[row]])
            key = SortKey(codes, rank, NAMES)
            yield f"order {seed}", partial(check_order, key, rows.astype(np.int32), expected)
    ordered = [(a, b) for a in range(NAMES) for b in (0, 1, 1, 3)]
    yield "in order", partial(check_in_order, ordered)
    yield "in order, none", partial(check_in_order, [])
    for place in range(len(ordered) - 1):
        swapped = [*ordered[:place], ordered[place + 1], ordered[place], *ordered[place + 2 :]]
        yield f"in order but {place}", partial(check_in_order, swapped)


def check_crossings(rows: Int32s, found: Events, path: Sequence[np.ndarray]) -> None:
    """Crossings in any order of rows; the first place has none before it."""
    ts, delivery, first = path
    n, place = len(rows), found.place[rows]
    before = np.where(place > 0, place - 1, place)
    looked_up = (
        place,
        found.query[rows],
        (found.type[rows] == 1).astype(np.int32),
        ts[place],
        ts[before],
        first[place],
        delivery[place],
    )
    out = CrossingColumns(*(np.full(n, 7, column.dtype) for column in looked_up))
    piece_kernels.crossings(rows, found, ts, delivery, first, out)
    for name, expected in zip(out._fields, looked_up, strict=True):
        column: np.ndarray = getattr(out, name)
        assert np.array_equal(column, expected), name


def check_values(places: Int32s, column: np.ndarray) -> None:
    """A value now, and the one before; of the first its own."""
    now, before = np.full(len(places), -7.0), np.full(len(places), -7.0)
    piece_kernels.values(places, column, now, before)
    assert np.array_equal(now, column[places])
    assert np.array_equal(before, column[[max(place, 1) - 1 for place in places.tolist()]])


def piece_checks() -> Iterator[tuple[str, Check]]:
    """Places of a short path, each several times, the first and the last among them."""
    for seed, size in enumerate(SIZES):
        chance = np.random.default_rng(seed)
        n = 6
        place = np.append(chance.integers(0, n, size), [0, n - 1, 1]).astype(np.int32)
        query = chance.integers(0, 9, len(place)).astype(np.int32)
        found = Events(place, query, chance.choice([-1, 1], len(place)).astype(np.int8))
        ts = np.cumsum(chance.integers(1, 9, n)).astype(np.int64)
        path = ts, chance.integers(0, 4, n).astype(np.int32), chance.random(n) < 0.5
        rows = chance.permutation(len(place)).astype(np.int32)
        yield f"crossings {seed}", partial(check_crossings, rows, found, path)
        yield f"values {seed}", partial(check_values, place, ts.astype(np.float64))


def checks() -> list[tuple[str, Check]]:
    """All of it, by name."""
    return [*order_checks(), *piece_checks()]
