"""Price bands in Flink SQL: the steps meet the borders of their cells, in batch and as a stream.

Flink is given each step with both of its values, as the other peers are; what it takes to read them
is measured by itself and taken off.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds
from pyarrow import csv

from benchmarks.matches_made import Scale, in_turns, span
from benchmarks.peers.apart import FLINK
from benchmarks.peers.crossings_given import Given, Keys, keys, keys_of
from benchmarks.report import Line
from benchmarks.walks import assert_right, bands, indexed, walks
from fencepost.crossings.walk import walk

THREADS = 2
WIDTH = 1_000.0


def flink_sql(scale: Scale) -> Iterator[Line]:
    """10 K bands of W = 0.1% on walking prices."""
    if not FLINK.is_there:
        yield Line("10 K bands: Flink SQL, of ours", None, facts=FLINK.absence)
        return
    path = walks(streams=scale.of(400, 20), length=scale.of(1_000, 50))
    queries = bands(scale.of(10_000, 500))
    index = indexed(queries)
    walked = walk(index, path, fast=True, threads=THREADS)
    expected = keys_of(assert_right(walked, 30), len(queries))
    work = {"ours": lambda: walk(index, path, fast=True, threads=THREADS).events}
    took = in_turns(work, scale.repeats, time.perf_counter)["ours"]
    given = Given.of(walked)
    cell = max(WIDTH / 4, float(np.abs(given.c - given.p).max()))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, rows in {"steps": given.steps(), "borders": given.borders(cell)}.items():
            (folder / name).mkdir()
            options = csv.WriteOptions(include_header=False)
            csv.write_csv(rows, folder / name / "0.csv", options)
        times = FLINK.run(folder, repeats=scale.repeats, threads=THREADS, cell=cell)
        for mode in times:
            assert np.array_equal(_found(folder / mode, len(queries)), expected), mode
    for mode, seconds in times.items():
        facts = f"{span(seconds)} without reading, against {span(took)}; "
        facts += f"{len(expected):,} equal events of {len(path):,} tuples"
        yield Line(f"10 K bands: Flink SQL, {mode}, of ours", seconds / took, facts=facts)


def _found(folder: Path, queries: int) -> Keys:
    """Read what Flink wrote: files whose names end in nothing, as it names them."""
    files = [str(file) for file in folder.rglob("part-*") if file.stat().st_size]
    form = ds.CsvFileFormat(read_options=csv.ReadOptions(column_names=("place", "query", "enters")))
    rows = ds.dataset(files, format=form).to_table()
    return keys(*(rows[name].to_numpy() for name in ("place", "query", "enters")), queries)
