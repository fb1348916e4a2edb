"""A promise about the rows of a table: what it is, and those that several tables make.

Law: nothing here imports Great Expectations, which costs seconds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from sys import float_info
from typing import Any, Literal

Kind = Literal["in_set", "between", "unique"]
Severity = Literal["error", "warning"]

LONGEST_ID = 256
YEARS = (1900, 2200)
LAST_OF_DAY = 86_400_000_000 - 1


@dataclass(frozen=True)
class Expectation:
    """One promise.

    name       a word for it, its own among those of its table
    means      what it says, in a sentence
    kind       in_set: one of `values`; between: `least` to `most`; unique: no two rows have the
               same values in these columns. Nulls are passed over
    """

    name: str
    means: str
    kind: Kind
    columns: tuple[str, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    severity: Severity = "error"


@dataclass(frozen=True)
class Contract:
    """All that is promised of a feed's rows in a table, or of those of a pair of feeds.

    reads  by name: the expression over the row `t` that expectations look at under that name; what
           is not here is the column itself
    """

    table: str
    expectations: tuple[Expectation, ...]
    reads: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, str]:
        """What must be read: by name, the expression."""
        names = dict.fromkeys(name for each in self.expectations for name in each.columns)
        return {name: self.reads.get(name, f"t.{name}") for name in names}


def in_set(name: str, means: str, column: str, values: list[str]) -> Expectation:
    """Promise that a column has these values only."""
    return Expectation(name, means, "in_set", (column,), {"values": values})


def between(name: str, means: str, column: str, **limits: float) -> Expectation:
    """Promise that a column lies between `least` and `most`."""
    return Expectation(name, means, "between", (column,), limits)


def unique(name: str, means: str, *columns: str) -> Expectation:
    """Promise that no two rows have the same values in these columns."""
    return Expectation(name, means, "unique", columns)


def text(name: str, means: str, column: str) -> Expectation:
    """Promise, as a warning, that a text is not empty; `lengths` gives what is looked at."""
    limits = {"least": 1}
    return Expectation(name, means, "between", (f"{column}_length",), limits, "warning")


def identifier(column: str, of: str) -> Expectation:
    """Promise that an id is as long as ids are; `lengths` gives what is looked at."""
    means = f"The id of a {of} has 1 to {LONGEST_ID} characters."
    return between(f"{column}_is_an_id", means, f"{column}_length", least=1, most=LONGEST_ID)


def lengths(*columns: str) -> dict[str, str]:
    """Give the expressions of the lengths of texts."""
    return {f"{column}_length": f"LENGTH(t.{column})" for column in columns}


def from_one(column: str, means: str) -> Expectation:
    """Promise that a column is counted from 1."""
    return between(f"{column}_is_positive", means, column, least=1)


def in_years(of: str) -> Expectation:
    """Promise that a time is one that is supported; reads `year_of_ts`."""
    means = f"The time of {of} lies in the years {YEARS[0]} to {YEARS[1]}."
    return between("ts_between_1900_and_2200", means, "year_of_ts", least=YEARS[0], most=YEARS[1])


def in_its_day() -> Expectation:
    """Promise that the day of a row is that of its time; reads `us_into_day`."""
    means = "The day is that of ts, UTC."
    return between("day_is_that_of_ts", means, "us_into_day", least=0, most=LAST_OF_DAY)


def finite(axes: tuple[str, ...]) -> Iterator[Expectation]:
    """Promise that each axis is a finite number."""
    limits = {"least": -float_info.max, "most": float_info.max}
    for axis in axes:
        yield between(f"{axis}_is_finite", f"The axis {axis} is a finite number.", axis, **limits)


def all_finite(of: str) -> Expectation:
    """Promise that all axes are; reads `axes_not_finite`."""
    means = f"Every axis of {of} is a finite number."
    return between("axes_are_finite", means, "axes_not_finite", least=0, most=0)


def not_finite(axes: tuple[str, ...]) -> str:
    """Write as SQL how many of these axes are no finite numbers."""
    return " + ".join(f"CASE WHEN {_is_finite(axis)} THEN 0 ELSE 1 END" for axis in axes)


def finite_or_inf(axis: str) -> str:
    """Show NaN as infinity: pandas reads it as null, which would be skipped."""
    return f"CASE WHEN {_is_finite(axis)} THEN t.{axis} ELSE CAST('inf' AS DOUBLE) END"


def _is_finite(axis: str) -> str:
    return f"t.{axis} - t.{axis} = 0"
