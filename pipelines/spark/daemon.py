"""The process from which Spark forks its Python workers, with the kernels already loaded.

A fresh worker imports NumPy, Arrow and Numba and loads the kernels' machine code: two seconds, and
many more where it has to be compiled. The daemon does it once, and every fork inherits it.

Law: when it hands over it has no thread but its own (and one of jemalloc, which is fork-safe),
since a fork copies no other. A failure while warming up costs only time: the workers then load what
they need themselves.
"""

import contextlib
import gc
import os
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from fencepost import piece_kernels, row_order_kernels
from fencepost.crossings import BorderIndex
from fencepost.crossings.choose import Method
from fencepost.engine import step
from fencepost.joins.engine import step as joined
from fencepost.joins.index import LaneIndex
from fencepost.joins.state import LaneState
from fencepost.joins.windows import Live, WindowIndex
from fencepost.joins.windows.bitmap_kernels import BLOCK
from fencepost.joins.windows.index import METHODS
from fencepost.lines.kernels import INSTANT, NUMBER, STREAM
from fencepost.lines.pattern import LineCell, LinePattern
from fencepost.matches import Matcher
from fencepost.order import NEVER
from fencepost.pieces import crossing_columns, now_and_before
from fencepost.position import Position
from fencepost.queries import MATCH, QuerySet, check_query, query_from_json
from fencepost.queries.joins import BAND_JOIN, NEAR_JOIN, WINDOW_JOIN, JoinSets
from fencepost.queries.query import parted
from fencepost.row_hashes import content_hash
from fencepost.row_order import SortKey, order_of
from fencepost.shapes.columns import Shapes
from fencepost.shapes.holds import holds
from fencepost.shapes.parse import shape_of
from fencepost.shapes.prepare import prepared
from fencepost.state import FeedState
from fencepost.tuples import Doubles, TupleBatch

FEEDS = {
    ("price",): ("price >= 2 AND price < 5", "price < 3 OR price > 4", "price >= 3"),
    ("x", "y"): ("x BETWEEN 1 AND 3 AND y < 4", "y > 2 AND x > 1", "x > 2 OR y > 3", "x > 3"),
}
PLANE = {"warm": Position((0, 1), earth=False)}
REGIONS = (
    "POLYGON ((1 1, 4 1, 4 4, 1 1))",
    {"circle": {"center": [2, 2], "radius": 1}},
    {"corridor": {"line": [[1, 1], [4, 5]], "width": 1}},
)
STREAMS, TUPLES, MINUTE = 4, 16, 60_000_000
LINES, LINE = b"s1,2026-01-01T00:00:00Z,1.5\n" * 2, 1 << 10
BANDS = 64  # match queries: enough for an index to pay


def warm() -> None:
    """Call each compiled kernel once, by steps of the engine; about a second where all is cached.

    One process at a time: two that compile into one folder can load each other's machine code
    (numba issue 4807).
    """
    with _alone(os.environ.get("NUMBA_CACHE_DIR")):
        for axes, wheres in FEEDS.items():
            _walk(axes, wheres)
        _sort()
        _hash()
        _test()
        _join()
        _read()


def _walk(axes: tuple[str, ...], wheres: tuple[str, ...]) -> None:
    """Run streams that are new, hardly move, move a little, and leap; match all the while."""
    index = BorderIndex.build(_queries(axes, wheres))
    matcher = Matcher.build(_bands(axes))
    state = FeedState.empty(index.queries.feed, axes)
    still = np.full((len(axes), STREAMS * TUPLES), 2.5)
    climb = np.tile(np.linspace(0.0, 6.0, TUPLES), (len(axes), STREAMS))
    leaps = np.tile(np.array([0.5, 5.5]), (len(axes), STREAMS * TUPLES // 2))
    for begin, values in enumerate((still, climb, leaps, climb)):
        batch = _batch(axes, values, begin * TUPLES)
        order = np.arange(len(batch))
        batch = batch.take(np.append(order[:-2], order[:-3:-1]))  # the last one comes too early
        method: Method = "walk" if begin < 3 else "difference"
        outcome = step(state, batch, index, deliveries=1, matcher=matcher, method=method, fast=True)
        state = outcome.state
        path = outcome.walked.path
        crossings = crossing_columns(outcome.found, path, np.empty(0, np.int32), fast=True)
        now_and_before(path.values[0], crossings.place, fast=True)


def _sort() -> None:
    """Order rows as their tables have them."""
    codes = np.zeros(1, np.int32)
    key = SortKey(codes, codes, 2)
    order_of([key], fast=True)
    row_order_kernels.are_in_order(key, key)
    piece_kernels.ranks_of(codes, codes, codes, codes)


def _hash() -> None:
    """Hash rows, as evidence of what was written."""
    content_hash(pa.table({"id": pa.array(["s1"]).dictionary_encode(), "n": [1]}), fast=True)


def _test() -> None:
    """Test points one by one, as matches and differences do of what their indexes find."""
    somewhere = np.full(len(REGIONS), 2.0)
    shapes = _queries(("x", "y"), ()).shapes.take(np.arange(len(REGIONS)))
    holds(shapes, np.arange(len(REGIONS), dtype=np.int32), somewhere, somewhere, fast=True)
    globe = [shape_of(region, earth=True) for region in REGIONS]
    prepared(Shapes.of(globe, earth=True), fast=True)


def _read() -> None:
    """Read lines by a pattern, as large files of text are."""
    cells = (
        LineCell("stream_id", STREAM, b","),
        LineCell("ts", INSTANT, b","),
        LineCell("x", NUMBER, b","),
    )
    LinePattern((b"", b",", b",", b"\n"), cells, LINE).read(LINES, len(LINES), LINES.count(b"\n"))


def _join() -> None:
    """Keep bands up and pair tuples within windows, by every method of finding pairs."""
    feeds, axes = ("warm", "warmer"), (("x",), ("x",))
    sides = {"left": feeds[0], "right": feeds[1]}
    known = dict(zip(feeds, axes, strict=True))
    queries: list[dict[str, object]] = [
        {**sides, "kind": WINDOW_JOIN, "on": "left.x <= right.x + 1", "window": window}
        for window in (2, "5m")
    ]
    queries += [
        {"kind": BAND_JOIN, "left": "warm.x", "right": "warmer.x", "between": [-k / 4, k / 4]}
        for k in range(8)
    ]
    queries.append({**sides, "kind": NEAR_JOIN, "distance": 1})
    places = dict.fromkeys(feeds, Position((0, 0), earth=False))
    _, joins = parted(
        query
        for n, each in enumerate(queries)
        if (query := check_query({"id": str(n), **each}, known, places)[0]) is not None
    )
    sets = JoinSets.from_queries(feeds, axes, joins)
    windows, bands = sets.windows, sets.bands
    state = LaneState.empty(feeds, axes)
    climb = np.tile(np.linspace(0.0, 6.0, TUPLES), (1, STREAMS))
    index = LaneIndex.build(sets)
    for turn in range(4):
        values = climb if turn < 2 else climb[:, ::-1]
        left, right = (replace(_batch(("x",), values, turn * TUPLES), feed=feed) for feed in feeds)
        given = [left, right]
        given[1 - turn % 2] = given[1 - turn % 2].take(slice(0, 0))
        turns, newly = np.array([turn % 2], np.int8), np.arange(len(bands) if turn == 3 else 0)
        near = newly[:1]
        outcome = joined(state, (given[0], given[1]), turns, index, newly=newly, near_newly=near)
        _ = outcome.pairs, outcome.band_changes, outcome.near_changes  # computed on demand
        state = outcome.state
    some = np.arange(2 * BLOCK)
    ts, values = some * MINUTE, np.linspace(0.0, 6.0, len(some))[None]
    live = Live(some.astype(np.int32), ts, values, some, np.zeros(len(some), np.int64))
    for method in ("auto", *METHODS):
        by_name = WindowIndex.build(windows, method=method)
        by_name.probe(0, ts[:1], values[:, :1], live, NEVER, len(live))
    index.planes[0].bands.with_added(np.zeros(1), np.ones(1))


def _queries(axes: tuple[str, ...], wheres: tuple[str, ...]) -> QuerySet:
    """Each condition for every stream and for one, from the first tuple on and from the second."""
    conditions: list[dict[str, object]] = [{"where": where} for where in wheres]
    conditions += [{"region": region} for region in REGIONS if len(axes) == 2]
    kinds = [
        {**condition, **whom, **first}
        for condition in conditions
        for whom in ({}, {"streams": ["s1"]})
        for first in ({}, {"on_first": "enter", "leaps": True})
    ]
    queries = [
        query_from_json(
            {"id": str(n), "feed": "warm", "within": "2m", **kind}, {"warm": axes}, PLANE
        )
        for n, kind in enumerate(kinds)
    ]
    return QuerySet.from_queries("warm", axes, queries)


def _bands(axes: tuple[str, ...]) -> QuerySet:
    """Bands beside each other, each for every stream and for one."""
    queries = [
        query_from_json(
            {
                "id": f"{k}-{len(whom)}",
                "feed": "warm",
                "kind": MATCH,
                "where": " AND ".join(f"{axis} BETWEEN {k / 16} AND {k / 16 + 1}" for axis in axes),
                **whom,
            },
            {"warm": axes},
        )
        for k in range(BANDS)
        for whom in ({}, {"streams": ["s1"]})
    ]
    return QuerySet.from_queries("warm", axes, queries, MATCH)


def _batch(axes: tuple[str, ...], values: Doubles, begin: int) -> TupleBatch:
    names = pa.array([f"s{n}" for n in range(STREAMS) for _ in range(TUPLES)])
    ts = np.tile((begin + np.arange(TUPLES)) * MINUTE, STREAMS)
    return TupleBatch.from_columns("warm", axes, names, ts, values)


@contextlib.contextmanager
def _alone(folder: str | None) -> Iterator[None]:
    """Lock the cache's folder while we may write to it, if there is one.

    There is none where kernels travel with our code: each executor has its own copy.
    """
    import fcntl

    with contextlib.ExitStack() as stack:
        if folder:
            with contextlib.suppress(OSError):
                Path(folder).mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context((Path(folder) / ".lock").open("wb"))
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def spare() -> None:
    """Spare every fork what Spark has a worker do for each task, and which finds nothing.

    Before a task a worker forgets what it knows of its import path. Spark's own jar is on that, and
    its directory was read anew each time: 35 to 130 ms. After a task it collects garbage, through
    200,000 objects of the imported modules: 50 to 300 ms, while the next task waits.
    """
    jars = [path for path in sys.path if path.endswith(".jar")]
    sys.path[:] = [path for path in sys.path if path not in jars]
    for known in [*sys.path_importer_cache]:
        if known.startswith(tuple(jars)):
            del sys.path_importer_cache[known]
    gc.collect()
    gc.freeze()


def main() -> None:
    """Warm up, then serve Spark. Spark reads our stdout: all other output goes to stderr."""
    spoken_to = os.dup(1)
    os.dup2(2, 1)
    try:
        warm()
    except Exception:  # noqa: BLE001  the workers can do without the warm-up
        traceback.print_exc()
    sys.stdout.flush()
    os.dup2(spoken_to, 1)
    os.close(spoken_to)
    from pyspark import worker  # noqa: F401  so that no fork has to
    from pyspark.daemon import manager

    spare()
    manager()


if __name__ == "__main__":
    main()
