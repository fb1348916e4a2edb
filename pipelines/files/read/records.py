"""Rows as a form's reader gives them: cells by column, and the rows that have none.

Law: each row has its line, and its record as it stood in the file can be given.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

import numpy as np
import pyarrow as pa

from fencepost.cells import CellFaults
from fencepost.errors import Fault
from fencepost.text import did_you_mean
from fencepost.tuples import Int64s
from pipelines.files.read.declaration import STREAM_ID, TS, Declared

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
        """Merge parts in the order of the lines."""
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
    """Make one RawOf of those of consecutive pieces."""
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


MOST_COLUMNS = 10_000
MOST_NAMED = 50
"""Columns that a file may have, and that are named where one is missing."""


@dataclass(frozen=True, eq=False)
class RawRows:
    """A piece of a file: m cells of each wanted column, and the rows that have no cells.

    cells      by column: text, or what Parquet holds; null where there is nothing
    refused    by column: cells that the form itself refuses, null among `cells`
    raw_of     the records of some of the m rows, verbatim
    done       how much of the file has been read with this piece, from 0 to 1
    decimal    what stands before the decimals of a number, where it is text
    """

    line: Int64s
    cells: Mapping[str, pa.Array]
    malformed: Malformed
    raw_of: RawOf
    done: float = 1.0
    refused: Mapping[str, CellFaults] = field(default_factory=dict)
    decimal: str = "."
    distinct: bool = False
    unlike: "RawRows | None" = None

    @classmethod
    def none(
        cls, declared: Declared, malformed: Iterable[tuple[int, str, str]] = (), done: float = 1.0
    ) -> "RawRows":
        """No row that has cells."""
        empty = pa.array([], pa.string())
        cells = dict.fromkeys(declared.wanted, empty)
        return cls(np.empty(0, np.int64), cells, Malformed.of(malformed), lambda _: empty, done)

    def merged(self, name: str, found: CellFaults) -> CellFaults:
        """Merge faults found in a column's cells with the form's own refusals, which say more."""
        refused = self.refused.get(name)
        if refused is None or not len(refused):
            return found
        news = ~np.isin(found.rows, refused.rows)
        rows = np.concatenate([refused.rows, found.rows[news]])
        details = pa.concat_arrays([refused.details, found.details.filter(pa.array(news))])
        order = np.argsort(rows, kind="stable")
        return CellFaults(rows[order], details.take(pa.array(order)))


def missing_columns(
    source: str, columns: Collection[str], declared: Declared, line: int | None = None
) -> list[Fault]:
    """List the required columns that a file lacks."""
    wanted = dict.fromkeys(declared.wanted)
    has = _listed(columns)
    faults = [
        Fault(
            source,
            f"no column '{name}'",
            line=line,
            hint=f"the columns are: {has}.{did_you_mean(name, columns)}{_named(name, declared)}",
        )
        for name in wanted
        if name not in columns
    ]
    if not faults and not declared.over(list(columns)).numbers:
        message = f"no axis: beside {', '.join(declared.needed)} a column of numbers was expected"
        faults.append(Fault(source, message, line=line))
    return faults


def _named(name: str, declared: Declared) -> str:
    """Say how a column is declared that is not called as it is by default."""
    by_option = declared.axes_by.startswith("--")
    if name == STREAM_ID == declared.stream_id:
        if by_option:
            return "  Name the stream's: --stream-column NAME, or --stream NAME for all rows."
        return '  Name the stream\'s: stream_column = "…", or stream = "…" for all rows.'
    if name == TS == declared.ts:
        return f"  Name the time's: {_BY_OPTION if by_option else _BY_KEY}."
    return ""


_BY_OPTION, _BY_KEY = "--ts-column NAME", 'ts_column = "…"'


def too_many_columns(source: str, columns: Sequence[str], line: int | None = None) -> list[Fault]:
    """Report a file with more columns than are read."""
    if len(columns) <= MOST_COLUMNS:
        return []
    message = f"has {len(columns):,} columns, where up to {MOST_COLUMNS:,} are read"
    return [Fault(source, message, line=line)]


def _listed(columns: Collection[str]) -> str:
    """Name the columns, or the first of many."""
    names = [name if len(name) <= 60 else f"{name[:59]}…" for name in islice(columns, MOST_NAMED)]
    more = len(columns) - len(names)
    return ", ".join([*names, *([f"and {more:,} more"] if more else [])]) or "none"
