"""Which streams do rules name that never came, and which patterns of streams fit none that came?

A typo in an id, or a source that is silent: either way such a rule can find nothing.

Law: only a feed with tuples is looked at, since before the first one every stream is unseen.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Int64s
from fencepost.errors import LakeError
from fencepost.queries import QuerySet
from fencepost.queries.patterns import compiled
from pipelines.project.settings import Settings
from pipelines.serve.views.duckdb import duckdb_session

FIRST = 5
"""Rules that are named."""

MOST_COMPARED = 2_000_000
"""Pairs of a pattern and a stream that are compared, 0.3 µs each; no further pattern is."""

SEEN = """SELECT s.stream_id FROM stream_state s WHERE s.feed = '{0}'
UNION SELECT r.stream_id FROM reorder r WHERE r.feed = '{0}'"""


@dataclass(frozen=True)
class Unseen:
    """How many rules name what never came; of the first ones the id, and the stream or pattern."""

    rules: int
    first: tuple[tuple[str, str], ...] = ()


def seen_streams(settings: Settings, feed: str) -> pa.ChunkedArray | None:
    """Give the streams of a feed that ever came; None where none did, or there is no lake."""
    try:
        session = duckdb_session(settings.root, settings.tables, SEEN, only=True)
    except LakeError:  # files of rules are explained without one
        return None
    with closing(session):
        seen = session.execute(SEEN.format(feed)).to_arrow_table()["stream_id"]
    return seen if len(seen) else None


def unseen(settings: Settings, feed: str, sets: Iterable[QuerySet]) -> Unseen:
    """Say which rules of a feed name what never came."""
    naming = [queries for queries in sets if len(queries.streams) or len(queries.likes)]
    seen = seen_streams(settings, feed) if naming else None
    if seen is None:
        return Unseen(0)
    found = [each for queries in naming for each in _of_set(queries, seen)]
    return Unseen(len({rule for rule, _ in found}), tuple(islice(found, FIRST)))


def _of_set(queries: QuerySet, seen: pa.ChunkedArray) -> Iterator[tuple[str, str]]:
    streams, likes = queries.streams, queries.likes
    owner = np.repeat(np.arange(len(queries)), np.diff(queries.stream_ptr))
    yield from _named(queries, owner, streams, pc.is_in(streams, value_set=seen))
    unfit = pa.array(unfitting(pc.unique(likes).to_pylist(), seen.to_pylist()), pa.string())
    fit = pc.invert(pc.is_in(likes, value_set=unfit))
    yield from _named(queries, queries.like_query, likes, fit)


def _named(
    queries: QuerySet, owner: Int64s, names: pa.StringArray, seen: pa.BooleanArray
) -> Iterator[tuple[str, str]]:
    strange = np.flatnonzero(~seen.to_numpy(zero_copy_only=False))
    ids = queries.ids.take(pa.array(owner[strange])).to_pylist()
    yield from zip(ids, names.take(pa.array(strange)).to_pylist(), strict=True)


def unfitting(patterns: Iterable[str], seen: Collection[str]) -> list[str]:
    """Give the patterns that none of some streams fits."""
    some = islice(patterns, MOST_COMPARED // max(1, len(seen)))
    return [pattern for pattern in some if not any(map(compiled(pattern).match, seen))]
