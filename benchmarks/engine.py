"""The engine's benchmarks: `make bench-engine`, or `ARGS="default duckdb"` for some of them.

Every line checks its answer before it is timed, and its ratio is taken within one run:
machines differ, and are noisy. Medians of seven unless a line says otherwise. With
`--write` the figures go to docs/performance/raw/engine.md, a summary to docs/performance.md.
"""

import os
import platform
import sys

from benchmarks import index_cost, many_axes, one_axis, steps
from benchmarks.pages import PAGES
from benchmarks.report import Line, show

WRITE = "--write"

SECTIONS = {
    "default": (
        "One axis: S1's default, and the width of the queries",
        one_axis.default_and_widths,
    ),
    "queries": ("One axis: the number of queries", one_axis.first_pass_by_queries),
    "sparse": ("One axis: streams that hardly move, and threads", one_axis.sparse),
    "step": ("A step, from tuples in order of time to the next state", steps.in_time),
    "streams": ("One axis: the number of streams", one_axis.streams),
    "squares": ("Two axes", many_axes.squares),
    "dimensions": ("One to nine axes", many_axes.dimensions),
    "index": ("The index", index_cost.building),
    "memory": ("Memory", index_cost.memory),
}


INTRODUCTION = """\
# Performance of the engine: all lines

Written by `make bench-engine ARGS='--write'`; do not edit. Every line checked its answer
before it was timed, and its ratio was taken within one run of its section: {about}.
"""


def main(wanted: list[str]) -> int:
    """Run the requested sections; 1 if a bar is missed."""
    write = WRITE in wanted
    wanted = [name for name in wanted if name != WRITE]
    unknown = sorted(set(wanted) - set(SECTIONS))
    if unknown:
        print(f"unknown section {', '.join(unknown)}; there are: {', '.join(SECTIONS)}")
        return 2
    about = f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}"
    print(about)
    sections: list[tuple[str, str, list[Line]]] = []
    for name in wanted or SECTIONS:
        title, section = SECTIONS[name]
        sections.append((name, title, section()))
        show(*sections[-1][1:])
    lines = [line for _, _, measured in sections for line in measured]
    if write:
        titles = [title for title, _ in SECTIONS.values()]
        PAGES["engine"].write(INTRODUCTION.format(about=about), sections, titles)
    met = [line.met for line in lines if line.met is not None]
    print(f"\n{sum(met)} of {len(met)} bars met")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
