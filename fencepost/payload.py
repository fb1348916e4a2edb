"""Columns beside time and axes: what orders the tuples of an instant, and what travels along.

Law: a cell that is not of its declared kind makes its row malformed. Of what travels along an empty
cell is null; what orders is never empty.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools
from fencepost.cells import CellFaults, doubles, flags_of, marks
from fencepost.text import LONGEST_ID, cut
from fencepost.time_cells import instants
from fencepost.time_forms import TimeForm

TIME = pa.timestamp("us", "UTC")
PAYLOAD_KINDS: Mapping[str, pa.DataType] = {
    "text": pa.string(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": TIME,
}
"""By the kind that is declared: what a column holds."""

INTEGER_WHOLE = "^[+-]?[0-9]{1,18}$"
BELOW, BEYOND = -(2**63), 2**63


def sequences(cells: pa.Array, name: str, is_: str) -> tuple[pa.Array, CellFaults]:
    """Read what orders the tuples of an instant: whole numbers, or texts of 1 to 256 characters."""
    if is_ == "integer":
        found, wrong = _longs(cells, name)
        missing = np.flatnonzero(flags_of(pc.is_null(found)))
        missing = missing[~np.isin(missing, wrong.rows)]
        missed = CellFaults.alike(missing, f"{name} is empty")
        return pc.fill_null(found, 0), CellFaults.by_row([wrong, missed])
    text = _plain_text(cells)
    length = pc.fill_null(pc.utf8_length(text), 0).to_numpy(zero_copy_only=False)
    empty, long = np.flatnonzero(length == 0), np.flatnonzero(length > LONGEST_ID)
    faults = [
        CellFaults.alike(empty, f"{name} is empty"),
        CellFaults.alike(long, f"{name} has more than {LONGEST_ID} characters"),
    ]
    return pc.fill_null(text, ""), CellFaults.by_row(faults)


def payload(
    cells: pa.Array, name: str, kind: str, form: TimeForm, decimal: str = "."
) -> tuple[pa.Array, CellFaults]:
    """Read what travels along; an empty cell is null."""
    if kind == "text":
        text = _plain_text(cells)
        empty = flags_of(pc.equal(text, ""))
        return (_without(text, empty) if empty.any() else text), CellFaults.none()
    if kind == "long":
        return _longs(cells, name)
    given = _given(cells)
    some = cells.filter(pa.array(given)) if not given.all() else cells
    values: pa.Array
    if kind == "double":
        numbers, wrong = doubles(some, name, decimal)
        values = pa.array(numbers)
    elif kind == "boolean":
        flags, wrong = marks(some, name)
        values = pa.array(flags)
    else:
        us, wrong = instants(some, name, form)
        values = pa.array(us).view(TIME)
    if given.all():
        return values, wrong
    places = np.flatnonzero(given)
    where = pa.array(np.maximum(np.cumsum(given) - 1, 0), mask=~given)
    return values.take(where), CellFaults(places[wrong.rows], wrong.details)


def _longs(cells: pa.Array, name: str) -> tuple[pa.Array, CellFaults]:
    """Read whole numbers; an empty cell is null."""
    kind = cells.type
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return pc.cast(cells, pa.int64()), CellFaults.none()
    text = _plain_text(cells)
    whole = flags_of(pc.match_substring_regex(text, INTEGER_WHOLE))
    plain = pc.replace_substring_regex(_without(text, ~whole), r"^\+", "")
    values = pc.cast(plain, pa.int64())
    empty = flags_of(pc.is_null(text)) | flags_of(pc.equal(text, ""))
    rest = np.flatnonzero(~whole & ~empty)
    if not rest.size:
        return values, CellFaults.none()
    read = values.to_pylist()
    rows, why = [], []
    for row, cell in zip(rest.tolist(), text.take(pa.array(rest)).to_pylist(), strict=True):
        digits = cell[1:] if cell[:1] in "+-" else cell
        number = int(cell) if digits.isascii() and digits.isdecimal() and len(cell) < 40 else None
        if number is not None and BELOW <= number < BEYOND:
            read[row] = number
        else:
            rows.append(row)
            what = "is beyond 64 bits" if number is not None else "is not a whole number"
            why.append(f"{name}: {cut(cell)!r} {what}")
    return pa.array(read, pa.int64()), CellFaults(np.array(rows, np.int64), pa.array(why))


def _plain_text(cells: pa.Array) -> pa.StringArray:
    kind = cells.type
    if pa.types.is_dictionary(kind):
        return _plain_text(cells.dictionary_decode())
    if pa.types.is_floating(kind):  # 5.0, where a column of whole numbers has gaps
        values = pc.fill_null(cells, np.nan).to_numpy(zero_copy_only=False)
        whole = np.isfinite(values) & (np.abs(values) < 2**53) & (np.floor(values) == values)
        text = pc.cast(pc.cast(cells, pa.float64()), pa.string())
        if not whole.any():
            return _without(text, np.isnan(values))
        exact = pc.cast(pa.array(np.where(whole, values, 0).astype(np.int64)), pa.string())
        both = pa.concat_arrays([text, exact])
        place = np.arange(len(cells)) + np.where(whole, len(cells), 0)
        return both.take(pa.array(place, mask=np.isnan(values)))
    return pc.cast(cells, pa.string())


def _given(cells: pa.Array) -> Bools:
    """Say which cells hold something."""
    kind = cells.type
    given = flags_of(pc.is_valid(cells))
    if pa.types.is_dictionary(kind):
        return _given(cells.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return given & ~flags_of(pc.equal(cells, ""))
    return given


def _without(cells: pa.Array, gone: Bools) -> pa.Array:
    """Make some cells null."""
    return cells.take(pa.array(np.arange(len(cells)), mask=gone))
