"""What an evaluation found, as Arrow tables."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from fencepost.text import counted


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What was found in the tuples of one call, as Arrow tables; all are there, some are empty.

    events        type (I: entered, O: left), feed, query_id, query_version, stream_id, ts, place,
                  prev_ts, the axes, and the axes of the tuple before as prev_…
    transitions   type (pass_through, short_absence, stay, departure), feed, query_id,
                  query_version, stream_id, ts, from_ts, from_place, to_ts, to_place: of rules with
                  `within`
    matches       feed, query_id, query_version, stream_id, ts, place: of rules of the kind `match`
    leaps         feed, query_id, query_version, stream_id, ts, place, prev_ts, enter_ts, leave_ts,
                  enter_share, leave_share, the axes, and those before as prev_…: of rules with
                  `leaps`, steps that were inside between their ends alone
    pairs         feeds, query_id, query_version, ts, and of both tuples, as left_… and right_…,
                  stream_id, ts, place and the axes: of rules of the kind `window_join`
    band_changes  feeds, query_id, query_version, change (+1, -1), left_stream_id, right_stream_id,
                  left_value, right_value, ts, place: of rules of the kind `band_join`; ts and place
                  are null where a rule came into force
    near_changes  feeds, query_id, query_version, change (+1, -1), left_stream_id, right_stream_id,
                  left_x, left_y, right_x, right_y, distance, ts, place: likewise, of rules of the
                  kind `near_join`; x and y are the positions, longitude and latitude on the earth
    rejected      feed, row (from 0, in the table that was given), reason (malformed, duplicate,
                  conflict, late), detail

    A place says which of the tuples of its stream and ts a tuple is, from 0.

    Law: rows read + tuples that waited before = accepted + waiting + rejected, exactly. `waiting`
    counts the tuples that wait for earlier ones after the call; `notes` are sentences on what a
    person may have meant otherwise.

    Cost: 60 to 200 bytes a row; ids are dictionary-coded. `table.to_pandas()` and
    `polars.from_arrow(table)` give data frames.

    >>> import fencepost as fp
    >>> rows = [{"stream_id": "pump", "ts": f"2026-11-18T14:0{m}:00Z", "bar": bar}
    ...         for m, bar in enumerate([3.1, 6.4, 5.9, 2.8])]
    >>> result = fp.evaluate(rows, {"id": "high", "where": "bar > 6"})
    >>> result
    <Result: 4 rows read, 4 accepted, 0 rejected; 2 events>
    >>> result.events.select(["type", "stream_id", "bar"]).to_pylist()
    [{'type': 'I', 'stream_id': 'pump', 'bar': 6.4}, {'type': 'O', 'stream_id': 'pump', 'bar': 5.9}]
    """

    events: pa.Table
    transitions: pa.Table
    matches: pa.Table
    leaps: pa.Table
    pairs: pa.Table
    band_changes: pa.Table
    near_changes: pa.Table
    rejected: pa.Table
    read: int
    accepted: int
    waiting: int
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Say what was read and what was found, in a line."""
        counts = {"accepted": self.accepted, "rejected": len(self.rejected)}
        if self.waiting:
            counts["waiting"] = self.waiting
        read = [f"{counted(self.read, 'row')} read", *(f"{n:,} {k}" for k, n in counts.items())]
        named = {
            "event": self.events,
            "transition": self.transitions,
            "match": self.matches,
            "leap": self.leaps,
            "pair": self.pairs,
            "band change": self.band_changes,
            "near change": self.near_changes,
        }
        return f"<Result: {', '.join(read)}; {_found(named)}>"


def _found(named: Mapping[str, pa.Table]) -> str:
    parts = [
        counted(len(table), name, "matches" if name == "match" else None)
        for name, table in named.items()
        if len(table)
    ]
    return ", ".join(parts) or "nothing found"
