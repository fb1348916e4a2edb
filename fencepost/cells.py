"""From the cells of a column to the engine's input: stream ids, doubles, microseconds, marks.

Whole columns are converted at once where that is certain to be right. Every other cell goes
through `parse_number` or `parse_instant`, each distinct text once: they decide and explain.

Law: the fast path accepts a cell only where the slow path would, and reads the same value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.doubles import EXACT_UP_TO, NUMBER, exactly, parse_number
from fencepost.text import LONGEST_ID, cut, wrong_with_id
from fencepost.times import EARLIEST, LATEST, PER_UNIT, instant_from_integer, parse_instant
from fencepost.tuples import Bools, Doubles, Int64s

NUMBER_WHOLE = f"^(?:{NUMBER.pattern})$"
INTEGER_WHOLE = "^-?[0-9]{1,18}$"

# Every text of this form is an instant, so that a cast of the whole column cannot fail: the days of
# each month, and 29 February in leap years only. RE2 runs it as one automaton, whatever its length.
_DAY = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|2000)-02-29)"
)
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
INSTANT_WHOLE = f"^{_DAY}[T ]{_TIME}(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$"
BEYOND_MICROSECONDS = r"(\.[0-9]{6})[0-9]+"

MARKS = {
    **dict.fromkeys(("true", "t", "yes", "1"), True),
    **dict.fromkeys(("false", "f", "no", "0", ""), False),
}
"""What a mark may be called, in letters of any size; nothing marks nothing."""

UNIT_BY_OPTION = "--ts-unit s, ms or us"


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


def stream_ids(cells: pa.Array, name: str) -> tuple[pa.DictionaryArray, CellFaults]:
    """Read stream ids, each distinct one checked once: 1–256 characters, no control characters."""
    coded = _coded(cells)
    names = coded.dictionary
    length = pc.utf8_length(names)
    odd = _flags(pc.match_substring_regex(names, r"\p{Cc}"))
    odd |= _flags(pc.less(length, 1)) | _flags(pc.greater(length, LONGEST_ID))
    if not coded.null_count and not odd.any():
        return coded, CellFaults.none()
    why = [
        _why_no_id(name, names[place].as_py()) if odd[place] else None for place in range(len(odd))
    ]
    details = pc.fill_null(pa.array([*why, f"{name} is null"]), "")
    codes = _integers(pc.fill_null(coded.indices, len(odd)))
    rows = np.flatnonzero(np.r_[odd, True][codes])
    return coded, CellFaults(rows, details.take(pa.array(codes[rows])))


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


def doubles(cells: pa.Array, name: str) -> tuple[Doubles, CellFaults]:
    """Read an axis: text by the number grammar, whatever else a double holds exactly."""
    kind = cells.type
    if pa.types.is_floating(kind):
        return _doubles_of_floats(cells, name)
    if pa.types.is_integer(kind):
        return _doubles_of_integers(cells, name)
    if pa.types.is_null(kind):
        return np.zeros(len(cells)), CellFaults.alike(np.arange(len(cells)), f"{name} is null")
    return _doubles_of_text(pc.cast(cells, pa.string()), name)  # decimals too: their text is exact


def _doubles_of_text(text: pa.StringArray, name: str) -> tuple[Doubles, CellFaults]:
    try:
        # Outside the grammar Arrow reads only the spellings of NaN and infinity, so a column that
        # casts needs no match: 0.03 s a million cells, where matching the pattern takes 0.11 s.
        values: Doubles = pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False) + 0.0
    except pa.ArrowInvalid:
        plain = _flags(pc.match_substring_regex(text, NUMBER_WHOLE))
        values = np.full(len(text), np.nan)
        values[plain] = _some(text, plain, pa.float64()).to_numpy() + 0.0
    doubtful = np.flatnonzero(~(np.abs(values) < EXACT_UP_TO))
    return _one_by_one(values, text, doubtful, name, parse_number)


def _doubles_of_floats(cells: pa.Array, name: str) -> tuple[Doubles, CellFaults]:
    values: Doubles = pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False) + 0.0
    odd = np.flatnonzero(~np.isfinite(values))
    if not odd.size:
        return values, CellFaults.none()
    missing = _flags(pc.is_null(cells))[odd]
    words = [
        f"{name} is null" if gone else f"{name}: {value} is not a finite number"
        for gone, value in zip(missing.tolist(), values[odd].tolist(), strict=True)
    ]
    return values, CellFaults(odd, pa.array(words, pa.string()))


def _doubles_of_integers(cells: pa.Array, name: str) -> tuple[Doubles, CellFaults]:
    whole = pc.fill_null(cells, 0).to_numpy(zero_copy_only=False)
    values: Doubles = whole.astype(np.float64)
    doubtful = np.flatnonzero((np.abs(values) >= EXACT_UP_TO) | _flags(pc.is_null(cells)))
    return _one_by_one(
        values, pc.cast(cells, pa.string()), doubtful, name, lambda text: exactly(int(text))
    )


def instants(
    cells: pa.Array, name: str, unit: str | None, unit_by: str = UNIT_BY_OPTION
) -> tuple[Int64s, CellFaults]:
    """Read times: ISO 8601 text, integers in the declared unit, or timestamps in UTC."""
    kind = cells.type
    if pa.types.is_dictionary(kind):
        us, wrong = instants(cells.dictionary, name, unit, unit_by)
        return _by_code(cells, us, wrong, f"{name} is null")
    if pa.types.is_timestamp(kind):
        return _instants_of_integers(cells.view(pa.int64()), name, kind.unit)
    if pa.types.is_integer(kind) and unit is not None and kind != pa.uint64():
        return _instants_of_integers(pc.cast(cells, pa.int64()), name, unit)
    return _instants_of_text(pc.cast(cells, pa.string()), name, unit, unit_by)


def _instants_of_text(
    text: pa.StringArray, name: str, unit: str | None, unit_by: str
) -> tuple[Int64s, CellFaults]:
    given = text
    certain = _flags(pc.match_substring_regex(text, INSTANT_WHOLE))
    if not certain.all():
        text = pc.replace_substring_regex(text, BEYOND_MICROSECONDS, r"\1")
        certain = _flags(pc.match_substring_regex(text, INSTANT_WHOLE))
    us = np.zeros(len(text), np.int64)
    us[certain] = _some(text, certain, pa.timestamp("us", "UTC")).view(pa.int64()).to_numpy()
    if unit is not None and not certain.all():
        counted = _flags(pc.match_substring_regex(text, INTEGER_WHOLE))
        counts, fits = _scaled(_some(text, counted, pa.int64()).to_numpy(), unit)
        us[counted] = counts
        certain[counted] = fits
    doubtful = np.flatnonzero(~certain | (us < EARLIEST) | (us >= LATEST))
    return _one_by_one(us, given, doubtful, name, lambda cell: _instant(cell, unit, unit_by))


def _instants_of_integers(counts: pa.Int64Array, name: str, unit: str) -> tuple[Int64s, CellFaults]:
    us, fits = _scaled(_integers(counts), unit)
    doubtful = np.flatnonzero(~fits | _flags(pc.is_null(counts)))
    text = pc.cast(counts, pa.string())
    return _one_by_one(us, text, doubtful, name, lambda cell: _instant(cell, unit))


def _scaled(counts: Int64s, unit: str) -> tuple[Int64s, Bools]:
    """Count microseconds, rounded towards the past, and mark those in the years 1900–2200."""
    times, per = PER_UNIT[unit]
    first, beyond = EARLIEST * per // times, LATEST * per // times
    fits = (counts >= first) & (counts < beyond)
    return np.where(fits, counts, 0) * times // per, fits


def _instant(text: str, unit: str | None, unit_by: str = "") -> int:
    """Read one time in full, with a message for what is wrong."""
    try:
        count = int(text) if text.lstrip("+-").isdecimal() and text.isascii() else None
    except ValueError:  # more signs or digits than Python reads
        count = None
    if count is None:
        return parse_instant(text)
    if unit is None:
        raise ValueError(f"{cut(text)!r} is an integer, and no unit is declared ({unit_by})")
    return instant_from_integer(count, unit)


def marks(cells: pa.Array, name: str) -> tuple[Bools, CellFaults]:
    """Read marks: true and false, or the words of `MARKS`; a null marks nothing."""
    if pa.types.is_dictionary(cells.type):
        return _by_code(cells, *marks(cells.dictionary, name), None)
    if pa.types.is_boolean(cells.type):
        return _flags(cells), CellFaults.none()
    coded = pc.dictionary_encode(pc.cast(cells, pa.string()))
    given = coded.dictionary.to_pylist()
    read = [MARKS.get(text.lower()) for text in given]
    codes = _integers(pc.fill_null(coded.indices, len(read)))
    flags = np.array([*map(bool, read), False])[codes]
    if None not in read:
        return flags, CellFaults.none()
    words = ", ".join(word for word in MARKS if word)
    details = [f"{name}: {cut(text)!r} is none of {words}" for text in given]
    rows = np.flatnonzero(np.array([*(mark is None for mark in read), False])[codes])
    return flags, CellFaults(rows, pa.array(details, pa.string()).take(pa.array(codes[rows])))


def _by_code(
    cells: pa.DictionaryArray, values: Coded, wrong: CellFaults, of_null: str | None
) -> tuple[Coded, CellFaults]:
    """Spread what was read of each text over its cells; `of_null` is the fault of a null."""
    codes = _integers(pc.fill_null(cells.indices, len(values)))
    place = np.full(len(values) + 1, -1)  # of each code: that of its detail
    place[wrong.rows] = np.arange(len(wrong))
    place[-1] = len(wrong) if of_null is not None else -1
    rows = np.flatnonzero(place[codes] >= 0)
    details = pa.concat_arrays([wrong.details, pa.array([of_null], pa.string())])
    faults = CellFaults(rows, details.take(pa.array(place[codes[rows]])))
    return np.append(values, values.dtype.type(0))[codes], faults


def _one_by_one(
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
    codes = _integers(pc.fill_null(coded.indices, len(read)))
    values = values.copy()
    values[rows] = np.array([*read, 0], values.dtype)[codes]
    details = pa.array([*why, f"{name} is null"], pa.string()).take(pa.array(codes))
    refused = pc.is_valid(details)
    return values, CellFaults(rows[_flags(refused)], details.filter(refused))


def _some(text: pa.StringArray, rows: Bools, kind: pa.DataType) -> pa.Array:
    """Cast some of the cells. Arrow's `if_else` misreads a column that is part of a longer one."""
    return pc.cast(text.filter(pa.array(rows)), kind)


def _flags(cells: pa.BooleanArray) -> Bools:
    flags: Bools = pc.fill_null(cells, fill_value=False).to_numpy(zero_copy_only=False)
    return flags


def _integers(cells: pa.Array) -> Int64s:
    integers: Int64s = pc.fill_null(cells, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return integers
