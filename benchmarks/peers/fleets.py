"""Circles on the earth, from a file of fixes to a table of events, beside Tile38.

Ours reads Parquet, evaluates and gives a table; its rules are indexed before, as Tile38's channels
are set before. Tile38 is given its SETs encoded, in its best setting, and nobody listens. Both
have two cores, and times are on the clock.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path as FilePath

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import fencepost as fp
from benchmarks.matches_made import Scale, span
from benchmarks.peers import tile38
from benchmarks.peers.shapes import walking
from benchmarks.regions_made import (
    assert_right,
    circles,
    circles_about,
    degrees_of,
    fences,
    indexed,
    movers,
    walked,
)
from benchmarks.report import Line
from benchmarks.walks import laid
from fencepost.crossings.columns import Events
from fencepost.crossings.path import Path
from fencepost.shapes.columns import Shapes
from fencepost.tuples import Doubles
from pipelines.workloads.globe import AXES
from pipelines.workloads.roads import EXTENT

OVERLAPPING_BAR, DISJOINT_BAR = 100.0, 5.0
TOWNS, SPREAD, STEP = 300, 0.2, 0.003
"""A country's towns; in degrees, how far fences are from their middles, and a mover's step."""
WEST_TO_EAST, SOUTH_TO_NORTH = (-120.0, -75.0), (28.0, 48.0)
WARM = 2
OTHERS = 4_000
"""Fixes of other vehicles, enough for all that is made once to be there before time is taken."""


def beside_tile38(scale: Scale) -> Iterator[Line]:
    """Fences that overlap, fences that do not, and many round a few places."""
    few, far = scale.of(10_000, 400), scale.of(1_000, 20)
    many = scale.of(10_000, 200)
    yield from _raced(
        f"{many:,} overlapping", circles(many, 100.0, 2_000.0), movers(far), few, OVERLAPPING_BAR
    )
    every = movers(scale.of(1_644, 20))
    yield from _raced("200 disjoint", _apart(200), every, len(every), DISJOINT_BAR)
    yield from _raced(*_states(scale), 2 * few, None)


def _states(scale: Scale) -> tuple[str, Shapes, Path]:
    """The shape of tidwall/tile38 issue 491: circles of 5 km round clustered places."""
    draw = np.random.default_rng(491)
    count, fleet, many = scale.of(23_000, 300), scale.of(1_000, 20), scale.of(TOWNS, 4)
    towns = np.stack([draw.uniform(*ends, many) for ends in (WEST_TO_EAST, SOUTH_TO_NORTH)])

    def near(some: int) -> Doubles:
        return towns[:, draw.integers(0, many, some)] + draw.normal(0, SPREAD, (2, some))

    fences_at = circles_about(near(count), np.full(count, 5_000.0))
    steps = draw.normal(0.0, STEP, (2, 100, fleet))
    steps[:, 0] = near(fleet)
    return f"{count:,} of 5 km", fences_at, laid(walking("locations", np.cumsum(steps, axis=1)))


def _apart(count: int) -> Shapes:
    """Circles on a grid, none of which touches another."""
    side = int(np.ceil(np.sqrt(count)))
    at = np.stack(np.divmod(np.arange(count), side)[::-1])
    step = EXTENT / side
    return circles_about(degrees_of((at + 0.5) * step), np.full(count, step * 0.45))


def _raced(
    what: str, shapes: Shapes, path: Path, updates: int, bar: float | None
) -> Iterator[Line]:
    """Compare the events of some fixes, then time ours over all, and theirs over some."""
    index = indexed(fences(shapes))
    events = assert_right(walked(index, path), sample=20)
    took = _from_file(shapes, path, events)
    each = took / len(path)
    facts = f"ours {span(took)} from Parquet to a table, {each * 1e9:,.0f} ns a fix, "
    facts += f"{len(events.place):,} events of {len(path):,} fixes"
    claim = f"{what} circles: Tile38, of ours"
    program = tile38.program()
    if program is None:
        yield Line(claim, None, facts=f"{tile38.NAME} is not there; {facts}")
        return
    _, same, differ = tile38.race(program, shapes, path, events, min(updates, 2_000))
    assert not differ, f"{differ} events differ, {same} are equal"
    theirs, sets, setting = tile38.fastest(program, shapes, path, updates, 2)
    facts = (
        f"{sets:,} SETs in {span(theirs)}, {theirs / sets * 1e6:,.1f} µs each, {setting}; {facts}"
    )
    facts += f"; {same:,} events compared are equal"
    yield Line(claim, theirs / sets / each, bar, at_least=True, facts=facts)


def _from_file(shapes: Shapes, path: Path, events: Events) -> float:
    """Give the least seconds from a Parquet file of the fixes to the table of all events."""
    lon, lat = path.values
    run = np.repeat(np.arange(len(path.stream)), np.diff(path.starts))
    fixes = pa.table(
        {
            "stream_id": path.names.take(pa.array(path.stream)).take(pa.array(run)),
            "ts": pa.array(path.ts).view(pa.timestamp("us", "UTC")),
            **dict(zip(AXES, (lon, lat), strict=True)),
        }
    )
    centres = zip(*shapes.xy.tolist(), shapes.reach.tolist(), strict=True)
    rules = fp.rules(
        [
            {
                "id": f"fence-{k}",
                "region": {"circle": {"center": [x, y], "radius": radius}},
            }
            for k, (x, y, radius) in enumerate(centres)
        ]
    )
    others = fixes.slice(0, OTHERS)
    names = pc.binary_join_element_wise("other", others["stream_id"], "-")
    others = others.set_column(0, "stream_id", names)
    least = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        file = FilePath(folder) / "fixes.parquet"
        pq.write_table(fixes, file)
        for _ in range(WARM + 3):
            monitor = fp.Monitor(rules, axes=list(AXES), position=AXES, threads=2)
            monitor.push(others)  # indexes are made when fixes come
            begin = time.perf_counter()
            found = monitor.push(pq.read_table(file)).events
            least = min(least, time.perf_counter() - begin)
    mine = pc.value_counts(found["query_id"]).to_pylist()
    known = dict(zip(*np.unique(events.query, return_counts=True), strict=True))
    assert {row["values"]: row["counts"] for row in mine} == {
        f"fence-{k}": many for k, many in known.items()
    }
    return least
