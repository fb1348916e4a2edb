"""Paths and indexes for the benchmarks, and the check of their answers from scratch."""

import numpy as np

from fencepost.crossings import BorderIndex, Heads, Walk
from fencepost.crossings.columns import Events
from fencepost.crossings.path import Path
from fencepost.instants import deal
from fencepost.queries import QuerySet
from fencepost.tuples import TupleBatch
from pipelines.workloads import PriceBands, PriceWalks


def laid(batch: TupleBatch) -> Path:
    """Arrange a batch as the walk takes it: stream by stream, each without a previous tuple."""
    order = deal(batch.stream)
    streams, values = batch.stream[order], batch.values[:, order]
    ts, delivery = batch.ts[order], batch.delivery[order]
    return Path.build(Heads.empty(batch.axes), batch.names, streams, ts, values, delivery)


def walks(streams: int = 2_000, length: int = 1_000, fl: float = 1e-4, dimensions: int = 1) -> Path:
    """S1's 1-D set-up, or d independent axes of it."""
    plan = PriceWalks(streams=streams, length=length, fluctuation=fl, dimensions=dimensions)
    return laid(plan.tuples())


def bands(count: int, width: float = 1e-3, dimensions: int = 1) -> QuerySet:
    """S1's queries: lower bounds uniform, width W of the domain, on every axis."""
    axes = ("price",) if dimensions == 1 else tuple(f"a{k}" for k in range(dimensions))
    table = PriceBands(count=count, width=width, axes=axes).table()
    return QuerySet.from_table("ticks", axes, table)


def assert_right(walked: Walk, sample: int = 100) -> Events:
    """Compare the events of some queries with their memberships, tuple by tuple, from scratch."""
    events, path, queries = walked.events, walked.path, walked.index.queries
    rows = np.unique(np.linspace(0, len(queries) - 1, sample).astype(np.int64))
    wanted = np.zeros(len(queries), np.bool_)
    wanted[rows] = True
    mine = np.flatnonzero(wanted[events.query])
    found = set(
        zip(
            events.place[mine].tolist(),
            events.query[mine].tolist(),
            events.type[mine].tolist(),
            strict=True,
        )
    )
    steps = np.ones(len(path), np.bool_)
    steps[path.starts[:-1]] = False
    expected = set()
    for q in rows.tolist():
        held = np.ones(len(path), np.bool_)
        for axis, values in enumerate(path.values):
            held &= (queries.lo[axis, q] <= values) & (values < queries.hi[axis, q])
        change = np.diff(held.astype(np.int8), prepend=np.int8(0))
        at = np.flatnonzero(steps & (change != 0))
        expected |= {(p, q, t) for p, t in zip(at.tolist(), change[at].tolist(), strict=True)}
    assert found == expected, f"{len(found ^ expected)} events of {len(rows)} queries differ"
    return events


def indexed(queries: QuerySet, *, striped: bool = True) -> BorderIndex:
    """Build and check an index."""
    index = BorderIndex.build(queries, striped=striped)
    index.check()
    return index
