"""A benchmark of several sections: run, told line by line, judged, and written down as a page.

Law: a page holds what one run printed; with --quick nothing is judged, for sizes are the smallest.
"""

import argparse
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.matches_made import Scale
from benchmarks.report import Line

Section = Callable[[Scale], Iterable[Line]]


@dataclass(frozen=True)
class Book:
    """Sections by name, each with its title; `introduction` begins the page, with {about}."""

    name: str
    page: Path
    sections: Mapping[str, tuple[str, Section]]
    introduction: str

    def main(self, arguments: list[str], about: str | None) -> int:
        """Run the sections asked for; 1 if a bar is missed."""
        asked = self._parser(about).parse_args(arguments)
        machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, "
        machine += platform.machine()
        print(machine)
        told: list[tuple[str, list[Line]]] = []
        for name in asked.sections or self.sections:
            title, section = self.sections[name]
            told.append((title, []))
            print(f"\n{title}")
            for line in section(Scale(asked.quick)):
                told[-1][1].append(replace(line, bar=None) if asked.quick else line)
                print(f"  {told[-1][1][-1]}", flush=True)
        if asked.write:
            self.page.write_text(self._page(machine, told), encoding="utf-8")
        if asked.quick:
            print("\nall answers are equal; --quick judges no bar")
            return 0
        met = [line.met for _, found in told for line in found if line.met is not None]
        print(f"\n{sum(met)} of {len(met)} bars met")
        return 0 if all(met) else 1

    def _parser(self, about: str | None) -> argparse.ArgumentParser:
        prog = f"python -m benchmarks.{self.name}"
        parser = argparse.ArgumentParser(prog=prog, description=about)
        names = [*self.sections, []]
        parser.add_argument("sections", nargs="*", choices=names, metavar="SECTION")
        parser.add_argument("--quick", action="store_true", help="the smallest of every section")
        parser.add_argument("--write", action="store_true", help=f"write {self.page}")
        return parser

    def _page(self, machine: str, sections: list[tuple[str, list[Line]]]) -> str:
        rows = [self.introduction.format(about=machine)]
        for title, lines in sections:
            rows += [f"## {title}", "", "| | figure | bar | | |", "| --- | --- | --- | --- | --- |"]
            rows += [*(line.row for line in lines), ""]
        return "\n".join(rows).rstrip() + "\n"
