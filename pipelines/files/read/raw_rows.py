"""What the three forms have in common: rows by column, as they stood in the file.

Law: each row read is either here with all its cells or malformed, and has the line where it stood.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import pyarrow as pa

from fencepost.cells import UNIT_BY_OPTION, CellFaults
from fencepost.errors import Fault
from fencepost.text import did_you_mean
from fencepost.tuples import Int64s
from pipelines.files.read.content import Form
from pipelines.files.read.malformed import Malformed, RawOf

MOST_COLUMNS = 10_000
MOST_NAMED = 50
"""Columns that a file may have, and that are named where one is missing."""
STREAM_ID = "stream_id"
TS = "ts"


@dataclass(frozen=True)
class Declared:
    """What a feed's declaration says of its files.

    axes       their columns; None: all columns beside stream_id, ts, the clock and `deleted`
    clock      the column of the feed's clock, where it has one
    ts_unit    what an integer time counts: s, ms or us; None: integers are no times
    stream_id  the column that says whose tuple it is
    ts         the column that says when
    form       how rows stand in its files; None: each file's content says
    deleted    the column that marks rows as taking their streams out of sets, where it has one
    fixed      columns that hold the same text in every row, or nothing: they stand beside the file
    unit_by, axes_by  how a user declares a unit and the axes, for messages: by option or by key
    """

    axes: tuple[str, ...] | None = None
    clock: str | None = None
    ts_unit: str | None = None
    stream_id: str = STREAM_ID
    ts: str = TS
    form: Form | None = None
    fixed: Mapping[str, str | None] = field(default_factory=dict)
    deleted: str | None = None
    unit_by: str = UNIT_BY_OPTION
    axes_by: str = "--axes price,volume"

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which a row is no tuple, the axes aside."""
        own = (self.stream_id, self.ts)
        return own if self.clock is None else (*own, self.clock)

    @property
    def wanted(self) -> tuple[str, ...]:
        """All columns that are read: those needed, the axes that are known, and the mark."""
        marks = () if self.deleted is None else (self.deleted,)
        return (*self.needed, *(self.axes or ()), *marks)

    def axes_among(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Say which of a file's columns are axes: the declared ones, or all that remain."""
        if self.axes is not None:
            return self.axes
        own = (*self.needed, self.deleted)
        return tuple(column for column in columns if column not in own)

    def ignored_among(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Say which of a file's columns nobody asked for."""
        asked = {*self.wanted, *self.axes_among(columns)}
        return tuple(column for column in columns if column not in asked)


@dataclass(frozen=True, eq=False)
class RawRows:
    """A piece of a file: m cells of each column asked for, and the rows that have no cells.

    cells      by column: text, or what Parquet holds; null where there is nothing
    refused    by column: cells that the form itself refuses, null among `cells`
    raw_of     the records of some of the m rows, as they stood
    done       how much of the file has been read with this piece, from 0 to 1
    """

    line: Int64s
    cells: Mapping[str, pa.Array]
    malformed: Malformed
    raw_of: RawOf
    done: float = 1.0
    refused: Mapping[str, CellFaults] = field(default_factory=dict)

    @classmethod
    def none(
        cls, declared: Declared, malformed: Iterable[tuple[int, str, str]] = (), done: float = 1.0
    ) -> "RawRows":
        """No row that has cells."""
        empty = pa.array([], pa.string())
        cells = dict.fromkeys(declared.wanted, empty)
        return cls(np.empty(0, np.int64), cells, Malformed.of(malformed), lambda _: empty, done)

    def told(self, name: str, found: CellFaults) -> CellFaults:
        """Add what was found in a column's cells to what the form had refused, which tells more."""
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
    """List the columns that a file should have and has not."""
    wanted = dict.fromkeys(declared.wanted)
    has = _listed(columns)
    faults = [
        Fault(
            source,
            f"no column '{name}'",
            line=line,
            hint=f"the columns are: {has}.{did_you_mean(name, columns)}",
        )
        for name in wanted
        if name not in columns
    ]
    if not faults and not declared.axes_among(list(columns)):
        message = f"no axis: beside {', '.join(declared.needed)} a column of numbers was expected"
        faults.append(Fault(source, message, line=line))
    return faults


def too_many_columns(source: str, columns: Sequence[str], line: int | None = None) -> list[Fault]:
    """Tell a file with more columns than are read."""
    if len(columns) <= MOST_COLUMNS:
        return []
    message = f"has {len(columns):,} columns, where up to {MOST_COLUMNS:,} are read"
    return [Fault(source, message, line=line)]


def _listed(columns: Collection[str]) -> str:
    """Name the columns, or the first of many."""
    names = [name if len(name) <= 60 else f"{name[:59]}…" for name in islice(columns, MOST_NAMED)]
    more = len(columns) - len(names)
    return ", ".join([*names, *([f"and {more:,} more"] if more else [])]) or "none"
