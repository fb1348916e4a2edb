"""Tuples judged as they come, and the path of those that matter.

Law: leaving out of a path tuples whose steps pass no post changes no event. The queries that hold
at either end of such a step are the same, so whoever crosses the next post is compared with a tuple
that stands where the one before it stood; and of a crossing tuple the very one before is kept.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fencepost.arrivals import kernels
from fencepost.arrivals.arrive import Arrived
from fencepost.arrivals.columns import Incoming, Lasts, Places, Verdicts
from fencepost.arrow import codes_in
from fencepost.crossings.columns import FenceColumns
from fencepost.crossings.path import HEAD, Path
from fencepost.crossings.state import UNKNOWN, Heads
from fencepost.order import OrderRules, Past, Rejected
from fencepost.tuples import Int64s, TupleBatch

SAMPLE = 1 << 16  # tuples after which it is known whether most steps pass a post
OFTEN = 0.5  # of the steps pass one: then to leave out the others is not worth the test
Column = npt.NDArray[Any]
NOT_YET = -1  # the row of a stream of which no tuple has come
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
    batch: TupleBatch,
    past: Past,
    fences: FenceColumns | None,
    deliveries: int,
    rules: OrderRules,
    marks: Int64s | None,
) -> Arrived | None:
    """Judge each tuple against the last one of its stream; None if one must be sorted.

    Without fences every accepted tuple is kept. O(tuples + streams): 30 bytes a stream and axis.
    """
    arrivals = Incoming(
        _to_read(codes_in(batch.names, names)),
        _to_read(batch.stream),
        _to_read(batch.ts),
        _to_read(batch.values),
        _to_read(batch.delivery),
        _to_read(NO_TAGS if batch.tag is None else batch.tag),
    )
    verdicts = _unjudged(past, len(batch), deliveries)
    found = _judge(arrivals, past, fences, rules.ties == "first", verdicts)
    if found is None:
        return None
    accepted, tied = found
    _keep_last(verdicts)
    path = _arranged(heads, names, arrivals, verdicts, accepted, ties=tied > 0)
    reason = verdicts.verdict
    row = np.flatnonzero((reason > 0) & (reason < kernels.KEPT)) if accepted < len(batch) else None
    rejected = (
        Rejected(np.empty(0, np.int64), np.empty(0, np.int8))
        if row is None
        else Rejected(row, reason[row])
    )
    watermarks = np.maximum.accumulate(np.append(past.watermark, verdicts.largest))[1:]
    waiting = TupleBatch.empty(batch.feed, batch.axes)
    return Arrived(path, waiting, rejected, watermarks if marks is None else marks)


def _to_read(column: Column) -> Column:
    """View a column as one that is only read: Numba compiles a kernel for each sort."""
    view = column.view()
    view.flags.writeable = False
    return view


def _unjudged(past: Past, tuples: int, deliveries: int) -> Verdicts:
    streams, axes = len(past.last_ts), len(past.last_values)
    seen = np.empty((streams, kernels.GAP + 2 * axes))
    seen[:, kernels.TS], seen[:, kernels.ROW] = past.last_ts, NOT_YET
    return Verdicts(
        np.zeros(tuples, np.int8),
        np.zeros(tuples, np.int32),  # of memory that is touched only where tuples tie
        seen.ravel(),
        np.zeros(streams, np.int32),
        np.full(deliveries, kernels.NEVER),
    )


def _judge(
    arrivals: Incoming,
    past: Past,
    fences: FenceColumns | None,
    first_only: bool,
    verdicts: Verdicts,
) -> tuple[int, int] | None:
    """Judge all; return how many are accepted, and how many of them tie."""
    n = len(arrivals.ts)
    places = np.zeros(len(past.last_ts), np.int32) if past.last_place is None else past.last_place
    lasts = Lasts(past.last_ts, past.last_values, places)
    begin, accepted, tied, thin_to = 0, 0, 0, n
    if fences is None:
        fences, thin_to = NO_FENCES, 0
    while begin < n:
        end = min(n, SAMPLE) if begin == 0 and thin_to else n
        good, ties, compared, passed, stop = kernels.judge(
            arrivals, lasts, fences, first_only, begin, end, thin_to, verdicts
        )
        if stop < end:
            return None
        if end < n and passed > OFTEN * compared:
            thin_to = end
        begin, accepted, tied = end, accepted + good, tied + ties
    return accepted, tied


def _keep_last(verdicts: Verdicts) -> None:
    """Keep the last tuple of each stream: the next head."""
    row = verdicts.seen.reshape(len(verdicts.kept), -1)[:, kernels.ROW].astype(np.int64)
    stream = np.flatnonzero(row != NOT_YET)
    stream = stream[verdicts.verdict[row[stream]] == kernels.PASSED_BY]
    verdicts.verdict[row[stream]] = kernels.KEPT
    verdicts.kept[stream] += 1


def _arranged(
    heads: Heads,
    names: pa.StringArray,
    arrivals: Incoming,
    verdicts: Verdicts,
    accepted: int,
    *,
    ties: bool,
) -> Path:
    """Write the path: of each stream its head, and its tuples that are kept."""
    stream = np.flatnonzero(verdicts.kept).astype(np.int32)
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
    kernels.arrange(arrivals, verdicts, places)
    at, of = starts[:-1][~fresh], stream[~fresh]
    places.ts[at], places.values[:, at], places.delivery[at] = (
        heads.ts[of],
        heads.values[:, of],
        HEAD,
    )
    if ties:
        places.nth[at] = heads.ts_place[of]
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
        left_out=accepted - int(kept.sum()),
    )
