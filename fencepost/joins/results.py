"""What a step of a lane found, as tables.

Law: the order of rows depends on the deliveries alone. Pairs: by (later tuple, earlier
tuple, query), each tuple in the order of acceptance. Changes of band joins and of near joins: by
(update, change, query, left stream, right stream), queries by their place in the set, streams by
their ids. Of one feed the left stream of a pair is the one with the lesser id.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fencepost.arrow import by_code, ranks_by_code
from fencepost.joins.admission import Turns
from fencepost.joins.state import SideState
from fencepost.queries.joins import BandJoins, NearJoins, WindowJoins
from fencepost.tuples import Doubles, Int8s, Int32s, Int64s

REGISTERED = -1
"""The delivery of a change that a registration made."""

Sides = tuple[SideState, SideState]


class BandPiece(NamedTuple):
    """Some of the changes, and the queries that an update changed, each once for the update."""

    changes: pa.Table
    affected: pa.Table


Tuples = tuple[Int32s, Int64s, Int32s, Doubles]
"""Streams, ts, places, and values [axis, tuple]."""


class Joined(NamedTuple):
    """Pairs, in order: the turn of the later tuple, the query, and both tuples."""

    turn: Int64s
    query: Int32s
    left: Tuples
    right: Tuples

    @classmethod
    def together(cls, parts: "Sequence[Joined]") -> "Joined":
        """Bring the pairs that new tuples of either side found into one order: O(k log k)."""
        if len(parts) == 1:
            return parts[0]
        turn = np.concatenate([part.turn for part in parts])
        order = np.argsort(turn, kind="stable")
        query = np.concatenate([part.query for part in parts])[order]
        left = _together([part.left for part in parts], order)
        return cls(turn[order], query, left, _together([part.right for part in parts], order))


class Changed(NamedTuple):
    """Changes of all planes, queries numbered as in the set; a registration's at no turn."""

    turn: Int64s
    query: Int32s
    change: Int8s
    left: Int32s
    right: Int32s
    left_value: Doubles
    right_value: Doubles

    @classmethod
    def together(cls, parts: "Sequence[Changed]") -> "Changed":
        """Put the changes of several planes behind each other."""
        return cls.of(np.concatenate(columns) for columns in zip(*parts, strict=True))

    @classmethod
    def of(cls, columns: Iterable[Any]) -> "Changed":
        """Take the columns in this order."""
        return cls(*columns)

    def take(self, rows: Int64s | slice) -> "Changed":
        """Give some of them, in this order."""
        return self.of(column[rows] for column in self)


class NearChanged(NamedTuple):
    """Changes of near joins of all planes, queries numbered as in the set; places are [axis, k]."""

    turn: Int64s
    query: Int32s
    change: Int8s
    left: Int32s
    right: Int32s
    left_at: Doubles
    right_at: Doubles
    distance: Doubles

    @classmethod
    def nothing(cls) -> "NearChanged":
        """No change."""
        none, nobody, nowhere = np.empty(0, np.int64), np.empty(0, np.int32), np.empty((2, 0))
        change = np.empty(0, np.int8)
        return cls(none, nobody, change, nobody, nobody, nowhere, nowhere, np.empty(0))

    @classmethod
    def together(cls, parts: "Sequence[NearChanged]") -> "NearChanged":
        """Put the changes of several planes behind each other."""
        columns = zip(*(parts or [cls.nothing()]), strict=True)
        return cls.of(np.concatenate(each, axis=-1) for each in columns)

    @classmethod
    def of(cls, columns: Iterable[Any]) -> "NearChanged":
        """Take the columns in this order."""
        return cls(*columns)

    def ordered(self, left_rank: Int64s, right_rank: Int64s, *, one: bool) -> "NearChanged":
        """Put them in order by the ranks of their streams' ids; of one feed the lesser id left."""
        left, right = left_rank, right_rank
        found = self
        if one:
            turned = left > right
            left, right = np.where(turned, right, left), np.where(turned, left, right)
            found = self._replace(
                left=np.where(turned, self.right, self.left),
                right=np.where(turned, self.left, self.right),
                left_at=np.where(turned, self.right_at, self.left_at),
                right_at=np.where(turned, self.left_at, self.right_at),
            )
        order = np.lexsort((right, left, self.query, self.change, self.turn))
        return self.of(column[..., order] for column in found)


def _together(parts: Sequence[Tuples], order: Int64s) -> Tuples:
    columns = (np.concatenate(each, axis=-1) for each in zip(*parts, strict=True))
    stream, ts, place, values = columns
    return stream[order], ts[order], place[order], values[:, order]


def pair_table(queries: WindowJoins, sides: Sides, turns: Turns, found: Joined) -> pa.Table:
    """Lay pairs out, each with both tuples: 53 + 8 d bytes a pair, d axes of both, ids coded."""
    columns: dict[str, pa.Array] = {
        "query_id": by_code(queries.ids, found.query),
        "query_version": pa.array(queries.versions[found.query]),
        "ts": pa.array(turns.ts[found.turn]),
    }
    named = zip(("left", "right"), sides, (found.left, found.right), strict=True)
    for name, its, (stream, ts, place, values) in named:
        columns[f"{name}_stream_id"] = by_code(its.names, stream)
        columns[f"{name}_ts"] = pa.array(ts)
        columns[f"{name}_place"] = pa.array(place)
        columns |= {f"{name}_{a}": pa.array(v) for a, v in zip(its.axes, values, strict=True)}
    columns["delivery"] = pa.array(turns.delivery[found.turn])
    return pa.table(columns)


def no_pairs(queries: WindowJoins, sides: Sides) -> pa.Table:
    """The columns of pairs without a row."""
    none, nobody = np.empty(0, np.int64), np.empty(0, np.int32)
    left, right = ((nobody, none, nobody, np.empty((len(side.axes), 0))) for side in sides)
    return pair_table(queries, sides, Turns.empty(), Joined(none, nobody, left, right))


def band_piece(
    queries: BandJoins, sides: Sides, turns: Turns, found: Changed, *, registered: bool
) -> BandPiece:
    """Put changes in order and lay them out: 49 bytes a change, ids coded."""
    keys = (
        ranks_by_code(sides[1].names, found.right),
        ranks_by_code(sides[0].names, found.left),
        found.query,
        found.change,
        found.turn,
    )
    order = np.lexsort(keys)
    found = found.take(order)
    changes = pa.table(
        {
            "query_id": by_code(queries.ids, found.query),
            "query_version": pa.array(queries.versions[found.query]),
            "change": pa.array(found.change),
            "left_stream_id": by_code(sides[0].names, found.left),
            "right_stream_id": by_code(sides[1].names, found.right),
            "left_value": pa.array(found.left_value),
            "right_value": pa.array(found.right_value),
            **_when(turns, found.turn, registered=registered),
        }
    )
    if registered:  # no update, so nobody was affected by one
        found = found.take(slice(0, 0))
    return BandPiece(changes, _affected(queries, sides, turns, found))


def near_table(
    queries: NearJoins, sides: Sides, turns: Turns, found: NearChanged, *, registered: bool
) -> pa.Table:
    """Put changes of near joins in order and lay them out: 73 bytes a change, ids coded."""
    one = queries.left == queries.right
    left, right = sides[0].names, sides[0 if one else 1].names
    if one:
        count = len(found.query)
        both = ranks_by_code(left, np.concatenate([found.left, found.right]))
        found = found.ordered(both[:count], both[count:], one=True)
    else:
        ranks = ranks_by_code(left, found.left), ranks_by_code(right, found.right)
        found = found.ordered(*ranks, one=False)
    return pa.table(
        {
            "query_id": by_code(queries.ids, found.query),
            "query_version": pa.array(queries.versions[found.query]),
            "change": pa.array(found.change),
            "left_stream_id": by_code(left, found.left),
            "right_stream_id": by_code(right, found.right),
            "left_x": pa.array(found.left_at[0]),
            "left_y": pa.array(found.left_at[1]),
            "right_x": pa.array(found.right_at[0]),
            "right_y": pa.array(found.right_at[1]),
            "distance": pa.array(found.distance),
            **_when(turns, found.turn, registered=registered),
        }
    )


def no_near_changes(queries: NearJoins, sides: Sides) -> pa.Table:
    """The columns of changes of near joins without a row."""
    return near_table(queries, sides, Turns.empty(), NearChanged.nothing(), registered=False)


def _when(turns: Turns, turn: Int64s, *, registered: bool) -> dict[str, pa.Array]:
    """Say of which tuple and delivery changes are; of a registration there is neither."""
    if registered:
        count = len(turn)
        nowhen = pa.nulls(count, pa.int64()), pa.nulls(count, pa.int32())
        delivery = np.full(count, REGISTERED, np.int32)
        return dict(zip(("ts", "place"), nowhen, strict=True)) | {"delivery": pa.array(delivery)}
    return {
        "ts": pa.array(turns.ts[turn]),
        "place": pa.array(turns.place[turn]),
        "delivery": pa.array(turns.delivery[turn]),
    }


def _affected(queries: BandJoins, sides: Sides, turns: Turns, found: Changed) -> pa.Table:
    """Give the queries that each update changed, each once, by update and query."""
    count = max(len(queries), 1)
    key = np.sort(found.turn * count + found.query)  # np.unique takes ten times as long
    key = key[np.diff(key, prepend=-1) != 0]
    turn, query = key // count, key % count
    side = turns.side[turn].astype(np.int64)
    stream = turns.stream[turn] + side * len(sides[0].names)
    names = pa.concat_arrays([each.names for each in sides])
    return pa.table(
        {
            "query_id": by_code(queries.ids, query),
            "query_version": pa.array(queries.versions[query]),
            "feed": by_code(pa.array([queries.left, queries.right]), side),
            "stream_id": by_code(names, stream),
            "ts": pa.array(turns.ts[turn]),
            "place": pa.array(turns.place[turn]),
            "delivery": pa.array(turns.delivery[turn]),
        }
    )


def no_changes(queries: BandJoins, sides: Sides) -> BandPiece:
    """The columns of changes without a row."""
    none, nobody, nothing = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)
    found = Changed(
        turn=none,
        query=nobody,
        change=np.empty(0, np.int8),
        left=nobody,
        right=nobody,
        left_value=nothing,
        right_value=nothing,
    )
    return band_piece(queries, sides, Turns.empty(), found, registered=False)
