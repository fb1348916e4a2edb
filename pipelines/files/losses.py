"""What a delivery lost: the reasons with counts, an example of each, and what would cure it.

A detail says what is wrong with one row, and so has its values in it. Without them it says what
kind of thing is wrong: rows of one kind have one reason, whatever their values. Where several cells
of a row are wrong, it counts for each of their kinds.

Law: a kind is counted in every row that has it, and named once. A key is only proposed for what it
changes: rows that are read with it are no longer lost for this reason.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.text import counted, cut, escaped

VALUE = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\b[0-9][0-9A-Za-z.,:+-]*"""
"""What differs within a kind: quoted texts, and numbers. RE2, as Arrow and DuckDB have it."""
GAP = "…"

MOST_REASONS, MOST_DELIVERIES = 3, 5
"""Reasons of a delivery, and deliveries, that are named; the others are only counted."""
LONGEST_EXAMPLE = 120

MALFORMED, DUPLICATE, FUTURE = "malformed", "duplicate", "future"

_APART = re.compile(
    r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|;(?! )|; (?=the limit)|[^;'"]|['"])+"""
)
_OBJECT = re.compile(r"\{.*\}")
_VALUES = re.compile(r"""(?<=: )("(?:[^"\\]|\\.)*"|[^",}]+)(?=[,}])""")
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")


@dataclass(frozen=True)
class Cure:
    """A key that takes a kind of rows in: `phrase` is what their details have in common.

    value, word  what is declared, as fencepost.toml and as an option have it; None: more than now
    """

    reason: str
    phrase: str
    key: str
    value: str | None
    word: str | None

    def fits(self, reason: str, detail: str) -> bool:
        """Whether this cures a row."""
        return reason == self.reason and self.phrase in detail


CURES = (
    Cure(MALFORMED, "has no offset", "timezone", '"…"', "ZONE"),
    Cure(MALFORMED, "is not an instant", "ts_format", '"…"', "FORMAT"),
    Cure(MALFORMED, "and no unit is declared", "ts_unit", '"…"', "UNIT"),
    Cure(MALFORMED, "bytes that are not UTF-8", "encoding", '"latin-1"', "latin-1"),
    Cure(FUTURE, "", "max_skew", None, None),
    Cure("late", "", "allowed_lateness", None, None),
    Cure("conflict", "", "ties", '"all"', "all"),
)
COMMA = Cure(MALFORMED, "is not a number", "decimal", '","', "','")
OF_TIMES = ("timezone", "ts_format", "ts_unit")
"""Keys that need no name of a column: it is that of the times."""


Remedy = Callable[[Cure], str | None]
"""Says how a key is declared; None where it would change nothing, or cannot be."""


def in_feed(feed: str, idle: Collection[str] = ()) -> Remedy:
    """Name a key of a feed in fencepost.toml; those that are idle would change nothing."""

    def remedy(cure: Cure) -> str | None:
        if cure.key in idle:
            return None
        what = "raise" if cure.value is None else "declare"
        value = "" if cure.value is None else f" = {cure.value}"
        return f"{what} {cure.key}{value} in [feeds.{feed}]"

    return remedy


def by_option(idle: Collection[str] = ()) -> Remedy:
    """Name an option of `fencepost eval` likewise."""

    def remedy(cure: Cure) -> str | None:
        if cure.key in idle:
            return None
        option = f"--{cure.key.replace('_', '-')}"
        return f"raise {option}" if cure.word is None else f"give {option} {cure.word}"

    return remedy


@dataclass(frozen=True)
class RowKind:
    """Rows of one kind: how many, and the first one's detail and record."""

    reason: str
    kind: str
    rows: int
    detail: str
    raw: str


@dataclass(frozen=True)
class Reason:
    """Why rows were lost: how many of how many, what is wrong with one of them, and the cure."""

    reason: str
    rows: int
    of: int
    example: str
    cure: str | None

    def __str__(self) -> str:
        """Say it in a line."""
        cure = f"; {self.cure}" if self.cure else ""
        return f"{self.rows:,} of {counted(self.of, 'row')}: {self.example}{cure}"


@dataclass(frozen=True)
class Loss:
    """What a delivery lost: of so many rows so many, and the first reasons; `more` are others."""

    source: str
    rows: int
    lost: int
    reasons: tuple[Reason, ...]
    more: int = 0

    @property
    def is_total(self) -> bool:
        """Whether every row is lost, repeats of rows that are there already aside."""
        repeats = sum(each.rows for each in self.reasons if each.reason == DUPLICATE)
        return self.rows > 0 and self.lost == self.rows and repeats < self.lost

    def lines(self) -> Iterator[str]:
        """Name the delivery, and say each reason in a line."""
        source = escaped(self.source)
        for reason in self.reasons:
            yield f"{source}: {reason}"
        if self.more:
            yield f"{source}: and {self.more:,} more reasons"

    def as_json(self) -> dict[str, Any]:
        """Give it as JSON."""
        return asdict(self)


def lines_of(losses: Sequence[Loss], most: int = MOST_DELIVERIES) -> Iterator[str]:
    """Say what deliveries lost: first those that lost most."""
    ranked = sorted(losses, key=lambda loss: -loss.lost)
    for loss in ranked[:most]:
        yield from loss.lines()
    if len(ranked) > most:
        rest = ranked[most:]
        rows = counted(sum(loss.lost for loss in rest), "row")
        yield f"and {rows} of {counted(len(rest), 'other delivery', 'other deliveries')}"


def kinds(
    reasons: pa.StringArray, details: pa.StringArray, raw: pa.StringArray
) -> Iterator[RowKind]:
    """Group rejected rows by kind, in the order of their first rows; 0.5 µs a row."""
    table = pa.table(
        {
            "reason": reasons,
            "kind": pc.replace_substring_regex(details, VALUE, GAP),
            "row": pa.array(np.arange(len(reasons))),
        }
    )
    grouped = table.group_by(["reason", "kind"]).aggregate([("row", "min"), ("row", "count")])
    for found in grouped.sort_by("row_min").to_pylist():
        first = found["row_min"]
        yield RowKind(
            found["reason"],
            found["kind"],
            found["row_count"],
            details[first].as_py(),
            raw[first].as_py(),
        )


def loss_of(source: str, of: int, found: Iterable[RowKind], remedy: Remedy) -> Loss:
    """Say what a delivery of so many rows lost: most frequent first."""
    listed = list(found)
    counts: dict[tuple[str, str], int] = {}
    first: dict[tuple[str, str], tuple[str, str]] = {}
    for each in listed:
        for kind, detail in _parts(each):
            counts[each.reason, kind] = counts.get((each.reason, kind), 0) + each.rows
            first.setdefault((each.reason, kind), (detail, each.raw))
    ranked = sorted(counts, key=lambda key: -counts[key])
    reasons = [
        _reason(key[0], counts[key], of, first[key], remedy) for key in ranked[:MOST_REASONS]
    ]
    lost = sum(each.rows for each in listed)
    return Loss(source, of, lost, tuple(reasons), len(ranked) - len(reasons))


def _parts(rows: RowKind) -> Sequence[tuple[str, str]]:
    """Take the details of several cells apart, each with its kind; of the others it is one."""
    if rows.reason != MALFORMED:
        return [("", rows.detail)]
    details = [part.removeprefix(" ") for part in _APART.findall(rows.detail)]
    named = rows.kind.split("; ")
    if len(named) != len(details):
        return [(rows.kind, rows.detail)]
    return list(dict(zip(named, details, strict=True)).items())


def _reason(reason: str, rows: int, of: int, example: tuple[str, str], remedy: Remedy) -> Reason:
    detail, raw = example
    cure = _cure_of(reason, detail)
    words = None if cure is None else remedy(cure)
    if reason == FUTURE:
        shown = f"{reason}: {detail}"
    elif reason != MALFORMED:
        shown = f"{reason}, {_record(raw)}"
    elif cure is None or words is None:
        quoted = _QUOTED.search(detail) is not None
        shown = detail if quoted else f"{detail}, {_record(raw)}"
    else:
        end = detail.index(cure.phrase) + len(cure.phrase)
        shown = detail[:end]
        value = _QUOTED.search(shown)
        if cure.key in OF_TIMES and value is not None:
            shown = shown[value.start() :]
    return Reason(reason, rows, of, escaped(shown, LONGEST_EXAMPLE), words)


def _record(raw: str) -> str:
    """Show a record; of one that was put down as JSON, as those of tuples are, its values."""
    values = _OBJECT.fullmatch(raw) and _VALUES.findall(raw)
    plain = ",".join(value.strip('"') for value in values) if values else raw
    return f"as in {cut(plain.replace('.000000Z', 'Z'), 60)!r}"


def _cure_of(reason: str, detail: str) -> Cure | None:
    found = next((cure for cure in CURES if cure.fits(reason, detail)), None)
    if found is None and COMMA.fits(reason, detail):
        value = _QUOTED.search(detail)
        text = "" if value is None else value[1] or value[2] or ""
        # Where a decimal is declared the detail says so behind the value, and that is not the cure.
        return COMMA if _DECIMAL_COMMA.fullmatch(text) and detail.endswith(COMMA.phrase) else None
    return found
