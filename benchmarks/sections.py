"""A benchmark of several sections: run, printed line by line, judged, and written as a page.

Law: a page holds what the last run of each section printed; with --quick nothing is judged, for
sizes are the smallest.
"""

import argparse
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from benchmarks.matches_made import Scale
from benchmarks.pages import Page
from benchmarks.report import Line

Section = Callable[[Scale], Iterable[Line]]


@dataclass(frozen=True)
class Book:
    """Sections by name, each with its title; `introduction` begins the page, with {about}."""

    name: str
    page: Page
    sections: Mapping[str, tuple[str, Section]]
    introduction: str

    def main(self, arguments: list[str], about: str | None) -> int:
        """Run the requested sections; 1 if a bar is missed."""
        options = self._parser(about).parse_args(arguments)
        machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, "
        machine += platform.machine()
        print(machine)
        measured: list[tuple[str, str, list[Line]]] = []
        for name in options.sections or self.sections:
            title, section = self.sections[name]
            lines: list[Line] = []
            measured.append((name, title, lines))
            print(f"\n{title}")
            for line in section(Scale(options.quick)):
                lines.append(replace(line, bar=None) if options.quick else line)
                print(f"  {lines[-1]}", flush=True)
        if options.write:
            titles = [title for title, _ in self.sections.values()]
            self.page.write(self.introduction.format(about=machine), measured, titles)
        if options.quick:
            print("\nall answers are equal; --quick judges no bar")
            return 0
        met = [line.met for _, _, lines in measured for line in lines if line.met is not None]
        print(f"\n{sum(met)} of {len(met)} bars met")
        return 0 if all(met) else 1

    def _parser(self, about: str | None) -> argparse.ArgumentParser:
        prog = f"python -m benchmarks.{self.name}"
        parser = argparse.ArgumentParser(prog=prog, description=about)
        names = [*self.sections, []]
        parser.add_argument("sections", nargs="*", choices=names, metavar="SECTION")
        parser.add_argument("--quick", action="store_true", help="the smallest of every section")
        parser.add_argument("--write", action="store_true", help=f"write {self.page.raw}")
        return parser
