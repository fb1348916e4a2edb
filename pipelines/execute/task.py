"""The work of a task: a share's tuples through the engine, epoch by epoch, and out as data files.

Law: the shares of a feed together give what one step over all of it would give; and doing the work
again gives the same rows.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrow import codes_in
from fencepost.crossings.index import BorderIndex
from fencepost.crossings.state import Heads
from fencepost.engine import step
from fencepost.hashing import added
from fencepost.matches.matcher import Matcher
from fencepost.outcome import FeedOutcome
from fencepost.queries import QuerySet
from fencepost.row_hashes import content_hash
from fencepost.state import FeedState
from fencepost.transitions import Pending
from fencepost.tuples import Bools, TupleBatch
from pipelines.execute import write as outputs
from pipelines.execute.payload import Payload, tags_of_waiting
from pipelines.execute.read import ShareRows, read
from pipelines.execute.reorder import waiting_tuples
from pipelines.execute.share import Choice, FeedStep, Share, TaskResult, choice_of
from pipelines.lake.data_files import write_pieces
from pipelines.places import Place, is_remote
from pipelines.registry.cache import load_changes
from schemas import Feeds, all_tables
from schemas.epochs import COUNTS
from schemas.logs import SEQUENCE
from schemas.table import PAYLOAD_PREFIX

NOT_HASHED = ("place", "index", "bucket", "side")
"""What depends on how the work was shared out, and what an older Fencepost did not write, though
the other columns say it: so the same rows have the same hash."""

PLACES = ("place", "from_place", "to_place", "left_place", "right_place", "ts_place", "nth")
"""Where tuples stand among those of their ts. Where all are 0 a row is hashed as up to format 5,
which had one tuple an instant: so what that began is finished."""

HASHED_DETAILS = {
    "duplicate": "the stream has this tuple already: the same ts and the same values",
    "conflict": "the stream has a tuple of this ts already, with other values; the first was taken",
    "late": "the stream has gone past this ts",
}
"""Hashed in place of a quarantine's `detail`: the words of format 4, whatever they are now, so that
what an older Fencepost began is finished by this one."""

_FIRST_ALONE = {"min": 0, "max": 0}
_indexes: dict[str, BorderIndex] = {}
_matchers: dict[str, Matcher] = {}
_tuples_matched: dict[str, int] = {}
_MOST_INDEXES = 4

T = TypeVar("T")


def work(line: str) -> str:
    """Do a task: JSON in, JSON out."""
    share = Share.from_json(line)
    seconds: dict[str, float] = {}
    return evaluate(share, read(share, seconds), seconds).to_json()


def evaluate(share: Share, rows: ShareRows, seconds: dict[str, float]) -> TaskResult:
    """Evaluate a share whose rows have been read; write the results."""
    started = time.perf_counter()
    run = _ShareRun(share, rows)
    for place in range(len(share.steps)):
        run.evaluate(place)
    if share.snapshot:
        run.writer.snapshot(run.state, share.steps[-1])
    run.writer.flush_all()
    files = run.files
    seconds["write"] = files.seconds
    seconds["evaluate"] = time.perf_counter() - started - files.seconds
    return TaskResult(files.files, files.rows, files.hashes, run.counts, seconds, run.choices)


class ShareFiles:
    """The data files of a share: by table, written as their rows arrive."""

    def __init__(self, root: Place, columns: Feeds) -> None:
        """Write below a lake; `columns` are those of all its feeds."""
        self.root = root
        self.declared = all_tables(columns)
        self.files: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.rows: dict[str, int] = defaultdict(int)
        self.hashes: dict[str, int] = defaultdict(int)
        self.seconds = 0.0

    def write(self, name: str, pieces: Iterable[pa.Table]) -> None:
        """Write rows of a table piece by piece, invisible until they are committed."""
        written = write_pieces(self.root / name, self.declared[name], self._seen(name, pieces))
        self.files[name] += [file.as_json() for file in written]

    def _seen(self, name: str, pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Count and hash pieces as they pass, and the time for which they are away."""
        for piece in pieces:
            started = time.perf_counter()
            self.rows[name] += piece.num_rows
            self.hashes[name] = added(self.hashes[name], rows_hash(piece))
            yield piece
            self.seconds += time.perf_counter() - started


def rows_hash(rows: pa.Table) -> int:
    """Hash rows as evidence does. O(n)."""
    if "detail" in rows.column_names:
        code = pc.index_in(rows["reason"], value_set=pa.array(list(HASHED_DETAILS)))
        details = pa.array(list(HASHED_DETAILS.values())).take(code)
        rows = rows.set_column(rows.column_names.index("detail"), "detail", details)
    later = [field.name for field in rows.schema if _came_later(field)]
    plain = _are_plain(rows.select(later))
    if plain.all():
        return content_hash(rows, (*NOT_HASHED, *later))
    never = tuple(name for name in NOT_HASHED if name not in later)
    old, new = rows.filter(pa.array(plain)), rows.filter(pa.array(~plain))
    return added(content_hash(old, (*never, *later)), content_hash(new, never))


def _came_later(field: pa.Field) -> bool:
    """Say whether a column came with format 6; the place of an index or a window is another."""
    place = field.name in PLACES and field.type == pa.int32()
    return bool(place or field.name == SEQUENCE.name or field.name.startswith(PAYLOAD_PREFIX))


def _are_plain(later: pa.Table) -> Bools:
    """Say of each row whether it has nothing that an older format had no column for."""
    plain = np.ones(later.num_rows, np.bool_)
    for field, column in zip(later.schema, later.columns, strict=True):
        if column.null_count == len(column):
            continue
        if field.name in PLACES:
            if pc.min_max(column).as_py() != _FIRST_ALONE:
                plain &= column.fill_null(0).to_numpy() == 0
        else:
            plain &= column.is_null().to_numpy()
    return plain


class _ShareRun:
    """A share being evaluated, epoch by epoch."""

    def __init__(self, share: Share, rows: ShareRows) -> None:
        self.share = share
        self.tuples = rows.tuples
        self.files = ShareFiles(share.place, share.columns)
        names = share.columns[share.feed].payload_columns
        payload = Payload(names, rows.tuples.rows, rows.reorder)
        self.writer = outputs.FeedWriter(share, payload, self.files.write)
        self.counts: dict[int, dict[str, int]] = {}
        self.choices: dict[int, Choice] = {}
        self.index = _index(share, share.steps[0])
        self.state = _state(share, rows, self.index)
        if len(self.state.pending) < rows.pending.num_rows:
            self.writer.lost(share.steps[0], _out_of_force(rows.pending, self.index.queries))

    def evaluate(self, place: int) -> None:
        """Evaluate the deliveries of one epoch."""
        share, now = self.share, self.share.steps[place]
        self.index = _index(share, now)
        begin = sum(len(step.arrivals) for step in share.steps[:place])
        mine = self.tuples.of_deliveries(begin, begin + len(now.arrivals))
        outcome = step(
            self.state,
            mine.batch,
            self.index,
            deliveries=len(now.arrivals),
            rules=now.rules,
            marks=now.marks,
            matcher=_matcher(share, now, len(mine)),
            emit=partial(self.writer.find, now),
        )
        before = self.state.waiting, self.state.pending
        self.state = outcome.state
        self.writer.add(now, outcome, mine, before)
        self.counts[now.epoch] = _counts(outcome)
        self.counts[now.epoch]["matched"] = self.writer.match(now, outcome)
        self.choices[now.epoch] = choice_of(outcome)


def _index(share: Share, now: FeedStep) -> BorderIndex:
    """Build the index of a query set, or reuse the one that this process built. O(n)."""
    if now.queries is None:
        return BorderIndex.build(QuerySet.empty(share.feed, share.axes[share.feed]))
    return _index_of(share.place / now.queries)


def _index_of(path: Place) -> BorderIndex:
    """Build it from the file; of a set that changes another, from the index of that."""

    def build() -> BorderIndex:
        base, changes = load_changes(path)
        if base is None:
            return BorderIndex.build(changes.added)
        return changes.applied_to(_index_of(base))

    return built(_indexes, build, key_of(path))


def _matcher(share: Share, now: FeedStep, tuples: int) -> Matcher | None:
    """Do the same for the `match` queries; None if there are none.

    While this process has evaluated few tuples, they are compared without an index.
    """
    if now.matches is None:
        return None
    return _matcher_of(share.place / now.matches, tuples)


def _matcher_of(path: Place, tuples: int) -> Matcher:
    """Build it from the file, likewise; that of a base serves what those over it serve."""
    key = key_of(path)
    many = _tuples_matched.get(key, 0) + tuples

    def build() -> Matcher:
        base, changes = load_changes(path)
        if base is None:
            return Matcher.build(changes.added, tuples=many)
        return changes.applied_to(_matcher_of(base, tuples))

    _matchers[key] = built(_matchers, build, key).serving(many)
    _tuples_matched[key] = many
    for forgotten in _tuples_matched.keys() - _matchers.keys():
        del _tuples_matched[forgotten]
    return _matchers[key]


def built(known: dict[str, T], build: Callable[[], T], key: str) -> T:
    """Give what was built before under this name, or build it; those used last are cached."""
    found = known.pop(key) if key in known else build()
    while len(known) >= _MOST_INDEXES:
        del known[next(iter(known))]
    known[key] = found
    return found


def key_of(path: Place) -> str:
    """Name a file and its content."""
    if is_remote(path):  # whose name says what it was made from
        return str(path)
    return f"{path}:{path.stat().st_mtime_ns}:{path.stat().st_ino}"


def _state(share: Share, rows: ShareRows, index: BorderIndex) -> FeedState:
    """Build from the logs the state that the engine continues from."""
    axes = share.axes[share.feed]
    heads = Heads.from_table(axes, _as_integers(rows.stream_state), index.base)
    waiting = _waiting(share, rows.reorder)
    pending = _as_integers(rows.pending)
    undecided = Pending.from_table(index.queries, heads.names, pending)
    return FeedState(share.feed, heads, waiting, undecided, share.watermark)


def _out_of_force(pending: pa.Table, queries: QuerySet) -> pa.Table:
    """Give the pending events whose query is no longer active in their version."""
    row = codes_in(pending["query_id"].combine_chunks(), queries.ids)
    versions = np.append(queries.versions, 0)[row]
    stands = (row >= 0) & (versions == pending["query_version"].to_numpy())
    return pending.filter(pa.array(~stands))


def _as_integers(table: pa.Table) -> pa.Table:
    table = table.set_column(table.column_names.index("ts"), "ts", table["ts"].cast(pa.int64()))
    place = table.column_names.index("stream_id")
    return table.set_column(place, "stream_id", table["stream_id"].cast(pa.string()))


def _waiting(share: Share, rows: pa.Table) -> TupleBatch:
    """Load the waiting tuples, in the order in which the engine keeps them."""
    own = share.columns[share.feed]
    tags = tags_of_waiting(rows.num_rows) if own.payload else None
    return waiting_tuples(share.feed, own.axes, rows, tags)


def _counts(outcome: FeedOutcome) -> dict[str, int]:
    counts = dict.fromkeys(COUNTS, 0)
    counts["accepted"] = outcome.accepted
    counts["waiting"] = len(outcome.state.waiting)
    counts["entered"], counts["left"] = outcome.counts.entered, outcome.counts.left
    for name, many in outputs.reasons(outcome).items():
        counts[name] = many
    for name, many in outputs.kinds(outcome).items():
        counts[name] = many
    return counts
