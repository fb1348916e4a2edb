"""Queries with a region: what they say, the boxes and columns they come to, whom they hold."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fencepost as fp
from fencepost.errors import BrokenIndex, Faults, InputError
from fencepost.matches import Matcher
from fencepost.matches.matcher import ProbeInput
from fencepost.position import Position, declared_position
from fencepost.queries import QuerySet, StandingQuery, check_query
from fencepost.reference import holds
from tests.support.query_columns import as_lists

AXES = {"vans": ("speed", "lon", "lat"), "ticks": ("price",), "plane": ("x", "y", "z")}
POSITIONS = {
    "vans": Position((1, 2), earth=True),
    "plane": Position((0, 1), earth=False),
}
SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]]}
HOLED = "POLYGON ((0 0, 6 0, 6 6, 0 6, 0 0), (2 2, 4 2, 4 4, 2 4, 2 2))"
CIRCLE = {"circle": {"center": [3, 3], "radius": 2}}
CORRIDOR = {"corridor": {"line": [[0, 0], [6, 3]], "width": 2}}
REGIONS = (SQUARE, HOLED, CIRCLE, CORRIDOR)
INF = math.inf


def read(**fields):
    found, faults = check_query({"id": "q", "feed": "plane", **fields}, AXES, POSITIONS)
    assert faults == [], faults
    return found


def faults_of(**fields):
    found, faults = check_query({"id": "q", "feed": "plane", **fields}, AXES, POSITIONS)
    assert found is None
    return [(fault.message, fault.hint) for fault in faults]


def of_plane(*queries):
    return QuerySet.from_queries("plane", AXES["plane"], queries)


def test_a_region_cuts_the_boxes_of_the_condition_to_its_bounds():
    query = read(region=SQUARE, where="z > 1 AND (x < 1 OR x >= 3)")
    above = (math.nextafter(1.0, INF), INF)
    assert query.boxes == (((0.0, 1.0), (0.0, 4.0), above), ((3.0, 4.0), (0.0, 4.0), above))
    assert query.position == (0, 1)


def test_a_region_is_all_the_condition_there_is_where_no_other_is_given():
    query = read(region=SQUARE)
    assert (query.where, query.boxes) == ("ALL", (((0.0, 4.0), (0.0, 4.0), (-INF, INF)),))
    both = [read(region=given).region for given in (HOLED, CIRCLE)]
    assert [region.kind for region in both] == [0, 1]


def test_what_a_region_cannot_be_is_said():
    (fault,) = faults_of(feed="ticks", region=SQUARE)
    assert fault[0] == "`region`: the feed has no `position`"
    assert "position = [" in fault[1]
    ((message, _),) = faults_of(region=SQUARE, where="x > 5")
    assert message == "`where` and `region` never hold together: they have no place in common"
    ((message, _),) = faults_of(region="POLYGON ((1 0, 1 1, 1 2, 1 0))")
    assert message == "`region` holds no point: it has no area"
    ((message, _),) = faults_of(region=3)
    assert "region" in message
    ((message, _),) = faults_of(where=None)
    assert message == "`where` is missing"
    ((message, _),) = faults_of(kind="match", region=SQUARE, leaps=True)
    assert message == "a `match` has no `leaps`"
    ((message, _),) = faults_of(region=SQUARE, leaps="yes")
    assert message == "`leaps` must be true or false, not text"


def test_the_rest_of_a_query_is_checked_beside_a_broken_region():
    assert len(faults_of(region=3, where="nonsense", tags=3)) == 3


@pytest.mark.parametrize("region", REGIONS)
def test_a_region_of_an_unknown_feed_is_checked_in_its_form(region):
    found, faults = check_query(
        {"id": "q", "feed": "later", "region": region}, {}, feeds_may_be_absent=True
    )
    assert isinstance(found, StandingQuery)
    assert (found.boxes, faults) == ((), [])
    _, faults = check_query(
        {"id": "q", "feed": "later", "region": {"circle": {}}}, {}, feeds_may_be_absent=True
    )
    assert faults


def test_a_position_is_on_the_earth_by_its_names_or_as_the_feed_says():
    axes = ("speed", "lon", "lat", "x", "y", "gpsLongitude", "gpsLatitude")
    assert declared_position(axes, ("lon", "lat")) == ((1, 2), True)
    assert declared_position(axes, ("gpsLongitude", "gpsLatitude")) == ((5, 6), True)
    assert declared_position(axes, ("x", "y")) == ((3, 4), False)
    assert declared_position(axes, ("x", "y"), "degrees") == ((3, 4), True)
    assert declared_position(axes, ("lon", "lat"), "plane") == ((1, 2), False)
    assert declared_position(axes, ("lon", "y")) == ((1, 4), False)
    for names, why in (
        (("lat", "lon"), "longitude comes first"),
        (("lon",), "two axes"),
        (("lon", "lon"), "two axes"),
        (("lon", "latt"), "Did you mean 'lat'"),
    ):
        with pytest.raises(InputError, match=why):
            declared_position(axes, names)


def drawn_set(regions):
    queries = [
        replace(read(region=region) if region is not None else read(where="x < 3"), id=f"q{k}")
        for k, region in enumerate(regions)
    ]
    return queries, of_plane(*queries)


some_regions = st.lists(st.none() | st.sampled_from(REGIONS), max_size=6)


@given(some_regions, some_regions, st.randoms())
def test_oracle_sets_with_regions_are_lists_of_queries(first, more, draw):
    before, whole = drawn_set(first)
    after = [
        replace(query, id=f"r{k}", leaps=k % 2 == 0) for k, query in enumerate(drawn_set(more)[0])
    ]
    whole.fingerprint  # noqa: B018  so that its sums are carried along
    both = whole.with_added(of_plane(*after))
    both.check()
    assert as_lists(both.columns()) == as_lists(of_plane(*before, *after).columns())
    assert both.fingerprint == of_plane(*after, *before).fingerprint
    listed = [*before, *after]
    rows = [row for row in range(len(listed)) if draw.random() < 0.5]
    some = both.take(np.array(rows, np.int64))
    some.check()
    wanted = of_plane(*(listed[row] for row in rows))
    assert as_lists(some.columns()) == as_lists(wanted.columns())
    assert (some.fingerprint, some.position) == (wanted.fingerprint, wanted.position)
    gone = both.with_removed([query.id for query in before])
    assert gone.fingerprint == of_plane(*after).fingerprint


def test_what_a_query_says_of_place_is_in_its_fingerprint():
    plain, region = read(where="x >= 0 AND x < 4 AND y >= 0 AND y < 4"), read(region=SQUARE)
    on_others = replace(region, position=(1, 2))
    prints = [
        of_plane(query).fingerprint
        for query in (plain, region, on_others, replace(region, leaps=True), read(region=CIRCLE))
    ]
    assert len(set(prints)) == len(prints)
    assert of_plane(plain).fingerprint == "e3d82216f28e8d001bacc8574d75876d"


def test_regions_of_one_set_are_on_the_same_axes():
    one, other = read(region=SQUARE), replace(read(region=CIRCLE), id="r", position=(1, 2))
    with pytest.raises(InputError, match="same axes"):
        of_plane(one, other)
    with pytest.raises(InputError, match="other axes"):
        of_plane(one).with_added(of_plane(other))


def test_columns_of_shapes_that_are_not_one_a_query_are_refused():
    whole = of_plane(read(region=SQUARE))
    for broken in (
        replace(whole, shape=np.array([-1], np.int32)),
        replace(whole, position=None),
        replace(whole, position=(0, 7)),
    ):
        with pytest.raises(BrokenIndex):
            broken.check()


def test_a_table_of_regions_is_its_rows_read_one_by_one():
    texts = [
        '{"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]]}',
        HOLED,
        None,
        '{"circle": {"center": [3, 3], "radius": 2}}',
    ]
    table = pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "x_lo": [1.0, None, 2.0, None],
            "region": texts,
            "leaps": [True, None, False, None],
        }
    )
    place = POSITIONS["plane"]
    queries = QuerySet.from_table("plane", AXES["plane"], table, position=place)
    queries.check()
    rows = (
        {"id": "a", "where": "x >= 1", "region": SQUARE, "leaps": True},
        {"id": "b", "region": HOLED},
        {"id": "c", "where": "x >= 2"},
        {"id": "d", "region": CIRCLE},
    )
    one_by_one = of_plane(*(read(**row) for row in rows))
    assert as_lists(queries.columns()) == as_lists(one_by_one.columns())
    wrong = table.set_column(2, "region", [["POLYGON", HOLED, "{", '{"type": "Point"}']])
    with pytest.raises(Faults) as found:
        QuerySet.from_table("plane", AXES["plane"], wrong, position=place)
    assert [fault.line for fault in found.value.faults] == [1, 3, 4]
    with pytest.raises(Faults, match="no `position`"):
        QuerySet.from_table("plane", AXES["plane"], table)


grid = st.integers(-1, 7).map(float)


@given(
    st.lists(
        st.tuples(st.sampled_from(REGIONS), st.sampled_from(["ALL", "x < y", "z > 2 OR x <= 1"])),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.tuples(grid, grid, grid), min_size=1, max_size=12),
    st.sampled_from(["auto", "scan", "packed", "bitmaps"]),
)
def test_oracle_a_matcher_finds_the_regions_that_hold(drawn, points, index):
    queries = [
        read(kind="match", id=f"q{k}", region=region, where=where, streams=["s"] if k % 2 else None)
        for k, (region, where) in enumerate(drawn)
    ]
    matcher = Matcher.build(
        QuerySet.from_queries("plane", AXES["plane"], queries, "match"), index=index
    )
    matcher.check()
    names = pa.array(["s"])
    stream = np.zeros(len(points), np.int32)
    probe = ProbeInput(np.array(points).T.copy(), names, stream, None)
    found = matcher.probe(probe).in_order()
    for k, values in enumerate(points):
        expected = [row for row, query in enumerate(queries) if holds(query, values)]
        assert found.ids[found.ptr[k] : found.ptr[k + 1]].tolist() == expected


def test_a_monitor_keeps_the_position_that_its_regions_are_on():
    rule = {"id": "zone", "region": CIRCLE}
    at = lambda minute, x, y: [  # noqa: E731
        {"stream_id": "v", "ts": f"2026-11-18T08:{minute:02}:00Z", "x": x, "y": y}
    ]
    monitor = fp.Monitor(rule, position=("x", "y"))
    monitor.push(at(0, 9.0, 9.0))
    later = fp.Monitor.from_bytes(monitor.to_bytes(), rule)
    for each in (monitor, later):
        events = each.push(at(1, 5.0, 3.0)).events
        assert events.column("type").to_pylist() == ["I"]
        assert each.push(at(2, 4.9, 4.9)).events.column("type").to_pylist() == ["O"]
    with pytest.raises(Faults, match="no `position`"):
        fp.evaluate(at(0, 1.0, 1.0), rule)
