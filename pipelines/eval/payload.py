"""What travels along with tuples: kept until the tuple it belongs to can no longer be on an event.

Law: an event carries the payload of the tuple that crossed, whichever delivery that came with. Only
the rows of the delivery at hand and of tuples that still wait are kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from fencepost.errors import Fault, refuse
from fencepost.payload import PAYLOAD_KINDS
from fencepost.tuples import Int64s
from pipelines.eval.shape import NOTHING_WRITTEN
from pipelines.files.read.rows import Declared

PREFIX = "payload_"


@dataclass(eq=False)
class PayloadRows:
    """The payload of a feed's rows, by tag: tags number the rows through and ascend."""

    begin: int = 0
    _tags: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    _rows: pa.Table | None = None

    def add(self, rows: pa.Table) -> Int64s:
        """Take the payload of a delivery's tuples; give their tags."""
        tags = np.arange(self.begin, self.begin + len(rows))
        named = rows.rename_columns([f"{PREFIX}{name}" for name in rows.column_names])
        self._rows = named if self._rows is None else pa.concat_tables([self._rows, named])
        self._tags = np.concatenate([self._tags, tags])
        self.begin += len(rows)
        return tags

    def onto(self, events: pa.Table) -> pa.Table:
        """Add to events what travelled with their tuples."""
        if self._rows is None:
            return events
        found = _picked(self._rows, self._tags, events["tag"].to_numpy())
        for name in found.column_names:
            events = events.append_column(name, found[name])
        return events

    def keep(self, tags: Int64s) -> None:
        """Forget all rows but these."""
        if self._rows is not None:
            ascending = np.sort(tags)
            self._rows = _picked(self._rows, self._tags, ascending)
            self._tags = ascending


def _picked(rows: pa.Table, tags: Int64s, wanted: Int64s) -> pa.Table:
    return rows.take(pa.array(np.searchsorted(tags, wanted)))


def payload_types(declared: Mapping[str, Declared]) -> dict[str, pa.DataType]:
    """Give the columns of what travels along, of all feeds; one name has one type everywhere."""
    found: dict[str, pa.DataType] = {}
    faults = []
    for feed, of_feed in declared.items():
        for name, kind in of_feed.payload:
            column = f"{PREFIX}{name}"
            if found.setdefault(column, PAYLOAD_KINDS[kind]) != PAYLOAD_KINDS[kind]:
                message = f"'{name}' of feed '{feed}' is {kind}, and of another feed it is not"
                faults.append(Fault("--payload", message))
    refuse(faults, NOTHING_WRITTEN)
    return found
