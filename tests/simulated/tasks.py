"""The tasks of the simulation: what Spark's workers do, on rows in memory.

Law: the same task gives the same rows, whoever does it and however often.
"""

from collections.abc import Callable, Mapping, Sequence

from pipelines.execute.share import FeedStep, Share, TaskResult
from pipelines.execute.task import work as evaluate_work
from pipelines.ingest.deliveries import Outcome
from pipelines.ingest.task import UnitResult
from pipelines.ingest.units import ReadUnit
from pipelines.spark.runner import Work
from schemas.epochs import COUNTS
from tests.simulated.store import Disk, Laid, Row, hash_of
from tests.simulated.streams import LOGS, Item, Rows, Streams, changes, newest, whole


class SimulatedRunner:
    """Does the tasks of both kinds; `step` is a place where the process may end."""

    def __init__(
        self, disk: Disk, items: Mapping[str, Item], slots: int, step: Callable[[], None]
    ) -> None:
        self.disk = disk
        self.items = items
        self.slots = slots
        self.step = step

    def run(self, work: Work, tasks: Sequence[str]) -> list[str]:
        answers = []
        for task in tasks:
            self.step()
            if work is evaluate_work:
                answers.append(self._evaluated(Share.from_json(task)).to_json())
            else:
                answers.append(self._taken(ReadUnit.from_json(task)).to_json())
        return answers

    def _taken(self, unit: ReadUnit) -> UnitResult:
        """Take deliveries in: what a worker of the ingest does."""
        tuples: Rows = []
        aside: Rows = []
        outcomes = []
        for part in unit.parts:
            item = self.items[part.files[0].path]
            own = [
                {
                    "stream_id": s,
                    "ts": ts,
                    "arrival": part.n,
                    "line": line,
                    "read_in": unit.feed.timezone,
                }
                for line, (s, ts) in enumerate(item.tuples)
            ]
            bad = [
                {"feed": unit.feed.name, "arrival": part.n, "reason": "malformed", "line": -line}
                for line in range(1, item.malformed + 1)
            ]
            tuples += own
            aside += bad
            outcomes.append(
                Outcome(
                    part.n,
                    rows=len(own) + len(bad),
                    tuples=len(own),
                    malformed=len(bad),
                    max_ts=item.max_ts,
                    hash=hash_of(Laid({}, own)),
                    aside=hash_of(Laid({}, bad)),
                )
            )
        files = [self.disk.put(unit.feed.name, tuples, bucket="-1")] if tuples else []
        others = [self.disk.put("quarantine", aside, feed=unit.feed.name)] if aside else []
        return UnitResult(files, others, outcomes)

    def _evaluated(self, share: Share) -> TaskResult:
        """Evaluate a share: what a worker of an epoch does."""
        state = self._state(share)
        tuples = [row for path in share.files[share.feed] for row in self.disk.written[path]]
        found: dict[str, Rows] = {}
        counts = {}
        for step in share.steps:
            before = state.copy()
            self._take(share, step, state, tuples)
            for name, rows in {**changes(before, state), **_found(share, state)}.items():
                found.setdefault(name, []).extend(_of(step, rows, snapshot=False))
            counts[step.epoch] = _counts(state)
            state = state.copy()
        if share.snapshot:
            for name, rows in whole(state).items():
                found.setdefault(name, []).extend(_of(share.steps[-1], rows, snapshot=True))
        written = {name: rows for name, rows in found.items() if rows}
        return TaskResult(
            {
                name: [self.disk.put(name, rows, feed=share.feed, bucket="-1").as_json()]
                for name, rows in written.items()
            },
            {name: len(rows) for name, rows in written.items()},
            {name: hash_of(Laid({}, rows)) for name, rows in written.items()},
            counts,
            {},
        )

    def _state(self, share: Share) -> Streams:
        logs = {}
        for name in LOGS:
            rows = [row for path in share.files[name] for row in self.disk.written[path]]
            counting = share.as_of.counting(Laid(self.disk.kinds[name], rows)).to_pylist()
            logs[name] = newest([row for row in counting if _is_of(share, row)])
        return Streams(logs["stream_state"], logs["reorder"], logs["pending"])

    def _take(self, share: Share, step: FeedStep, state: Streams, tuples: Sequence[Row]) -> None:
        for n, mark in zip(step.arrivals, step.watermarks, strict=True):
            mine = [row for row in tuples if row["arrival"] == n and _is_of(share, row)]
            state.take(
                n,
                [(row["stream_id"], row["ts"]) for row in sorted(mine, key=lambda r: r["line"])],
                step.queries or "",
                mark,
                step.rules,
            )


def _is_of(share: Share, row: Row) -> bool:
    return share.buckets is None or int(row["stream_id"]) % share.all_buckets in share.buckets


def _of(step: FeedStep, rows: Rows, *, snapshot: bool) -> Rows:
    own = {"epoch": step.epoch, "generation": step.generation, "snapshot": snapshot}
    return [{**row, **own} for row in rows]


def _found(share: Share, state: Streams) -> dict[str, Rows]:
    events = [{"stream_id": s, "head": head, "arrival": n} for s, head, n in state.found]
    turned = [
        {"feed": share.feed, "arrival": n, "reason": "duplicate", "stream_id": s, "line": ts}
        for n, s, ts in state.turned
    ]
    return {"events": events, "quarantine": turned}


def _counts(state: Streams) -> dict[str, int]:
    counts = dict.fromkeys(COUNTS, 0)
    counts["accepted"] = state.accepted
    counts["waiting"] = len(state.waiting)
    counts["duplicate"] = len(state.turned)
    counts["entered"] = len(state.found)
    return counts
