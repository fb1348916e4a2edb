"""What of a delivery is no tuple: its line, the reason in words, and the record as it stood.

Law: a row is read whole or malformed whole; all that is wrong in its cells is told in one detail.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from fencepost.tuples import Int64s

RawOf = Callable[[Int64s], pa.StringArray]
"""Gives the records of some rows, numbers from 0 that ascend, as they stood in the file."""


@dataclass(frozen=True, eq=False)
class Malformed:
    """The rows of a file that hold no tuple, by line."""

    line: Int64s
    detail: pa.StringArray
    raw: pa.StringArray

    @classmethod
    def of(cls, rows: Iterable[tuple[int, str, str]]) -> "Malformed":
        """Take (line, detail, raw) row by row."""
        listed = list(rows)
        return cls(
            np.array([line for line, _, _ in listed], np.int64),
            pa.array([detail for _, detail, _ in listed], pa.string()),
            pa.array([raw for _, _, raw in listed], pa.string()),
        )

    def __len__(self) -> int:
        """How many rows."""
        return len(self.line)

    def at(self, places: Int64s) -> "Malformed":
        """Keep those at some places, which ascend."""
        kept = pa.array(places)
        return Malformed(self.line[places], self.detail.take(kept), self.raw.take(kept))

    @classmethod
    def merged(cls, parts: Sequence["Malformed"]) -> "Malformed":
        """Put parts together in the order of the lines."""
        parts = [part for part in parts if len(part)]
        if len(parts) < 2:
            return parts[0] if parts else cls.of([])
        line = np.concatenate([part.line for part in parts])
        order = np.argsort(line, kind="stable")
        return cls(
            line[order],
            pa.concat_arrays([part.detail for part in parts]).take(pa.array(order)),
            pa.concat_arrays([part.raw for part in parts]).take(pa.array(order)),
        )


def by_piece(lengths: Sequence[int], parts: Sequence[RawOf]) -> RawOf:
    """Make one RawOf of those of pieces that stand behind each other."""
    if len(parts) == 1:
        return parts[0]
    bounds = np.cumsum([0, *lengths])

    def raw_of(rows: Int64s) -> pa.StringArray:
        edges = np.searchsorted(rows, bounds)
        records = [
            part(rows[first:beyond] - begin)
            for part, begin, (first, beyond) in zip(parts, bounds, pairwise(edges), strict=False)
            if first < beyond
        ]
        return pa.concat_arrays(records) if records else pa.array([], pa.string())

    return raw_of
