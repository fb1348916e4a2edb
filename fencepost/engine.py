"""One step of the engine: from state and tuples to events, transitions, matches, the new state.

Rejected rows come out beside them, with their reasons.

Pure and deterministic. Law: any grouping of the same deliveries into steps gives the same rows.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from fencepost.arrays import Codes
from fencepost.arrow import by_code, codes_in
from fencepost.crossings.choose import Chosen, Method, cross
from fencepost.crossings.columns import Events
from fencepost.crossings.difference import Difference
from fencepost.crossings.index import BorderIndex
from fencepost.crossings.path import HEAD, Path
from fencepost.crossings.state import UNKNOWN, Heads
from fencepost.crossings.walk import Walk
from fencepost.errors import InputError, StateError
from fencepost.leaps.result import Leaps
from fencepost.matches.matcher import Matcher, ProbeInput
from fencepost.matches.result import ProbeResult
from fencepost.order import (
    AS_THEY_COME,
    NEVER,
    REASONS,
    Advance,
    OrderRules,
    Past,
    Rejected,
    Released,
    admit,
    recoded,
)
from fencepost.queries import QuerySet
from fencepost.transitions import KINDS, Clocks, Crossed, Pending, Transitions, decide
from fencepost.tuples import Bools, Int32s, Int64s, TupleBatch

TYPES = ("O", "I")
FIRST_PIECE = 1 << 12  # tuples matched before it is known how many matches they have


@dataclass(frozen=True, eq=False)
class FeedState:
    """All that a feed's past means for its future. `watermark` is None until something was seen.

    What waits is numbered: `waiting.nth` says which of its stream and ts came first.
    """

    feed: str
    heads: Heads
    waiting: TupleBatch
    pending: Pending
    watermark: int | None = None

    @classmethod
    def empty(cls, feed: str, axes: Sequence[str]) -> "FeedState":
        """Nothing was ever seen."""
        nothing = Pending.empty(QuerySet.empty(feed, tuple(axes)))
        return cls(feed, Heads.empty(axes), TupleBatch.empty(feed, axes), nothing)


@dataclass(frozen=True, eq=False)
class FeedOutcome:
    """What a step found; `events`, `transitions`, `matches` become tables when they are read.

    Matches are not even looked for before: there may be a thousand for every tuple.
    """

    walked: Walk | Difference
    chosen: Chosen
    found: Events
    leapt: Leaps | None  # None: no query asks for leaps
    decided: Transitions
    names: pa.StringArray
    feed: str
    turned: Rejected
    watermarks: Int64s  # after each delivery
    state: FeedState
    changed: Heads  # the heads that this step moved: what an append-only log of the state needs
    queries: QuerySet = field(repr=False)
    matcher: Matcher | None
    threads: int

    @property
    def accepted(self) -> int:
        """How many tuples were accepted: of the batch, and of those that waited before."""
        return int((self.walked.path.delivery != HEAD).sum())

    @property
    def rejected(self) -> pa.Table:
        """The rejected rows of the batch, in their order, and why."""
        order = np.argsort(self.turned.row)
        reasons = pa.array(REASONS).take(pa.array(self.turned.reason[order]))
        return pa.table({"row": self.turned.row[order], "reason": reasons})

    @property
    def events(self) -> pa.Table:
        """The crossings, each with the tuple that crossed and the one before.

        64 + 16 d bytes an event.
        """
        path, at = self.walked.path, self.found.place
        run = np.searchsorted(path.starts, at, side="right") - 1
        seen = path.starts[run] == at  # the first sight of a stream has no tuple before it
        before = np.maximum(at - 1, 0)
        axes = self.queries.axes
        columns = {
            "type": pa.array(TYPES).take(pa.array((self.found.type > 0).astype(np.int8))),
            "query_id": self.queries.ids.take(pa.array(self.found.query)),
            "query_version": pa.array(self.queries.versions[self.found.query]),
            "stream_id": self.names.take(pa.array(path.stream[run])),
            "ts": pa.array(path.ts[at]),
            "place": pa.array(path.nth_of(at)),
            "prev_ts": pa.array(path.ts[before], mask=seen),
            **{a: pa.array(v[at]) for a, v in zip(axes, path.values, strict=True)},
            **{
                f"prev_{a}": pa.array(v[before], mask=seen)
                for a, v in zip(axes, path.values, strict=True)
            },
            "delivery": pa.array(path.delivery[at]),
            **self._tags(at),
        }
        return pa.table(columns)

    @property
    def leaps(self) -> pa.Table:
        """The steps through queries that hold at neither end, with the times in between.

        80 + 16 d bytes a leap. The times are those at which a tuple would have been there that
        changes evenly from one end to the other, cut to microseconds.
        """
        leapt = Leaps.none() if self.leapt is None else self.leapt
        path, at, axes = self.walked.path, leapt.place, self.queries.axes
        run = np.searchsorted(path.starts, at, side="right") - 1
        begun, spent = path.ts[at - 1], path.ts[at] - path.ts[at - 1]
        enter, leave = ((share * spent).astype(np.int64) for share in (leapt.enter, leapt.leave))
        columns = {
            "query_id": self.queries.ids.take(pa.array(leapt.query)),
            "query_version": pa.array(self.queries.versions[leapt.query]),
            "stream_id": self.names.take(pa.array(path.stream[run])),
            "ts": pa.array(path.ts[at]),
            "place": pa.array(path.nth_of(at)),
            "prev_ts": pa.array(begun),
            "enter_ts": pa.array(begun + enter),
            "leave_ts": pa.array(begun + leave),
            "enter_share": pa.array(leapt.enter),
            "leave_share": pa.array(leapt.leave),
            **{a: pa.array(v[at]) for a, v in zip(axes, path.values, strict=True)},
            **{f"prev_{a}": pa.array(v[at - 1]) for a, v in zip(axes, path.values, strict=True)},
            "delivery": pa.array(path.delivery[at]),
        }
        return pa.table(columns)

    def _tags(self, at: Codes) -> dict[str, pa.Array]:
        """Give the caller's tags of some places of the path, if it gave any."""
        tag = self.walked.path.tag
        return {} if tag is None else {"tag": pa.array(tag[at])}

    @property
    def transitions(self) -> pa.Table:
        """The transitions, each with the time of its first event and of the one that answered."""
        decided = self.decided
        return pa.table(
            {
                "type": pa.array(KINDS).take(pa.array(decided.kind)),
                "query_id": self.queries.ids.take(pa.array(decided.query)),
                "query_version": pa.array(self.queries.versions[decided.query]),
                "stream_id": self.state.heads.names.take(pa.array(decided.stream)),
                "ts": pa.array(decided.ts),
                "from_ts": pa.array(decided.from_ts),
                "from_place": pa.array(decided.from_place),
                "to_ts": pa.array(decided.to_ts, mask=~decided.answered),
                "to_place": pa.array(decided.to_place, mask=~decided.answered),
                "delivery": pa.array(decided.delivery),
            }
        )

    @property
    def matches(self) -> pa.Table:
        """The match queries that held for each accepted tuple. 32 bytes a match, ids coded."""
        found = list(self.match_pieces(sys.maxsize))
        return pa.concat_tables(found) if found else self._matched(np.empty(0, np.int64))[0]

    def match_pieces(self, most: int) -> Iterator[pa.Table]:
        """Find the matches in pieces of about `most`, in the order of the path."""
        if self.matcher is None or not len(self.matcher):
            return
        accepted = np.flatnonzero(self.walked.path.delivery != HEAD)
        begin, tuples = 0, min(most, FIRST_PIECE)
        while begin < len(accepted):
            table, count = self._matched(accepted[begin : begin + tuples])
            yield table
            begin += count
            rate = max(table.num_rows, 1) / count
            tuples = max(1, min(int(most / rate), 4 * count, len(accepted)))

    def _matched(self, at: Int64s) -> tuple[pa.Table, int]:
        """Match the tuples at some places of the path."""
        path = self.walked.path
        of = self.queries if self.matcher is None else self.matcher.queries
        stream = path.stream[np.searchsorted(path.starts, at, side="right") - 1]
        found = ProbeResult.nothing(len(at))
        if self.matcher is not None and len(at):
            points = np.ascontiguousarray(path.values[:, at])
            probes = ProbeInput(points, path.names, stream, path.ts[at])
            found = self.matcher.probe(probes, self.threads)
        point = found.points
        table = pa.table(
            {
                "query_id": by_code(of.ids, found.ids),
                "query_version": pa.array(of.versions[found.ids]),
                "stream_id": by_code(self.names, stream[point]),
                "ts": pa.array(path.ts[at][point]),
                "place": pa.array(path.nth_of(at)[point]),
                "delivery": pa.array(path.delivery[at][point]),
                **self._tags(at[point]),
            }
        )
        return table, len(at)


def step(  # noqa: PLR0913  the feed's three, and options by name
    state: FeedState,
    batch: TupleBatch,
    index: BorderIndex,
    *,
    deliveries: int,
    rules: OrderRules = AS_THEY_COME,
    marks: Int64s | None = None,
    matcher: Matcher | None = None,
    method: Method = "auto",
    fast: bool | None = None,
    threads: int = 1,
) -> FeedOutcome:
    """Process the deliveries of a batch, 0 to `deliveries` - 1; some may be empty.

    `rules` say how arrivals are ordered and judged. `marks` are the feed's watermarks after each
    delivery: pass them where the batch and the state are those of a share of its streams; the
    shares together then find what one step over all of them would. `matcher` has the match queries,
    if there are any. `method` is how crossings are found, `fast` chooses the compiled kernels or
    their NumPy twins, None by the size of the work; neither changes a row. O(n log n) for n tuples
    at worst, O(n) in order of time; O(posts passed) for crossings, a probe a tuple for matches.
    """
    queries = index.queries
    _refuse_strangers(state, batch, queries, deliveries)
    if matcher is not None:
        _refuse_strangers(state, batch, matcher.queries, deliveries)
    _refuse_false_marks(state, batch, marks, deliveries, rules)
    names = _all_names(state, batch)
    past = Past.of(state.heads, len(names), state.watermark)
    admission = admit(
        recoded(batch, names),
        recoded(_tagged(state.waiting, batch), names),
        past,
        deliveries=deliveries,
        rules=rules,
        marks=marks,
    )
    released, waiting = admission.released, admission.waiting.compacted()
    rejected, watermarks, advance = admission.rejected, admission.watermarks, admission.advance
    heads = state.heads.known_to(index.base)
    sequence = _last_sequences(released)
    path = Path.build(
        heads,
        names,
        released.stream,
        released.ts,
        released.values,
        released.delivery,
        released.place,
        released.tag,
    )
    del admission, released  # the path holds all of them: one copy of the tuples is enough
    walked, chosen = cross(index, path, method=method, fast=fast, threads=threads)
    leaping = index.leaping
    leapt = None if leaping is None else leaping.find(path, threads)
    changed = _changed(walked, heads, sequence)
    after = heads.with_heads(changed)
    found = walked.events

    timed = _timed(queries, found)
    place = found.place[timed]
    run = np.searchsorted(path.starts, place, side="right") - 1
    crossed = Crossed(
        found.query[timed],
        _places_among(path, len(heads))[run],
        path.ts[place],
        found.type[timed],
        path.delivery[place],
        place,
        None if path.nth is None else path.nth[place],
    )
    marks = np.append(past.watermark, watermarks)
    clocks = _clocks(advance, path, len(heads), rules)
    decided, pending = decide(state.pending.under(queries), crossed, marks, clocks, fast=fast)
    mark = int(watermarks[-1]) if deliveries else None
    watermark = state.watermark if mark is None or mark == NEVER else mark
    return FeedOutcome(
        walked,
        chosen,
        found,
        leapt,
        decided,
        names,
        batch.feed,
        rejected,
        watermarks,
        FeedState(state.feed, after, waiting, pending, watermark),
        changed,
        queries,
        matcher,
        threads,
    )


def _refuse_strangers(
    state: FeedState, batch: TupleBatch, queries: QuerySet, deliveries: int
) -> None:
    feeds = {state.feed, batch.feed, queries.feed}
    if len(feeds) > 1:
        raise StateError(
            f"a step takes one feed; state, tuples and queries are of {', '.join(sorted(feeds))}"
        )
    if not (state.heads.axes == batch.axes == queries.axes):
        raise StateError(
            f"feed '{batch.feed}': the state has the axes {state.heads.axes}, "
            f"the tuples {batch.axes}, the queries {queries.axes}"
        )
    if len(batch) and not 0 <= batch.delivery[-1] < deliveries:
        raise InputError(
            f"a tuple of delivery {batch.delivery[-1]}, expected 0 to {deliveries - 1}"
        )
    if batch.sequence is not None and batch.sequence.null_count:
        raise InputError(f"feed '{batch.feed}': a tuple has no sequence, and others have one")


def _refuse_false_marks(
    state: FeedState, batch: TupleBatch, marks: Int64s | None, deliveries: int, rules: OrderRules
) -> None:
    if marks is None:
        return
    if len(marks) != deliveries:
        raise InputError(f"{len(marks)} watermarks for {deliveries} deliveries")
    before = NEVER if state.watermark is None else state.watermark
    if (marks < np.append(before, marks[:-1])[: len(marks)]).any():
        raise InputError("watermarks must never fall")
    if len(batch) and (batch.ts - rules.behind > marks[batch.delivery]).any():
        raise InputError("a tuple is ahead of the watermark given for its delivery")


def _all_names(state: FeedState, batch: TupleBatch) -> pa.StringArray:
    """Number the streams: those with a head first, in the order of the heads, then the others."""
    names = state.heads.names
    for more in (state.waiting.names, batch.names):
        fresh = codes_in(more, names) < 0
        if fresh.any():
            names = pa.concat_arrays([names, more.filter(pa.array(fresh))])
    return names


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


def _changed(walked: Walk | Difference, heads: Heads, sequence: pa.StringArray | None) -> Heads:
    """The last place of every run, with its pointers among the plain posts of the base."""
    path, last = walked.path, walked.path.last
    begun, ended = np.full((2, len(path.values), len(last)), UNKNOWN, np.int32)
    for ranking in walked.rankings:
        if ranking.layer == 0 and ranking.segment is None:
            begun[ranking.posts.axis] = ranking.begun[last]
            ended[ranking.posts.axis] = ranking.ended[last]
    names = path.names.take(pa.array(path.stream))
    return Heads(
        axes=heads.axes,
        names=names,
        ts=path.ts[last],
        values=path.values[:, last],
        begun=begun,
        ended=ended,
        index=heads.index,
        ts_place=path.nth_of(last),
        sequence=sequence,
    )


def _timed(queries: QuerySet, found: Events) -> Int64s:
    """Pick the events that may become transitions."""
    wanted = queries.within >= 0
    return np.flatnonzero(wanted[found.query]) if wanted.any() else np.empty(0, np.int64)


def _clocks(advance: Advance | None, path: Path, known: int, rules: OrderRules) -> Clocks | None:
    """Give the streams' own watermarks, by their places among the heads after the step."""
    if advance is None:
        return None
    place = np.arange(len(path.names), dtype=np.int32)
    place[known:] = UNKNOWN  # those of which no tuple was ever accepted have no events
    place[path.stream] = _places_among(path, known)
    stream = place[advance.stream]
    order = np.argsort(stream, kind="stable")
    mark = advance.largest - rules.lateness
    return Clocks(stream[order], advance.delivery[order], mark[order])


def _places_among(path: Path, known: int) -> Int32s:
    """Find the place of each run's stream among the heads after the step: new ones come behind."""
    fresh: Bools = path.stream >= known
    place = path.stream.astype(np.int32, copy=True)
    place[fresh] = known + np.arange(int(fresh.sum()), dtype=np.int32)
    return place
