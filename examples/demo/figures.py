"""The results of the day, as the ledgers and the published views have it.

Law: the figures are those of the lake, whatever process did the work, on every printing.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from examples.demo.day import Laid
from pipelines.epochs.accounts import Account, accounts
from pipelines.lake.store import Store
from pipelines.project.settings import Settings
from pipelines.registry.queries import standing
from pipelines.serve.views.duckdb import from_duckdb

REASONS = ("late", "duplicate", "conflict", "malformed", "future")
TRANSITIONS = {
    "pass_through": "pass-throughs",
    "short_absence": "short absences",
    "stay": "stays",
    "departure": "departures",
}
BUSIEST = """
SELECT feed, query_id, COUNT(*) AS entered FROM events WHERE type = 'I' GROUP BY feed, query_id
QUALIFY ROW_NUMBER() OVER (PARTITION BY feed ORDER BY COUNT(*) DESC, query_id) <= 3
ORDER BY entered DESC, query_id
"""


@dataclass(frozen=True)
class FeedFigures:
    """The results of a feed: its hours, and the counts of all of them together."""

    known: Mapping[str, Account]

    @property
    def counts(self) -> Counter[str]:
        """Every count of its epochs and of its deliveries."""
        total: Counter[str] = Counter()
        for account in self.known.values():
            total.update({**account.counts, **account.read})
        return total

    @property
    def quarantined(self) -> dict[str, int]:
        """By reason, the rows in quarantine."""
        counts = self.counts
        return {reason: counts[reason] for reason in REASONS}

    def is_done(self, hours: list[str]) -> bool:
        """Say whether every hour has been evaluated, and nothing has to be re-evaluated."""
        return all(
            hour in self.known
            and self.known[hour].epochs
            and not (self.known[hour].missing or self.known[hour].stale)
            for hour in hours
        )

    def lines(self) -> list[str]:
        """Describe it in three lines."""
        counts = self.counts
        away = sum(self.quarantined.values())
        read = f"{counts['rows']:,} rows read = {counts['accepted']:,} accepted"
        became = " · ".join(f"{words} {counts[kind]:,}" for kind, words in TRANSITIONS.items())
        entered, left = counts["entered"], counts["left"]
        return [
            f"{read} + {away:,} quarantined",
            f"{len(self.known)} hours · crossings {entered + left:,} (I {entered:,} · O {left:,})",
            became,
        ]


def of_feed(settings: Settings, name: str) -> FeedFigures:
    """Read the results of a feed."""
    return FeedFigures(accounts(Store.to_read(settings.root, settings.tables), name))


def rules_standing(settings: Settings) -> int:
    """Count the active rules."""
    return int(standing(Store.to_read(settings.root, settings.tables)).num_rows)


def landing_line(made: Laid) -> str:
    """Describe what has landed."""
    ticks, locations = made.feeds["ticks"], made.feeds["locations"]
    return (
        f"{ticks.rows:,} ticks of {ticks.streams:,} symbols · "
        f"{locations.rows:,} positions of {locations.streams:,} vehicles"
    )


def busiest(settings: Settings) -> dict[str, str]:
    """Name the three rules of each feed that were entered most often."""
    with from_duckdb(settings, BUSIEST) as answer:
        rows = [row for batch in answer.batches for row in batch.to_pylist()]
    shown: dict[str, list[str]] = {}
    for row in rows:
        shown.setdefault(row["feed"], []).append(f"{row['query_id']} {row['entered']:,} ×")
    return {feed: " · ".join(words) for feed, words in shown.items()}
