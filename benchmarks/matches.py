"""The benchmarks of matches: `make bench-matches`, or `ARGS="joins peers"` for some of them.

Every line checks its answers before it is timed, and its ratio is taken within one run, the
rivals in turns, the least time of each. With `--write` the figures go to
docs/performance/raw/matches.md, a summary to docs/performance-matches.md; with `--quick` all
sections run at their smallest and judge no bar.
"""

import sys

from benchmarks import (
    matches_auto,
    matches_crossings,
    matches_intervals,
    matches_joins,
    matches_peers,
    matches_rectangles,
)
from benchmarks.pages import PAGES
from benchmarks.sections import Book

SECTIONS = {
    "rectangles": (
        "S2, two axes: virtual construct rectangles and R-trees (Rx Ry = 60,000, W = 20, L = 8)",
        matches_rectangles.rectangles_against_trees,
    ),
    "intervals": (
        "S2, one axis: LCI-BV(DT), Dlist and IS-lists (R = 5,000, lengths up to W = 100)",
        matches_intervals.curves,
    ),
    "joins": (
        "S3: the spatial join against interval binary search trees",
        matches_joins.joins_against_trees,
    ),
    "clusters": ("S3: time against N_dc (N_query = 10,000)", matches_joins.clusters),
    "predicates": (
        "S3: time against R_pred (8 attributes, N_query = 50,000)",
        matches_joins.predicates,
    ),
    "skew": ("S3: time under skew (4 attributes, N_query = 100,000)", matches_joins.skew),
    "peers": (
        "A million points, 100 K queries, two threads each",
        matches_peers.against_peers,
    ),
    "auto": ("What auto picks, against every other choice", matches_auto.sweep),
    "crossings": ("Crossings: the walk against the difference", matches_crossings.by_fluctuation),
}

INTRODUCTION = """\
# Performance of matches: all lines

Written by `make bench-matches ARGS='--write'`; do not edit. Every line checked its answers before
it was timed, and its ratio was taken within one run: rivals in turns, the least time of three
rounds or more each, by the clock of the processor where one thread works, for noise only adds.
{about}.

Times are those of a point in a batch, unless a line says *alone*: then points came one by one, each
through a call from Python, which costs some microseconds by itself. A size is what the index holds.
S3's conditions are a third each open to the left, open to the right and closed, so there is no one
W: of the values of an attribute a condition holds 44% on average.
"""


BOOK = Book("matches", PAGES["matches"], SECTIONS, INTRODUCTION)

if __name__ == "__main__":
    sys.exit(BOOK.main(sys.argv[1:], __doc__))
