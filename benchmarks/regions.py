"""The benchmarks of regions: `make bench-regions`, or `ARGS="shapely boxes"` for some of them.

Every line checks its answers before it is timed, and its ratio is taken within one run, the
rivals in turns, the least time of each. With `--write` the figures go to
docs/performance/raw/regions.md, a summary to docs/performance-regions.md; with `--quick` all
sections run at their smallest and judge no bar.
"""

import sys

from benchmarks import regions_leaps, regions_walk
from benchmarks.pages import PAGES
from benchmarks.sections import Book

SECTIONS = {
    "shapely": (
        "10 K polygons of 100 vertices, 2% of a town; 1 M fixes of 10 K movers",
        regions_walk.against_shapely,
    ),
    "duckdb": ("The same in SQL", regions_walk.against_duckdb),
    "boxes": ("The same fences as boxes", regions_walk.against_boxes),
    "far": ("A fix far from every border", regions_walk.far_from_borders),
    "circles": (
        "10 K circles of 100 m to 2 km, a thousand of the same movers",
        regions_walk.of_circles,
    ),
    "index": ("The index: 100 K polygons of 30 vertices", regions_walk.building),
    "leaps": ("Leaps: a million steps, 10 K rules, 1% of which ask", regions_leaps.leaping),
}

INTRODUCTION = """\
# Performance of regions: all lines

Written by `make bench-regions ARGS='--write'`; do not edit. Every line checked its answers before
it was timed, and its ratio was taken within one run: rivals in turns, the least time of each,
by the clock of the processor where one thread works, for noise only adds. {about}.

Movers drive and walk on the roads of an invented town of 15 km by 15 km on the earth, a fix each
half minute; fences lie all over it. Paths and indexes exist before the clock starts, shapely's
trees and prepared fences and DuckDB's tables too.
"""

BOOK = Book("regions", PAGES["regions"], SECTIONS, INTRODUCTION)

if __name__ == "__main__":
    sys.exit(BOOK.main(sys.argv[1:], __doc__))
