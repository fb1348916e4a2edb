"""Queries come from files whole or not at all, and go back to files that say the same."""

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fencepost.errors import Faults
from pipelines.registry.cache import compiled_queries, load_queries
from pipelines.registry.commit import Registered
from pipelines.registry.queries import standing
from pipelines.registry.query_files import given_line, read_given
from pipelines.registry.text import json_lines
from tests.support.commands.files import written
from tests.support.lakes.registry_lake import AXES, Lake, lines_of, query, said


@pytest.fixture
def lake(tmp_path) -> Lake:
    return Lake.new(tmp_path)


HOSTILE = [
    "it's",
    "'; DROP TABLE queries; --",
    '"quoted"',
    "..",
    "../../etc/passwd",
    "%2e%2e%2f",
    "a/b\\c",
    "$(id) `id` ${x}",
    "*?[a]",
    " ",
    " lead and trail ",
    "é",
    "e\u0301",
    "Case",
    "case",
    "CASE",
    "x" * 256,
    "ü" * 256,
    "😀",
    "\u202eright to left",
    "null",
    "true",
    "1",
    "-v",
    "--help",
    "__proto__",
    "a=b&c",
    "\ufeffbom",
    "\u2028line separator",
]


@pytest.mark.fault(44, 60)
def test_hostile_ids_and_notes_come_back_verbatim(lake, tmp_path):
    note = '\'; DROP\n\r\t\x00\x1b[31m\x9b2J\u2028 ö 😀 \\n "quoted"'
    given = [query(id, owner=id, tags=[id, note], note=note, streams=[id, "s"]) for id in HOSTILE]
    assert said(lake.put(*given)) == {"added": len(HOSTILE)}
    rows = {row["id"]: row for row in lake.anew().standing()}
    assert sorted(rows) == sorted(HOSTILE)
    for id, row in rows.items():
        assert (row["owner"], row["tags"], row["note"]) == (id, [id, note], note)
        assert sorted(row["streams"]) == sorted([id, "s"])
    lines = list(json_lines(standing(lake.store), AXES))
    assert all(line.isprintable() for line in lines)
    again = written(tmp_path, "again.jsonl", "\n".join(lines))
    assert said(lake.register(read_given([str(again)], AXES, None))) == {"unchanged": len(HOSTILE)}
    assert said(lake.put(gone=tuple(HOSTILE))) == {"removed": len(HOSTILE)}
    assert lake.ids() == []


def test_an_export_imports_to_the_same_set_boxes_without_spelling_too(lake, tmp_path):
    n = 200
    draw = np.random.default_rng(7)
    ends = [np.frombuffer(draw.bytes(8 * n), "<f8") for _ in range(2)]
    lo = np.where(np.isfinite(ends[0]), ends[0], 1e22)
    hi = np.where(np.isfinite(ends[1]), ends[1], 3.0)
    lo, hi = np.minimum(lo, hi), np.maximum(lo, hi)
    lo[:3], hi[:3] = (5e-324, -1.7976931348623157e308, 2**53 + 2), (1.0, -1.0, 2.0**60)
    table = pa.table(
        {
            "id": [f"q{k}" for k in range(n)],
            "price_lo": pa.array(lo, mask=np.arange(n) % 7 == 3),
            "volume_hi": pa.array(hi, mask=np.arange(n) % 5 == 3),
            "within": pa.array(draw.integers(0, 10**12, n), mask=np.arange(n) % 2 == 0),
        }
    )
    pq.write_table(table, tmp_path / "q.parquet")
    lake.register(read_given([str(tmp_path / "q.parquet")], AXES, "ticks"))
    file = written(tmp_path, "q.jsonl", "\n".join(json_lines(standing(lake.store), AXES)))
    again = lake.register(read_given([str(file)], AXES, None))
    assert said(again) == {"edited": n}  # they are spelled now
    (row,) = [row for row in lake.standing() if row["id"] == "q108"]
    assert row["where"] is not None
    assert lake.set(1).fingerprint == lake.set(2).fingerprint


# ── what cannot be taken ──────────────────────────────────────────────────────────────────────────


def refused(*files: Path, feed: str | None = None) -> list[str]:
    with pytest.raises(Faults) as caught:
        read_given([str(file) for file in files], AXES, feed)
    assert str(caught.value).endswith("nothing imported.")
    return [f"{Path(f.source).name}:{f.line}: {f.message}" for f in caught.value.faults]


@pytest.mark.fault(69)
def test_every_fault_of_every_file_is_told(tmp_path):
    bad = written(tmp_path, "bad.jsonl", lines_of(query("a"), query("b", where="prize > 1")))
    worse = written(tmp_path, "worse.jsonl", lines_of(query("a"), query("b", feed="tick")))
    good = written(tmp_path, "good.jsonl", lines_of(query("a")))
    again = written(tmp_path, "again.jsonl", lines_of(query("c"), query("a")))
    assert refused(bad, tmp_path / "none.jsonl", worse) == [
        "bad.jsonl:2: unknown axis 'prize' in `where` at column 1",
        "none.jsonl:None: there is no such file",
        "worse.jsonl:2: unknown feed 'tick'",
    ]
    assert refused(good, again) == [f"again.jsonl:None: the id 'a' is in {good} too"]


TICKS = {"feed": ["ticks", "ticks"]}


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"feed": ["ticks", "tick"]}, "2: unknown feed 'tick'"),
        ({"feed": ["ticks", None]}, "2: `feed` is missing"),
        ({}, "None: no column 'feed'"),
        (TICKS | {"version": [1, 2]}, "None: `version` is counted by the registry"),
        (TICKS | {"owner": [1, 2]}, "None: `owner` holds int64, text was expected"),
        (TICKS | {"note": [b"\xff", b"a"]}, "None: `note` holds binary, text was expected"),
        (TICKS | {"tags": ["a", "b"]}, "None: `tags` holds string, lists of text was expected"),
        (TICKS | {"tags": [["a"], ["b", None]]}, "2: a tag of `tags` is null"),
        (TICKS | {"id": ["a", "a"]}, "2: the id 'a' occurs twice"),
        (
            TICKS | {"price_lo": [1.0, 9.0], "price_hi": [2.0, 3.0]},
            "2: holds for no value: `price_lo` 9.0 is not below `price_hi` 3.0",
        ),
    ],
)
def test_a_table_with_a_fault_is_refused_with_its_row(tmp_path, columns, told):
    pq.write_table(pa.table({"id": ["a", "b"], **columns}), tmp_path / "q.parquet")
    assert refused(tmp_path / "q.parquet") == [f"q.parquet:{told}"]


def test_a_table_of_several_feeds_keeps_its_words_with_their_rows(lake, tmp_path):
    table = pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "feed": ["ticks", "locations", "ticks", "locations"],
            "price_lo": [1.0, None, 2.0, None],
            "speed_hi": [None, 3.0, None, None],
            "owner": pa.array(["o1", None, "o3", "o4"]).dictionary_encode(),
            "tags": [["t1"], [], None, ["t4", "t5"]],
            "note": ["n1", "n2", "n3", None],
        }
    )
    pq.write_table(table, tmp_path / "q.parquet")
    lake.register(read_given([str(tmp_path / "q.parquet")], AXES, None))
    rows = {row["id"]: (row["owner"], row["tags"], row["note"]) for row in lake.standing()}
    assert rows == {
        "a": ("o1", ["t1"], "n1"),
        "b": (None, None, "n2"),
        "c": ("o3", None, "n3"),
        "d": ("o4", ["t4", "t5"], None),
    }
    assert lake.set().lo[0].tolist() == [1.0, 2.0]


def test_a_line_given_by_hand_has_no_line_number():
    with pytest.raises(Faults) as caught:
        given_line('{"id": "a", "feed": "ticks"}', "query", AXES)
    assert str(caught.value).startswith("query: `where` is missing")
    with pytest.raises(Faults, match="query: is empty"):
        given_line("", "query", AXES)


# ── a million ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_a_million_queries_over_a_million_are_six_seconds_of_one_core(lake, tmp_path):
    n = 1_000_000
    draw = np.random.default_rng(1)
    ids = pa.array([f"query-{k:07d}" for k in draw.permutation(n)])
    lo = draw.random(n) * 100

    def imported(width: float) -> tuple[Registered, float]:
        table = pa.table({"id": ids, "price_lo": lo, "price_hi": lo + width})
        pq.write_table(table, tmp_path / "q.parquet")
        another = Lake(lake.root)
        began = time.process_time()
        done = another.register(read_given([str(tmp_path / "q.parquet")], AXES, "ticks"))
        return done, time.process_time() - began

    assert said(imported(1.0)[0]) == {"added": n}
    for done, seconds in (imported(2.0), imported(2.0)):
        assert said(done) in ({"changed": n}, {"unchanged": n})
        assert seconds < 6
    queries = load_queries(compiled_queries(lake.store, lake.settings, "ticks", 2))
    assert queries.ids.equals(ids.sort())
    assert np.array_equal(np.sort(queries.lo[0]), np.sort(lo))


@pytest.mark.slow
def test_a_hundred_thousand_lines_are_six_seconds_of_one_core(lake, tmp_path):
    each = '{{"id": "q{0}", "feed": "ticks", "where": "price >= {0}.5 AND price < {0}.75"}}'
    file = written(tmp_path, "q.jsonl", "\n".join(each.format(k) for k in range(100_000)))
    began = time.process_time()
    assert said(lake.register(read_given([str(file)], AXES, None))) == {"added": 100_000}
    assert time.process_time() - began < 6
