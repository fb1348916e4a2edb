"""Match queries of a feed: all kinds of them, added and removed in any order, by any index."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import BrokenIndex, InputError
from fencepost.matches import KINDS, Matcher, ProbeInput, matcher
from fencepost.queries import QuerySet, StandingQuery, query_from_json
from fencepost.reference import holds_by_text
from fencepost.reference.crossings import covers
from fencepost.tuples import Doubles

AXES = ("x", "y")
STREAMS = ("a", "b", "c")
WHERES = (
    "x >= 1 AND x < 3",
    "x BETWEEN 1 AND 2 AND y > 0",
    "x < 1 OR x > 2",
    "x <= 2 OR y <= 2",
    "x > y",
    "x BETWEEN 0 AND 2 AND y BETWEEN 0 AND 2 AND x > y",
    "NOT (x = y)",
    "x = y OR x >= 3",
    "x <= y AND y <= x",
    "ALL",
    "y = 2",
)
OF_TWO = [name for name, kind in KINDS.items() if kind.axes in (None, 2)]


def match(name: str, where: str, **more: object) -> StandingQuery:
    """A match query, as JSON gives it."""
    given = {"id": name, "feed": "f", "kind": "match", "where": where, **more}
    return query_from_json(given, {"f": AXES})


def set_of(queries: list[StandingQuery]) -> QuerySet:
    return QuerySet.from_queries("f", AXES, queries, kind="match")


def asked(points: Doubles, ts: int | None = 0) -> ProbeInput:
    """The points, seen on the streams in turn, at one time."""
    count = points.shape[1]
    stream = (np.arange(count) % len(STREAMS)).astype(np.int32)
    times = None if ts is None else np.full(count, ts)
    return ProbeInput(points, pa.array(STREAMS), stream, times)


def grid_points() -> Doubles:
    values = np.arange(-1.0, 5.0, 0.5)
    x, y = np.meshgrid(values, values)
    return np.stack([x.ravel(), y.ravel()])


def expected(queries: list[StandingQuery], points: Doubles, ts: int = 0) -> list[set[str]]:
    """Who holds each point, query by query, by what the text says."""
    told = []
    for place, point in enumerate(points.T.tolist()):
        stream = STREAMS[place % len(STREAMS)]
        told.append(
            {
                q.id
                for q in queries
                if covers(q, stream)
                and (q.valid_from is None or q.valid_from <= ts)
                and (q.valid_to is None or ts < q.valid_to)
                and holds_by_text(q, AXES, point)
            }
        )
    return told


def found_by(holding: Matcher, points: Doubles, threads: int = 1) -> list[list[str]]:
    found = holding.probe(asked(points), threads)
    names = holding.queries.ids.to_pylist()
    return [sorted(names[row] for row in found.at(point)) for point in range(len(found))]


def same(holding: Matcher, queries: list[StandingQuery], points: Doubles) -> None:
    """The same queries hold at each point, each once."""
    wanted = [sorted(names) for names in expected(queries, points)]
    assert found_by(holding, points) == wanted


@st.composite
def query_lists(draw: st.DrawFn) -> list[StandingQuery]:
    many = draw(st.integers(0, 12))
    drawn = []
    for number in range(many):
        more: dict[str, object] = {}
        if draw(st.booleans()):
            more["streams"] = draw(st.lists(st.sampled_from(("a", "b", "z")), min_size=1))
        if draw(st.integers(0, 3)) == 0:
            more["valid_from"] = f"{draw(st.sampled_from((1969, 1971)))}-01-01T00:00:00Z"
        if draw(st.integers(0, 3)) == 0:
            more["valid_to"] = f"{draw(st.sampled_from((1960, 1970, 1990)))}-01-01T00:00:00Z"
        if str(more.get("valid_from", "")) >= str(more.get("valid_to", "z")):
            del more["valid_to"]
        drawn.append(match(f"q{number}", draw(st.sampled_from(WHERES)), **more))
    return drawn


@pytest.mark.parametrize("index", OF_TWO)
def test_oracle_every_index_finds_the_queries_that_hold_by_their_text(index):
    queries = [match(f"q{n}", where) for n, where in enumerate(WHERES)]
    queries += [match(f"b{n}", where, streams=["b", "z"]) for n, where in enumerate(WHERES)]
    queries.append(match("late", "ALL", valid_from="2000-01-01T00:00:00Z"))
    holding = Matcher.build(set_of(queries), index)
    holding.check()
    same(holding, queries, grid_points())


@given(before=query_lists(), data=st.data())
def test_oracle_queries_may_come_and_go_in_any_order(before, data):
    holding, standing = Matcher.build(set_of(before)), list(before)
    for turn in range(4):
        if standing and data.draw(st.booleans()):
            gone = data.draw(st.lists(st.sampled_from([q.id for q in standing]), unique=True))
            holding = holding.with_removed(gone)
            standing = [q for q in standing if q.id not in gone]
        else:
            wheres = data.draw(st.lists(st.sampled_from(WHERES), max_size=3))
            new = [match(f"t{turn}-{n}", where) for n, where in enumerate(wheres)]
            holding = holding.with_added(set_of(new))
            standing += new
        holding.check()
        same(holding, standing, grid_points()[:, ::7])


def test_a_matcher_is_laid_out_anew_when_much_has_come_or_gone(monkeypatch):
    monkeypatch.setattr(matcher, "REBUILD_FLOOR", 4)
    queries = [match(f"q{n}", f"x >= {n}") for n in range(8)]
    holding = Matcher.build(set_of(queries[:2]))
    for query in queries[2:]:
        holding = holding.with_added(set_of([query]))
    assert len(holding.parts) < 6
    holding = holding.with_removed(["q1"]).with_removed(["q2", "q3", "q4", "q5", "q6"])
    assert len(holding.parts) == 1
    same(holding, [queries[0], queries[7]], grid_points())


def test_few_tuples_are_compared_without_an_index_until_they_are_many(monkeypatch):
    queries = [match(f"q{n}", f"x >= {n}") for n in range(40)]
    few = Matcher.build(set_of(queries), tuples=100)
    assert [choice.name for choice in few.choices] == ["scan"]
    assert few.serving(1000) is few
    same(few.with_added(set_of([match("r", "ALL")])), [*queries, match("r", "ALL")], grid_points())
    monkeypatch.setattr(matcher, "SOON", 40 * 1000)
    many = few.serving(1001)
    assert [choice.name for choice in many.choices] != ["scan"]
    assert many.serving(10**12) is many
    same(many, queries, grid_points())


def test_no_times_asks_for_all_that_ever_hold():
    queries = [match("then", "ALL", valid_to="1960-01-01T00:00:00Z"), match("always", "ALL")]
    holding = Matcher.build(set_of(queries))
    points = np.zeros((2, 1))
    assert len(holding.probe(asked(points)).ids) == 1
    assert len(holding.probe(asked(points, None)).ids) == 2


def test_threads_find_the_same(monkeypatch):
    monkeypatch.setattr(matcher, "FEWEST_APIECE", 16)
    queries = [match(f"q{n}", where) for n, where in enumerate(WHERES)]
    holding = Matcher.build(set_of(queries))
    points = grid_points()
    assert found_by(holding, points, 3) == found_by(holding, points)


def test_no_queries_and_no_points_are_no_fault():
    holding = Matcher.build(set_of([]))
    holding.check()
    assert len(holding.probe(asked(np.zeros((2, 3)))).ids) == 0
    one = Matcher.build(set_of([match("q", "ALL")]))
    assert len(one.probe(asked(np.zeros((2, 0))))) == 0


def test_a_broken_part_is_noticed():
    holding = Matcher.build(set_of([match("q", "x > 1"), match("r", "x > 2")]))
    part = holding.parts[0]
    assert part.everywhere is not None
    lo = part.everywhere.index.boxes.lo
    lo.flags.writeable = True
    lo[0, 0] = 7.0
    with pytest.raises(BrokenIndex, match="not those of the queries"):
        holding.check()


def test_an_unknown_index_is_refused_with_the_names_there_are():
    with pytest.raises(InputError, match=r"unknown index 'lader'.*Did you mean 'ladder'"):
        Matcher.build(set_of([match("q", "ALL")]), "lader")
    with pytest.raises(InputError, match="'ladder' is for 1 axis, not for 2"):
        Matcher.build(set_of([match("q", "ALL")]), "ladder")
