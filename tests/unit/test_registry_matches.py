"""Matches stand in the registry beside crossings: one log, and of each kind a set of its own."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import Faults
from fencepost.queries import MATCH, QuerySet, StandingQuery, parted, read_queries_jsonl
from fencepost.queries.files import read_queries
from pipelines.files.read.query_file import open_queries
from pipelines.registry.cache import compiled_queries, load_queries
from pipelines.registry.queries import query_set_of, rows_of, rows_of_each, standing
from pipelines.registry.query_files import read_given
from pipelines.registry.text import json_lines
from tests.support.commands.files import written
from tests.support.lakes.on_disk import on_disk
from tests.support.lakes.registry_lake import AXES, Lake, Row, lines_of, query, said
from tests.support.stories.strategies import FEED, axis_names, matches


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake.new(tmp_path)


def match(id: str = "m", where: str = "price > volume", **fields) -> Row:
    return query(id, kind="match", where=where, **fields)


def test_each_kind_is_a_set_of_its_own(lake):
    lake.put(query("a"), match("b"), query("c"), match("d", where="price < 1 OR volume = price"))
    assert lake.ids() == ["a", "b", "c", "d"]
    assert lake.set().ids.to_pylist() == ["a", "c"]
    queries = lake.set(kind=MATCH)
    queries.check()
    assert (queries.kind, queries.ids.to_pylist()) == ("match", ["b", "d"])
    assert queries.test_ptr.tolist() == [0, 1, 1, 2]
    assert queries.tests.tolist() == [[1, 0, 0], [0, 2, 1]]


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "crossing", "where": "price > 1"},
        {"where": "price >= volume"},
        {"where": "volume > price"},
        {"where": "price > volume AND price > 0"},
        {"where": "price > volume OR volume < 1"},
        {"where": "price > 1"},
        {"streams": ["a"]},
    ],
)
def test_a_change_of_kind_or_of_a_test_is_the_next_version(lake, other):
    lake.put(match(note="n"), query("stays"))
    assert said(lake.put(match(note="n") | other)) == {"changed": 1}
    (row,) = [row for row in lake.standing() if row["id"] == "m"]
    assert (row["version"], row["kind"]) == (2, other.get("kind", "match"))
    assert said(lake.put(match(note="n") | other)) == {"unchanged": 1}


def test_kinds_that_say_the_same_boxes_are_two_versions(lake):
    lake.put(query())
    assert said(lake.put(query(kind="match"))) == {"changed": 1}
    assert (len(lake.set()), lake.set(kind=MATCH).versions.tolist()) == (0, [2])
    assert lake.set(1).ids.to_pylist() == ["q"]
    assert len(lake.set(1, kind=MATCH)) == 0


def test_the_same_tests_in_other_words_are_an_edit(lake):
    lake.put(match(where="NOT price = volume"))
    assert said(lake.put(match(where="volume < price OR volume > price"))) == {"edited": 1}
    assert said(lake.put(match(where="volume < price OR volume > price"))) == {"unchanged": 1}


def test_a_cached_set_of_matches_is_the_set(lake):
    lake.put(query("a"), match("b", streams=["s"]), match("c", where="price = volume OR ALL"))
    path = on_disk(compiled_queries(lake.store, lake.settings, "ticks", 1, MATCH))
    found = load_queries(path)
    found.check()
    whole = lake.set(kind=MATCH)
    assert (found.kind, found.fingerprint) == ("match", whole.fingerprint)
    assert found.tests.tolist() == whole.tests.tolist()
    crossings = load_queries(compiled_queries(lake.store, lake.settings, "ticks", 1))
    assert (crossings.kind, crossings.ids.to_pylist()) == ("crossing", ["a"])
    right = path.read_bytes()
    path.write_bytes((path.parent / "queries-ticks-1.arrow").read_bytes())
    assert compiled_queries(lake.store, lake.settings, "ticks", 1, MATCH).read_bytes() == right


@st.composite
def several_matches(draw: st.DrawFn) -> tuple[tuple[str, ...], list[StandingQuery]]:
    axes = draw(axis_names(3))
    return axes, [draw(matches(axes, f"m{n}")) for n in range(draw(st.integers(0, 4)))]


@given(several_matches())
def test_matches_become_rows_and_come_back_to_the_bit(drawn):
    axes, queries = drawn
    whole = QuerySet.from_queries(FEED, axes, queries, MATCH)
    for rows in (rows_of(whole, {}), rows_of_each(queries)):
        again = query_set_of(FEED, axes, rows, MATCH)
        again.check()
        assert again.fingerprint == whole.fingerprint
        assert again.tests.tolist() == whole.tests.tolist()
        lines = [line.encode() for line in json_lines(rows, {FEED: axes})]
        read, _ = parted(read_queries_jsonl(lines, "exported", {FEED: axes}))
        assert [(q.boxes, q.tests) for q in read] == [(q.boxes, q.tests) for q in queries]


def test_an_export_of_both_kinds_imports_to_the_same(lake, tmp_path):
    lake.put(query("a"), match("b"), match("c", where="price > 1", note="n", streams=["s"]))
    text = "".join(f"{line}\n" for line in json_lines(standing(lake.store), AXES))
    assert [json.loads(line).get("kind") for line in text.splitlines()] == [None, "match", "match"]
    file = written(tmp_path, "out.jsonl", text)
    assert said(lake.register(read_given([str(file)], AXES, None))) == {"unchanged": 3}


def test_files_give_sets_of_each_kind_and_an_id_stands_once_over_all(tmp_path):
    text = lines_of(query("a"), match("b"), match("c", feed="absent", where="p > q"))
    lines = written(tmp_path, "q.jsonl", text)
    table = pa.table({"id": ["d", "e"], "kind": ["match", None], "price_lo": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    files = [open_queries(str(file)) for file in (lines, tmp_path / "t.parquet")]
    read = read_queries(files, {"ticks": AXES["ticks"]}, "ticks")
    assert read.sets["ticks"].ids.to_pylist() == ["a", "e"]
    assert read.matches["ticks"].ids.to_pylist() == ["b", "d"]
    assert read.unevaluated == {"absent": 1}
    for clash in (lines_of(query("d")), lines_of(match("e"))):
        again = open_queries(str(written(tmp_path, "again.jsonl", clash)))
        with pytest.raises(Faults, match="is in"):
            read_queries([*files, again], {"ticks": AXES["ticks"]}, "ticks")
    twice = open_queries(str(written(tmp_path, "twice.jsonl", lines_of(query("a"), match("a")))))
    with pytest.raises(Faults, match="occurs twice"):
        read_queries([twice], AXES, None)


def test_a_table_of_several_feeds_and_kinds_keeps_its_words_with_their_rows(lake, tmp_path):
    table = pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "feed": ["ticks", "locations", "ticks", "ticks"],
            "kind": pa.array(["match", "match", None, "match"]).dictionary_encode(),
            "price_lo": [1.0, None, 3.0, 4.0],
            "x_lo": [None, 2.0, None, None],
            "note": ["of a", "of b", "of c", "of d"],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    lake.register(read_given([str(tmp_path / "t.parquet")], AXES, None))
    assert {row["id"]: (row["kind"], row["note"], row["lo"][0]) for row in lake.standing()} == {
        "a": ("match", "of a", 1.0),
        "b": ("match", "of b", 2.0),
        "c": ("crossing", "of c", 3.0),
        "d": ("match", "of d", 4.0),
    }


def test_a_match_of_a_table_with_a_within_is_refused_with_its_row(tmp_path):
    table = pa.table({"id": ["a", "b"], "kind": ["crossing", "match"], "within": ["3m", "3m"]})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(Faults, match=r"t\.parquet:2: a match has no `within`"):
        read_given([str(tmp_path / "t.parquet")], AXES, "ticks")
