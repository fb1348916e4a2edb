"""From a column of times to microseconds, whatever form they are written in.

Whole columns are converted at once where that is certain to be right. Every other cell goes through
`TimeForm.parse`, each distinct text once: it decides and explains.

Law: the fast path accepts a cell only where the slow path would, and reads the same value.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools, Int64s
from fencepost.cells import CellFaults, by_code, flags_of, integers_of, one_by_one, some_of
from fencepost.fixed_times import local_times
from fencepost.time_forms import TimeForm
from fencepost.times import DAY, EARLIEST, LATEST, PER_UNIT
from fencepost.zones import zone_named

INTEGER_WHOLE = "^-?[0-9]{1,18}$"
DECIMAL_WHOLE = r"^[0-9]{1,12}\.[0-9]+$"
"""A count with a fraction; of one before 1970 the fraction is not just cut off."""

# Every text of this form is an instant, so that a cast of the whole column cannot fail: the days of
# each month, and 29 February in leap years only. RE2 runs it as one automaton, whatever its length.
_DAY = (
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    "|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|2000)-02-29)"
)
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
INSTANT_WHOLE = f"^{_DAY}[T ]{_TIME}(?:Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)$"
LOCAL_WHOLE = f"^{_DAY}(?:[T ]{_TIME})?$"
BEYOND_MICROSECONDS = r"(\.[0-9]{6})[0-9]+"

Found = tuple[Int64s, Bools]
"""What was read at once, and of which cells."""


def instants(cells: pa.Array, name: str, form: TimeForm) -> tuple[Int64s, CellFaults]:
    """Read times: text, counts in the declared unit, or timestamps, days and times of day."""
    kind, types = cells.type, pa.types
    if types.is_dictionary(kind):
        us, wrong = instants(cells.dictionary, name, form)
        return by_code(cells, us, wrong, f"{name} is null")
    if types.is_timestamp(kind):
        local = form if kind.tz is None else None
        return _of_counts(cells.view(pa.int64()), name, TimeForm(kind.unit), local)
    if types.is_date(kind):
        days = pc.cast(pc.cast(cells, pa.timestamp("us")), pa.int64())
        return _of_counts(days, name, TimeForm("us"), form)
    if types.is_time(kind):
        count = pc.cast(pc.cast(cells, pa.time64("us")), pa.int64())
        return _of_counts(count, name, TimeForm("us", form.zone, day=form.day), None)
    is_count = types.is_integer(kind) and kind != pa.uint64()
    if is_count and form.unit is not None and form.format is None:
        return _of_counts(pc.cast(cells, pa.int64()), name, form, None)
    return _of_text(pc.cast(cells, pa.string()), name, form)


def _of_counts(
    counts: pa.Int64Array, name: str, form: TimeForm, local: TimeForm | None
) -> tuple[Int64s, CellFaults]:
    """Read counts; those of local times are put into the zone of `local`."""
    us, fits = _counted(integers_of(counts), form)
    fits = fits & ~flags_of(pc.is_null(counts))
    if local is None:
        if fits.all():
            return us, CellFaults.none()
        text = pc.cast(counts, pa.string())
        return one_by_one(us, text, np.flatnonzero(~fits), name, form.parse)
    us, certain = _zoned(us, fits, local)
    if certain.all():
        return us, CellFaults.none()
    text = pc.cast(pc.cast(counts, pa.timestamp(form.unit or "us")), pa.string())
    return one_by_one(us, text, np.flatnonzero(~certain), name, local.parse)


def _of_text(text: pa.StringArray, name: str, form: TimeForm) -> tuple[Int64s, CellFaults]:
    us = np.zeros(len(text), np.int64)
    open_rows = np.arange(len(text))
    for read in _ways(form):
        if not open_rows.size:
            break
        whole = len(open_rows) == len(text)
        found, certain = read(text if whole else text.take(pa.array(open_rows)), form)
        certain &= (found >= EARLIEST) & (found < LATEST)
        us[open_rows[certain]] = found[certain]
        open_rows = open_rows[~certain]
    return one_by_one(us, text, open_rows, name, form.parse)


def _ways(form: TimeForm) -> list[Callable[[pa.StringArray, TimeForm], Found]]:
    """Name the ways to read texts of this form, the likeliest first."""
    if form.format is not None:
        return [_of_format]
    counts = [] if form.unit is None else [_of_integers, _of_decimals]
    if form.day is not None:
        return [*counts, _of_local]
    return [*counts, *([_of_local] if form.zone is not None else []), _of_iso]


def _of_format(text: pa.StringArray, form: TimeForm) -> Found:
    local, certain, has_offset = local_times(text, form.format or "")
    if has_offset:
        return local, certain
    return _zoned(local + (form.day or 0), certain, form)


def _of_iso(text: pa.StringArray, form: TimeForm) -> Found:  # noqa: ARG001  one of several ways
    text, certain = _matching(text, INSTANT_WHOLE)
    us = np.zeros(len(text), np.int64)
    us[certain] = some_of(text, certain, pa.timestamp("us", "UTC")).view(pa.int64()).to_numpy()
    return us, certain


def _of_local(text: pa.StringArray, form: TimeForm) -> Found:
    if form.day is not None:
        text = pc.binary_join_element_wise("1970-01-01", text, "T")
    text, certain = _matching(text, LOCAL_WHOLE)
    local = np.zeros(len(text), np.int64)
    local[certain] = some_of(text, certain, pa.timestamp("us")).view(pa.int64()).to_numpy()
    return _zoned(local + (form.day or 0), certain, form)


def _matching(text: pa.StringArray, pattern: str) -> tuple[pa.StringArray, Bools]:
    """Say which texts match; what is finer than microseconds is cut off where some do not."""
    certain = flags_of(pc.match_substring_regex(text, pattern))
    if not certain.all():
        text = pc.replace_substring_regex(text, BEYOND_MICROSECONDS, r"\1")
        certain = flags_of(pc.match_substring_regex(text, pattern))
    return text, certain.copy()


def _of_integers(text: pa.StringArray, form: TimeForm) -> Found:
    certain = flags_of(pc.match_substring_regex(text, INTEGER_WHOLE)).copy()
    us = np.zeros(len(text), np.int64)
    us[certain], certain[certain] = _counted(some_of(text, certain, pa.int64()).to_numpy(), form)
    return us, certain


def _of_decimals(text: pa.StringArray, form: TimeForm) -> Found:
    certain = flags_of(pc.match_substring_regex(text, DECIMAL_WHOLE)).copy()
    us = np.zeros(len(text), np.int64)
    if not certain.any():
        return us, certain
    cut = pc.replace_substring_regex(text.filter(pa.array(certain)), BEYOND_MICROSECONDS, r"\1")
    exact = pc.cast(cut, pa.decimal128(18, 6))
    millionths = np.frombuffer(exact.buffers()[1], np.int64)[::2][exact.offset :][: len(exact)]
    times, per = PER_UNIT[form.unit or "s"]
    whole, rest = np.divmod(millionths, 1_000_000)
    fits = whole < LATEST * per // times
    whole = np.where(fits, whole, 0)
    read = (whole * times + rest * times // 1_000_000) // per
    us[certain], certain[certain] = _on_day(read, fits, form)
    return us, certain


def _counted(counts: Int64s, form: TimeForm) -> Found:
    """Count microseconds, rounded towards the past, and mark those in the years 1900–2200."""
    times, per = PER_UNIT[form.unit or "us"]
    first, beyond = EARLIEST * per // times, LATEST * per // times
    fits = (counts >= first) & (counts < beyond)
    if times == per and form.day is None and fits.all():
        return counts, fits
    return _on_day(np.where(fits, counts, 0) * times // per, fits, form)


def _on_day(us: Int64s, fits: Bools, form: TimeForm) -> Found:
    """Take counts since midnight for times of the day, where one is declared."""
    if form.day is None:
        return us, fits
    fits = fits & (us >= 0) & (us < DAY)
    return _zoned(us + form.day, fits, form)


def _zoned(local: Int64s, certain: Bools, form: TimeForm) -> Found:
    if form.zone is None:
        return local, np.zeros(len(local), np.bool_)
    us, skipped = zone_named(form.zone).instants(local)
    return us, certain & ~skipped & (us >= EARLIEST) & (us < LATEST)
