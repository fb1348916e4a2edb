"""The peers beside us, on four shapes of data: `make peers`, or `ARGS="bands real"` for some.

Each peer runs in its strongest form that we know: by its plain range joins, where these end within
minutes, and by an equi-join of the cells that a step spans with those that borders run through, at
the best size of cell of some. Spark SQL does all the work of ten epochs, from Delta to Delta.
Answers are equal before a time is taken; both sides have two threads; times are wall-clock, in
turns. What is not installed is said: `make peers-extras`, and tile38-server on the PATH.
"""

import sys

from benchmarks.pages import PAGES
from benchmarks.peers import drawn, fleets, pipeline, shapes, streams
from benchmarks.sections import Book

SECTIONS = {
    "epochs": ("Ten epochs from Delta to Delta, one crossing in a hundred ticks", pipeline.rarely),
    "dense": ("Ten epochs from Delta to Delta, two crossings a tick", pipeline.often),
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
was taken, and its ratio was taken within one run: two threads on both sides, wall-clock times, in
turns, the least of each; of Spark SQL's epochs the medians. {about}.

Not raced, by their own words: RisingWave refuses the join of values with ranges as a stream, "Not
supported: streaming nested-loop join" (risingwavelabs/risingwave#22752, closed); Feldera has
"Non-equi joins" as an open issue since 2022 (feldera/feldera#26). Tile38 knows places, not prices.
"""

BOOK = Book("peers", PAGES["peers"], SECTIONS, INTRODUCTION)

if __name__ == "__main__":
    sys.exit(BOOK.main(sys.argv[1:], __doc__))
