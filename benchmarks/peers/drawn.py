"""Fences as people draw them: shapely and DuckDB as in `make bench-regions`, and Sedona.

Sedona holds the fixes and the fences in memory, in a Spark of its own of two threads; its spatial
join and the comparison of neighbours are timed, and what is found goes nowhere.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path as FilePath

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

from benchmarks.matches_made import Scale, in_turns, span
from benchmarks.peers.apart import SEDONA
from benchmarks.peers.crossings_given import Keys, keys
from benchmarks.regions_made import assert_right, fences, indexed, keys_of, walked
from benchmarks.regions_walk import against_duckdb, against_shapely, made
from benchmarks.report import Line
from fencepost.crossings.path import Path
from fencepost.shapes.columns import Shapes

THREADS = 2


def beside_others(scale: Scale) -> Iterator[Line]:
    """All of them, on the same fences and fixes."""
    yield from against_shapely(scale)
    yield from against_duckdb(scale)
    yield from against_sedona(scale)


def against_sedona(scale: Scale) -> Iterator[Line]:
    """Its spatial join, with two threads on both sides."""
    claim = "10 K polygons: Sedona"
    if not SEDONA.is_there:
        yield Line(f"{claim}, of ours", None, facts=SEDONA.absence)
        return
    count, path, shapes = made(scale)
    index = indexed(fences(shapes))
    ours = keys_of(assert_right(walked(index, path, threads=THREADS)), count)
    work = {"ours": lambda: walked(index, path, threads=THREADS).events}
    took = in_turns(work, scale.repeats, time.perf_counter)["ours"]
    with tempfile.TemporaryDirectory() as place:
        folder = FilePath(place)
        _write(folder, path, shapes)
        kept = str(SEDONA.folder)
        times = SEDONA.run(folder, repeats=scale.repeats, threads=THREADS, kept=kept)
        for name in times:
            assert np.array_equal(_found(folder / name, count), ours), name
    for name, seconds in times.items():
        facts = f"{span(seconds)} against {span(took)}; {len(ours):,} equal events"
        yield Line(f"{claim}, its join and {name}, of ours", seconds / took, facts=facts)


def _write(folder: FilePath, path: Path, shapes: Shapes) -> None:
    """Write what the script is given: the fixes, and rings as WKB."""
    begins, ends = np.zeros((2, len(path)), np.bool_)
    begins[path.starts[:-1]] = ends[path.starts[1:] - 1] = True
    run = np.repeat(np.arange(len(path.stream)), np.diff(path.starts))
    lon, lat = path.values
    columns = {"place": np.arange(len(path)), "run": run, "begins": begins, "ends": ends}
    pq.write_table(pa.table({**columns, "lon": lon, "lat": lat}), folder / "fixes.parquet")
    rings = np.split(shapes.xy.T, shapes.vertex_ptr[1:-1])
    wkb = pa.array([shapely.Polygon(ring).wkb for ring in rings])
    table = pa.table({"fence": np.arange(len(rings)), "wkb": wkb})
    pq.write_table(table, folder / "fences.parquet")


def _found(folder: FilePath, fences: int) -> Keys:
    rows = pq.read_table(folder)
    columns = (rows[name].to_numpy() for name in ("place", "fence", "kind"))
    return keys(*columns, fences)
