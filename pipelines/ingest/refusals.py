"""Refused deliveries that are unanswered, and how one is dismissed.

A refused delivery is answered when a later delivery of its feed loads its files, or the same
content under another name; when a later refusal speaks of the same files; or when it is dismissed.
A repeat needs no answer: all its content was loaded before.

Law: the view `refused_deliveries` says the same in SQL. A dismissal is of one number, so a retry,
which takes a number of its own, is never covered by it.
"""

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import InputError
from fencepost.row_hashes import content_hash
from fencepost.text import did_you_mean, shortened
from fencepost.times import format_instant, to_microseconds
from pipelines.ingest.deliveries import UPDATES, instant
from pipelines.ingest.landing.known import naming
from pipelines.lake.append import append_once
from pipelines.lake.evidence import Evidence
from pipelines.lake.sequence import ARRIVALS
from pipelines.lake.store import Store
from schemas.arrivals import DELIVERY, REFUSED

DISMISSALS = "dismissals"
REPEAT = "repeat"
MOST_GUESSED = 10_000
"""Among more names none is looked for that is near to a mistyped one."""


@dataclass(frozen=True)
class Unanswered:
    """An unanswered refused delivery; `found_at` is ISO 8601."""

    n: int
    feed: str
    path: str
    reason: str
    detail: str
    found_at: str

    @property
    def name(self) -> str:
        """Name it as commands do: FEED/PATH."""
        return f"{self.feed}/{self.path}"

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> "Unanswered":
        """Make one from a row of `arrivals`."""
        found = format_instant(to_microseconds(row["found_at"]) or 0)
        whose = (row["n"], row["lane"], row["path"])
        return cls(*whose, row["reason"], row["detail"] or "", found)


@dataclass(frozen=True)
class Dismissed:
    """The outcome of a dismissal, by number and name.

    dismissed  by this call
    before     dismissed already
    answered   needs no answer: a later delivery answers it, or it is a repeat
    """

    dismissed: list[str]
    before: list[str]
    answered: list[str]


class RefusedNumbers:
    """The numbers of the refused deliveries, without repeats, updated row by row."""

    def __init__(self) -> None:
        """Begin without rows."""
        self.numbers: set[int] = set()

    def add(self, rows: pa.Table) -> None:
        """Add rows of `arrivals`."""
        mine = _refused(rows).filter(pc.field("reason") != REPEAT)
        self.numbers.update(mine["n"].to_pylist())


def unanswered(store: Store, *, dismissed_too: bool = False) -> list[Unanswered]:
    """List the unanswered refused deliveries, by number.

    O(1) where none was refused or all were dismissed, else O(arrivals), vectorised; (measured)
    100,000 deliveries, 10 of them refused: 20 ms.
    """
    numbers = store.fold(ARRIVALS, RefusedNumbers).numbers
    if not numbers - (set() if dismissed_too else set(store.rows(DISMISSALS)["n"].to_pylist())):
        return []
    arrivals = store.rows(ARRIVALS)
    wanted = _refused(arrivals).filter(pc.field("reason") != REPEAT)
    if not dismissed_too and wanted.num_rows:
        out = store.rows(DISMISSALS)["n"].combine_chunks()
        wanted = wanted.filter(~pc.field("n").isin(out))
    if not wanted.num_rows:
        return []
    spoken_for = _Later.of(arrivals, wanted)
    rows = sorted(wanted.to_pylist(), key=lambda row: int(row["n"]))
    return [Unanswered.of_row(row) for row in rows if not spoken_for.answers(row)]


def dismiss(store: Store, names: Sequence[str], note: str | None, now: int) -> Dismissed:
    """Say of refused deliveries, named FEED/PATH, that they need no answer; `now` in µs.

    The caller holds the lock. One commit for all of them, or InputError and nothing changes.
    """
    refused = _refused(store.rows(ARRIVALS))
    refuse_unnamed(names, refused, "refused delivery")
    rows = {row["n"]: row for row in refused.to_pylist()}
    by_name: dict[str, list[int]] = {}
    for n, row in rows.items():
        by_name.setdefault(f"{row['lane']}/{row['path']}", []).append(n)
    before = set(store.rows(DISMISSALS)["n"].to_pylist())
    unanswered_now = {each.n for each in unanswered(store)}
    done = Dismissed([], [], [])
    numbers: list[int] = []
    for name in dict.fromkeys(names):
        mine = [n for n in by_name[name] if n in unanswered_now]
        stops = [n for n in mine if rows[n]["reason"] == UPDATES]
        if stops:
            raise InputError(
                f"'{shortened(name, 200)}' cannot be dismissed: its feed is stopped until it is "
                f"retried: fencepost quarantine retry --feed {rows[stops[0]]['lane']} "
                f"--reason {UPDATES}"
            )
        numbers += mine
        dismissed = not mine and before.intersection(by_name[name])
        (done.dismissed if mine else done.before if dismissed else done.answered).append(name)
    if numbers:
        _commit(store, [rows[n] for n in sorted(numbers)], note, now)
    return done


def refuse_unnamed(names: Collection[str], deliveries: pa.Table, what: str = "delivery") -> None:
    """Refuse a name FEED/PATH that none of these deliveries has."""
    if not names:
        return
    known = set(
        map("/".join, zip(*(deliveries[c].to_pylist() for c in ("lane", "path")), strict=True))
    )
    for name in names:
        if name not in known:
            near = did_you_mean(name, known) if len(known) <= MOST_GUESSED else ""
            raise InputError(
                f"no {what} is called '{shortened(name, 200)}', where FEED/PATH was expected, the "
                f"path below the feed's landing folder.{near}"
            )


def _commit(store: Store, rows: Sequence[Mapping[str, Any]], note: str | None, now: int) -> None:
    at = store.version(DISMISSALS)
    dismissals = store.as_table(
        DISMISSALS,
        [
            {
                "n": row["n"],
                "feed": row["lane"],
                "path": row["path"],
                "note": note,
                "dismissed_at": instant(now),
            }
            for row in rows
        ],
    )
    feeds = ",".join(sorted({str(row["lane"]) for row in rows}))
    first, last = rows[0]["n"], rows[-1]["n"]
    evidence = Evidence(
        "dismiss",
        uuid.uuid4().hex,
        feeds,
        first,
        last,
        0,
        dismissals.num_rows,
        content_hash(dismissals),
    )
    append_once(store, DISMISSALS, evidence, lambda: store.write(DISMISSALS, dismissals), at)


def _refused(arrivals: pa.Table) -> pa.Table:
    """Give the refused deliveries; a refused retry of rows leaves these in quarantine."""
    return arrivals.filter(
        (pc.field("kind") == DELIVERY)
        & (pc.field("state") == REFUSED)
        & pc.field("lines").is_null()
    )


@dataclass(frozen=True)
class _Later:
    """The newest delivery of a feed that has a file of this name, or this content."""

    by_name: Mapping[tuple[str, str], int]
    by_content: Mapping[tuple[str, str], int]

    @classmethod
    def of(cls, arrivals: pa.Table, wanted: pa.Table) -> "_Later":
        """Look for deliveries that share a name or the content with one that is wanted."""
        rows = wanted.select(["path", "files"]).to_pylist()
        names = {name for row in rows for name in (*(row["files"] or ()), row["path"])}
        by_name: dict[tuple[str, str], int] = {}
        for row in _deliveries(naming(arrivals, names)):
            for name in row["files"] or [row["path"]]:
                by_name[row["lane"], name] = max(row["n"], by_name.get((row["lane"], name), 0))
        same = arrivals.filter(pc.field("content").isin(pc.unique(wanted["content"])))
        found = _deliveries(same)
        refused = {row["n"] for row in found if row["state"] == REFUSED}
        by_content: dict[tuple[str, str], int] = {}
        for row in found:
            if row["n"] not in refused:
                whose = (row["lane"], row["content"])
                by_content[whose] = max(row["n"], by_content.get(whose, 0))
        return cls(by_name, by_content)

    def answers(self, row: Mapping[str, Any]) -> bool:
        """Whether a later delivery answers a refused one."""
        n, lane = row["n"], row["lane"]
        if self.by_content.get((lane, row["content"]), 0) > n:
            return True
        names = row["files"] or [row["path"]]
        return all(self.by_name.get((lane, name), 0) > n for name in names)


def _deliveries(rows: pa.Table) -> list[dict[str, Any]]:
    """Give whole deliveries as rows; a retry of single rows is none."""
    whole = rows.filter((pc.field("kind") == DELIVERY) & pc.field("lines").is_null())
    found: list[dict[str, Any]] = whole.select(
        ["n", "lane", "state", "path", "files", "content"]
    ).to_pylist()
    return found
