"""The benchmarks of joins: `make bench-joins`, or `ARGS="bands lake"` for some of them.

Every line checks its answers before it is timed, and its ratio is taken within one run, the
rivals in turns, the least time of each. With `--write` the figures go to
docs/performance/raw/joins.md, a summary to docs/performance-joins.md; with `--quick` all sections
run at their smallest and judge no bar.
"""

import sys

from benchmarks import joins_bands, joins_lake, joins_near, joins_windows
from benchmarks.pages import PAGES
from benchmarks.sections import Book

SECTIONS = {
    "windows": (
        "S3: window joins against IBS-JS, equal count windows",
        joins_windows.against_trees,
    ),
    **joins_bands.SECTIONS,
    **joins_near.SECTIONS,
    "lake": ("On the lake: a million updates", joins_lake.epochs),
}

INTRODUCTION = """\
# Performance of joins: all lines

Written by `make bench-joins ARGS='--write'`; do not edit. Every line checked its answers before it
was timed, and its ratio was taken within one run: rivals in turns, the least time of each.
{about}.

Of windows, ours starts from bare columns at each probe; the rival that keeps its walks has done
them before the clock starts, which is more than S3's had. A condition holds for 44% of an
attribute's values on average. Peers that recompute are given our groups and their covering
intervals.
"""

BOOK = Book("joins", PAGES["joins"], SECTIONS, INTRODUCTION)

if __name__ == "__main__":
    sys.exit(BOOK.main(sys.argv[1:], __doc__))
