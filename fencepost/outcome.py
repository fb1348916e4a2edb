"""What a step of a feed found, as tables.

Law: a table is computed when it is read, each time anew; nobody pays for one that is not.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from fencepost.arrays import Codes
from fencepost.arrow import by_code, coded
from fencepost.crossings.choose import Chosen
from fencepost.crossings.columns import Events
from fencepost.crossings.difference import Difference
from fencepost.crossings.path import HEAD, Path
from fencepost.crossings.state import Heads
from fencepost.crossings.walk import Walk
from fencepost.leaps.result import Leaps
from fencepost.matches.matcher import Matcher, ProbeInput
from fencepost.matches.result import ProbeResult
from fencepost.order import REASONS, Rejected
from fencepost.pieces import (
    Arranged,
    CrossingColumns,
    PairColumns,
    crossing_columns,
    days_of,
    now_and_before,
)
from fencepost.queries import QuerySet
from fencepost.row_order import NameRanks, PairNames, in_order_of
from fencepost.state import FeedState
from fencepost.transitions import KINDS, Transitions
from fencepost.tuples import Int64s

TYPES = ("O", "I")
FIRST_PIECE = 1 << 12  # tuples matched before it is known how many matches they have


@dataclass(frozen=True)
class FoundCounts:
    """How many crossings, and how many transitions of each kind."""

    entered: int = 0
    left: int = 0
    kinds: tuple[int, ...] = (0,) * len(KINDS)

    def __add__(self, other: "FoundCounts") -> "FoundCounts":
        """Add those of two parts up."""
        kinds = tuple(a + b for a, b in zip(self.kinds, other.kinds, strict=True))
        return FoundCounts(self.entered + other.entered, self.left + other.left, kinds)


@dataclass(frozen=True, eq=False)
class Findings:
    """The crossings along a path, and what became of those of queries with `within`.

    ids    those of the queries       heads  the names of streams, as transitions number them
    """

    path: Path
    found: Events
    decided: Transitions
    queries: QuerySet
    ids: NameRanks
    heads: pa.StringArray

    @property
    def counts(self) -> FoundCounts:
        """Count them."""
        entered = int((self.found.type > 0).sum())
        kinds = np.bincount(self.decided.kind, minlength=len(KINDS)).tolist()
        return FoundCounts(entered, len(self.found.type) - entered, tuple(kinds))

    @property
    def events(self) -> pa.Table:
        """The crossings, each with the tuple that crossed and the one before.

        64 + 16 d bytes an event.
        """
        path, found = self.path, self.found
        who = {
            "query_id": self.queries.ids.take(pa.array(found.query)),
            "stream_id": self.path.names.take(pa.array(path.stream_of(found.place))),
        }
        every = crossing_columns(found, path, slice(None))
        table = pa.table(self._crossings(every, who))
        return table.set_column(0, "type", table["type"].cast(pa.string()))

    def event_pieces(self, most: int) -> Iterator[pa.Table]:
        """Give the crossings in the order of their table, ids coded, at most `most` in a piece.

        O(n) from 20,000 on; 8 bytes an event beside a piece.
        """
        path, found = self.path, self.found
        pairs = PairColumns(found.query, path.stream_of(found.place), days_of(path.ts, found.place))
        rows = in_order_of(found.place)
        for piece, who in Arranged.of(pairs, PairNames(self.ids, path.names), rows).pieces(most):
            yield pa.table(self._crossings(crossing_columns(found, path, piece), who))

    def _crossings(self, some: CrossingColumns, who: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """Give the columns of some crossings, of these queries and streams."""
        path, axes, at = self.path, self.queries.axes, some.place
        values = [now_and_before(column, at) for column in path.values]
        seen = some.is_first if some.is_first.any() else None
        return {
            "type": coded(TYPES, some.came),
            "query_id": who["query_id"],
            "query_version": pa.array(self.queries.versions[some.query]),
            "stream_id": who["stream_id"],
            "ts": pa.array(some.ts),
            "place": pa.array(path.nth_of(at)),
            "prev_ts": pa.array(some.prev_ts, mask=seen),
            **{a: pa.array(now) for a, (now, _) in zip(axes, values, strict=True)},
            **{
                f"prev_{a}": pa.array(before, mask=seen)
                for a, (_, before) in zip(axes, values, strict=True)
            },
            "delivery": pa.array(some.delivery),
            **self._tags(at),
        }

    @property
    def transitions(self) -> pa.Table:
        """The transitions, each with the time of its first event and of the one that answered."""
        decided = self.decided
        who = {
            "query_id": self.queries.ids.take(pa.array(decided.query)),
            "stream_id": self.heads.take(pa.array(decided.stream)),
        }
        table = pa.table(self._became(decided, who))
        return table.set_column(0, "type", table["type"].cast(pa.string()))

    def transition_pieces(self, most: int) -> Iterator[pa.Table]:
        """Give the transitions in the order of their table, as `event_pieces` gives crossings."""
        decided = self.decided
        pairs = PairColumns(decided.query, decided.stream, days_of(decided.ts))
        rows = decided.by_time()
        for piece, who in Arranged.of(pairs, PairNames(self.ids, self.heads), rows).pieces(most):
            yield pa.table(self._became(decided.take(piece), who))

    def _became(self, decided: Transitions, who: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """Give the columns of some transitions, of these queries and streams."""
        unanswered = ~decided.answered
        return {
            "type": coded(KINDS, decided.kind),
            "query_id": who["query_id"],
            "query_version": pa.array(self.queries.versions[decided.query]),
            "stream_id": who["stream_id"],
            "ts": pa.array(decided.ts),
            "from_ts": pa.array(decided.from_ts),
            "from_place": pa.array(decided.from_place),
            "to_ts": pa.array(decided.ts, mask=unanswered),
            "to_place": pa.array(decided.to_place, mask=unanswered),
            "delivery": pa.array(decided.delivery),
        }

    def _tags(self, at: Codes) -> dict[str, pa.Array]:
        """Give the caller's tags of some places of the path, if it gave any."""
        tag = self.path.tag
        return {} if tag is None else {"tag": pa.array(tag[at])}


@dataclass(frozen=True, eq=False)
class FeedOutcome:
    """What a step found; `events`, `transitions`, `matches` become tables when they are read.

    Matches are not even looked for before: there may be a thousand for every tuple.
    """

    walked: Walk | Difference
    chosen: Chosen
    findings: Findings | None  # None: they were handed over in parts
    counts: FoundCounts
    leapt: Leaps | None  # None: no query asks for leaps
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
        path = self.walked.path
        return int((path.delivery != HEAD).sum()) + path.left_out

    @property
    def moved(self) -> pa.Table:
        """The heads that this step moved, a row a stream, ids coded. O(streams)."""
        return self.changed.coded(by_code(self.names, self.walked.path.stream))

    @property
    def rejected(self) -> pa.Table:
        """The rejected rows of the batch, in their order, and why."""
        order = np.argsort(self.turned.row)
        reasons = pa.array(REASONS).take(pa.array(self.turned.reason[order]))
        return pa.table({"row": self.turned.row[order], "reason": reasons})

    @property
    def whole(self) -> Findings:
        """What was found along the whole path, unless it was handed over in parts."""
        if self.findings is None:
            raise ValueError("what was found was handed over in parts")
        return self.findings

    @property
    def found(self) -> Events:
        """The crossings."""
        return self.whole.found

    @property
    def decided(self) -> Transitions:
        """What became of crossings."""
        return self.whole.decided

    @property
    def events(self) -> pa.Table:
        """The crossings, each with the tuple that crossed and the one before, as a table."""
        return self.whole.events

    @property
    def transitions(self) -> pa.Table:
        """The transitions, as a table."""
        return self.whole.transitions

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
