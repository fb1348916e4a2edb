"""From the cells of a column to the engine's input: stream ids, doubles, marks, sequences, payload.

Times are in `time_cells.py`.

Whole columns are converted at once where that is certain to be right. Every other cell goes
through `parse_number`, each distinct text once: it decides and explains.

Law: the fast path accepts a cell only where the slow path would, and reads the same value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.doubles import EXACT_UP_TO, NUMBER, exactly, parse_number
from fencepost.hashing import bytes_of
from fencepost.text import LONGEST_ID, cut, wrong_with_id
from fencepost.tuples import Bools, Doubles, Int64s

NUMBER_WHOLE = f"^(?:{NUMBER.pattern})$"
MARKS = {
    **dict.fromkeys(("true", "t", "yes", "1"), True),
    **dict.fromkeys(("false", "f", "no", "0", ""), False),
}
"""What a mark may be called, in letters of any size; nothing marks nothing."""

_BLANK, _DELETE = 0x20, 0x7F

Column = TypeVar("Column", Doubles, Int64s)
Coded = TypeVar("Coded", Int64s, Bools)


@dataclass(frozen=True, eq=False)
class CellFaults:
    """The cells of one column that cannot be read: rows (ascending, from 0), and the reasons."""

    rows: Int64s
    details: pa.StringArray

    @classmethod
    def none(cls) -> "CellFaults":
        """Every cell can be read."""
        return cls(np.empty(0, np.int64), pa.array([], pa.string()))

    @classmethod
    def alike(cls, rows: Int64s, detail: str) -> "CellFaults":
        """The same is wrong with all of them."""
        return cls(rows, pa.repeat(pa.scalar(detail, pa.string()), len(rows)))

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def by_row(cls, columns: Sequence["CellFaults"]) -> "CellFaults":
        """Gather several columns: one entry a row, with its details in the columns' order."""
        columns = [column for column in columns if len(column)]
        if len(columns) < 2:
            return columns[0] if columns else cls.none()
        rows = np.concatenate([column.rows for column in columns])
        order = np.argsort(rows, kind="stable")
        details = pa.concat_arrays([column.details for column in columns]).take(pa.array(order))
        ascending = rows[order]
        begins = np.flatnonzero(np.r_[True, ascending[1:] != ascending[:-1]])
        lists = pa.ListArray.from_arrays(np.r_[begins, len(rows)].astype(np.int32), details)
        return cls(ascending[begins], pc.binary_join(lists, "; "))


def stream_ids(
    cells: pa.Array, name: str, *, distinct: bool = False
) -> tuple[pa.DictionaryArray, CellFaults]:
    """Read stream ids, each distinct one checked once: 1–256 characters, no control characters.

    `distinct`: they are coded, and each text has one code.
    """
    coded = cells if distinct else _coded(cells)
    names = coded.dictionary
    odd = np.zeros(len(names), np.bool_) if _are_plain(names) else _odd(names)
    if not coded.null_count and not odd.any():
        return coded, CellFaults.none()
    why = [
        _why_no_id(name, names[place].as_py()) if odd[place] else None for place in range(len(odd))
    ]
    details = pc.fill_null(pa.array([*why, f"{name} is null"]), "")
    codes = integers_of(pc.fill_null(coded.indices, len(odd)))
    rows = np.flatnonzero(np.r_[odd, True][codes])
    return coded, CellFaults(rows, details.take(pa.array(codes[rows])))


def _are_plain(names: pa.StringArray) -> bool:
    """Say whether all names are of some visible letters of ASCII, as most are. 1 ns a byte."""
    offsets, content = bytes_of(names)
    lengths = np.diff(offsets)
    visible = (content > _BLANK) & (content < _DELETE)
    return bool(visible.all() and ((lengths > 0) & (lengths <= LONGEST_ID)).all())


def _odd(names: pa.StringArray) -> Bools:
    """Say which names cannot be those of streams."""
    length = pc.utf8_length(names)
    odd = flags_of(pc.match_substring_regex(names, r"\p{Cc}"))
    return odd | flags_of(pc.less(length, 1)) | flags_of(pc.greater(length, LONGEST_ID))


def _coded(cells: pa.Array) -> pa.DictionaryArray:
    """Code a column, unless it is coded so already: each name once, none of them null."""
    if pa.types.is_dictionary(cells.type):
        names = pc.cast(cells.dictionary, pa.string())
        if not names.null_count and pc.count_distinct(names).as_py() == len(names):
            return pa.DictionaryArray.from_arrays(pc.cast(cells.indices, pa.int32()), names)
        cells = cells.dictionary_decode()
    return pc.dictionary_encode(pc.cast(cells, pa.string()))


def _why_no_id(name: str, given: str) -> str:
    why = wrong_with_id(given)
    return f"{name}: {cut(given)!r} {why}" if given else f"{name} {why}"


def doubles(cells: pa.Array, name: str, decimal: str = ".") -> tuple[Doubles, CellFaults]:
    """Read an axis: text by the number grammar, whatever else a double holds exactly.

    `decimal` is what stands before the decimals of a text.
    """
    kind = cells.type
    if pa.types.is_floating(kind):
        return _doubles_of_floats(cells, name)
    if pa.types.is_integer(kind):
        return _doubles_ofintegers_of(cells, name)
    if pa.types.is_null(kind):
        return np.zeros(len(cells)), CellFaults.alike(np.arange(len(cells)), f"{name} is null")
    text = pc.cast(cells, pa.string())  # decimals too: their text is exact
    return _doubles_of_text(text, name) if decimal == "." else _doubles_with(decimal, text, name)


def _doubles_of_text(text: pa.StringArray, name: str) -> tuple[Doubles, CellFaults]:
    try:
        # Outside the grammar Arrow reads only the spellings of NaN and infinity, so a column that
        # casts needs no match: 0.03 s a million cells, where matching the pattern takes 0.11 s.
        values: Doubles = pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False) + 0.0
    except pa.ArrowInvalid:
        plain = flags_of(pc.match_substring_regex(text, NUMBER_WHOLE))
        values = np.full(len(text), np.nan)
        values[plain] = some_of(text, plain, pa.float64()).to_numpy() + 0.0
    doubtful = np.flatnonzero(~(np.abs(values) < EXACT_UP_TO))
    return one_by_one(values, text, doubtful, name, parse_number)


def _doubles_with(decimal: str, text: pa.StringArray, name: str) -> tuple[Doubles, CellFaults]:
    """Read numbers with another mark than a point; a point is none of a number then."""
    pointed = flags_of(pc.match_substring(text, "."))
    plain = text.take(pa.array(np.arange(len(text)), mask=pointed)) if pointed.any() else text
    plain = pc.replace_substring(plain, decimal, ".", max_replacements=1)
    values, wrong = _doubles_of_text(plain, name)
    if not len(wrong):
        return values, wrong
    missing = flags_of(pc.is_null(text))[wrong.rows]
    said = [
        f"{name} is null"
        if gone
        else f"{name} is empty"
        if not cell
        else f"{name}: {cut(cell)!r} is not a number with the decimal {decimal!r}"
        for gone, cell in zip(
            missing.tolist(), text.take(pa.array(wrong.rows)).to_pylist(), strict=True
        )
    ]
    return values, CellFaults(wrong.rows, pa.array(said, pa.string()))


def _doubles_of_floats(cells: pa.Array, name: str) -> tuple[Doubles, CellFaults]:
    values: Doubles = pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False) + 0.0
    odd = np.flatnonzero(~np.isfinite(values))
    if not odd.size:
        return values, CellFaults.none()
    missing = flags_of(pc.is_null(cells))[odd]
    words = [
        f"{name} is null" if gone else f"{name}: {value} is not a finite number"
        for gone, value in zip(missing.tolist(), values[odd].tolist(), strict=True)
    ]
    return values, CellFaults(odd, pa.array(words, pa.string()))


def _doubles_ofintegers_of(cells: pa.Array, name: str) -> tuple[Doubles, CellFaults]:
    whole = pc.fill_null(cells, 0).to_numpy(zero_copy_only=False)
    values: Doubles = whole.astype(np.float64)
    doubtful = np.flatnonzero((np.abs(values) >= EXACT_UP_TO) | flags_of(pc.is_null(cells)))
    if not doubtful.size:
        return values, CellFaults.none()
    return one_by_one(
        values, pc.cast(cells, pa.string()), doubtful, name, lambda text: exactly(int(text))
    )


def marks(cells: pa.Array, name: str) -> tuple[Bools, CellFaults]:
    """Read marks: true and false, or the words of `MARKS`; a null marks nothing."""
    if pa.types.is_dictionary(cells.type):
        return by_code(cells, *marks(cells.dictionary, name), None)
    if pa.types.is_boolean(cells.type):
        return flags_of(cells), CellFaults.none()
    coded = pc.dictionary_encode(pc.cast(cells, pa.string()))
    given = coded.dictionary.to_pylist()
    read = [MARKS.get(text.lower()) for text in given]
    codes = integers_of(pc.fill_null(coded.indices, len(read)))
    flags = np.array([*map(bool, read), False])[codes]
    if None not in read:
        return flags, CellFaults.none()
    words = ", ".join(word for word in MARKS if word)
    details = [f"{name}: {cut(text)!r} is none of {words}" for text in given]
    rows = np.flatnonzero(np.array([*(mark is None for mark in read), False])[codes])
    return flags, CellFaults(rows, pa.array(details, pa.string()).take(pa.array(codes[rows])))


def by_code(
    cells: pa.DictionaryArray, values: Coded, wrong: CellFaults, of_null: str | None
) -> tuple[Coded, CellFaults]:
    """Spread what was read of each text over its cells; `of_null` is the fault of a null."""
    codes = integers_of(pc.fill_null(cells.indices, len(values)))
    place = np.full(len(values) + 1, -1)  # of each code: that of its detail
    place[wrong.rows] = np.arange(len(wrong))
    place[-1] = len(wrong) if of_null is not None else -1
    rows = np.flatnonzero(place[codes] >= 0)
    details = pa.concat_arrays([wrong.details, pa.array([of_null], pa.string())])
    faults = CellFaults(rows, details.take(pa.array(place[codes[rows]])))
    return np.append(values, values.dtype.type(0))[codes], faults


def one_by_one(
    values: Column, text: pa.StringArray, rows: Int64s, name: str, parse: Callable[[str], float]
) -> tuple[Column, CellFaults]:
    """Read the cells of some rows again, each distinct text once; what cannot be read stays 0."""
    if not rows.size:
        return values, CellFaults.none()
    coded = pc.dictionary_encode(text.take(pa.array(rows)))
    read: list[float] = []
    why: list[str | None] = []
    for given in coded.dictionary.to_pylist():
        try:
            read.append(parse(given))
            why.append(None)
        except ValueError as refusal:
            read.append(0)
            why.append(f"{name}: {refusal}" if given else f"{name} is empty")
    codes = integers_of(pc.fill_null(coded.indices, len(read)))
    values = values.copy()
    values[rows] = np.array([*read, 0], values.dtype)[codes]
    details = pa.array([*why, f"{name} is null"], pa.string()).take(pa.array(codes))
    refused = pc.is_valid(details)
    return values, CellFaults(rows[flags_of(refused)], details.filter(refused))


def some_of(text: pa.StringArray, rows: Bools, kind: pa.DataType) -> pa.Array:
    """Cast some of the cells. Arrow's `if_else` misreads a column that is part of a longer one."""
    return pc.cast(text.filter(pa.array(rows)), kind)


def flags_of(cells: pa.BooleanArray) -> Bools:
    """Give booleans; a null is none."""
    flags: Bools = pc.fill_null(cells, fill_value=False).to_numpy(zero_copy_only=False)
    return flags


def integers_of(cells: pa.Array) -> Int64s:
    """Give integers; a null is 0."""
    integers: Int64s = pc.fill_null(cells, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return integers
