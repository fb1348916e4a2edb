"""Tuples that wait for the watermark: from rows of a log to the engine, and back.

Law: which tuples of a stream and ts wait, and in which order they came, is what the log says as of
an epoch; a row that was never written with a number is the first.
"""

import numpy as np
import pyarrow as pa

from fencepost.arrow import codes_in, texts_of
from fencepost.tuples import Int32s, Int64s, TupleBatch
from schemas.logs import NTH, SEQUENCE


def waiting_tuples(
    feed: str, axes: tuple[str, ...], rows: pa.Table, tags: Int64s | None = None
) -> TupleBatch:
    """Load waiting tuples of a feed from rows of a log."""
    if rows.num_rows == 0:
        return TupleBatch.empty(feed, axes)
    sequence = rows[SEQUENCE.name].combine_chunks()
    return TupleBatch.from_columns(
        feed,
        axes,
        texts_of(rows["stream_id"]),
        rows["ts"].cast(pa.int64()).to_numpy(),
        np.stack([rows[axis].to_numpy() for axis in axes]),
        sequence=None if sequence.null_count == len(sequence) else sequence,
        tag=tags,
        nth=rows[NTH.name].fill_null(0).to_numpy(),
    )


def waiting_numbers(waiting: TupleBatch) -> Int32s:
    """Say which of its stream and ts each waiting tuple is, in the order in which they came."""
    return np.zeros(len(waiting), np.int32) if waiting.nth is None else waiting.nth


def waiting_columns(waiting: TupleBatch) -> dict[str, pa.Array]:
    """Arrange what waits for the watermark as columns of a log."""
    columns = {
        "stream_id": waiting.names.take(pa.array(waiting.stream)),
        "ts": pa.array(waiting.ts),
        **{a: pa.array(v) for a, v in zip(waiting.axes, waiting.values, strict=True)},
        NTH.name: pa.array(waiting_numbers(waiting)),
    }
    if waiting.sequence is not None:
        columns[SEQUENCE.name] = waiting.sequence.cast(pa.string())
    return columns


def waiting_changes(before: TupleBatch, after: TupleBatch) -> list[tuple[bool, TupleBatch]]:
    """Give the tuples that no longer wait, and those that began to.

    Those of a stream and ts are released together, so the number of one that waits never changes.
    """
    if len(before) == 0 or len(after) == 0:
        return [(True, before), (False, after)]
    known = codes_in(after.names, before.names)
    _, rank = np.unique(np.concatenate([before.ts, after.ts]), return_inverse=True)
    many = len(rank)
    mine = before.stream.astype(np.int64) * many + rank[: len(before)]
    theirs = known[after.stream].astype(np.int64) * many + rank[len(before) :]
    nth = np.concatenate([waiting_numbers(before), waiting_numbers(after)])
    most = 1 + int(nth.max())
    mine = mine * most + nth[: len(before)]
    theirs = theirs * most + nth[len(before) :]
    theirs[known[after.stream] < 0] = -1
    return [
        (True, before.take(~np.isin(mine, theirs))),
        (False, after.take(~np.isin(theirs, mine))),
    ]
