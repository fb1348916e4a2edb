"""Rows of the quarantine, by feed, reason and delivery.

Law: a user's input is checked against what is known before it becomes part of SQL.
"""

# ruff: noqa: S608  feed and reason are names that the caller has checked, the rest are numbers

from dataclasses import dataclass
from typing import Any

from pipelines.project.settings import Settings
from pipelines.serve.views.cells import as_json
from pipelines.serve.views.duckdb import duckdb_session

COLUMNS = ("feed", "arrival", "path", "file", "line", "reason", "detail", "raw", "epoch")


@dataclass(frozen=True)
class QuarantineFilter:
    """Which rows; None: any. `feed` and `reason` are known names."""

    feed: str | None = None
    reason: str | None = None
    arrival: int | None = None

    @property
    def condition(self) -> str:
        """The filter as SQL."""
        terms = ["TRUE"]
        terms += [f"q.feed = '{self.feed}'"] if self.feed is not None else []
        terms += [f"q.reason = '{self.reason}'"] if self.reason is not None else []
        terms += [f"q.arrival = {self.arrival:d}"] if self.arrival is not None else []
        return " AND ".join(terms)


@dataclass(frozen=True)
class Quarantined:
    """How many rows by feed and reason, and the rows themselves up to a limit."""

    counts: list[tuple[str, str, int]]
    rows: list[dict[str, Any]]


def quarantined(settings: Settings, wanted: QuarantineFilter, limit: int) -> Quarantined:
    """Give the rows in the order in which they arrived; a limit of 0 is none.

    Rows of a Delta table are in no order, and its files' names say nothing: they come by content.
    """
    session = duckdb_session(settings.root, settings.tables, "quarantine", only=True)
    try:
        counts = session.execute(
            "SELECT q.feed, q.reason, COUNT(*) FROM quarantine q "
            f"WHERE {wanted.condition} GROUP BY q.feed, q.reason ORDER BY q.feed, 3 DESC, q.reason"
        ).fetchall()
        unordered = ", ".join(f"'{f.name}'" for f in settings.feeds.values() if f.form == "delta")
        by_content = f"CASE WHEN q.feed IN ({unordered}) THEN q.raw END, " if unordered else ""
        rows = session.execute(
            f"SELECT {', '.join(f'q.{name}' for name in COLUMNS)} FROM quarantine q "
            f"WHERE {wanted.condition} ORDER BY q.arrival, {by_content}q.file, q.line, q.reason"
            + (f" LIMIT {limit:d}" if limit else "")
        ).fetchall()
    finally:
        session.close()
    records = [dict(zip(COLUMNS, map(as_json, row), strict=True)) for row in rows]
    return Quarantined([(feed, reason, many) for feed, reason, many in counts], records)
