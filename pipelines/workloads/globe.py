"""Where the invented town lies on the earth: on the Dogger Bank, where there is only sea.

x and y in metres become longitude and latitude by a factor each: what is straight stays straight.

Law: degrees have seven decimals, a centimetre; along the parallel through the middle of the town a
metre is a metre, and at its northern and southern ends within 0.2% of one.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from fencepost.tuples import Doubles, TupleBatch
from pipelines.workloads.roads import EXTENT, RoadNetwork

AXES = ("lon", "lat")
MIDDLE = (2.5, 54.7)
"""The longitude and latitude of the middle of the town."""

METRES = (64254.92490688261, 111195.08023353292)
"""Of a degree there, eastward and northward: 6,371,008.8 m × π / 180, the first × cos 54.7°."""

PARTS = 1e7
"""Of a degree, to which is rounded."""


def degrees(metres: Doubles, axis: int) -> Doubles:
    """Give the longitude of an x (axis 0), or the latitude of a y (axis 1)."""
    exact = MIDDLE[axis] + (metres - EXTENT / 2.0) / METRES[axis]
    return np.asarray(np.rint(exact * PARTS) / PARTS, np.float64)


def tuples_on_earth(tuples: TupleBatch) -> TupleBatch:
    """Give tuples with longitude and latitude as their first two axes, in place of x and y."""
    values = tuples.values.copy()
    for axis in range(2):
        values[axis] = degrees(values[axis], axis)
    return replace(tuples, axes=(*AXES, *tuples.axes[2:]), values=values)


def boxes_on_earth(queries: pa.Table) -> pa.Table:
    """Give queries with bounds of longitude and latitude, in place of those of x and y."""
    columns = {name: queries[name] for name in queries.column_names}
    for axis, (given, name) in enumerate(zip(("x", "y"), AXES, strict=True)):
        for end in ("lo", "hi"):
            bounds = columns.pop(f"{given}_{end}").to_numpy()
            columns[f"{name}_{end}"] = pa.array(degrees(bounds, axis))
    within = columns.pop("within", None)
    return pa.table(columns if within is None else columns | {"within": within})


def roads_on_earth(roads: RoadNetwork) -> RoadNetwork:
    """Give the roads between crossings in degrees; their lengths are no longer metres."""
    return replace(roads, x=degrees(roads.x, 0), y=degrees(roads.y, 1))
