"""The process from which Spark forks its Python workers, with the kernels already loaded.

A fresh worker imports NumPy, Arrow and Numba and loads the kernels' machine code: two seconds, and
many more where it has to be compiled. The daemon does it once, and a fork has it.

Law: when it hands over it has no thread but its own (and one of jemalloc, which knows of forks),
since a fork copies no other. What fails while warming costs time only: the workers then load what
they need themselves.
"""

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from fencepost.crossings import BorderIndex
from fencepost.crossings.choosing import Method
from fencepost.engine import FeedState, step
from fencepost.matches import Matcher
from fencepost.queries import MATCH, QuerySet, query_from_json
from fencepost.tuples import Doubles, TupleBatch

FEEDS = {
    ("price",): ("price >= 2 AND price < 5", "price < 3 OR price > 4", "price >= 3"),
    ("x", "y"): ("x BETWEEN 1 AND 3 AND y < 4", "y > 2 AND x > 1", "x > 2 OR y > 3", "x > 3"),
}
STREAMS, TUPLES, MINUTE = 4, 16, 60_000_000
BANDS = 64  # match queries: enough for an index to be worth its while


def warm() -> None:
    """Call each compiled kernel once, by steps of the engine; about a second where all is cached.

    One process at a time: two that compile into one folder can load each other's machine code
    (numba issue 4807).
    """
    with _alone(os.environ.get("NUMBA_CACHE_DIR")):
        for axes, wheres in FEEDS.items():
            _walk(axes, wheres)


def _walk(axes: tuple[str, ...], wheres: tuple[str, ...]) -> None:
    """Meet streams for the first time, hardly move, move by a little, leap; match all the while."""
    index = BorderIndex.build(_queries(axes, wheres))
    matcher = Matcher.build(_bands(axes))
    state = FeedState.empty(index.queries.feed, axes)
    still = np.full((len(axes), STREAMS * TUPLES), 2.5)
    climb = np.tile(np.linspace(0.0, 6.0, TUPLES), (len(axes), STREAMS))
    leaps = np.tile(np.array([0.5, 5.5]), (len(axes), STREAMS * TUPLES // 2))
    for begin, values in enumerate((still, climb, leaps, climb)):
        batch = _batch(axes, values, begin * TUPLES)
        method: Method = "walk" if begin < 3 else "difference"
        outcome = step(state, batch, index, deliveries=1, matcher=matcher, method=method, fast=True)
        state = outcome.state


def _queries(axes: tuple[str, ...], wheres: tuple[str, ...]) -> QuerySet:
    """Each condition for every stream and for one, from the first tuple on and from the second."""
    kinds = [
        {"where": where, **whom, **first}
        for where in wheres
        for whom in ({}, {"streams": ["s1"]})
        for first in ({}, {"on_first": "enter"})
    ]
    asked = [
        query_from_json({"id": str(n), "feed": "warm", "within": "2m", **kind}, {"warm": axes})
        for n, kind in enumerate(kinds)
    ]
    return QuerySet.from_queries("warm", axes, asked)


def _bands(axes: tuple[str, ...]) -> QuerySet:
    """Bands beside each other, each for every stream and for one."""
    asked = [
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
    return QuerySet.from_queries("warm", axes, asked, MATCH)


def _batch(axes: tuple[str, ...], values: Doubles, begin: int) -> TupleBatch:
    names = pa.array([f"s{n}" for n in range(STREAMS) for _ in range(TUPLES)])
    ts = np.tile((begin + np.arange(TUPLES)) * MINUTE, STREAMS)
    return TupleBatch.from_columns("warm", axes, names, ts, values)


@contextlib.contextmanager
def _alone(folder: str | None) -> Iterator[None]:
    """Hold the cache's folder while we may write into it, where there is one."""
    import fcntl

    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            Path(folder or "").mkdir(parents=True, exist_ok=True)
            lock = held.enter_context((Path(folder or "") / ".lock").open("wb"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Warm up, then serve Spark. Spark reads our stdout: what else is said goes to stderr."""
    spoken_to = os.dup(1)
    os.dup2(2, 1)
    try:
        warm()
    except Exception:  # noqa: BLE001  whatever it is, the workers can do without
        traceback.print_exc()
    sys.stdout.flush()
    os.dup2(spoken_to, 1)
    os.close(spoken_to)
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
