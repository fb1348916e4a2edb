"""The pages of figures: a summary says what its raw page says."""

import pytest

from benchmarks.pages import DOCS, PAGES, Page, sections_of, summary_of
from benchmarks.report import Line


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_summary_says_what_its_raw_page_says(page: Page) -> None:
    behind = f"docs/{page.summary} is behind its raw page: python -m benchmarks.pages"
    raw = page.raw.read_text("utf-8")
    assert (DOCS / page.summary).read_text("utf-8") == summary_of(page, raw), behind


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_summary_fits_a_screen_and_names_every_section(page: Page) -> None:
    summary = (DOCS / page.summary).read_text("utf-8")
    assert len(summary.splitlines()) <= 45
    for section in sections_of(page.raw.read_text("utf-8")):
        assert section.title in summary
        assert section.command in summary


def test_the_tightest_line_of_a_section_is_shown_and_missed_bars_are_listed(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.pages.DOCS", tmp_path)
    (tmp_path / "performance" / "raw").mkdir(parents=True)
    page = Page("engine", "Figures", "a thing", "figures.md")
    lines = [
        Line("wide of it", 4.0, 2.0, at_least=True),
        Line("close", 2.2, 2.0, at_least=True),
        Line("too slow", 3.0, 2.0),
        Line("no bar", 9.0),
    ]
    page.write("# Figures: all lines", [("a b", "First", lines), ("c", "Second", lines[-1:])])
    summary = (tmp_path / "figures.md").read_text()
    assert "**2 of 3 bars met**" in summary
    first = "| First | too slow | 3.00 × | ≤ 2 × | missed (2/3) | `make bench-engine ARGS="
    assert f"""{first}"'a b'"` |""" in summary
    second = "| Second | from least to most | 9.00–9.00 × | | | `make bench-engine ARGS=c` |"
    assert second in summary
    assert "| too slow | 3.00 × | ≤ 2 × |" in summary


def test_a_run_of_one_section_leaves_the_others_of_this_machine_as_they_were(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.pages.DOCS", tmp_path)
    (tmp_path / "performance" / "raw").mkdir(parents=True)
    page = Page("engine", "Figures", "a thing", "figures.md")
    here, elsewhere = "by Python 3.11.7, 2 cores, x86_64", "by Python 3.11.7, 96 cores, x86_64"
    titles = ["First", "Second"]

    def write(machine: str, title: str, value: float) -> list[tuple[str, str]]:
        page.write(machine, [(title.lower(), title, [Line("a line", value, 2.0)])], titles)
        sections = sections_of(page.raw.read_text("utf-8"))
        return [(section.title, section.rows[0].figure) for section in sections]

    assert write(here, "Second", 1) == [("Second", "1.00 ×")]
    assert write(here, "First", 3) == [("First", "3.00 ×"), ("Second", "1.00 ×")]
    assert write(here, "Second", 1.5) == [("First", "3.00 ×"), ("Second", "1.50 ×")]
    assert write(elsewhere, "Second", 0.5) == [("Second", "0.50 ×")]
