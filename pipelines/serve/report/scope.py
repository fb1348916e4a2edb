"""The part of a lake that a report covers.

A bound is the key of a partition (2026-11-18, 2026-11-18T09) or a time (2026-11-18T09:30Z). Keys
bound the partitions, first and last included: everything in their deliveries, whatever its time.
Times bound event times, half-open: since ≤ ts < until.

Law: only whole numbers and declared names become SQL; keys and times are converted to them here.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import duckdb

from fencepost.errors import InputError, refuse_unknown
from fencepost.text import shortened
from fencepost.times import format_instant, parse_instant
from pipelines.ingest.landing.look import key_in_path
from pipelines.lanes import Lane
from pipelines.project.settings import Settings

KEY = re.compile(r"\d{4}-\d\d-\d\d(T\d\d)?", re.ASCII)
LIKE_KEY = "a partition like 2026-11-18 or 2026-11-18T09"
LIKE = f"{LIKE_KEY}, or a time like 2026-11-18T09:30Z"
NOTHING = "FALSE"


@dataclass(frozen=True)
class Bound:
    """One end of the range: a partition's key, or an instant in µs; open if neither."""

    key: str | None = None
    ts: int | None = None

    @property
    def text(self) -> str:
        """The bound as text; an open end is empty."""
        return self.key or ("" if self.ts is None else format_instant(self.ts))

    @classmethod
    def of(cls, text: str | None, option: str) -> "Bound":
        """Parse an option."""
        if text is None:
            return cls()
        if KEY.fullmatch(text):
            if key_in_path(text, "hour" if "T" in text else "day") != text:
                raise InputError(f"{option}: '{text}' is not a day or hour of the calendar")
            return cls(key=text)
        try:
            return cls(ts=parse_instant(text))
        except ValueError as why:
            raise InputError(
                f"{option}: '{shortened(text)}' was given, where {LIKE} was expected: {why}"
            ) from None


@dataclass(frozen=True)
class Range:
    """The requested range, from one bound to the other."""

    since: Bound = Bound()
    until: Bound = Bound()

    @classmethod
    def of(cls, since: str | None, until: str | None, partition: str | None = None) -> "Range":
        """Parse both bounds, or one partition; InputError if it ends before it begins."""
        if partition is not None:
            one = Bound.of(partition, "--partition")
            if one.key is None:
                raise InputError(
                    f"--partition: {one.text} is a time, where {LIKE_KEY} was expected"
                )
            return cls(one, one)
        both = cls(Bound.of(since, "--since"), Bound.of(until, "--until"))
        first, last = both.since.key, both.until.key
        backwards = first is not None and last is not None and _after(first, last)
        if both.since.ts is not None and both.until.ts is not None:
            backwards = both.since.ts >= both.until.ts
        if backwards:
            raise InputError(
                f"--since {since} is not before --until {until}: the range would be empty"
            )
        return both

    def holds_key(self, key: str) -> bool:
        """Say whether a partition is in it; a day has its hours, and an hour is of its day."""
        first, last = self.since.key, self.until.key
        return not (
            (first is not None and _after(first, key)) or (last is not None and _after(key, last))
        )

    def holds_some(self, before: int | None, after: int | None) -> bool:
        """Say whether it overlaps the time between two watermarks."""
        since, until = self.since.ts, self.until.ts
        return not (
            (since is not None and after is not None and after < since)
            or (until is not None and before is not None and before >= until)
        )

    @property
    def times(self) -> str:
        """The condition on `ts` in SQL, over an alias `t`."""
        terms = []
        if self.since.ts is not None:
            terms.append(f"t.ts >= make_timestamptz({self.since.ts:d})")
        if self.until.ts is not None:
            terms.append(f"t.ts < make_timestamptz({self.until.ts:d})")
        return " AND ".join(terms) or "TRUE"

    @property
    def is_open(self) -> bool:
        """Whether it is the whole lake."""
        return self == Range()


def _after(one: str, other: str) -> bool:
    """Say whether a key is later than another, compared up to the shorter length."""
    most = min(len(one), len(other))
    return one[:most] > other[:most]


@dataclass(frozen=True)
class ReportScope:
    """The part of one feed, or of one lane of joins: SQL conditions over an alias `t`.

    found     on events, transitions, matches, and on pairs and changes of joins: the epochs in
              force, and the times
    loaded    on tuples: the deliveries of these epochs, and the times
    rejected  on the quarantine, whose rows may have no time: the deliveries of `epochs`
    epochs    the epochs in force whose watermarks overlap the times
    """

    feed: str
    found: str
    loaded: str
    rejected: str
    epochs: frozenset[int]


def scopes(
    session: duckdb.DuckDBPyConnection, lanes: Sequence[Lane], wanted: Range
) -> dict[str, ReportScope]:
    """Find the requested epochs and deliveries of each lane. O(rows of the ledgers)."""
    rows = session.execute(
        "SELECT d.lane, d.epoch, d.partition_key, d.arrivals, "
        "epoch_us(d.watermark_before), epoch_us(d.watermark) FROM done_epochs d"
    ).fetchall()
    return {
        lane.name: _scope(lane, [row[1:] for row in rows if row[0] == lane.name], wanted)
        for lane in lanes
    }


def _scope(lane: Lane, rows: Sequence[tuple[Any, ...]], wanted: Range) -> ReportScope:
    keyed = [row for row in rows if wanted.holds_key(row[1])]
    passed = [row for row in keyed if wanted.holds_some(row[3], row[4])]
    found = within("t.epoch", (row[0] for row in keyed))
    loaded = within("t.arrival", (n for row in keyed for n in row[2]))
    return ReportScope(
        lane.name,
        f"t.{lane.tables[0].lane_column} = '{lane}' AND {found} AND {wanted.times}",
        f"{loaded} AND {wanted.times}",
        f"t.feed = '{lane}' AND {within('t.arrival', (n for row in passed for n in row[2]))}",
        frozenset(row[0] for row in passed),
    )


def within(column: str, numbers: Iterable[int]) -> str:
    """Write in SQL that a column is one of these numbers, run by run."""
    ordered = sorted(set(numbers))
    if not ordered:
        return NOTHING
    begins = [ordered[0], *(b for a, b in pairwise(ordered) if b != a + 1)]
    ends = [*(a for a, b in pairwise(ordered) if b != a + 1), ordered[-1]]
    runs = (f"{column} BETWEEN {a:d} AND {b:d}" for a, b in zip(begins, ends, strict=True))
    return f"({' OR '.join(runs)})"


def chosen_feeds(settings: Settings, feeds: Sequence[str] | None) -> list[str]:
    """Give the feeds that were named, or all; InputError for one that does not exist."""
    for name in feeds or ():
        refuse_unknown(name, settings.feeds, "feed")
    return [name for name in settings.feeds if not feeds or name in feeds]


def refuse_no_partition(
    session: duckdb.DuckDBPyConnection, feeds: Sequence[str], key: str, wanted: Range
) -> None:
    """Refuse a partition without deliveries of these feeds."""
    rows = session.execute(
        "SELECT DISTINCT a.lane, a.partition_key FROM arrivals a WHERE a.kind = 'delivery'"
    ).fetchall()
    known = sorted({of for lane, of in rows if lane in feeds})
    if any(wanted.holds_key(each) for each in known):
        return
    if not known:
        raise InputError(
            f"there is no partition '{key}': nothing has been loaded yet. `fencepost run` loads "
            "what has landed"
        )
    span = known[0] if len(known) == 1 else f"{known[0]} to {known[-1]} ({len(known):,} of them)"
    raise InputError(
        f"there is no partition '{key}' of {', '.join(feeds)}; there are: {span}. "
        "`fencepost partitions FEED` lists them"
    )
