"""Tuples judged as they come, and the path of those that matter.

Law: leaving out of a path tuples whose steps pass no post changes no event. The queries that hold
at either end of such a step are the same, so whoever crosses the next post is compared with a tuple
that stands where the one before it stood; and of a crossing tuple the very one before is kept.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fencepost.arrivals import kernels
from fencepost.arrivals.arrive import Arrived
from fencepost.arrivals.columns import Incoming, Lasts, Places, Verdicts
from fencepost.crossings.columns import FenceColumns
from fencepost.crossings.path import HEAD, Path
from fencepost.crossings.state import UNKNOWN, Heads
from fencepost.order import NEVER, OrderRules, Past, Rejected
from fencepost.tuples import Bools, Int8s, Int32s, Int64s, TupleBatch

SAMPLE = 1 << 16  # tuples after which it is known whether most steps pass a post
EFFORT = 8  # tuples that may be passed for each, on the way to where some are inserted
OFTEN = 0.5  # of the steps pass one: then to leave out the others is not worth the test
Column = npt.NDArray[Any]
NO_TAGS = np.empty(0, np.int64)
NO_FENCES = FenceColumns(
    posts=np.empty(0),
    first=np.empty(0, np.int32),
    starts=np.empty(0, np.int32),
    first_cell=np.empty(0, np.int32),
    origin=np.empty(0),
    scale=np.empty(0),
    cells=np.empty(0, np.int64),
)


def in_turn(  # noqa: PLR0913  what `arrive` was given, and what it found of streams
    heads: Heads,
    names: pa.StringArray,
    parts: list[TupleBatch],
    codes: list[Int32s],
    past: Past,
    fences: FenceColumns | None,
    deliveries: int,
    rules: OrderRules,
    marks: Int64s | None,
) -> Arrived | None:
    """Judge each tuple against those of its stream before it; None if it is better to sort them.

    `parts` are what waits and what came, `codes` the numbers of the streams that each names.
    Without fences every accepted tuple is kept. O(tuples + streams, and how far tuples are from
    where they belong): 9 bytes a tuple, 30 a stream and axis.
    """
    waited = len(parts[0])
    batch, code = _together(parts, codes) if waited else (parts[1], codes[1])
    arrivals = Incoming(
        _to_read(code),
        _to_read(batch.stream),
        _to_read(batch.ts),
        _to_read(batch.values),
        _to_read(batch.delivery),
        _to_read(NO_TAGS if batch.tag is None else batch.tag),
    )
    verdicts = _unjudged(past, len(batch), deliveries, marks)
    found = _judge(arrivals, past, fences, rules, marks is not None, verdicts)
    if found is None:
        return None
    mark = int(verdicts.marks[-1])
    waits = kernels.settle(arrivals, mark, found.top > mark, verdicts)
    path = _arranged(heads, names, arrivals, verdicts, found, found.accepted - waits)
    reason = verdicts.verdict[waited:]
    refused = len(batch) - found.accepted
    row = np.flatnonzero(_is_refused(reason)) if refused else np.empty(0, np.int64)
    later = _waiting(batch, arrivals, verdicts) if waits else batch.take(slice(0, 0))
    return Arrived(
        path,
        replace(later, names=names).compacted(),
        Rejected(row, reason[row]),
        verdicts.marks[1:],
    )


def _together(parts: list[TupleBatch], codes: list[Int32s]) -> tuple[TupleBatch, Int32s]:
    """Put what waits in front, as it came to its instants: it is of before the first delivery."""
    waiting, batch = parts
    nth = np.zeros(len(waiting), np.int32) if waiting.nth is None else waiting.nth
    order = np.lexsort((nth, waiting.ts, waiting.stream))
    waiting = waiting.with_delivery(-1).take(order)
    tags = [each.tag for each in (waiting, batch) if each.tag is not None]
    both = replace(
        batch,
        names=pa.concat_arrays([waiting.names, batch.names]),
        stream=np.concatenate([waiting.stream, batch.stream + np.int32(len(waiting.names))]),
        ts=np.concatenate([waiting.ts, batch.ts]),
        values=np.concatenate([waiting.values, batch.values], axis=1),
        delivery=np.concatenate([waiting.delivery, batch.delivery]),
        tag=np.concatenate(tags) if tags else None,
    )
    return both, np.concatenate(codes)


def _is_refused(verdict: Int8s) -> Bools:
    refused: Bools = (verdict > kernels.PASSED_BY) & (verdict < kernels.KEPT)
    return refused


def _waiting(batch: TupleBatch, arrivals: Incoming, verdicts: Verdicts) -> TupleBatch:
    """Take what waits, by stream and time; of one instant, as it came."""
    rows = np.flatnonzero(verdicts.verdict == kernels.WAITS)
    stream, nth = arrivals.code[arrivals.stream[rows]], verdicts.nth[rows]
    order = np.lexsort((nth, arrivals.ts[rows], stream))
    return replace(batch.take(rows[order]), stream=stream[order], nth=nth[order])


def _to_read(column: Column) -> Column:
    """View a column as one that is only read: Numba compiles a kernel for each sort."""
    view = column.view()
    view.flags.writeable = False
    return view


def _unjudged(past: Past, tuples: int, deliveries: int, marks: Int64s | None) -> Verdicts:
    streams, axes = len(past.last_ts), len(past.last_values)
    seen = np.empty((streams, kernels.GAP + 2 * axes))
    seen[:, kernels.TS], seen[:, kernels.ROW] = past.last_ts, kernels.NOBODY
    rising = np.full(deliveries, NEVER) if marks is None else marks
    return Verdicts(
        np.zeros(tuples, np.int8),
        np.zeros(tuples, np.int32),  # of memory that is touched only where tuples tie
        seen.ravel(),
        np.zeros(streams, np.int32),
        np.empty(tuples, np.int32),
        np.append(past.watermark, rising),
    )


class _Found(NamedTuple):
    """How many tuples are accepted, tie, and are inserted; and the largest ts."""

    accepted: int
    tied: int
    inserted: int
    top: int


def _judge(
    arrivals: Incoming,
    past: Past,
    fences: FenceColumns | None,
    rules: OrderRules,
    marked: bool,
    verdicts: Verdicts,
) -> _Found | None:
    """Judge all, at first as if hardly a step passed a post."""
    n = len(arrivals.ts)
    places = np.zeros(len(past.last_ts), np.int32) if past.last_place is None else past.last_place
    lasts = Lasts(past.last_ts, past.last_values, places)
    all_found, begin, thin_to = _Found(0, 0, 0, NEVER), 0, n
    if fences is None:
        fences, thin_to = NO_FENCES, 0
    ways = (rules.ties == "first", -1 if marked else rules.behind)
    while begin < n:
        end = min(n, SAMPLE) if begin == 0 and thin_to else n
        *found, compared, passed, top, stop = kernels.judge(
            arrivals, lasts, fences, *ways, begin, end, thin_to, EFFORT * n, verdicts
        )
        if stop < end:
            return None
        if end < n and passed > OFTEN * compared:
            thin_to = end
        accepted, tied, inserted = (a + b for a, b in zip(all_found[:3], found, strict=True))
        all_found = _Found(accepted, tied, inserted, max(all_found.top, top))
        begin = end
    return all_found


def _arranged(
    heads: Heads,
    names: pa.StringArray,
    arrivals: Incoming,
    verdicts: Verdicts,
    found: _Found,
    released: int,
) -> Path:
    """Write the path: of each stream its head, and its tuples that are kept."""
    stream, ties = np.flatnonzero(verdicts.kept).astype(np.int32), found.tied > 0
    fresh, kept = stream >= len(heads), verdicts.kept[stream]
    starts = np.append(0, np.cumsum(kept + ~fresh, dtype=np.int64))
    m, axes = int(starts[-1]), len(arrivals.values)
    following = np.zeros(len(verdicts.kept), np.int64)
    following[stream] = starts[:-1] + ~fresh
    places = Places(
        following,
        np.empty(m, np.int64),
        np.empty((axes, m)),
        np.empty(m, np.int32),
        np.empty(m if ties else 0, np.int32),
        np.zeros(m if len(arrivals.tag) else 0, np.int64),
    )
    at, of = starts[:-1][~fresh], stream[~fresh]
    places.ts[at], places.values[:, at], places.delivery[at] = (
        heads.ts[of],
        heads.values[:, of],
        HEAD,
    )
    if ties:
        places.nth[at] = heads.ts_place[of]
    kernels.arrange(arrivals, verdicts, places)
    if found.inserted:
        kernels.in_order(starts, places)
    begun, ended = np.full((2, axes, len(stream)), UNKNOWN, np.int32)
    begun[:, ~fresh], ended[:, ~fresh] = heads.begun[:, of], heads.ended[:, of]
    return Path(
        names=names,
        stream=stream,
        starts=starts,
        values=places.values,
        ts=places.ts,
        delivery=places.delivery,
        fresh=fresh,
        begun=begun,
        ended=ended,
        nth=places.nth if ties else None,
        tag=places.tag if len(arrivals.tag) else None,
        left_out=released - int(kept.sum()),
    )
