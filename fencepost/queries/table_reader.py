"""A table that is read column by column, with all that is wrong in it.

Law: every column is checked at once, never row by row; every bad row is reported, rows counted from
1, of which the first hundred are listed.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools, Int64s
from fencepost.errors import Fault, Faults
from fencepost.queries.conversions import is_text

LISTED = 100


class TableReader:
    """One table, and what was found wrong in it: with a column, or with rows of it.

    Each method reads one or two columns whole. Where a row is at fault it notes so and leaves some
    value there.
    """

    def __init__(self, table: pa.Table, source: str) -> None:
        """Begin with no fault."""
        self.table = table
        self.source = source
        self.n = table.num_rows
        self.wrong_columns: list[Fault] = []
        self.wrong_rows: list[tuple[Int64s, Callable[[int], str]]] = []

    def note(self, rows: Bools | Int64s, say: Callable[[int], str]) -> None:
        """Note the same fault of some rows; `say` words it for one of them."""
        places = np.flatnonzero(rows) if rows.dtype == np.bool_ else np.asarray(rows, np.int64)
        if len(places):
            self.wrong_rows.append((places, say))

    def refuse(self, message: str, hint: str | None = None) -> None:
        """Note a fault of a column."""
        self.wrong_columns.append(Fault(self.source, message, hint=hint))

    def raise_faults(self) -> None:
        """Raise Faults if there are any: those of columns alone, or else those of rows."""
        if self.wrong_columns:
            raise Faults(self.wrong_columns)
        if not self.wrong_rows:
            return
        rows = np.concatenate([places for places, _ in self.wrong_rows])
        kinds = np.repeat(
            np.arange(len(self.wrong_rows)), [len(places) for places, _ in self.wrong_rows]
        )
        first = np.argsort(rows, kind="stable")[:LISTED]
        faults = [
            Fault(self.source, self.wrong_rows[kinds[k]][1](int(rows[k])), int(rows[k]) + 1)
            for k in first
        ]
        more = len(rows) - len(faults)
        raise Faults(
            faults, f"… and {more:,} more, nothing imported" if more else "nothing imported"
        )

    def column(self, name: str) -> pa.Array | None:
        """Return a column in one piece; None where it is absent, or all null and of no type."""
        if name not in self.table.column_names or pa.types.is_null(self.table.field(name).type):
            return None
        column = self.table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)

    def text(self, name: str, column: pa.Array) -> pa.StringArray | None:
        """Return a column as valid UTF-8 strings, or refuse it."""
        kind = column.type
        if not (is_text(kind)):
            self.refuse(f"`{name}` holds {kind}, text was expected")
            return None
        try:
            text = column.cast(pa.string())
            text.validate(full=True)
        except pa.ArrowInvalid as why:
            self.refuse(f"`{name}` holds what is no text: {str(why)[:120]}")
            return None
        return text

    def parsed(
        self, name: str, column: pa.Array, parse: Callable[[str], int], absent: int
    ) -> Int64s:
        """Parse a column of texts, each distinct text once."""
        text = self.text(name, column)
        if text is None:
            return np.full(self.n, absent)
        coded = pc.dictionary_encode(text)
        values: list[int] = []
        wrong: dict[int, str] = {}
        for code, given in enumerate(coded.dictionary.to_pylist()):
            try:
                values.append(parse(given))
            except ValueError as why:
                wrong[code] = str(why)
                values.append(absent)
        values.append(absent)
        codes = coded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
        self.note(np.isin(codes, list(wrong)), lambda row: f"`{name}`: {wrong[int(codes[row])]}")
        parsed: Int64s = np.array(values, np.int64)[codes]
        return parsed
