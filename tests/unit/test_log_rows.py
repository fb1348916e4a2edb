"""The log of the streams as it is written: ids as codes, many rows apart by bucket."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.arrow import by_code
from fencepost.crossings.state import Heads
from pipelines.execute import write
from pipelines.execute.task import rows_hash
from pipelines.execute.write import TableWriter
from pipelines.lake.buckets import MIXED, buckets_of
from schemas import FeedColumns

BUCKETS = 4
NAMES = [f"s{k}" for k in range(9)]


class At(NamedTuple):
    epoch: int
    generation: int = 1


def heads(streams: Sequence[int]) -> Heads:
    """Give the heads of some streams, which stand at their number."""
    pointers = np.array([streams], np.int32)
    return Heads(
        axes=("price",),
        names=pa.array([NAMES[k] for k in streams], pa.string()),
        ts=np.array(streams, np.int64),
        values=np.array([streams], np.float64),
        begun=pointers,
        ended=pointers,
        index="an index",
        ts_place=np.zeros(len(streams), np.int32),
    )


def written(epochs: Sequence[Sequence[int]]) -> list[pa.Table]:
    """Write the heads that moved in each epoch, coded by all names; give the pieces."""
    pieces: list[pa.Table] = []

    def keep(name: str, some: Iterable[pa.Table]) -> None:
        assert name == "stream_state"
        pieces.extend(some)

    writer = TableWriter("ticks", {"ticks": FeedColumns(("price",))}, BUCKETS, keep)
    names = pa.array(NAMES, pa.string())
    for epoch, streams in enumerate(epochs, 1):
        coded = heads(streams).coded(by_code(names, np.array(streams, np.int32)))
        writer.put_coded("stream_state", At(epoch), coded, snapshot=False)
    writer.flush_all()
    return pieces


def found_in(piece: pa.Table) -> list[tuple[int, str, float]]:
    columns = (piece[name].to_pylist() for name in ("epoch", "stream_id", "price"))
    return list(zip(*columns, strict=True))


MOVED = st.lists(st.lists(st.sampled_from(range(9)), unique=True), min_size=1, max_size=4)


@given(MOVED)
def test_many_rows_of_a_log_stand_apart_by_bucket_each_with_its_own_ids(epochs):
    few = written(epochs)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(write, "FEW", 0)
        many = written(epochs)
    rows = [(e, NAMES[k], k) for e, streams in enumerate(epochs, 1) for k in streams]
    for piece in few:
        assert found_in(piece) == rows
        assert set(piece["bucket"].to_pylist()) == {MIXED}
    for piece in filter(len, many):
        (bucket,) = set(piece["bucket"].to_pylist())
        mine = [name for name in NAMES if buckets_of(pa.array([name]), BUCKETS)[0] == bucket]
        assert found_in(piece) == [row for row in rows if row[1] in mine]
        assert set(piece["stream_id"].chunk(0).dictionary.to_pylist()) <= set(mine)
    assert sum(map(len, few)) == sum(map(len, many)) == len(rows)
    assert sum(map(rows_hash, many)) % 2**64 == sum(map(rows_hash, few)) % 2**64
