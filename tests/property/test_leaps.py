"""A step that passes through a query between its two tuples is found, and where it does so."""

import contextlib
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fencepost.crossings.index import BorderIndex
from fencepost.engine import step
from fencepost.errors import QueryFault
from fencepost.position import Position
from fencepost.queries import QuerySet, StandingQuery
from fencepost.queries.query import query_from_json
from fencepost.reference import leaps as reference
from fencepost.reference.order import Head
from fencepost.shapes.shape import POLYGON
from fencepost.state import FeedState
from fencepost.tuples import TupleBatch

GRID = 6
AXES = ("x", "y", "z")
METRES = 111_195.0
values = st.integers(-1, GRID + 1).map(float)
halves = st.integers(-2, 2 * GRID + 2).map(lambda v: v / 2)
corners = st.tuples(st.integers(0, GRID), st.integers(0, GRID)).map(list)


@st.composite
def regions(draw: st.DrawFn, *, earth: bool) -> object:
    kind = draw(st.sampled_from(("polygon", "polygon", "circle", "corridor")))
    if kind == "polygon":
        rings = draw(st.lists(st.lists(corners, min_size=3, max_size=9), min_size=1, max_size=2))
        return {"type": "Polygon", "coordinates": [[*ring, ring[0]] for ring in rings]}
    reach = draw(st.sampled_from([0.6, 1.1, 1.7])) * (METRES if earth else 1.0)
    if kind == "circle":
        return {"circle": {"center": draw(corners), "radius": reach}}
    line = draw(st.lists(corners, min_size=2, max_size=4))
    return {"corridor": {"line": line, "width": 2 * reach}}


@st.composite
def rules(draw: st.DrawFn, *, earth: bool) -> list[StandingQuery]:
    """Queries over three axes, those with regions on the first two."""
    found = []
    for n in range(draw(st.integers(1, 4))):
        obj: dict[str, object] = {"id": f"q{n}", "feed": "f", "leaps": True}
        if draw(st.booleans()):
            obj["region"] = draw(regions(earth=earth))
        lows = draw(st.lists(st.integers(0, 5), min_size=2, max_size=2))
        obj["where"] = draw(
            st.sampled_from(
                [
                    "ALL",
                    f"x >= {lows[0]} AND x < {lows[0] + 1}",
                    f"x > {lows[0]} AND y BETWEEN {lows[1]} AND {lows[1] + 1.5}",
                    f"z >= 2 AND z < 3 AND y < {lows[1]}",
                    f"x BETWEEN 1 AND 2 OR x BETWEEN 4 AND 4.5 OR y = {lows[1]}",
                ]
            )
        )
        if draw(st.integers(0, 3)) == 0:
            obj["streams"] = ["b", "c"]
        if draw(st.integers(0, 5)) == 0:
            obj["streams_like"] = "[ac]*"
        position = {"f": Position((0, 1), earth)}
        with contextlib.suppress(QueryFault):  # a polygon without area has no box
            found.append(query_from_json(obj, {"f": AXES}, position))
    return found


def found_by_engine(
    queries: list[StandingQuery],
    tracks: Mapping[str, Sequence[tuple[float, ...]]],
    threads: int = 1,
    *,
    fast: bool = True,
) -> dict[tuple[str, str, int], tuple[float, float]]:
    index = BorderIndex.build(QuerySet.from_queries("f", AXES, queries))
    streams = [name for name, track in tracks.items() for _ in track]
    ts = np.array([n * 1_000_000 for track in tracks.values() for n in range(len(track))])
    points = np.array([point for track in tracks.values() for point in track]).T
    batch = TupleBatch.from_columns("f", AXES, pa.array(streams), ts, points)
    state = FeedState.empty("f", AXES)
    table = step(state, batch, index, deliveries=1, threads=threads, fast=fast).leaps
    return {
        (row["query_id"], row["stream_id"], row["ts"]): (row["enter_share"], row["leave_share"])
        for row in table.to_pylist()
    }


def found_by_reference(
    queries: list[StandingQuery], tracks: Mapping[str, Sequence[tuple[float, ...]]]
) -> dict[tuple[str, str, int], tuple[float, float]]:
    found = {}
    for name, track in tracks.items():
        for n in range(1, len(track)):
            before, now = (Head(k * 1_000_000, track[k]) for k in (n - 1, n))
            for query in queries:
                leap = reference.leap(query, name, before, now, 0)
                if leap is not None:
                    found[query.id, name, leap.ts] = (leap.enter, leap.leave)
    return found


tracks = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.lists(st.tuples(halves, halves, values), min_size=1, max_size=5),
    min_size=1,
)


@pytest.mark.parametrize("earth", [False, True])
@settings(max_examples=12)
@given(data=st.data())
def test_oracle_leaps_are_those_of_segment_arithmetic(data: st.DataObject, *, earth: bool) -> None:
    queries = data.draw(rules(earth=earth))
    assume(queries)
    moves = data.draw(tracks)
    expected = found_by_reference(queries, moves)
    found = found_by_engine(queries, moves)
    assert found == found_by_engine(queries, moves, fast=False)
    shaped = {q.id: q.region for q in queries}
    for key in found.keys() ^ expected.keys():  # it grazes what is round
        enter, leave = found.get(key) or expected[key]
        region = shaped[key[0]]
        assert leave - enter < 0.02, (key, enter, leave)
        assert region is not None, key
        assert region.kind != POLYGON, key
    for key in found.keys() & expected.keys():
        assert found[key] == pytest.approx(expected[key], abs=1e-9), key


def leaps_of(
    rule: Mapping[str, object], *track: tuple[float, ...], earth: bool = True
) -> list[tuple[float, float]]:
    obj = {"id": "q", "feed": "f", "leaps": True, **rule}
    query = query_from_json(obj, {"f": AXES}, {"f": Position((0, 1), earth)})
    found = found_by_engine([query], {"a": [(*point, 0.0)[:3] for point in track]})
    assert found.keys() == found_by_reference([query], {"a": [(*p, 0.0)[:3] for p in track]}).keys()
    return [share for _, share in sorted(found.items())]


def test_a_band_leapt_over_by_a_price_gap_is_found() -> None:
    assert leaps_of({"where": "x >= 10 AND x < 11"}, (8, 0), (12, 0)) == [(0.5, 0.75)]
    assert leaps_of({"where": "x BETWEEN 10 AND 11"}, (8, 0), (10, 0), (12, 0)) == []
    assert leaps_of({"where": "x >= 10 AND x < 11"}, (11, 0), (9, 0)) == [(0.0, 0.5)]


def test_ends_that_are_hardly_apart_or_beyond_all_sums_are_cut_into_cells() -> None:
    assert leaps_of({"where": "y = 0"}, (0, -1), (0, 1)) == [(0.5, 0.5)]
    wide = {"where": "x BETWEEN -1e308 AND 1e308 AND y BETWEEN 1 AND 2"}
    assert len(leaps_of(wide, (0, 0), (0, 3))) == 1


def test_a_query_without_leaps_has_none() -> None:
    assert leaps_of({"where": "x BETWEEN 10 AND 11", "leaps": False}, (8, 0), (12, 0)) == []


def test_the_corner_of_a_box_is_passed_or_not_exactly() -> None:
    third, box = 1 / 3, {"where": "x >= 0 AND x < 1 AND y >= 0 AND y < 1"}
    assert leaps_of(box, (-1, 1), (1, -1)) == []  # it only touches the corner
    assert len(leaps_of(box, (-1, 1), (1, np.nextafter(-1, 0)))) == 1
    assert leaps_of(box, (-third, third), (third, -third)) == []


def test_a_step_across_the_antimeridian_is_the_short_way() -> None:
    zones = [[[[lon, -1], [lon + 0.5, -1], [lon + 0.5, 1], [lon, 1], [lon, -1]]]
             for lon in (-180, 179.5)]  # fmt: skip
    whole = {"region": {"type": "MultiPolygon", "coordinates": zones}}
    assert leaps_of(whole, (179, 0), (-179, 0)) == [(0.25, 0.75)]
    assert leaps_of(whole, (-179, 0), (179, 0)) == [(0.25, 0.75)]
    greenwich = {"region": {"circle": {"center": [0, 0], "radius": "100km"}}}
    assert leaps_of(greenwich, (179, 0), (-179, 0)) == []
    there = {"region": {"circle": {"center": [180, 0], "radius": 111_195.0802335329 / 2}}}
    assert leaps_of(there, (179, 0), (-179, 0))[0] == pytest.approx((0.25, 0.75), abs=1e-6)


def test_many_threads_find_the_same_leaps() -> None:
    rng = np.random.default_rng(3)
    queries = [
        query_from_json(
            {"id": f"q{n}", "feed": "f", "leaps": True, "where": f"x BETWEEN {x} AND {x + 0.01}"},
            {"f": AXES},
        )
        for n, x in enumerate(rng.uniform(0, 10, 20).tolist())
    ]
    moves = {
        f"s{k}": [tuple(point) for point in rng.uniform(0, 10, (500, 3)).tolist()]
        for k in range(20)
    }
    alone = found_by_engine(queries, moves)
    assert len(alone) > 10_000
    assert found_by_engine(queries, moves, threads=2) == alone
