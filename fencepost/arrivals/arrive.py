"""What a batch of tuples leads to, before anyone asks what was crossed: the path, and the rest.

Two ways, with the same rows. Most feeds come in order: then each tuple is judged against its
stream's last one as it comes, and those whose step passes no post are left out of the path. Where
tuples wait, are numbered, or come out of order, all are sorted.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fencepost.arrow import codes_in
from fencepost.crossings.index import BorderIndex
from fencepost.crossings.path import Path
from fencepost.order import Advance, OrderRules, Past, Rejected, Released, admit, recoded
from fencepost.state import FeedState
from fencepost.tuples import Int32s, Int64s, TupleBatch

COMPILE_FROM = 5_000  # tuples from which the compiled kernels are worth loading


@dataclass(frozen=True, eq=False)
class Arrived:
    """What became of a batch, and what waits now.

    sequence  of the last tuple of each run, as text; None where there are none
    advance   where every stream has its own clock
    """

    path: Path
    waiting: TupleBatch
    rejected: Rejected
    watermarks: Int64s  # after each delivery
    advance: Advance | None = None
    sequence: pa.StringArray | None = None


def arrive(  # noqa: PLR0913  a step's three, and its options by name
    state: FeedState,
    batch: TupleBatch,
    index: BorderIndex,
    *,
    deliveries: int,
    rules: OrderRules,
    marks: Int64s | None = None,
    whole: bool = False,
    fast: bool | None = None,
) -> Arrived:
    """Judge every delivery of a batch in turn.

    `whole` keeps every accepted tuple on the path. O(n) in order of time, O(n log n) at worst.
    """
    names, codes = _numbered(state, batch)
    past = Past.of(state.heads, len(names), state.watermark)
    unnumbered = batch.sequence is None and state.waiting.sequence is None
    compiled = len(batch) >= COMPILE_FROM if fast is None else fast and len(batch) > 0
    if compiled and unnumbered and rules.idle is None:
        from fencepost.arrivals.in_turn import in_turn

        whole = whole or index.queries.position is not None
        fences = None if whole else index.fences
        heads = state.heads.known_to(index.base)
        parts = [_tagged(state.waiting, batch), batch]
        arrived = in_turn(heads, names, parts, codes, past, fences, deliveries, rules, marks)
        if arrived is not None:
            return arrived
    return _by_sorting(state, batch, index, names, past, deliveries, rules, marks)


def _by_sorting(  # noqa: PLR0913  what `arrive` was given, and what it found of streams
    state: FeedState,
    batch: TupleBatch,
    index: BorderIndex,
    names: pa.StringArray,
    past: Past,
    deliveries: int,
    rules: OrderRules,
    marks: Int64s | None,
) -> Arrived:
    admission = admit(
        recoded(batch, names),
        recoded(_tagged(state.waiting, batch), names),
        past,
        deliveries=deliveries,
        rules=rules,
        marks=marks,
    )
    released = admission.released
    path = Path.build(
        state.heads.known_to(index.base),
        names,
        released.stream,
        released.ts,
        released.values,
        released.delivery,
        released.place,
        released.tag,
    )
    return Arrived(
        path,
        admission.waiting.compacted(),
        admission.rejected,
        admission.watermarks,
        admission.advance,
        _last_sequences(released),
    )


def _numbered(state: FeedState, batch: TupleBatch) -> tuple[pa.StringArray, list[Int32s]]:
    """Number the streams: those with a head first, in the order of the heads, then the others.

    Returns their names, and the numbers of those that wait and of those of the batch.
    """
    names, found = state.heads.names, []
    for more in (state.waiting.names, batch.names):
        codes = codes_in(more, names)
        fresh = codes < 0
        if fresh.any():
            codes = np.where(fresh, len(names) + np.cumsum(fresh) - 1, codes).astype(np.int32)
            names = pa.concat_arrays([names, more.filter(pa.array(fresh))])
        found.append(codes)
    return names, found


def _tagged(waiting: TupleBatch, batch: TupleBatch) -> TupleBatch:
    """Give what waits tags of its own, where the batch has some: -1, -2, … in its order."""
    if batch.tag is None:
        return replace(waiting, tag=None)
    if waiting.tag is not None:
        return waiting
    return replace(waiting, tag=-1 - np.arange(len(waiting)))


def _last_sequences(released: Released) -> pa.StringArray | None:
    """Give the sequence of the last tuple of each run, as text."""
    if released.sequence is None:
        return None
    last = np.flatnonzero(np.diff(released.stream, append=-1))
    return released.sequence.take(pa.array(last)).cast(pa.string())
