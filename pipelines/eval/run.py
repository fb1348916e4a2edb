"""Evaluate files: each delivery is read and pushed to the evaluation; then the tables are written.

Law: only one delivery is in memory at a time, and nothing is written where any of them is at fault.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.api.evaluation import Evaluation
from fencepost.api.tables import ResultTables
from fencepost.errors import Fault, refuse
from fencepost.order import rejection_details
from fencepost.queries.files import collected
from fencepost.times import format_instant
from fencepost.tuples import Bools, Int64s, TupleBatch
from pipelines.eval.payload import PayloadRows, payload_types
from pipelines.eval.plan import Plan, plan
from pipelines.eval.quarantine import NAME, QuarantineRows
from pipelines.eval.request import EvalRequest
from pipelines.eval.shape import NOTHING_WRITTEN
from pipelines.eval.summary import CHANGES, Summary
from pipelines.files.read.delivery import read
from pipelines.files.read.rows import Malformed, ReadDelivery
from pipelines.progress import Progress, no_progress, part_of

EVALUATED = 0.75
"""Share of the work that is done when all is evaluated and nothing is written."""


def run(request: EvalRequest, progress: Progress = no_progress) -> Summary:
    """Carry out the request; Faults say what is wrong, and then nothing is written."""
    settled = plan(request)
    files = _FileEvaluation(
        request,
        Evaluation.of(settled.standing, settled.rules),
        ResultTables(settled.axes, settled.lanes, payload_types(settled.declared)),
        settled.notes(),
    )
    faults: list[Fault] = []
    begins = _shares([file.size for _, file in settled.deliveries])
    for (feed, file), (begin, end) in zip(settled.deliveries, pairwise(begins), strict=True):
        middle = (begin + end) / 2
        reading = part_of(progress, begin, middle)
        reader = partial(read, file, settled.axes[feed], settled.declared[feed], reading)
        delivery = collected(faults, reader, None)
        if delivery is not None and not faults:
            progress(f"evaluating {file.source}", middle)
            collected(faults, partial(files.push, feed, delivery), None)
    refuse(faults, NOTHING_WRITTEN)
    progress("sorting the results", EVALUATED)
    tables = files.results.tables() | {NAME: files.quarantine.table}
    summary = _summary(settled, files, tables)
    settled.out.write(tables, part_of(progress, EVALUATED, 1.0))
    return summary


def _shares(sizes: Sequence[int]) -> list[float]:
    """Give where the work on each delivery begins, by its size, and where the last one ends."""
    ends = np.cumsum([0, *sizes])
    begins: list[float] = (ends / max(ends[-1], 1) * EVALUATED).tolist()
    return begins


@dataclass(eq=False)
class _FileEvaluation:
    """An evaluation of files: results and rejected rows so far, and how many rows were read."""

    request: EvalRequest
    evaluation: Evaluation
    results: ResultTables
    notes: list[str]
    quarantine: QuarantineRows = field(default_factory=QuarantineRows)
    payload: dict[str, PayloadRows] = field(default_factory=dict)
    read: int = 0

    def push(self, name: str, delivery: ReadDelivery) -> None:
        """Take one delivery of a feed."""
        ahead = _ahead(delivery, self.request.max_skew)
        rows = np.flatnonzero(~ahead)
        at = pa.array(rows)
        payload = self.payload.setdefault(name, PayloadRows())
        batch = TupleBatch.from_columns(
            name,
            delivery.axes,
            delivery.ids.take(at),
            delivery.ts[rows],
            delivery.values[:, rows],
            sequence=None if delivery.sequence is None else delivery.sequence.take(at),
            tag=None if delivery.payload is None else payload.add(delivery.payload.take(at)),
        )
        rejected = self.evaluation.push(batch, self.results, payload.onto)
        waiting = self.evaluation.feeds[name].state.waiting.tag
        payload.keep(np.empty(0, np.int64) if waiting is None else waiting)
        self.read += delivery.rows
        self._quarantine(delivery, rows, rejected, np.flatnonzero(ahead))
        for axis in delivery.numberless:
            self.notes.append(
                f"note: {delivery.source}: not one row has a number in '{axis}'. "
                "If it is no axis, name those that are: --axes price,volume"
            )

    def _quarantine(
        self, delivery: ReadDelivery, evaluated: Int64s, rejected_rows: pa.Table, future: Int64s
    ) -> None:
        """Keep the rows that the engine rejected, and those too far ahead of their clock."""
        reasons = rejected_rows["reason"].combine_chunks()
        rows = np.concatenate([evaluated[rejected_rows["row"].to_numpy()], future])
        order = np.argsort(rows, kind="stable")
        all_reasons = pa.concat_arrays([reasons, pa.array(["future"] * len(future), pa.string())])
        details = pa.concat_arrays([rejection_details(reasons), _how_far(delivery, future)])
        rejected = Malformed(
            delivery.line[rows[order]],
            details.take(pa.array(order)),
            delivery.raw_of(rows[order]),
        )
        self.quarantine.add(
            delivery.source,
            delivery.rows,
            delivery.malformed,
            all_reasons.take(pa.array(order)),
            rejected,
            ordered=delivery.sequence is not None,
        )


def _ahead(delivery: ReadDelivery, max_skew: int) -> Bools:
    """Say which tuples are further ahead of the feed's clock than they may be."""
    if delivery.clock is None:
        return np.zeros(len(delivery.ts), np.bool_)
    ahead: Bools = delivery.ts - delivery.clock > max_skew
    return ahead


def _how_far(delivery: ReadDelivery, rows: Int64s) -> pa.StringArray:
    clocks = [] if delivery.clock is None else delivery.clock[rows].tolist()
    words = [
        f"ts is {timedelta(microseconds=ts - clock)} ahead of the clock, {format_instant(clock)}"
        for clock, ts in zip(clocks, delivery.ts[rows].tolist(), strict=True)
    ]
    return pa.array(words, pa.string())


def _summary(settled: Plan, files: _FileEvaluation, tables: Mapping[str, pa.Table]) -> Summary:
    joins, asking = settled.joins.values(), settled.queries.values()
    summary = Summary(
        deliveries=len(settled.deliveries),
        read=files.read,
        accepted=files.evaluation.accepted,
        waiting=files.evaluation.waiting,
        quarantined=_counts(tables[NAME]["reason"]),
        events=_counts(tables["events"]["type"]),
        transitions=_counts(tables["transitions"]["type"]),
        matches=len(tables["matches"]) if any(map(len, settled.matches.values())) else None,
        leaps=len(tables["leaps"]) if any(q.leaps.any() for q in asking) else None,
        pairs=len(tables["pairs"]) if any(len(s.windows) for s in joins) else None,
        band_changes=_signs(tables["band_changes"]) if any(len(s.bands) for s in joins) else None,
        near_changes=_signs(tables["near_changes"]) if any(len(s.nears) for s in joins) else None,
        unevaluated=settled.standing.unevaluated,
        written=[str(path) for path in settled.out.targets.values()],
        notes=files.notes,
        losses=files.quarantine.losses,
    )
    summary.check()
    return summary


def _signs(changes: pa.Table) -> dict[str, int]:
    signs = changes["change"].to_numpy()
    return {sign: int((signs == int(sign)).sum()) for sign in CHANGES}


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    return {row["values"]: row["counts"] for row in pc.value_counts(column).to_pylist()}
