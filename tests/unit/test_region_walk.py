"""Crossings of queries with a region: every way of finding them against the reference."""

from itertools import count

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.crossings import BorderIndex
from fencepost.crossings.choose import Method
from fencepost.engine import step
from fencepost.errors import BrokenIndex
from fencepost.position import Position
from fencepost.queries import QuerySet, check_query
from fencepost.reference import FeedDelivery, Registration, Sighting, run
from fencepost.state import FeedState
from tests.support.oracles.oracles import batch_of, event_rows

AXES = ("x", "speed", "y")
SECOND = 1_000_000
GRID = st.integers(0, 6)
WAYS: tuple[tuple[Method, bool], ...] = (("walk", True), ("walk", False), ("difference", False))
RING = ((1, 1), (3, 1), (3, 3), (1, 3), (1, 1))
SQUARE = {"type": "Polygon", "coordinates": [RING]}
CIRCLE = {"circle": {"center": [2, 2], "radius": 1}}


def rules_of(*fields, earth=False):
    """Crossing queries named by number."""
    found = []
    positions = {"f": Position((0, 2), earth=earth)}
    for number, given_fields in enumerate(fields):
        query, faults = check_query(
            {"id": f"q{number}", "feed": "f", **given_fields}, {"f": AXES}, positions
        )
        assert query is not None, faults
        found.append(query)
    return found


def set_of(queries):
    return QuerySet.from_queries("f", AXES, queries)


def found_by(index, deliveries, method, fast):
    """The events of all deliveries, one step each."""
    state, rows = FeedState.empty("f", AXES), []
    for number, delivery in enumerate(deliveries):
        batch = batch_of("f", AXES, [delivery])
        outcome = step(state, batch, index, deliveries=1, method=method, fast=fast)
        rows += event_rows(outcome.events, AXES, number)
        state = outcome.state
    return sorted(rows, key=repr)


def expected_of(queries, deliveries):
    return sorted(run("f", AXES, [Registration(tuple(queries)), *deliveries]).events, key=repr)


def deliveries_of(*places, stream="a", speed=1.0):
    """One delivery: a stream's places, a second apart."""
    seen = [
        Sighting(stream, n * SECOND, (float(x), speed, float(y))) for n, (x, y) in enumerate(places)
    ]
    return [FeedDelivery(tuple(seen))]


@pytest.mark.parametrize(("method", "fast"), WAYS)
def test_a_border_belongs_to_one_of_two_neighbours(method, fast):
    left = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 2], [0, 2], [0, 0]]]}
    right = {"type": "Polygon", "coordinates": [[[1, 0], [2, 0], [2, 2], [1, 2], [1, 0]]]}
    queries = rules_of({"region": left}, {"region": right})
    moves = deliveries_of((0, 1), (1, 1), (2, 1), (1, 0), (0, 0), (0, 2))
    found = found_by(BorderIndex.build(set_of(queries)), moves, method, fast)
    assert [(e.type, e.query_id, e.ts // SECOND) for e in sorted(found, key=lambda e: e.ts)] == [
        *[("I", "q1", 1), ("O", "q0", 1), ("O", "q1", 2), ("I", "q1", 3)],
        *[("I", "q0", 4), ("O", "q1", 4), ("O", "q0", 5)],
    ]


@st.composite
def regions(draw):
    """Polygons with vertices on the grid, circles and corridors between them."""
    kind = draw(st.sampled_from(("polygon", "polygon", "circle", "corridor")))
    if kind == "circle":
        centre, radius = [draw(GRID), draw(GRID)], draw(st.sampled_from((0.5, 1, 2, 2.5)))
        return {"circle": {"center": centre, "radius": radius}}
    corner = st.tuples(GRID, GRID)
    if kind == "corridor":
        line = draw(st.lists(corner, min_size=2, max_size=4, unique=True))
        return {"corridor": {"line": line, "width": draw(st.sampled_from((0.5, 1, 2)))}}
    ring = draw(st.lists(corner, min_size=3, max_size=7))
    x, y = zip(*ring, strict=True)
    ring = ring if min(x) < max(x) and min(y) < max(y) else [(0, 0), (3, 0), (0, 3)]
    return {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}


@st.composite
def queries_with_regions(draw):
    fields = {"region": draw(regions())}
    extra = draw(st.sampled_from(("", "", "speed > 1", "speed > 2 OR speed < 1")))
    if extra:
        fields["where"] = extra
    fields |= draw(st.sampled_from(({}, {}, {"streams": ["a"]}, {"streams_like": ["b*"]})))
    fields |= draw(st.sampled_from(({}, {"on_first": "enter"})))
    fields |= draw(
        st.sampled_from(
            ({}, {}, {"valid_from": "1970-01-01T00:00:03Z"}, {"valid_to": "1970-01-01T00:00:05Z"})
        )
    )
    return fields


@st.composite
def paths(draw):
    """Places on the grid and between, of a few streams, in two deliveries."""
    value = st.one_of(GRID, st.sampled_from((0.5, 1.5, -1, 2.75, 40)))
    deliveries, ts = [], count()
    for _ in range(2):
        rows = draw(
            st.lists(st.tuples(st.sampled_from("abc"), value, st.integers(0, 3), value), max_size=9)
        )
        seen = (
            Sighting(stream, next(ts) * SECOND, (float(x), float(v), float(y)))
            for stream, x, v, y in rows
        )
        deliveries.append(FeedDelivery(tuple(seen)))
    return deliveries


@given(st.lists(queries_with_regions(), min_size=1, max_size=6), paths())
def test_oracle_every_way_finds_what_the_reference_finds(fields, deliveries):
    boxes = [{"where": "x > 2"}, {"where": "x > 1 AND speed > 1"}]
    queries = rules_of(*fields, *boxes)
    index, expected = BorderIndex.build(set_of(queries)), expected_of(queries, deliveries)
    index.check()
    for method, fast in WAYS:
        assert found_by(index, deliveries, method, fast) == expected, (method, fast)


@given(st.lists(queries_with_regions(), min_size=2, max_size=6), paths(), st.data())
def test_a_history_of_registrations_is_no_other_index(fields, deliveries, data):
    queries = rules_of(*fields)
    first = data.draw(st.integers(1, len(queries)))
    gone = data.draw(st.sets(st.sampled_from([query.id for query in queries])))
    index = BorderIndex.build(set_of(queries[:first])).with_added(set_of(queries[first:]))
    index = index.with_removed(sorted(gone))
    index.check()
    left = [query for query in queries if query.id not in gone]
    expected = expected_of(left, deliveries)
    for method, fast in WAYS:
        assert found_by(index, deliveries, method, fast) == expected


def crowd(rng, earth):
    """Shapes of very different sizes, some crowded in one town, and streams among them."""
    town = (116.4, 39.9) if earth else (40.0, 70.0)
    fields: list[dict[str, object]] = []
    unit = 111_195.0 if earth else 1.0
    for _ in range(120):
        size = 10.0 ** rng.uniform(-3, 1)
        x, y = np.add(town, rng.normal(0, 1, 2) * 10.0 ** rng.uniform(-2, 0.5))
        kind = rng.integers(4)
        if kind == 0:
            angle = np.sort(rng.uniform(0, 2 * np.pi, rng.integers(3, 40)))
            far = size * rng.uniform(0.3, 1, len(angle))
            ring = np.stack([x + far * np.cos(angle), y + far * np.sin(angle)], axis=1).tolist()
            fields.append({"region": {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}})
        elif kind == 1:
            fields.append({"region": {"circle": {"center": [x, y], "radius": size * unit}}})
        elif kind == 2:
            line = np.add((x, y), np.cumsum(rng.normal(0, size, (5, 2)), axis=0)).tolist()
            width = size * unit / 5
            fields.append({"region": {"corridor": {"line": line, "width": width}}})
        else:
            where = f"speed > {rng.uniform(0, 2)}"
            circle = {"circle": {"center": [x, y], "radius": 2 * size * unit}}
            fields.append({"region": circle, "where": where})
    places = np.add(town, np.cumsum(rng.normal(0, 1, (40, 200, 2)) * 0.05, axis=1))
    return fields, places


@pytest.mark.parametrize("earth", [False, True])
def test_shapes_of_all_sizes_in_one_town(earth):
    rng = np.random.default_rng(5)
    fields, places = crowd(rng, earth)
    index = BorderIndex.build(set_of(rules_of(*fields, earth=earth)))
    index.check()
    seen = [
        Sighting(f"s{s}", n * SECOND, (x, rng.uniform(0, 3), y))
        for s, track in enumerate(places.tolist())
        for n, (x, y) in enumerate(track)
    ]
    moves = [FeedDelivery(tuple(seen))]
    expected = found_by(index, moves, "difference", fast=True)
    assert len(expected) > 1000
    assert found_by(index, moves, "walk", fast=True) == expected
    assert found_by(index, moves, "auto", fast=True) == expected
    few = [FeedDelivery(tuple(seen[:400]))]
    assert found_by(index, few, "walk", fast=False) == found_by(index, few, "walk", fast=True)


@pytest.mark.parametrize("factor", [1e-140, 1e-9, 1.0, 1e9, 1e140])
def test_any_scale_of_coordinates(factor):
    square, far = (
        {"type": "Polygon", "coordinates": [[[x * size, y * size] for x, y in RING]]}
        for size in (factor, 1e149)
    )
    queries = rules_of({"region": square}, {"region": far})
    moves = deliveries_of(*((x * factor, y * factor) for x, y in ((0, 0), (2, 2), (1, 1), (3, 3))))
    for rules in (queries, queries[:1]):
        index = BorderIndex.build(set_of(rules))
        found = found_by(index, moves, "walk", fast=True)
        assert found == expected_of(rules, moves)
        assert len(found) == 2


def test_check_finds_a_broken_list():
    index = BorderIndex.build(set_of(rules_of({"region": SQUARE}, {"region": CIRCLE})))
    shaped = index.layers[0].shaped
    assert shaped is not None
    shaped.check()
    entries = shaped.cells.columns.entries
    whole = entries.copy()
    for broken in (np.where(entries >> 2 == 1, 0, entries), np.where(entries >= 0, ~1, entries)):
        entries[:] = broken
        with pytest.raises(BrokenIndex):
            shaped.check()
        entries[:] = whole
    shaped.check()


def test_memory_and_names_are_counted():
    named = {"region": SQUARE, "streams": ["a", "b"]}
    index = BorderIndex.build(set_of(rules_of({"region": CIRCLE}, named)))
    before = index.nbytes
    layer = index.layers[0]
    assert layer.shaped is not None
    assert layer.shaped_named is not None
    assert (len(layer.shaped), len(layer.shaped_named)) == (1, 2)
    _ = layer.shaped.cells
    assert index.nbytes > before
    assert pa.array(layer.names).to_pylist() == ["a", "b"]
