"""The registry counts the changes of a query, keeps every word of it, and knows what stood when."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import LakeError
from fencepost.queries import QuerySet, parse_where
from fencepost.queries.files import read_queries
from pipelines.files.read.query_file import open_queries
from pipelines.lake.sequence import ARRIVALS
from pipelines.registry.cache import compiled_queries, load_queries
from pipelines.registry.changes import QueryChanges, compare, not_named
from pipelines.registry.current_rows import newest_rows, standing_rows
from pipelines.registry.queries import (
    DEFINITION,
    query_set,
    query_set_of,
    standing,
    version_at,
)
from pipelines.registry.query_files import given_one, read_given
from schemas.queries import QUERIES
from tests.support.commands.files import written
from tests.support.lakes.on_disk import on_disk
from tests.support.lakes.registry_lake import AXES, Lake, Row, lines_of, query, said

HISTORY = QUERIES.arrow


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake.new(tmp_path)


FULL = query(
    streams=["a", "b"],
    within="3m",
    valid_from="2026-01-01T00:00:00Z",
    valid_to="2027-01-01T00:00:00Z",
    owner="ada",
    tags=["x", "y"],
    note="n",
)


@pytest.mark.parametrize(
    "other",
    [
        {"where": "price >= 2 AND price <= 5"},
        {"where": "price >= 2 AND price < 5 OR volume > 3"},
        {"where": "volume >= 2 AND volume < 5"},
        {"feed": "locations", "where": "x >= 2 AND x < 5"},
        {"streams": ["a"]},
        {"streams": ["a", "c"]},
        {"streams": None},
        {"streams_like": "a*"},
        {"streams_like": ["a*", "b"]},
        {"streams": None, "streams_like": "a*"},
        {"within": "181s"},
        {"within": "0s"},
        {"within": None},
        {"on_first": "enter"},
        {"valid_from": "2026-01-01T00:00:00.000001Z"},
        {"valid_from": None},
        {"valid_to": None},
    ],
)
def test_a_change_of_what_is_evaluated_is_the_next_version(lake, other):
    lake.put(FULL, query("stays"))
    done = lake.put(FULL | other)
    assert (said(done), done.n, done.registry_version) == ({"changed": 1}, 2, 2)
    (row,) = [row for row in lake.standing() if row["id"] == "q"]
    assert (row["version"], row["n"], row["registry_version"]) == (2, 2, 2)
    assert said(lake.put(FULL | other, query("stays"))) == {"unchanged": 2}


@pytest.mark.parametrize(
    "other",
    [
        {"owner": "bob"},
        {"owner": None},
        {"note": "m"},
        {"note": ""},
        {"tags": ["y", "x"]},
        {"tags": ["x"]},
        {"tags": ["x", "z"]},
        {"tags": None},
        {"where": "price  >=  2.0 and 5 > price"},
        {"where": "price BETWEEN 2 AND 4.999999999999999"},
    ],
)
def test_a_change_of_free_words_or_spelling_is_an_edit_of_the_same_version(lake, other):
    lake.put(FULL)
    before = lake.set()
    done = lake.put(FULL | other)
    assert (said(done), done.registry_version) == ({"edited": 1}, 2)
    (row,) = lake.standing()
    assert row["version"] == 1
    for name, value in other.items():
        assert row[name] == value
    assert lake.set().fingerprint == before.fingerprint


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"streams": ["b", "a", "b"]},
        {"within": "PT3M"},
        {"on_first": "silent", "kind": "crossing"},
        {"valid_from": "2026-01-01T01:00:00+01:00"},
    ],
)
@pytest.mark.fault(43)
def test_the_same_in_other_words_is_no_commit_and_takes_no_number(lake, other):
    lake.put(FULL)
    version = lake.store.version(ARRIVALS)
    done = lake.put(FULL | other)
    assert (said(done), done.n, done.registry_version) == ({"unchanged": 1}, None, 1)
    assert lake.store.version(ARRIVALS) == version
    assert lake.store.rows("queries").num_rows == 1


def test_boxes_are_a_set_whatever_their_order(lake):
    lake.put(query(where="price < 1 OR price > 9"))
    assert said(lake.put(query(where="price > 9 OR price < 1"))) == {"edited": 1}
    assert said(lake.put(query(where="price > 9 OR price < 2"))) == {"changed": 1}


@pytest.mark.fault(43)
def test_versions_go_on_after_a_removal(lake):
    lake.put(query(), query("other"))
    assert said(lake.put(query(where="price > 1"))) == {"changed": 1}
    removed = lake.put(gone=("q", "never"))
    assert (said(removed), removed.registry_version) == ({"removed": 1}, 3)
    assert lake.ids() == ["other"]
    assert said(lake.put(gone=("q",))) == {}
    assert said(lake.put(query(where="price > 1"))) == {"added": 1}
    assert {row["id"]: row["version"] for row in lake.standing()} == {"other": 1, "q": 3}


def test_what_is_given_is_not_removed(lake):
    lake.put(query("a"), query("b"))
    assert said(lake.put(query("a"), gone=("a", "b"))) == {"unchanged": 1, "removed": 1}


def test_a_file_that_stands_for_all_removes_what_it_does_not_name(lake):
    on_locations = query("l", feed="locations", where="x > 1")
    lake.put(query("a"), query("b"), on_locations)
    given = given_one({"feed": "ticks"} | query("b"), "test", AXES)
    there = standing(lake.store)
    assert not_named(there, given, None).to_pylist() == ["a", "l"]
    assert not_named(there, given, "ticks").to_pylist() == ["a"]


def test_a_table_without_spelling_keeps_the_spelling_that_stands(lake, tmp_path):
    lake.put(query("a"), query("b"))
    pq.write_table(
        pa.table(
            {"id": ["b", "a"], "price_lo": [2.0, 2.0], "price_hi": [6.0, 5.0], "note": ["n", "m"]}
        ),
        tmp_path / "q.parquet",
    )
    given = read_given([str(tmp_path / "q.parquet")], AXES, "ticks")
    assert said(lake.register(given)) == {"changed": 1, "edited": 1}
    found = {row["id"]: (row["where"], row["note"]) for row in lake.standing()}
    assert found == {"a": ("price >= 2 AND price < 5", "m"), "b": (None, "n")}


# ── sets, versions, and the cache ─────────────────────────────────────────────────────────────────


def test_the_registry_has_the_fingerprint_of_the_file_it_was_read_from(lake, tmp_path):
    text = lines_of(
        query("a", where="price < 1 OR volume > 2 AND price < 7", streams=["s", "t"]),
        query("b", within="3m", on_first="enter"),
        query("c", where="ALL", valid_from="2026-01-01T00:00:00Z"),
        query("d", where="price = -0.0"),
        query("l", feed="locations", where="x > 1"),
    )
    file = written(tmp_path, "q.jsonl", text)
    lake.register(read_given([str(file)], AXES, None))
    read = read_queries([open_queries(str(file))], AXES, None)
    for feed in AXES:
        queries = query_set(lake.store, lake.settings, feed)
        queries.check()
        assert queries.fingerprint == read.sets[feed].fingerprint
    lake.put(query("b", within="4m", on_first="enter"))
    written(tmp_path, "q.jsonl", text.replace("3m", "4m"))
    changed = read_queries([open_queries(str(file))], AXES, None).sets["ticks"]
    versions = np.array([1, 2, 1, 1], np.int32)
    columns = changed.columns()._replace(versions=versions)
    assert lake.set().fingerprint == QuerySet("ticks", AXES["ticks"], *columns).fingerprint


def test_what_is_registered_later_stands_behind_and_edits_move_nothing(lake):
    lake.put(query("m"), query("z"), query("a"))
    assert lake.ids() == ["a", "m", "z"]
    lake.put(query("b"), query("a", owner="ada"))
    assert lake.ids() == ["a", "m", "z", "b"]
    lake.put(query("m", where="price > 1"), query("c"), gone=("z",))
    assert lake.ids() == ["a", "b", "c", "m"]
    lake.put(query("z"), query("m", where="price > 1", note="edited"))
    assert lake.ids() == ["a", "b", "c", "m", "z"]


def test_an_older_version_is_what_stood_then(lake):
    lake.put(query("a"), query("b"))
    lake.put(query("a", where="price > 1", owner="ada"))
    lake.put(query("c"), gone=("b",))
    assert [lake.ids(version) for version in range(4)] == [
        [],
        ["a", "b"],
        ["b", "a"],
        ["a", "c"],
    ]
    (first,) = [row for row in lake.standing(1) if row["id"] == "a"]
    assert (first["version"], first["owner"], first["lo"][0]) == (1, None, 2.0)
    assert [version_at(lake.store.rows(ARRIVALS), n) for n in range(1, 6)] == [0, 1, 2, 3, 3]


def test_a_cached_set_is_the_set_and_no_copy_of_it(lake):
    lake.put(query("a", streams=["s"], where="price < 1 OR price > 3"), query("b", within="3m"))
    lake.put(query("ü", on_first="enter"))
    path = on_disk(compiled_queries(lake.store, lake.settings, "ticks", 2))
    assert path.parent == lake.root / "_cache"
    found = load_queries(path)
    found.check()
    whole = QuerySet(found.feed, found.axes, *found.columns())
    assert found.fingerprint == whole.fingerprint == lake.set(2).fingerprint
    assert found.ids.to_pylist() == lake.ids(2)
    assert not found.lo.flags.owndata
    stamp = path.stat().st_mtime_ns
    assert compiled_queries(lake.store, lake.settings, "ticks", 2) == path
    assert path.stat().st_mtime_ns == stamp
    none = load_queries(compiled_queries(lake.store, lake.settings, "locations", 2))
    assert (len(none), none.axes, none.lo.shape) == (0, AXES["locations"], (3, 0))


@pytest.mark.fault(57)
def test_a_cached_file_that_is_missing_torn_or_wrong_is_made_anew(lake):
    lake.put(*(query(f"q{k}") for k in range(50)))
    lake.put(query("q7", where="price >= 0.123456789"))
    path = on_disk(compiled_queries(lake.store, lake.settings, "ticks", 2))
    right = path.read_bytes()
    older = compiled_queries(lake.store, lake.settings, "ticks", 1).read_bytes()
    at = right.index(np.float64(0.123456789).tobytes())
    one_bit_off = right[: at + 3] + bytes([right[at + 3] ^ 1]) + right[at + 4 :]
    all_wrong = (b"", right[:-1], right[: len(right) // 2], b"junk" * 999, older, one_bit_off)
    for place, wrong in enumerate(all_wrong):
        path.write_bytes(wrong)
        os.utime(path, ns=(place, place))  # the clock of a file system ticks every few ms
        compiled_queries(lake.store, lake.settings, "ticks", 2)
        assert path.read_bytes() == right
    path.unlink()
    compiled_queries(lake.store, lake.settings, "ticks", 2)
    assert path.read_bytes() == right
    assert sorted(each.name for each in path.parent.iterdir()) == [
        "queries-ticks-1.arrow",
        "queries-ticks-2.arrow",
    ]


def test_boxes_over_other_axes_are_refused(lake):
    lake.put(query())
    rows = standing(lake.store)
    with pytest.raises(LakeError, match=r"not over its 3 axes, price, volume, size"):
        query_set_of("ticks", ("price", "volume", "size"), rows)


# ── against the rules, word by word ───────────────────────────────────────────────────────────────

WHERES = ("price > 1", "1 < price", "price > 1 OR volume > 1", "volume > 1 OR price > 1", "ALL")
drawn_queries = st.fixed_dictionaries(
    {"where": st.sampled_from(WHERES)},
    optional={
        "streams": st.sampled_from((["s"], ["s", "t"], ["t", "s"])),
        "within": st.sampled_from(("1m", "60s", "2m")),
        "on_first": st.sampled_from(("silent", "enter")),
        "valid_to": st.just("2027-01-01T00:00:00Z"),
        "owner": st.sampled_from(("ada", "bob")),
        "tags": st.sampled_from((["t"], ["t", "u"], ["u", "v"], [])),
        "note": st.sampled_from(("", "n")),
    },
)
imports = st.tuples(
    st.dictionaries(st.sampled_from("abcde"), drawn_queries, max_size=5),
    st.sets(st.sampled_from("abcde")),
)


def evaluated(fields: Row) -> object:
    """What of a query is evaluated, read straight from the rules."""
    return (
        frozenset(parse_where(fields["where"], AXES["ticks"])),
        frozenset(fields.get("streams", ())),
        {"60s": "1m"}.get(fields.get("within", ""), fields.get("within")),
        fields.get("on_first", "silent"),
        fields.get("valid_to"),
    )


def free(fields: Row) -> object:
    """What is not."""
    return (
        fields["where"],
        fields.get("owner"),
        fields.get("tags") or None,
        fields.get("note"),
    )


@given(st.lists(imports, min_size=1, max_size=5))
def test_versions_are_those_of_the_rules_read_one_query_at_a_time(steps):
    log = HISTORY.empty_table()
    standing: dict[str, tuple[Row, int]] = {}
    versions: dict[str, int] = {}
    for n, (queries, gone) in enumerate(steps, 1):
        wanted = dict.fromkeys(("added", "changed", "edited", "unchanged", "removed"), 0)
        for id, fields in queries.items():
            before = standing.get(id)
            if before is None:
                what = "added"
            elif evaluated(before[0]) != evaluated(fields):
                what = "changed"
            else:
                what = "edited" if free(before[0]) != free(fields) else "unchanged"
            wanted[what] += 1
            if what in ("added", "changed"):
                versions[id] = versions.get(id, 0) + 1
            standing[id] = (fields, versions[id])
        for id in sorted(gone - queries.keys() & gone):
            wanted["removed"] += standing.pop(id, None) is not None
        tables = [
            given_one({"id": id, "feed": "ticks"} | fields, "test", AXES)
            for id, fields in queries.items()
        ]
        given = pa.concat_tables([DEFINITION.empty_table(), *tables])
        changes = QueryChanges(given, pa.array(sorted(gone), pa.string()))
        found = compare(newest_rows(log), changes, AXES)
        assert {name: getattr(found, name) for name in wanted} == wanted
        numbers = pa.repeat(pa.scalar(n), found.rows.num_rows)
        numbered = found.rows.append_column("n", numbers).append_column("registry_version", numbers)
        log = pa.concat_tables([log, numbered.select(HISTORY.names).cast(HISTORY)])
        rows = standing_rows(log).to_pylist()
        assert {row["id"]: row["version"] for row in rows} == {
            id: version for id, (_, version) in standing.items()
        }
        for row in rows:
            fields = standing[row["id"]][0]
            assert (row["where"], row["owner"], row["tags"], row["note"]) == free(fields)
