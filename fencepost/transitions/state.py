"""The events that are still undecided: at most one for each query and stream, the last."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrow import codes_in
from fencepost.crossings.state import places_in
from fencepost.errors import StateError
from fencepost.queries import QuerySet
from fencepost.tuples import Bools, Int8s, Int32s, Int64s

COLUMNS = ("query_id", "query_version", "stream_id", "type", "ts")


@dataclass(frozen=True, eq=False)
class Pending:
    """Undecided events, at most one for each query and stream."""

    of: QuerySet
    query: Int32s  # the row in `of`
    stream: Int32s  # the place among the heads
    type: Int8s  # +1 for I, -1 for O
    ts: Int64s
    place: Int32s  # which of its stream and ts

    @classmethod
    def empty(cls, queries: QuerySet) -> "Pending":
        """Nothing is undecided."""
        none = np.empty(0, np.int32)
        return cls(queries, none, none, np.empty(0, np.int8), np.empty(0, np.int64), none)

    def __len__(self) -> int:
        return len(self.ts)

    def under(self, queries: QuerySet) -> "Pending":
        """Return those whose query is in force in this very version.

        The others end here, without a transition.
        """
        if queries is self.of:
            return self
        if len(self) == 0:
            return Pending.empty(queries)
        row = codes_in(self.of.ids.take(pa.array(self.query)), queries.ids)
        kept = row >= 0
        kept[kept] = queries.versions[row[kept]] == self.of.versions[self.query[kept]]
        return replace(self.take(kept), of=queries, query=row[kept])

    def take(self, rows: Bools | Int64s) -> "Pending":
        """Return some of them."""
        return Pending(
            self.of,
            self.query[rows],
            self.stream[rows],
            self.type[rows],
            self.ts[rows],
            self.place[rows],
        )

    @classmethod
    def together(cls, parts: "Sequence[Pending]") -> "Pending":
        """Put those of several parts, of the same queries, behind each other."""
        return cls(
            parts[0].of,
            np.concatenate([part.query for part in parts]),
            np.concatenate([part.stream for part in parts]),
            np.concatenate([part.type for part in parts]),
            np.concatenate([part.ts for part in parts]),
            np.concatenate([part.place for part in parts]),
        )

    def to_table(self, names: pa.StringArray) -> pa.Table:
        """Return them as a table; `names` are those of the heads."""
        return pa.table(
            {
                "query_id": self.of.ids.take(pa.array(self.query)),
                "query_version": pa.array(self.of.versions[self.query]),
                "stream_id": names.take(pa.array(self.stream)),
                "type": pa.array(np.where(self.type > 0, "I", "O")).cast(pa.string()),
                "ts": pa.array(self.ts),
                "place": pa.array(self.place),
            }
        )

    @classmethod
    def from_table(cls, queries: QuerySet, names: pa.StringArray, table: pa.Table) -> "Pending":
        """Read them back, those whose query is in force in this version."""
        missing = [c for c in COLUMNS if c not in table.column_names]
        if missing:
            raise StateError(f"the pending events have no column {', '.join(missing)}")
        row = codes_in(table["query_id"].combine_chunks(), queries.ids)
        stream = codes_in(table["stream_id"].combine_chunks(), names)
        if (stream < 0).any():
            lost = table["stream_id"][int(np.flatnonzero(stream < 0)[0])]
            raise StateError(
                f"an event of stream '{lost}' is pending, but the state has no such stream"
            )
        kept = row >= 0
        kept[kept] = queries.versions[row[kept]] == table["query_version"].to_numpy()[kept]
        rises = pc.equal(table["type"], "I").to_numpy(zero_copy_only=False)
        type_ = np.where(rises, 1, -1).astype(np.int8)
        ts, place = table["ts"].to_numpy(), places_in(table, "place")
        return cls(queries, row, stream, type_, ts, place).take(kept)
