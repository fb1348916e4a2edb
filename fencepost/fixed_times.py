"""Local times in a declared format, a column at once.

Where every number of a format stands with its leading zeros, each stands at the same place in all
texts of one length: they are read as a matrix of digits (0.1 µs a text). Other texts are taken
apart by the pattern of the format (1 µs).

Law: a text is read only where the pattern of the format matches it, and as the same time.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools, Int64s
from fencepost.cells import flags_of
from fencepost.time_formats import MONTHS, WIDTHS, TimeFormat, understood_format
from fencepost.times import DAY, SECOND

_CHUNK = 1 << 16
"""Texts that are read at a time: their bytes stay in the processor's cache."""
_LENGTHS = 4
"""Lengths of texts that are tried; a column has one, or a few."""
_MONTH_CODES = np.array([int.from_bytes(month[:3].encode()) for month in MONTHS])
_PART = {"Y": "year", "y": "short_year", "m": "month", "b": "month", "d": "day"}
_PART |= {"H": "hour", "M": "minute", "S": "second", "f": "fraction"}

Parts = Mapping[str, Int64s]
Found = tuple[Int64s, Bools]


def local_times(text: pa.StringArray, written: str) -> tuple[Int64s, Bools, bool]:
    """Read times, local ones unless the format has an offset: µs, which were read, and that."""
    form = understood_format(written)
    us, certain = np.zeros(len(text), np.int64), np.zeros(len(text), np.bool_)
    fixed = fixed_width(form)
    if fixed is not None:
        for begin in range(0, len(text), _CHUNK):
            some = slice(begin, begin + _CHUNK)
            us[some], certain[some] = _by_place(text[some], form, fixed)
    rest = np.flatnonzero(~certain)
    if rest.size:
        few = text.take(pa.array(rest)) if len(rest) < len(text) else text
        us[rest], certain[rest] = _by_pattern(few, form)
    return us, certain, form.has_offset


def fixed_width(form: TimeFormat) -> int | None:
    """Give the bytes of a text of a format, a fraction at its end aside; None: no fixed places."""
    total = 0
    for place, piece in enumerate(form.pieces):
        code = piece[1] if piece[0] == "%" else ""
        if code == "f" and place == len(form.pieces) - 1:
            continue
        if code in ("", "%", "b"):
            total += 3 if code == "b" else 1 if code == "%" else len(piece.encode())
        elif code in WIDTHS:
            total += WIDTHS[code]
        else:
            return None
    return total


def _by_place(text: pa.StringArray, form: TimeFormat, fixed: int) -> Found:
    us, certain = np.zeros(len(text), np.int64), np.zeros(len(text), np.bool_)
    offsets = np.frombuffer(text.buffers()[1], np.int32)[text.offset :][: len(text) + 1]
    data = np.frombuffer(text.buffers()[2] or b"", np.uint8)
    lengths = np.diff(offsets)
    known, counts = np.unique(lengths, return_counts=True)
    for length in known[np.argsort(-counts)][:_LENGTHS].tolist():
        digits = length - fixed
        if (digits == 0) == (form.pieces[-1] == "%f") or not 0 <= digits <= 18:
            continue
        rows = np.flatnonzero(lengths == length)
        if len(rows) == len(text):
            matrix = data[offsets[0] : offsets[-1]].reshape(-1, length)
        else:
            matrix = data[offsets[rows][:, None] + np.arange(length)]
        us[rows], certain[rows] = _of_matrix(np.ascontiguousarray(matrix.T), form, digits)
    if text.null_count:
        certain &= flags_of(pc.is_valid(text))
    return us, certain


def _of_matrix(columns: npt.NDArray[np.uint8], form: TimeFormat, digits: int) -> Found:
    """Read texts of one length, given byte by byte."""
    good = np.ones(columns.shape[1], np.bool_)
    parts: dict[str, Int64s] = {}
    at = 0
    for piece in form.pieces:
        code = piece[1] if piece[0] == "%" else ""
        if code in ("", "%"):
            for byte in piece.encode()[: 1 if code else None]:
                good &= columns[at] == byte
                at += 1
        elif code == "b":
            letters = (columns[at : at + 3] | 32).astype(np.int64)
            name = (letters[0] << 16) | (letters[1] << 8) | letters[2]
            known = name[:, None] == _MONTH_CODES
            good &= known.any(axis=1)
            parts["month"] = known.argmax(axis=1) + 1
            at += 3
        else:
            width = digits if code == "f" else WIDTHS[code]
            places = columns[at : at + width] - 48
            good &= (places <= 9).all(axis=0)
            used = places[:6] if code == "f" else places
            value = np.zeros(columns.shape[1], np.int64)
            for place in used:
                value = value * 10 + place
            parts[_PART[code]] = value * 10 ** max(0, 6 - width) if code == "f" else value
            at += width
    us, real = local_of(parts)
    return us, good & real


def _by_pattern(text: pa.StringArray, form: TimeFormat) -> Found:
    matched = pc.extract_regex(text, f"^(?:{form.pattern})$")
    good = flags_of(pc.is_valid(matched)).copy()
    us = np.zeros(len(text), np.int64)
    found = matched.filter(pa.array(good))
    if not len(found):
        return us, good
    names = [field.name for field in found.type]
    texts = {name: found.field(name) for name in names}
    parts: dict[str, Int64s] = {}
    offset = np.zeros(len(found), np.int64)
    fine = np.ones(len(found), np.bool_)
    for name, cells in texts.items():
        if name == "offset":
            offset, fine = _offsets(cells)
        elif name == "month_name":
            short = pc.utf8_slice_codeunits(pc.utf8_lower(cells), 0, 3)
            months = pa.array([month[:3] for month in MONTHS])
            parts["month"] = pc.index_in(short, months).to_numpy().astype(np.int64) + 1
        elif name == "half":
            parts[name] = pc.equal(pc.utf8_lower(cells), "pm").to_numpy(zero_copy_only=False) + 0
        elif name == "fraction":
            six = pc.utf8_slice_codeunits(pc.utf8_rpad(cells, 6, "0"), 0, 6)
            parts[name] = _numbers(six)
        else:
            parts[name] = _numbers(cells)
    read, real = local_of(parts)
    us[good] = read - offset
    good[good] = real & fine
    return us, good


def _numbers(cells: pa.StringArray) -> Int64s:
    numbers: Int64s = pc.cast(pc.cast(cells, pa.string()), pa.int64()).to_numpy()
    return numbers


def _offsets(cells: pa.StringArray) -> Found:
    """Read offsets: Z, +01, +0100 or +01:00; not those beyond 23:59."""
    plain = pc.replace_substring(cells, ":", "")
    zulu = pc.is_in(plain, pa.array(["Z", "z"])).to_numpy(zero_copy_only=False)
    plain = pc.replace_substring_regex(plain, "^[Zz]$", "+")
    padded = pc.utf8_slice_codeunits(pc.utf8_rpad(plain, 5, "0"), 1, 5)
    hours, minutes = np.divmod(_numbers(padded), 100)
    ahead = pc.starts_with(plain, "-").to_numpy(zero_copy_only=False)
    us = (hours * 60 + minutes) * 60 * SECOND * np.where(ahead, -1, 1)
    return np.where(zulu, 0, us), zulu | ((hours < 24) & (minutes < 60))


def local_of(parts: Parts) -> Found:
    """Put the parts of times together, and mark those that are days and times of day."""
    none = np.zeros(len(next(iter(parts.values()))), np.int64)
    hour = parts.get("hour", none)
    real = hour < 24
    if "half_hour" in parts:
        hour = parts["half_hour"] % 12 + 12 * parts["half"]
    minute, second = parts.get("minute", none), parts.get("second", none)
    real &= (minute < 60) & (second < 60)
    us = ((hour * 60 + minute) * 60 + second) * SECOND + parts.get("fraction", none)
    if "day" not in parts:
        return us, real
    year = parts.get("year", none)
    if "short_year" in parts:
        short = parts["short_year"]
        year = short + np.where(short > 68, 1900, 2000)
    month, day = parts["month"], parts["day"]
    real &= (month >= 1) & (month <= 12) & (day >= 1) & (year >= 1)
    begin = _days(year, np.clip(month, 1, 12))
    following = _days(year + month // 12, np.clip(month, 1, 12) % 12 + 1)
    real &= day <= following - begin
    return us + (begin + day - 1) * DAY, real


def _days(year: Int64s, month: Int64s) -> Int64s:
    """Count the days from 1970-01-01 to the first of a month."""
    months = (year - 1970) * 12 + month - 1
    days: Int64s = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days
