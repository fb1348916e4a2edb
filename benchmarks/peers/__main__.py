"""The peers beside us, on four shapes of data: `make peers`, or `ARGS="bands real"` for some.

Each peer runs in its strongest form that we know: by its plain range joins, where these end within
minutes, and by an equi-join of the cells that a step spans with those that borders run through, at
the best size of cell of some. Answers are equal before any time is taken; both sides have two
threads; times are wall-clock, in turns.
"""

import sys

from benchmarks.pages import Page
from benchmarks.peers import drawn, fleets, pipeline, shapes, streams
from benchmarks.sections import Book

SECTIONS = {
    "pipeline": ("Ten epochs from Delta to Delta, the last values carried", pipeline.spark_sql),
    "bands": ("Price bands on random walks (S1's, W = 0.1%, FL = 0.01%)", shapes.bands_on_walks),
    "fleets": ("Circles on the earth, from a file to events", fleets.beside_tile38),
    "flink": ("Price bands in Flink SQL", streams.flink_sql),
    "drawn": ("10 K polygons of 100 vertices, 1 M fixes", drawn.beside_others),
    "crowd": ("23,000 squares of 5 km round clustered places", shapes.crowded_squares),
    "garages": ("Parking garages on a road network", shapes.garages_on_roads),
    "real": ("Real trades and tracks", shapes.real_data),
}

INTRODUCTION = """\
# Peers: all lines

Written by `make peers ARGS='--write'`; do not edit. Every line compared all answers before a time
was taken, and its ratio was taken within this one run: two threads on both sides, wall-clock times,
in turns, the least of each. {about}.
"""

PAGE = Page(
    "peers",
    "Performance of the engine beside its peers",
    "crossings cost in other engines",
    "performance-peers.md",
)
BOOK = Book("peers", PAGE, SECTIONS, INTRODUCTION)

if __name__ == "__main__":
    sys.exit(BOOK.main(sys.argv[1:], __doc__))
