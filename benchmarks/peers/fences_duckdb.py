"""Crossings of fences by DuckDB's spatial extension, two threads: its spatial join, then in SQL.

Each fix is joined once with the fences that hold it (DuckDB builds an R-tree of the smaller side),
and neighbours are compared by anti-joins.
"""

from importlib.resources import files
from importlib.util import find_spec

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import shapely

from fencepost.crossings.path import Path
from fencepost.shapes.columns import Shapes

WHEEL = "duckdb_extension_spatial"
HOLDING = """
create or replace temp table holding as
select place, run, fence from fixes join fences on st_contains(shape, st_point(lon, lat))
"""
EVENTS = """
select now.place, now.fence, 1 as kind from holding now
join fixes on fixes.place = now.place and not fixes.begins
anti join holding before on before.place = now.place - 1 and before.fence = now.fence
union all
select before.place + 1, before.fence, 0 from holding before
join fixes on fixes.place = before.place + 1 and not fixes.begins
anti join holding now on now.place = before.place + 1 and now.fence = before.fence
"""


class DuckFences:
    """Polygons of one ring each, and a path, as tables of a database."""

    def __init__(self, shapes: Shapes, path: Path) -> None:
        """Load the extension, and fill the tables: neither is timed."""
        self.database = duckdb.connect(config={"threads": 2})
        wheel = files(WHEEL) / "extensions" / f"v{duckdb.__version__}" / "spatial.duckdb_extension"
        self.database.execute(f"load '{wheel}'")
        rings = np.split(shapes.xy.T, shapes.vertex_ptr[1:-1])
        wkb = pa.array([shapely.Polygon(ring).wkb for ring in rings])
        given = pa.table({"fence": np.arange(len(rings)), "wkb": wkb})
        begins = np.zeros(len(path), np.bool_)
        begins[path.starts[:-1]] = True
        run = np.repeat(np.arange(len(path.stream)), np.diff(path.starts))
        lon, lat = path.values
        fixes = pa.table(
            {"place": np.arange(len(path)), "run": run, "begins": begins, "lon": lon, "lat": lat}
        )
        self.many = len(rings)
        self.database.register("given", given)
        self.database.register("seen", fixes)
        self.database.execute(
            "create table fences as select fence, st_geomfromwkb(wkb) as shape from given"
        )
        self.database.execute("create table fixes as from seen")

    def crossings(self) -> npt.NDArray[np.int64]:
        """Find who entered and who left."""
        self.database.execute(HOLDING)
        found = self.database.execute(EVENTS).fetchnumpy()
        place, fence = found["place"].astype(np.int64), found["fence"].astype(np.int64)
        return np.sort((place * self.many + fence) * 2 + found["kind"])


def is_there() -> bool:
    """Whether the wheel with the extension is installed."""
    return find_spec(WHEEL) is not None
