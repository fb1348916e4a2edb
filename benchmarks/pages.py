"""The pages of figures: every line of each section's last run, and a summary of one screen.

    docs/performance/raw/NAME.md   what a section's last run printed, line by line
    docs/performance*.md           a row per section: its tightest line, its verdict, its command
    docs/evidence.md               what matters of all of them, beside the papers' figures

Law: all are generated. A summary is made from its raw page alone, the evidence from all raw pages
and the points in docs/evidence: `python -m benchmarks.pages` writes them, and tests compare.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.report import Line

DOCS = Path(__file__).resolve().parent.parent / "docs"
MACHINE = re.compile(r"Python [\d.]+, \d+ cores, \w+")
HEAD = """\
What {what}: `make {command}`{on}, **{met} of {bars} bars met**.

Every ratio was measured against its rival within one run, after their answers were compared.
`A, of B` is A divided by B. Each section shows its tightest line;
[all lines](performance/raw/{name}.md) have the times behind them. Written by
`python -m benchmarks.pages`; do not edit."""
MOST = 24
"""Missed bars that a summary lists."""


@dataclass(frozen=True)
class Page:
    """The pages of one benchmark; `what` goes on from "What …", `target` is one of make's."""

    name: str
    title: str
    what: str
    summary: str
    target: str = ""

    @property
    def command(self) -> str:
        """The target of make that measures it."""
        return self.target or f"bench-{self.name}"

    @property
    def raw(self) -> Path:
        """The page with every line."""
        return DOCS / "performance" / "raw" / f"{self.name}.md"

    def write(
        self,
        introduction: str,
        measured: Iterable[tuple[str, str, list[Line]]],
        titles: Iterable[str] = (),
    ) -> None:
        """Write both pages from what a run measured: name, title and lines of each section.

        Of `titles`, all that the page may have, in order, those that were not measured now stay as
        they were, unless another machine measured them.
        """
        now = {title: self._section(name, title, lines) for name, title, lines in measured}
        before = self._sections_by(MACHINE.search(introduction))
        known = {**before, **now}
        texts = [known[title] for title in titles or now if title in known]
        self.raw.write_text("\n".join([introduction.rstrip(), "", *texts]), encoding="utf-8")
        self.summarize()

    def _section(self, name: str, title: str, lines: list[Line]) -> str:
        argument = f"\"'{name}'\"" if " " in name else name
        today = datetime.now(tz=UTC).date()
        rows = [f"## {title}", f"`make {self.command} ARGS={argument}` on {today}", ""]
        rows += ["| | figure | bar | | |", "| --- | --- | --- | --- | --- |"]
        return "\n".join([*rows, *(line.row for line in lines), ""])

    def _sections_by(self, machine: re.Match[str] | None) -> dict[str, str]:
        """Give the sections that a machine has measured, by title."""
        raw = self.raw.read_text(encoding="utf-8") if self.raw.is_file() else ""
        measured_by = MACHINE.search(raw)
        if machine is None or measured_by is None or machine[0] != measured_by[0]:
            return {}
        texts = raw.rstrip().split("\n## ")[1:]
        return {text.partition("\n")[0]: f"## {text.rstrip()}\n" for text in texts}

    def summarize(self) -> None:
        """Write the summary again from the raw page."""
        text = summary_of(self, self.raw.read_text(encoding="utf-8"))
        (DOCS / self.summary).write_text(text, encoding="utf-8")


PAGES = {
    name: Page(name, f"Performance of {of}", what, f"performance{suffix}.md")
    for name, of, what, suffix in (
        ("engine", "the engine", "a crossing and the index cost", ""),
        ("lake", "the lake", "a delivery and an epoch cost", "-lake"),
        ("matches", "matches", "a match costs in each index", "-matches"),
        ("joins", "joins", "a pair and a change of a band cost", "-joins"),
        ("regions", "regions", "a fence as people draw it costs", "-regions"),
    )
} | {
    "peers": Page(
        "peers",
        "Performance beside peers",
        "crossings cost in other engines",
        "performance-peers.md",
        target="peers",
    )
}


@dataclass(frozen=True)
class Row:
    """A line of a raw page, read back."""

    claim: str
    figure: str
    bar: str
    verdict: str
    facts: str = ""

    @property
    def value(self) -> float | None:
        """The figure as a number; None where a line has only facts."""
        return float(self.figure.split()[0]) if self.figure else None

    @property
    def margin(self) -> float:
        """How far the figure is on the right side of its bar: below 1 it is missed."""
        assert self.value is not None
        sign, bar = self.bar.split()[0], float(self.bar.split()[1])
        return self.value / bar if sign == "≥" else bar / self.value


@dataclass(frozen=True)
class Section:
    """A section of a raw page."""

    title: str
    command: str
    rows: Sequence[Row]

    @property
    def judged(self) -> list[Row]:
        """The lines that have a bar."""
        return [row for row in self.rows if row.bar]


def sections_of(raw: str) -> list[Section]:
    """Read the sections of a raw page."""
    found = []
    for text in raw.split("\n## ")[1:]:
        title, line, *rest = text.splitlines()
        command = line.split("`")[1]
        cells = [[cell.strip() for cell in line.split("|")[1:6]] for line in rest if "|" in line]
        rows = [Row(*each) for each in cells if each[0] and not each[0].startswith("---")]
        found.append(Section(title, command, rows))
    return found


def summary_of(page: Page, raw: str) -> str:
    """Give the summary of a raw page."""
    sections = sections_of(raw)
    machine = MACHINE.search(raw)
    judged = [row for section in sections for row in section.judged]
    missed = [row for row in judged if row.verdict == "MISSED"]
    lines = [
        f"# {page.title}",
        "",
        HEAD.format(
            what=page.what,
            name=page.name,
            command=page.command,
            on=f" ({machine[0]})" if machine else "",
            met=len(judged) - len(missed),
            bars=len(judged),
        ),
        "",
        "| section | tightest line | figure | bar | verdict | command |",
        "| --- | --- | --- | --- | --- | --- |",
        *(_row(section) for section in sections),
    ]
    if missed:
        lines += ["", "## Missed bars", "", "| what | figure | bar |", "| --- | --- | --- |"]
        lines += [f"| {row.claim} | {row.figure} | {row.bar} |" for row in missed[:MOST]]
    return "\n".join(lines) + "\n"


def _row(section: Section) -> str:
    if not section.judged:
        values = [row.value for row in section.rows if row.value is not None]
        span = f"{min(values):.2f}–{max(values):.2f} ×" if values else "in bytes"
        return f"| {section.title} | from least to most | {span} | | | `{section.command}` |"
    row = min(section.judged, key=lambda each: each.margin)
    met = sum(each.verdict == "met" for each in section.judged)
    verdict = f"{'met' if met == len(section.judged) else 'missed'} ({met}/{len(section.judged)})"
    return (
        f"| {section.title} | {row.claim} | {row.figure} | {row.bar} | {verdict} | "
        f"`{section.command}` |"
    )


if __name__ == "__main__":
    from benchmarks.figures import page

    for each in PAGES.values():
        each.summarize()
    page.write()
