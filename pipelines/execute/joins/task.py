"""The work of a task of joins: both feeds' tuples through the lane's step, epoch by epoch.

Law: the parts of a lane's joins together give what one task over all of them would; and doing the
work again gives the same rows.
"""

import time
from collections.abc import Iterable

import numpy as np

from fencepost.joins.engine import JoinOutcome, step
from fencepost.joins.index import LaneIndex
from fencepost.order import REASONS
from fencepost.queries.joins import BandJoins, JoinSets, NearJoins
from fencepost.tuples import Int64s
from pipelines.execute.joins.read import JoinShareRows, read
from pipelines.execute.joins.share import JoinShare
from pipelines.execute.joins.write import JoinWriter
from pipelines.execute.share import TaskResult
from pipelines.execute.task import ShareFiles, built, key_of
from pipelines.registry.cache import load_joins

_indexes: dict[str, LaneIndex] = {}


def work(line: str) -> str:
    """Do a task: JSON in, JSON out."""
    share = JoinShare.from_json(line)
    seconds: dict[str, float] = {}
    return evaluate(share, read(share, seconds), seconds).to_json()


def evaluate(share: JoinShare, rows: JoinShareRows, seconds: dict[str, float]) -> TaskResult:
    """Evaluate a share whose rows have been read; write the results."""
    started = time.perf_counter()
    files = ShareFiles(share.place, share.columns)
    writer = JoinWriter(share, files.write)
    counts: dict[int, dict[str, int]] = {}
    state, stood = rows.state, share.standing
    begin = 0
    for now in share.steps:
        index = _index(share, now.joins)
        beyond = begin + len(now.arrivals)
        left, right = (side.of_deliveries(begin, beyond) for side in rows.sides)
        outcome = step(
            state,
            (left.batch, right.batch),
            np.array(now.sides, np.int8),
            index,
            rules=now.rules,
            registry=now.registry,
            newly=_newly(share, stood, now.joins, index.bands),
            near_newly=_newly(share, stood, now.joins, index.nears),
            gone=(left.gone, right.gone),
        )
        counts[now.epoch] = writer.add(now, outcome)
        if share.writes_state:
            counts[now.epoch] |= _counts(outcome)
        state, stood, begin = outcome.state, now.joins, beyond
    if share.snapshot:
        writer.snapshot(share.steps[-1], state)
    writer.flush_all()
    seconds["write"] = files.seconds
    seconds["evaluate"] = time.perf_counter() - started - files.seconds
    return TaskResult(files.files, files.rows, files.hashes, counts, seconds)


def _index(share: JoinShare, file: str | None) -> LaneIndex:
    """Build the index of the share's part of the joins, or reuse that of this process. O(n log n).

    The part and the number of parts are in its name: `built` keeps a few by name.
    """
    left, right = share.feeds
    if file is None:
        axes = (share.axes[left], share.axes[right])
        return LaneIndex.build(JoinSets.from_queries(share.feeds, axes))
    path = share.place / file
    part, parts = share.part

    def build() -> LaneIndex:
        sets = load_joins(path)
        # The part that writes the state keeps what any of the window joins still needs.
        return LaneIndex.build(sets.part(part, parts), sets.windows)

    return built(_indexes, build, f"{key_of(path)}:{part}/{parts}")


def _newly(
    share: JoinShare, before: str | None, now: str | None, joins: BandJoins | NearJoins
) -> Int64s:
    """Give the rows of the joins that were not active before, in this very version.

    All that were active are compared: a join's task may change when another is removed.
    """
    if now == before:
        return np.empty(0, np.int64)
    stood: set[tuple[str, int]] = set()
    if before is not None:
        sets = load_joins(share.place / before)
        stood = {*_names(sets.bands), *_names(sets.nears)}
    return np.array([row for row, name in enumerate(_names(joins)) if name not in stood], np.int64)


def _names(joins: BandJoins | NearJoins) -> Iterable[tuple[str, int]]:
    return zip(joins.ids.to_pylist(), joins.versions.tolist(), strict=True)


def _counts(outcome: JoinOutcome) -> dict[str, int]:
    counts = {"accepted": sum(outcome.accepted), "waiting": sum(outcome.waiting)}
    for side in outcome.sides:
        many = np.bincount(side.rejected.reason, minlength=len(REASONS))
        for code, reason in enumerate(REASONS[1:], 1):
            counts[reason] = counts.get(reason, 0) + int(many[code])
    return counts
