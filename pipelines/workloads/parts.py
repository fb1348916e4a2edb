"""The building blocks of every workload: names, a delivery, columns of queries, refusals."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from fencepost.errors import InputError
from fencepost.times import EARLIEST, LATEST
from fencepost.tuples import Doubles, Int32s, Int64s, TupleBatch

START = 1_767_571_200_000_000  # 2026-01-05T00:00:00Z, a Monday
DISTRIBUTIONS = ("uniform", "normal")


def numbered(word: str, count: int) -> pa.StringArray:
    """Return word1 … wordN, with zeros in front so that they sort as they count."""
    width = len(str(count))
    return pa.array([f"{word}{k:0{width}d}" for k in range(1, count + 1)], pa.string())


def one_delivery(
    feed: str,
    axes: tuple[str, ...],
    names: pa.StringArray,
    stream: Int32s,
    ts: Int64s,
    values: Doubles,
) -> TupleBatch:
    """Combine generated columns into one delivery, well-formed but for their times."""
    first, last = int(ts.min()), int(ts.max())
    if not EARLIEST <= first <= last < LATEST:
        raise InputError(f"times {first} to {last} µs: the tuples must lie in the years 1900–2200")
    return TupleBatch(feed, axes, names, stream, ts, values, np.zeros(len(ts), np.int32))


def query_table(
    ids: pa.StringArray,
    axes: Sequence[str],
    lo: Doubles,
    hi: Doubles,
    within: int | None,
) -> pa.Table:
    """Return queries of one box each in the columns that `QuerySet.from_table` takes."""
    columns: dict[str, pa.Array] = {"id": ids}
    for k, axis in enumerate(axes):
        columns[f"{axis}_lo"] = pa.array(lo[k])
        columns[f"{axis}_hi"] = pa.array(hi[k])
    if within is not None:
        columns["within"] = pa.array(np.full(len(ids), within, np.int64))
    return pa.table(columns)


def at_least(name: str, given: int, least: int) -> None:
    """Refuse a count that is too small."""
    if given < least:
        raise InputError(f"{name} {given}: expected {least} or more")


def above(name: str, given: float, low: float, high: float) -> None:
    """Refuse a number that is not in (low, high]."""
    if not low < given <= high:
        raise InputError(f"{name} {given:g}: expected more than {low:g} and at most {high:g}")


def share(name: str, given: float) -> None:
    """Refuse a number that is not in [0, 1]."""
    if not 0.0 <= given <= 1.0:
        raise InputError(f"{name} {given:g}: expected a share, from 0 to 1")


def one_of(name: str, given: str, allowed: tuple[str, ...]) -> None:
    """Refuse a word that is not among the allowed ones."""
    if given not in allowed:
        raise InputError(f"{name} '{given}': expected {' or '.join(allowed)}")
