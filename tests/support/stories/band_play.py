"""Band joins played by hand: all pairs of all bands, compared with what a plane reports.

Law: values and ends come from one coarse grid and a few wild doubles, so that ties, closed ends and
rounding occur in every few examples.
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from fencepost.joins.bands import BandPlane, StabbingPartition
from fencepost.joins.bands.points import Points

INF = float("inf")
TENTHS = [k / 10 for k in range(-5, 6)]
WILD = [-1.7e308, 1.7e308, 5e-324, 0.1, 0.30000000000000004, -3.0]
VALUES = st.sampled_from([float(k) for k in range(-3, 4)] + TENTHS + WILD)
STREAMS = st.integers(0, 7)


class Update(NamedTuple):
    side: int
    stream: int
    value: float
    gone: bool


class Band(NamedTuple):
    low: float
    high: float


UPDATES = st.builds(
    Update, st.integers(0, 1), STREAMS, VALUES, st.sampled_from([False, False, False, True])
)
ENDS = st.sampled_from([float(k) for k in range(-3, 4)] + TENTHS)
BANDS = st.one_of(
    st.builds(lambda a, b: Band(min(a, b), max(a, b)), ENDS, ENDS),
    st.builds(lambda a: Band(-abs(a), abs(a)), ENDS),
    st.builds(lambda a: Band(-INF, a), ENDS),
    st.builds(lambda a: Band(a, INF), ENDS),
    st.just(Band(-INF, INF)),
)
Pair = tuple[int, int, int, float, float]


class Plain:
    """All pairs of all bands, by comparing every stream with every other."""

    def __init__(self) -> None:
        self.sides: tuple[dict[int, float], dict[int, float]] = ({}, {})

    def pairs(self, bands: Sequence[Band]) -> set[Pair]:
        with np.errstate(over="ignore"):
            return {
                (q, i, j, r, s)
                for (i, r), (j, s) in product(self.sides[0].items(), self.sides[1].items())
                for q, band in enumerate(bands)
                if band.low <= float(np.float64(r) - np.float64(s)) <= band.high
            }

    def take(self, update: Update) -> None:
        if update.gone:
            self.sides[update.side].pop(update.stream, None)
        else:
            self.sides[update.side][update.stream] = update.value

    def changes(self, update: Update, bands: Sequence[Band]) -> list[tuple[int, Pair]]:
        before = self.pairs(bands)
        self.take(update)
        after = self.pairs(bands)
        other = 2 - update.side
        lost = {pair[:3] for pair in before} - {pair[:3] for pair in after}
        won = {pair[:3] for pair in after} - {pair[:3] for pair in before}
        told = [(-1, pair) for pair in before if pair[:3] in lost]
        told += [(1, pair) for pair in after if pair[:3] in won]
        return sorted(told, key=lambda each: (each[0], each[1][0], each[1][other]))


def columns(updates: Sequence[Update]) -> tuple[np.ndarray, ...]:
    return (
        np.array([u.side for u in updates], np.int8),
        np.array([u.stream for u in updates], np.int32),
        np.array([u.value for u in updates], np.float64),
        np.array([u.gone for u in updates], np.bool_),
    )


def partition_of(bands: Sequence[Band]) -> StabbingPartition:
    ends = np.array(bands, np.float64).reshape(-1, 2)
    return StabbingPartition.build(ends[:, 0], ends[:, 1])


def plane_of(bands: Sequence[Band]) -> BandPlane:
    nobody = np.empty(0, np.int32), np.empty(0)
    return BandPlane(partition_of(bands), Points.of(nobody, nobody, leaf=4))


def assert_changes(plane: BandPlane, plain: Plain, bands: list[Band], given: list[Update]) -> None:
    wanted = [
        (n, change, *pair)
        for n, update in enumerate(given)
        for change, pair in plain.changes(update, bands)
    ]
    found = plane.apply(*columns(given))
    told = zip(
        found.update.tolist(), found.change.tolist(), found.query.tolist(),
        found.left_stream.tolist(), found.right_stream.tolist(),
        found.left_value.tolist(), found.right_value.tolist(), strict=True,
    )  # fmt: skip
    assert list(told) == wanted
    queries = found.affected()
    for n in range(len(given)):
        assert queries.at(n).tolist() == sorted({row[2] for row in wanted if row[0] == n})


def assert_held(plane: BandPlane, plain: Plain, bands: list[Band], rows: list[int]) -> None:
    everything = plain.pairs(bands)
    for asked, wanted in ((None, everything), (rows, {p for p in everything if p[0] in rows})):
        found = plane.pairs(None if asked is None else np.array(asked, np.int64))
        told = zip(
            found.query.tolist(), found.left_stream.tolist(), found.right_stream.tolist(),
            found.left_value.tolist(), found.right_value.tolist(), strict=True,
        )  # fmt: skip
        assert list(told) == sorted(wanted)
    for side, own in enumerate(plain.sides):
        streams, values = plane.members(side)
        assert dict(zip(streams.tolist(), values.tolist(), strict=True)) == own
