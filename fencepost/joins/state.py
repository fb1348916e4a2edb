"""What is remembered of a lane of two feeds: the last tuples of both sides, and the live ones.

A stream's last tuple is what an arrival is compared with, and its value in the sets of band joins
and near joins as long as the stream is a member. The live tuples are those that a window join may
still pair. Where a feed is joined with itself it is the left side, and the right one stays empty.

Law: columns and nothing else; after the same deliveries and registrations they hold the same rows,
however these were grouped into steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from fencepost.arrow import codes_in
from fencepost.crossings.state import places_in, sequences_in
from fencepost.errors import StateError
from fencepost.joins.windows import Live
from fencepost.lanes import lane_of
from fencepost.tuples import Bools, Doubles, Int32s, Int64s, TupleBatch


@dataclass(frozen=True, eq=False, kw_only=True)
class SideState:
    """One feed of a lane: n streams, 13 + 8 d bytes each beside its id, and what waits and lives.

    names    ids of the streams of which a tuple was accepted; codes elsewhere are places among them
    ts       int64[n], of the last tuple            values  float64[d, n], its values
    member   bool[n], False after a row that was marked gone
    ts_place int32[n], which of its instant it was  sequence  its own as text; None: none had any
    waiting  tuples that the watermark has not released      waiting_gone  bool, of each of them
    live     tuples that a window join may still pair, in the order they were accepted
    accepted how many tuples in all      watermark  None until something was seen
    """

    feed: str
    axes: tuple[str, ...]
    names: pa.StringArray
    ts: Int64s
    values: Doubles
    member: Bools
    waiting: TupleBatch
    waiting_gone: Bools
    live: Live
    ts_place: Int32s
    sequence: pa.StringArray | None = None
    accepted: int = 0
    watermark: int | None = None

    @classmethod
    def empty(cls, feed: str, axes: Sequence[str]) -> "SideState":
        """Nothing was ever seen."""
        none = np.empty(0, np.bool_)
        return cls(
            feed=feed,
            axes=tuple(axes),
            names=pa.array([], pa.string()),
            ts=np.empty(0, np.int64),
            values=np.empty((len(axes), 0)),
            member=none,
            waiting=TupleBatch.empty(feed, axes),
            waiting_gone=none,
            live=Live.empty(len(axes)),
            ts_place=np.empty(0, np.int32),
        )

    def __len__(self) -> int:
        """How many streams."""
        return len(self.ts)

    @property
    def members(self) -> Int32s:
        """The streams in the sets of band joins and near joins."""
        return np.flatnonzero(self.member).astype(np.int32)

    @property
    def sequences(self) -> pa.StringArray:
        """The sequence of every last tuple, null where it had none."""
        return pa.nulls(len(self), pa.string()) if self.sequence is None else self.sequence

    def heads_table(self, streams: Int32s | None = None) -> pa.Table:
        """Return the last tuples, or those of some streams.

        Columns: stream_id, ts, the axes, member, ts_place, sequence.
        """
        at = np.arange(len(self), dtype=np.int32) if streams is None else streams
        columns = {
            "stream_id": self.names.take(pa.array(at)),
            "ts": pa.array(self.ts[at]),
            **{a: pa.array(v[at]) for a, v in zip(self.axes, self.values, strict=True)},
            "member": pa.array(self.member[at]),
            "ts_place": pa.array(self.ts_place[at]),
            "sequence": self.sequences.take(pa.array(at)),
        }
        return pa.table(columns)

    def live_table(self, from_place: int = 0) -> pa.Table:
        """Return the live tuples from one on: place, stream_id, ts, axes, registry, ts_place."""
        live = self.live.take(np.flatnonzero(self.live.place >= from_place))
        columns = {
            "place": pa.array(live.place),
            "stream_id": self.names.take(pa.array(live.stream)),
            "ts": pa.array(live.ts),
            **{a: pa.array(v) for a, v in zip(self.axes, live.values, strict=True)},
            "registry": pa.array(live.registry),
            "ts_place": pa.array(live.places),
        }
        return pa.table(columns)

    def with_heads(self, table: pa.Table) -> "SideState":
        """Read last tuples back, in place of those there are; the live ones are read after them."""
        _refuse_holes(table, ("stream_id", "ts", *self.axes, "member"))
        return replace(
            self,
            names=table["stream_id"].combine_chunks().cast(pa.string()),
            ts=table["ts"].to_numpy().astype(np.int64),
            values=_values(table, self.axes),
            member=table["member"].to_numpy().astype(np.bool_),
            live=Live.empty(len(self.axes)),
            ts_place=places_in(table, "ts_place"),
            sequence=sequences_in(table),
        )

    def with_live(self, table: pa.Table) -> "SideState":
        """Read live tuples back; each is of a stream that has a last tuple."""
        _refuse_holes(table, ("place", "stream_id", "ts", *self.axes, "registry"))
        table = table.sort_by("place")
        stream = codes_in(table["stream_id"].combine_chunks().cast(pa.string()), self.names)
        if (stream < 0).any():
            raise StateError(
                f"feed '{self.feed}': a live tuple is of a stream that has no last tuple"
            )
        live = Live(
            stream=stream,
            ts=table["ts"].to_numpy().astype(np.int64),
            values=_values(table, self.axes),
            place=table["place"].to_numpy().astype(np.int64),
            registry=table["registry"].to_numpy().astype(np.int64),
            ts_place=places_in(table, "ts_place"),
        )
        return replace(self, live=live)


@dataclass(frozen=True, eq=False)
class LaneState:
    """Both sides, the left one first: all that a lane's past means for its future."""

    sides: tuple[SideState, SideState]

    @classmethod
    def empty(
        cls, feeds: tuple[str, str], axes: tuple[Sequence[str], Sequence[str]]
    ) -> "LaneState":
        """Nothing was ever seen of either feed."""
        return cls((SideState.empty(feeds[0], axes[0]), SideState.empty(feeds[1], axes[1])))

    @property
    def feeds(self) -> tuple[str, str]:
        """The feeds, the left one first."""
        return self.sides[0].feed, self.sides[1].feed

    @property
    def axes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The axes of both feeds."""
        return self.sides[0].axes, self.sides[1].axes

    @property
    def is_of_one_feed(self) -> bool:
        """Whether a feed is joined with itself."""
        return self.sides[0].feed == self.sides[1].feed

    @property
    def lane(self) -> str:
        """The ordered pair of feeds."""
        return lane_of(*self.feeds)

    @property
    def watermark(self) -> int | None:
        """The smaller of both feeds' watermarks; None until both have one. Of one feed its own."""
        if self.is_of_one_feed:
            return self.sides[0].watermark
        marks = [side.watermark for side in self.sides if side.watermark is not None]
        return min(marks) if len(marks) == 2 else None


def _values(table: pa.Table, axes: Sequence[str]) -> Doubles:
    values: Doubles = np.stack([table[axis].to_numpy() for axis in axes]).astype(np.float64)
    return values


def _refuse_holes(table: pa.Table, wanted: Sequence[str]) -> None:
    missing = [name for name in wanted if name not in table.column_names]
    if missing:
        has = ", ".join(table.column_names)
        raise StateError(f"the state has no column {', '.join(missing)}; it has {has}")
    holes = [name for name in wanted if table[name].null_count]
    if holes:
        raise StateError(f"the state has nulls in {', '.join(holes)}; accepted tuples are whole")
