"""Crossings of fences as people draw them: against shapely and DuckDB, boxes, and ticks."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from benchmarks.matches_made import Scale, in_turns, span
from benchmarks.peers import fences_duckdb
from benchmarks.peers.fences_shapely import ShapelyFences
from benchmarks.regions_made import (
    assert_right,
    circles,
    fences,
    indexed,
    keys_of,
    movers,
    polygons,
    rectangles,
    walked,
)
from benchmarks.report import Line
from benchmarks.walks import laid
from fencepost.crossings import BorderIndex
from fencepost.crossings.path import Path
from fencepost.queries import QuerySet
from fencepost.shapes.columns import Shapes
from pipelines.workloads import PriceBands, PriceWalks

COVER, VERTICES = 0.02, 100
TREE, DUCK, BOXES, TICK = 30.0, 10.0, 3.0, 1.3
NEXT_ISLE = 5.0  # degrees: so far from the town that no fence is near


def made(scale: Scale) -> tuple[int, Path, Shapes]:
    """Fences of 2% of the town, and who drives there."""
    count = scale.of(10_000, 300)
    return count, movers(scale.of(10_000, 300)), polygons(count, VERTICES, COVER)


def against_shapely(scale: Scale) -> Iterator[Line]:
    """The tree of fences asked for both ends of every step; and shapely's better forms."""
    count, path, shapes = made(scale)
    index = indexed(fences(shapes))
    ours = keys_of(assert_right(walked(index, path)), count)
    peer = ShapelyFences(shapes, path)
    points = peer.points()
    forms = {
        "both ends of a step": peer.both_ends,
        "each fix once": peer.once,
        "a tree of the fixes": peer.turned,
    }
    for name, form in forms.items():
        assert np.array_equal(form(points), ours), name
    work: dict[str, Callable[[], object]] = {"ours": lambda: walked(index, path).events}
    work["points"] = peer.points
    work |= {name: lambda form=form: form(points) for name, form in forms.items()}  # type: ignore[misc]
    took = in_turns(work, scale.repeats, time.thread_time)
    facts = f"{took['ours'] / len(path) * 1e9:.0f} ns a fix, {len(ours):,} equal events; "
    facts += f"its points made in {span(took['points'])}, asked in "
    for name in forms:
        bar = TREE if name == "both ends of a step" else None
        ratio = (took["points"] + took[name]) / took["ours"]
        what = f"shapely, {name}, of ours"
        yield Line(what, ratio, bar, at_least=True, facts=facts + span(took[name]))
    yield Line(
        "  without making its points, both ends",
        took["both ends of a step"] / took["ours"],
        facts="as if the fixes came as shapely's objects",
    )


def against_duckdb(scale: Scale) -> Iterator[Line]:
    """The spatial join, by the extension's wheel, two threads each."""
    if not fences_duckdb.is_there():
        yield Line("DuckDB spatial", None, facts=f"the wheel {fences_duckdb.WHEEL} is not there")
        return
    count, path, shapes = made(scale)
    index = indexed(fences(shapes))
    ours = keys_of(assert_right(walked(index, path, threads=2)), count)
    peer = fences_duckdb.DuckFences(shapes, path)
    assert np.array_equal(peer.crossings(), ours)
    work = {
        "ours": lambda: walked(index, path, threads=2).events,
        "theirs": peer.crossings,
    }
    took = in_turns(work, scale.repeats, time.perf_counter)
    facts = f"{span(took['theirs'])} against {span(took['ours'])}; {len(ours):,} equal events"
    ratio = took["theirs"] / took["ours"]
    yield Line("DuckDB spatial, of ours, two threads each", ratio, DUCK, at_least=True, facts=facts)


def against_boxes(scale: Scale) -> Iterator[Line]:
    """Squares drawn with a hundred vertices, and the same squares as boxes of `where`."""
    count, path, _ = made(scale)
    shapes = rectangles(count, VERTICES, COVER)
    drawn = indexed(fences(shapes))
    boxes = BorderIndex.build(fences(shapes, as_boxes=True))
    ours = keys_of(assert_right(walked(drawn, path)), count)
    assert np.array_equal(keys_of(walked(boxes, path).events, count), ours)
    work = {
        "drawn": lambda: walked(drawn, path).events,
        "boxes": lambda: walked(boxes, path).events,
    }
    took = in_turns(work, scale.repeats, time.thread_time)
    facts = (
        f"{took['drawn'] / len(path) * 1e9:.0f} ns a fix against "
        f"{took['boxes'] / len(path) * 1e9:.0f}; {len(ours):,} equal events"
    )
    yield Line(
        "polygons, of the same fences as boxes", took["drawn"] / took["boxes"], BOXES, facts=facts
    )


def far_from_borders(scale: Scale) -> Iterator[Line]:
    """Fixes far from every border against ticks that cross nothing, as many of each."""
    count, path, shapes = made(scale)
    index = indexed(fences(shapes))
    far = replace(path, values=path.values + NEXT_ISLE)
    assert not len(assert_right(walked(index, far)).place)
    streams = len(path.stream)
    plan = PriceWalks(streams=streams, length=len(path) // streams, fluctuation=1e-9)
    ticks = laid(plan.tuples())
    table = PriceBands(count=count, width=1e-3, axes=("price",)).table()
    bands = BorderIndex.build(QuerySet.from_table("ticks", ("price",), table))
    events = walked(bands, ticks).events
    assert len(events.place) < len(ticks) / 1000
    work = {
        "fix": lambda: walked(index, far).events,
        "town": lambda: walked(index, path).events,
        "tick": lambda: walked(bands, ticks).events,
    }
    took = in_turns(work, scale.repeats, time.thread_time)
    each = {name: seconds / len(path) * 1e9 for name, seconds in took.items()}
    facts = f"{each['fix']:.1f} ns against {each['tick']:.1f}"
    yield Line(
        "a fix far from every border, of a tick", each["fix"] / each["tick"], TICK, facts=facts
    )
    facts = f"{each['town']:.1f} ns: all fixes of the town, those that cross too"
    yield Line("  a fix in the town, of a tick", each["town"] / each["tick"], facts=facts)


def building(scale: Scale) -> Iterator[Line]:
    """A hundred thousand polygons of thirty vertices: built, and what the index takes."""
    shapes = polygons(scale.of(100_000, 2_000), 30, 0.3)
    queries = fences(shapes)
    indexed(queries).check()
    took = in_turns({"build": lambda: indexed(queries)}, scale.repeats, time.thread_time)["build"]
    yield Line("built, of two seconds", took / 2.0, 1.0, facts=span(took))
    (layer,) = indexed(queries).layers
    assert layer.shaped is not None
    cells, tests = layer.shaped.cells.nbytes, layer.shaped.tests.nbytes - shapes.nbytes
    ratio = (cells + tests) / shapes.xy.nbytes
    facts = f"{shapes.xy.nbytes / 1e6:.0f} MB of vertices; cells {cells / 1e6:.0f} MB, "
    facts += f"bands of edges {tests / 1e6:.0f} MB"
    yield Line("index, of the vertices' bytes", ratio, 2.0, facts=facts)


def of_circles(scale: Scale) -> Iterator[Line]:
    """Circles of 100 m to 2 km: what they cost by themselves, and beside Tile38 where it is."""
    from benchmarks.peers import tile38

    count, path = scale.of(10_000, 300), movers(scale.of(1_000, 300))
    shapes = circles(count, 100.0, 2_000.0)
    index = indexed(fences(shapes))
    events = assert_right(walked(index, path), sample=20)
    took = in_turns({"ours": lambda: walked(index, path).events}, 1, time.thread_time)["ours"]
    each, rate = took / len(path), len(events.place) / len(path)
    facts = f"{each * 1e9:,.0f} ns a fix, {rate:.1f} events a fix"
    program = tile38.program()
    if program is None:
        yield Line("Tile38, of ours", None, facts=f"{tile38.NAME} is not there; {facts}")
        return
    updates = scale.of(2_000, 200)
    sets, same, differ = tile38.race(program, shapes, path, events, updates)
    facts += f"; a SET takes {sets * 1e6:,.0f} µs, {same:,} equal events, {differ} differ"
    yield Line(
        "Tile38's SETs with as many fences, of ours", sets / each, 100.0, at_least=True, facts=facts
    )
