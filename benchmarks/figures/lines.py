"""Lines of the benchmarks' raw pages: what the evidence says beside its own points.

Law: a figure of a benchmark stands on its raw page and nowhere else; a line that is not there,
since nobody has run its section, is left out rather than guessed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from benchmarks.pages import DOCS, Row, Section, sections_of

UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


@dataclass(frozen=True)
class Source:
    """A line of a benchmark: its page, its section, and how its claim begins."""

    page: str
    section: str
    claim: str

    def row(self) -> Row | None:
        """Find the line; None where its section was not run."""
        for row in rows(self.page, self.section):
            if row.claim.startswith(self.claim):
                return row
        return None

    @property
    def link(self) -> str:
        """Where all of its section's lines are."""
        return f"[{self.page}](performance/raw/{self.page}.md)"


@cache
def _sections(page: str) -> list[Section]:
    path = DOCS / "performance" / "raw" / f"{page}.md"
    return sections_of(path.read_text(encoding="utf-8")) if path.is_file() else []


def rows(page: str, section: str) -> Iterator[Row]:
    """Go through the lines of one section."""
    for each in _sections(page):
        if each.command.partition("ARGS=")[2].strip("\"'") == section:
            yield from each.rows


def seconds(text: str, pattern: str = "") -> float | None:
    """Read the first time in a text, from where the pattern is on: `0.279 s (…)`, `ours 94 ms`."""
    found = re.search(pattern + r"[^\d]*([\d.,]+) (s|ms|µs|ns)\b", text)
    return float(found[1].replace(",", "")) * UNITS[found[2]] if found else None


def smallest_epoch() -> tuple[float, Source] | None:
    """Give the time of a micro-batch of 1,000 tuples: of many in a row, or of one."""
    for section, claim in (("batches", "a micro-batch, median"), ("micro", "1,000 tuples, of")):
        source = Source("lake", section, claim)
        row = source.row()
        took = seconds(row.facts) if row else None
        if took:
            return took, source
    return None


def count(text: str, unit: str) -> int | None:
    """Read a count with its unit: `10,000,000 ticks`."""
    found = re.search(rf"([\d,]+) {unit}", text)
    return int(found[1].replace(",", "")) if found else None
