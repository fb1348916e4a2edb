"""Window joins in a few words, and the law read aloud: what the tests of their methods share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fencepost.joins.windows import LEFT, Live, Pairs
from fencepost.queries.joins import WINDOW_JOIN, Conjunct, JoinQuery, WindowJoins
from fencepost.tuples import Doubles

METHODS = ("scan", "runs", "ranges", "bitmaps", "spatial_join", "auto")
INF = float("inf")
AXES = (("a", "b"), ("c", "d"))
DTYPES = ["int64", "int64", "int32"]
ALL = ((-INF, INF),) * 4


def after(value: float) -> float:
    return float(np.nextafter(value, INF))


def join(
    name: str,
    *conjuncts: Conjunct,
    window: int | None = None,
    last: int | None = None,
    **more: Any,
) -> JoinQuery:
    return JoinQuery(
        id=name,
        kind=WINDOW_JOIN,
        left="l",
        right="r",
        on="as its conjuncts say",
        conjuncts=conjuncts or (Conjunct(ALL),),
        window=window,
        last=last,
        **more,
    )


def joins(*queries: JoinQuery, registered: Sequence[int] | None = None) -> WindowJoins:
    return WindowJoins.from_queries(("l", "r"), AXES, queries, registered)


@dataclass(frozen=True)
class Old:
    ts: int
    values: tuple[float, ...]
    place: int
    registry: int = 0


def live_of(olds: Sequence[Old], axes: int = 2) -> Live:
    return Live(
        np.arange(len(olds), dtype=np.int32),
        np.array([old.ts for old in olds], np.int64),
        np.array([old.values for old in olds], np.float64).reshape(-1, axes).T.copy(),
        np.array([old.place for old in olds], np.int64),
        np.array([old.registry for old in olds], np.int64),
    )


def add(value: float, plus: float) -> float:
    return value + plus


def compared(op: str, one: float, other: float) -> bool:
    return {"<": one < other, "<=": one <= other, "=": one == other}[op]


def satisfied(conjunct: Conjunct, values: Sequence[float]) -> bool:
    boxed = all(lo <= v < hi for (lo, hi), v in zip(conjunct.box, values, strict=True))
    return boxed and all(
        compared(t.op, add(values[t.axis], t.plus), add(values[t.other], t.other_plus))
        for t in conjunct.tests
    )


def by_law(
    queries: WindowJoins,
    said: Sequence[JoinQuery],
    side: int,
    new: Sequence[tuple[int, tuple[float, ...]]],
    olds: Sequence[Old],
    mark: int,
    taken: int,
) -> Iterator[tuple[int, int, int]]:
    """The law taken literally: of the columns only the registry version of each query."""
    for i, (ts, mine) in enumerate(new):
        for k, old in enumerate(olds):
            distance = max(abs(ts - old.ts), mark - old.ts)
            count = taken - old.place
            values = (*mine, *old.values) if side == LEFT else (*old.values, *mine)
            for q, query in enumerate(said):
                if query.window is not None and distance > query.window:
                    continue
                if query.last is not None and count > query.last:
                    continue
                if old.registry < queries.registered[q] or count < 1:
                    continue
                if query.valid_from is not None and ts < query.valid_from:
                    continue
                if query.valid_to is not None and ts >= query.valid_to:
                    continue
                if any(satisfied(conjunct, values) for conjunct in query.conjuncts):
                    yield i, k, q


def rows_of(pairs: Pairs) -> list[tuple[int, int, int]]:
    return list(zip(pairs.new.tolist(), pairs.old.tolist(), pairs.query.tolist(), strict=True))


def columns(new: Sequence[tuple[int, tuple[float, ...]]], axes: int = 2) -> tuple[Any, Doubles]:
    ts = np.array([ts for ts, _ in new], np.int64)
    return ts, np.array([v for _, v in new], np.float64).reshape(-1, axes).T.copy()


HERE = (0.0, 0.0)


def at(*times: int) -> list[Old]:
    return [Old(ts, HERE, place) for place, ts in enumerate(times)]


GRID = (-1.0, 0.0, 0.1, 0.2, 0.30000000000000004, 0.3, 1.0)
PLUS = (0.0, 0.0, 0.1, -0.1, 0.2, 1.0)
