"""A wide file, in which each column is a stream, as the rows of a narrow one.

Law: each cell that is not empty is a row. Rows are numbered through, line by line and column by
column, empty cells too, so that a row keeps its number whatever else is declared.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.cells import CellFaults, flags_of
from fencepost.tuples import Bools, Int64s
from pipelines.files.read.declaration import Declared
from pipelines.files.read.records import Malformed, RawOf, RawRows

STREAM = "(column)"
"""What the column of streams is called that a wide file does not have."""


def narrow_form(declared: Declared) -> Declared:
    """Say how the rows of a wide file are read, once they are narrow."""
    return replace(declared, wide=False, stream_id=STREAM)


def narrow(rows: RawRows, declared: Declared) -> RawRows:
    """Make a row of each cell."""
    names, places = [*declared.streams], np.array([*declared.streams.values()], np.int64)
    width = max(declared.width, 1)
    given = np.array([_given(rows.cells[name]) for name in names], np.bool_)
    of_row, of_name = np.nonzero(given.reshape(len(names), len(rows.line)).T)
    every = _alike([rows.cells[name] for name in names])
    flat = pa.array(of_name * len(rows.line) + of_row)
    axis = (declared.axes or ("",))[0]
    own = [name for name in declared.own if name != axis]
    cells = {name: _repeated(rows.cells[name], of_row) for name in own}
    streams = pa.DictionaryArray.from_arrays(pa.array(of_name.astype(np.int32)), pa.array(names))
    cells |= {STREAM: streams, axis: every.take(flat) if names else pa.array([], pa.string())}
    refused = {name: _spread(rows.refused[name], of_row) for name in own if name in rows.refused}
    parts = [
        _at(rows.refused[name], of_row, of_name == place)
        for place, name in enumerate(names)
        if name in rows.refused
    ]
    refused[axis] = CellFaults.by_row(parts)
    line = (rows.line[of_row] - 1) * width + places[of_name] + 1
    malformed = replace(rows.malformed, line=(rows.malformed.line - 1) * width + 1)
    return replace(
        rows,
        line=line,
        cells=cells,
        malformed=malformed,
        raw_of=_raw_of(rows.raw_of, of_row),
        refused=refused,
    )


def located(malformed: Malformed, declared: Declared) -> Malformed:
    """Say in which line and column of a wide file its malformed rows are."""
    by_place = {place: name for name, place in declared.streams.items()}
    width = max(declared.width, 1)
    details = [
        f"{detail} (line {(line - 1) // width + 1}"
        + (f", column '{by_place[at]}')" if (at := (line - 1) % width) in by_place else ")")
        for line, detail in zip(malformed.line.tolist(), malformed.detail.to_pylist(), strict=True)
    ]
    return replace(malformed, detail=pa.array(details, pa.string()))


def _given(cells: pa.Array) -> Bools:
    given = flags_of(pc.is_valid(cells))
    if pa.types.is_floating(cells.type):
        return given & ~flags_of(pc.is_nan(cells))
    if pa.types.is_string(cells.type):
        return given & ~flags_of(pc.equal(cells, ""))
    return given


def _alike(columns: Sequence[pa.Array]) -> pa.Array:
    """Concatenate columns; those of several types as text, which says the same."""
    kinds = {column.type for column in columns}
    if len(kinds) > 1:
        columns = [pc.cast(column, pa.string()) for column in columns]
    return pa.concat_arrays(columns) if columns else pa.array([], pa.string())


def _repeated(cells: pa.Array, of_row: Int64s) -> pa.Array:
    """Repeat the cells of a column by row, each of them kept once."""
    if pa.types.is_dictionary(cells.type):
        return cells.take(pa.array(of_row))
    return pa.DictionaryArray.from_arrays(pa.array(of_row.astype(np.int32)), cells)


def _spread(found: CellFaults, of_row: Int64s) -> CellFaults:
    """Give the faults of rows to all the cells of these rows."""
    return _at(found, of_row, np.ones(len(of_row), np.bool_))


def _at(found: CellFaults, of_row: Int64s, among: Bools) -> CellFaults:
    place = np.searchsorted(found.rows, of_row)
    hit = place < len(found.rows)
    hit &= among
    hit[hit] = found.rows[place[hit]] == of_row[hit]
    rows = np.flatnonzero(hit)
    return CellFaults(rows, found.details.take(pa.array(place[rows])))


def _raw_of(raw_of: RawOf, of_row: Int64s) -> RawOf:
    def of_cells(rows: Int64s) -> pa.StringArray:
        some, place = np.unique(of_row[rows], return_inverse=True)
        return raw_of(some).take(pa.array(place))

    return of_cells
