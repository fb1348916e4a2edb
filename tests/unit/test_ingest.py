"""Ingest: each delivery once, good rows apart from bad ones, every row accounted for."""

import gzip
import io
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.errors import InputError
from pipelines.project.settings import Feed, Settings
from tests.support.crashes import Killed, killed_at
from tests.support.examples import MANY
from tests.support.lakes.landing_place import AT, HEAD, T0, Place, as_json_lines, ticks

MINUTE = 60_000_000


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A lake with the feed ticks."""
    return Place.make(tmp_path)


def test_a_file_is_taken_once_and_its_rows_say_where_they_stood(place):
    place.land("a.csv", HEAD + f"s,{AT.format(1)},2.5,7\nno tuple\nt,{AT.format(0)},-0.0,1e3\n")
    report = place.ingest()
    us = T0 - MINUTE
    where = {"arrival": 1, "file": 0}
    two = {**where, "line": 2, "deleted": None}
    four = {**where, "line": 4, "deleted": None}
    assert place.tuples() == [
        {"stream_id": "s", "ts": us + 1_000_000, "price": 2.5, "volume": 7.0, **two},
        {"stream_id": "t", "ts": us, "price": 0.0, "volume": 1000.0, **four},
    ]
    assert place.aside() == [
        {
            "feed": "ticks",
            **where,
            "reason": "malformed",
            "detail": "1 field, where the header has 4",
            "path": "a.csv",
            "line": 3,
            "raw": "no tuple",
            "epoch": None,
            "generation": None,
        }
    ]
    (row,) = place.arrivals()
    assert (row["state"], row["rows"], row["tuples"], row["malformed"], row["future"]) == (
        "done", 3, 2, 1, 0
    )  # fmt: skip
    assert row["max_ts"] == datetime.fromtimestamp((us + 1_000_000) / 1e6, UTC)
    assert (report.rows, report.tuples, report.malformed, report.done) == (3, 2, 1, 1.0)
    again = place.ingest()
    assert (again.loaded, again.refused) == ([], [])
    assert len(place.tuples()) == 2


def test_the_same_rows_in_any_form_are_the_same_delivery(place):
    rows = [{"stream_id": "s", "ts": AT.format(k), "price": k / 8, "volume": 2.0} for k in range(5)]
    bad = {"stream_id": "", "ts": AT.format(5), "price": 1.0, "volume": 2.0}
    lines = as_json_lines([*rows, bad])
    csv = HEAD + "".join(f"{r['stream_id']},{r['ts']},{r['price']},2.0\n" for r in [*rows, bad])
    stored = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([*rows, bad]), stored)
    for name, content in {
        "a.csv": csv.encode(),
        "b.csv.gz": gzip.compress(csv.encode()),
        "c.jsonl": lines.encode(),
        "d.jsonl.gz": gzip.compress(lines.encode()),
        "e.parquet": stored.getvalue(),
        "f.parquet.gz": gzip.compress(stored.getvalue()),
    }.items():
        place.land(name, content)
    report = place.ingest()
    assert [(taken.path[0], taken.rows, taken.tuples) for taken in report.loaded] == [
        (name, 6, 5) for name in "abcdef"
    ]
    taken = [{k: row[k] for k in ("stream_id", "ts", "price", "volume")} for row in place.tuples()]
    assert [taken[k : k + 5] for k in range(0, 30, 5)] == [taken[:5]] * 6
    assert {reason for _, reason, _ in place.reasons()} == {"malformed"}


def test_deliveries_found_together_are_numbered_by_path_bytewise(tmp_path):
    feeds = [Feed(name, ("price", "volume"), Path(name)) for name in ("ticks", "other")]
    place = Place.make(tmp_path, *feeds)
    for name in ("b.csv", "Z.csv", "é.csv"):
        place.land(name, ticks(len(name), 1, stream=name))
    place.land("a.csv", ticks(3), feed="other")
    place.ingest()
    assert [(r["n"], r["path"]) for r in place.arrivals()] == [
        (1, "Z.csv"), (2, "a.csv"), (3, "b.csv"), (4, "é.csv")
    ]  # fmt: skip
    assert place.commits("arrivals") == [
        ("plan", "other,ticks", 1, 4, 4),
        ("done", "other,ticks", 1, 4, 4),
    ]
    assert place.commits("ticks") == [("ingest", "ticks", 1, 4, 6)]
    assert place.commits("other") == [("ingest", "other", 2, 2, 1)]
    assert place.commits("quarantine") == []


def test_a_sub_folder_is_one_delivery_with_its_files_in_order(place):
    place.land("day/b.csv", ticks(1, 2))
    place.land("day/a/x.csv", ticks(3, stream="b") + "?\n")
    place.land("day/_SUCCESS", "")
    place.ingest()
    (row,) = place.arrivals()
    assert (row["path"], row["files"], row["rows"]) == ("day", ["day/a/x.csv", "day/b.csv"], 4)
    assert [(r["file"], r["line"], r["price"]) for r in place.tuples()] == [
        (0, 2, 3.0), (1, 2, 1.0), (1, 3, 2.0)
    ]  # fmt: skip
    assert [(r["file"], r["path"]) for r in place.aside()] == [(0, "day/a/x.csv")]


def test_a_repeat_and_new_content_under_an_old_name_are_refused_with_a_number(place):
    place.land("a.csv", ticks(1))
    place.ingest()
    place.land("b.csv", ticks(1))
    place.land("a.csv", ticks(2))
    place.land("c.csv", ticks(3))
    report = place.ingest()
    assert [(r["n"], r["path"], r["state"], r["reason"]) for r in place.arrivals()] == [
        (1, "a.csv", "done", None),
        (2, "a.csv", "refused", "changed"),
        (3, "b.csv", "refused", "repeat"),
        (4, "c.csv", "done", None),
    ]
    assert [refused.reason for refused in report.refused] == ["changed", "repeat"]
    assert [row["arrival"] for row in place.tuples()] == [1, 4]
    assert place.ingest().refused == []


@pytest.mark.fault(45)
def test_what_cannot_be_read_is_refused_whole_and_nothing_else_with_it(place):
    packed = gzip.compress(("".join(f"s,{AT.format(0)},{k},1\n" for k in range(9999))).encode())
    place.land("a.csv", ticks(1))
    place.land("b.csv.gz", gzip.compress(HEAD.encode()) + packed[:-20])
    place.land("c.csv", "stream_id,ts,prices,volume\n")
    place.land("d.csv", "")
    place.land("e.parquet", b"PAR1 and nothing more")
    place.land("f.csv", ticks(2))
    report = place.ingest()
    assert [(taken.path, taken.tuples) for taken in report.loaded] == [("a.csv", 1), ("f.csv", 1)]
    words = {refused.path: refused.detail for refused in report.refused}
    assert "is packed with gzip, but cut off or damaged" in words["b.csv.gz"]
    assert words["c.csv"] == (
        "c.csv:1: no column 'price'\n"
        "    the columns are: stream_id, ts, prices, volume.  Did you mean 'prices'?"
    )
    assert words["d.csv"].startswith("d.csv: is empty; a header")
    assert "e.parquet: cannot be read as Parquet" in words["e.parquet"]
    assert {refused.reason for refused in report.refused} == {"unreadable"}
    assert len(place.tuples()) == 2
    assert place.aside() == []


@pytest.mark.fault(46)
def test_drift_that_adds_or_reorders_columns_is_taken_and_told(place):
    place.land("a.csv", f"volume,x,ts,stream_id,price,Price\n1,2,{AT.format(0)},s,3,4\n")
    place.land("b.jsonl", as_json_lines([
        {"note": "n", "price": 3, "volume": 1, "stream_id": "s", "ts": AT.format(1)}
    ]))  # fmt: skip
    table = {"stream_id": ["s"], "ts": [AT.format(2)], "volume": [1], "price": [3.0], "z": [None]}
    stored = io.BytesIO()
    pq.write_table(pa.table(table), stored)
    place.land("c.parquet", stored.getvalue())
    place.ingest()
    assert [row["ignored"] for row in place.arrivals()] == [["x", "Price"], ["note"], ["z"]]
    assert [(row["price"], row["volume"]) for row in place.tuples()] == [(3.0, 1.0)] * 3


@pytest.mark.fault(46)
def test_drift_that_renames_or_retypes_stops_the_file_and_not_the_feed(place):
    stored = io.BytesIO()
    pq.write_table(pa.table({"stream_id": ["s"], "ts": [AT.format(0)], "price": [True]}), stored)
    place.land("a.parquet", stored.getvalue())
    stored = io.BytesIO()
    table = {"stream_id": ["s"], "ts": [AT.format(0)], "price": [True], "volume": [1.0]}
    pq.write_table(pa.table(table), stored)
    place.land("b.parquet", stored.getvalue())
    place.land("c.csv", f"stream_id,ts,cost,volume\ns,{AT.format(0)},1,1\n")
    place.land("d.csv", ticks(1))
    report = place.ingest()
    assert [refused.detail.splitlines()[0] for refused in report.refused] == [
        "a.parquet: no column 'volume'",
        "b.parquet: column 'price' is of type bool, where an axis of numbers was expected",
        "c.csv:1: no column 'price'",
    ]
    assert [taken.path for taken in report.loaded] == ["d.csv"]


def test_the_feed_says_which_columns_are_the_stream_and_the_time(tmp_path):
    declared = Feed(
        "gps", ("x",), Path("gps"), stream_column="device", ts_column="when", ts_unit="ms"
    )
    place = Place.make(tmp_path, declared)
    ms = T0 // 1000
    place.land("a.csv", f"when,device,x,ts\n{ms},d 1,2,?\nsoon,d 1,2,\n", feed="gps")
    place.land("b.jsonl", as_json_lines([{"device": 7, "when": ms, "x": 3}]), feed="gps")
    stored = io.BytesIO()
    pq.write_table(pa.table({"device": ["e"], "when": [ms], "x": [4]}), stored)
    place.land("c.parquet", stored.getvalue(), feed="gps")
    place.ingest()
    assert [(row["stream_id"], row["ts"], row["x"]) for row in place.tuples("gps")] == [
        ("d 1", T0, 2.0), ("7", T0, 3.0), ("e", T0, 4.0)
    ]  # fmt: skip
    assert [detail for _, _, detail in place.reasons()] == [
        "when: 'soon' is not an instant like '2026-11-18T14:02:11Z'"
    ]
    assert place.arrivals()[0]["ignored"] == ["ts"]


def test_a_declared_form_stands_over_what_a_file_looks_like(tmp_path):
    place = Place.make(tmp_path, Feed("ticks", ("price", "volume"), Path("ticks"), form="csv"))
    place.land("a.jsonl", ticks(1))
    place.ingest()
    assert len(place.tuples()) == 1


@pytest.mark.fault(36)
def test_a_time_too_far_ahead_is_set_aside_and_the_others_are_not(place):
    times = ("2036-11-18T12:00:00Z", AT.format(1), "2026-11-19T12:00:00Z")
    lines = [f"s,{ts},{k},1" for k, ts in enumerate((*times, "2026-11-19T12:00:00.000001Z"))]
    place.land("a.csv", HEAD + "\n".join(lines))
    place.ingest()
    assert [row["price"] for row in place.tuples()] == [1.0, 2.0]
    found = "ahead of the time it was found, 2026-11-18T12:00:00.000000Z"
    assert place.reasons() == [
        (2, "future", f"ts is 3653 days, 0:00:00 {found}"),
        (5, "future", f"ts is 1 day, 0:00:00.000001 {found}"),
    ]
    assert place.aside()[0]["raw"] == "s,2036-11-18T12:00:00Z,0,1"
    assert place.arrivals()[0]["max_ts"] == datetime(2026, 11, 19, 12, tzinfo=UTC)


def test_the_feeds_own_clock_says_what_is_too_far_ahead(tmp_path):
    feed = Feed("ticks", ("price",), Path("ticks"), clock_column="sent", max_skew=MINUTE)
    place = Place.make(tmp_path, feed)
    place.land("a.csv", "stream_id,ts,price,sent\n"
        "s,2050-01-01T00:00:00Z,1,2050-01-01T00:00:00Z\n"
        "s,2050-01-01T00:01:01Z,2,2050-01-01T00:00:00Z\n"
        "s,2050-01-01T00:00:00Z,3,\n")  # fmt: skip
    place.ingest()
    assert [row["price"] for row in place.tuples()] == [1.0]
    assert [(line, reason) for line, reason, _ in place.reasons()] == [
        (3, "future"), (4, "malformed")
    ]  # fmt: skip
    assert place.reasons()[0][2].startswith("ts is 0:01:01 ahead of the clock, 2050")


@pytest.mark.fault(37, 38, 39)
def test_times_and_numbers_beyond_what_is_taken_are_set_aside_with_words(place):
    lines = [
        "s,,1,1", "s,9999-01-01T00:00:00Z,1,1", "s,1899-12-31T23:59:59Z,1,1", "s,1795003200,1,1",
        f"s,{AT.format(0)},NaN,1", f"s,{AT.format(0)},inf,1", f"s,{AT.format(0)},1e309,1",
        f"s,{AT.format(0)},9007199254740993,1", f"s,{AT.format(0)},,1", "s,2026-11-18,1,1",
        f"s,{AT.format(0)},-1e999,1",
    ]  # fmt: skip
    place.land("a.csv", HEAD + "\n".join([*lines, f"s,{AT.format(0)},-1e308,5e-324"]))
    place.ingest()
    assert [reason for _, reason, _ in place.reasons()] == ["malformed"] * len(lines)
    assert [raw["raw"] for raw in place.aside()] == lines
    assert [(row["price"], row["volume"]) for row in place.tuples()] == [(-1e308, 5e-324)]


@pytest.mark.fault(44)
def test_hostile_ids_are_kept_verbatim_or_set_aside_and_never_merged(place):
    taken = [
        "'; DROP TABLE ticks; --", '"quoted"', "../../etc", "%2e", "é", "e\u0301", "A", "a",
        "x" * 256, "\U0001f40d", " a ", "null", "NaN", "a,b",
    ]  # fmt: skip
    refused = ["", "x" * 257, "a\x00b", "a\nb", "\x7f", "y" * (1 << 20)]
    rows = [
        {"stream_id": name, "ts": AT.format(0), "price": 1, "volume": 1}
        for name in [*taken, *refused]
    ]
    place.land("a.jsonl", as_json_lines([*rows, {**rows[0], "stream_id": None}]))
    lone = as_json_lines([{**rows[0], "stream_id": "\ud800"}])
    place.land("b.jsonl", lone)
    place.ingest()
    assert [row["stream_id"] for row in place.tuples()] == taken
    assert len(place.aside()) == len(refused) + 2
    assert max(len(row["raw"]) for row in place.aside()) > 1 << 20


@pytest.mark.fault(45)
def test_a_byte_order_mark_and_bytes_of_another_encoding_cost_no_other_row(place):
    rows = [b"s,%s,1,1\n" % AT.format(0).encode(), b"\xe9,%s,2,1\n" % AT.format(0).encode()]
    place.land("a.csv", b"\xef\xbb\xbf" + HEAD.encode() + b"".join([*rows, rows[0]]))
    place.ingest()
    assert [row["line"] for row in place.tuples()] == [2, 4]
    assert place.reasons() == [(3, "malformed", "bytes that are not UTF-8")]
    assert place.aside()[0]["raw"].startswith("\\xe9,")


@pytest.mark.fault(50)
def test_a_delivery_without_rows_or_without_good_ones_is_done(place):
    place.land("a.csv", HEAD)
    place.land("b.csv", HEAD + "only\nnonsense\n")
    place.land("c.jsonl", "")
    empty = pa.schema({"stream_id": pa.string(), "ts": pa.string(), "price": pa.float64(),
                       "volume": pa.float64()}).empty_table()  # fmt: skip
    stored = io.BytesIO()
    pq.write_table(empty, stored)
    place.land("d.parquet", stored.getvalue())
    place.ingest()
    assert [(r["state"], r["rows"], r["malformed"], r["max_ts"]) for r in place.arrivals()] == [
        ("done", 0, 0, None), ("done", 2, 2, None), ("done", 0, 0, None), ("done", 0, 0, None)
    ]  # fmt: skip
    assert place.commits("ticks") == []
    assert place.ingest().loaded == []


def test_a_feed_that_is_declared_no_more_is_told_before_anything_is_done(place):
    place.land("a.csv", ticks(1))
    with killed_at("ingest.planned"), pytest.raises(Killed):
        place.ingest()
    feeds = dict(place.settings.feeds)
    place.settings = Settings(None, place.settings.root, {})
    with pytest.raises(InputError, match="declare it again"):
        place.recovered()
    place.settings = Settings(None, place.settings.root, feeds)
    assert [taken.tuples for taken in place.recovered().loaded] == [1]


CELLS = st.sampled_from(
    ["s", "t", "", "1", "-2.5e3", "NaN", "x", AT.format(1), AT.format(2), "2090-01-01T00:00:00Z",
     '"', '"q"', '"a,b"', "\r", "é", "\x00"]
)  # fmt: skip


@settings(max_examples=MANY)
@given(st.lists(st.lists(CELLS, max_size=6), max_size=12), st.booleans())
def test_rows_read_are_tuples_malformed_and_future_always(tmp_path_factory, rows, good):
    place = Place.make(tmp_path_factory.mktemp("messy"))
    text = HEAD + "".join(",".join(row) + "\n" for row in rows)
    place.land("a.csv", text + (f"s,{AT.format(3)},1,1\n" if good else ""))
    report = place.ingest()
    (row,) = place.arrivals()
    assert row["rows"] == row["tuples"] + row["malformed"] + row["future"] == report.rows
    assert row["tuples"] == len(place.tuples()) >= good
    told = [reason for _, reason, _ in place.reasons()]
    assert (told.count("malformed"), told.count("future")) == (row["malformed"], row["future"])
    lines = [r["line"] for r in [*place.tuples(), *place.aside()]]
    assert len(set(lines)) == len(lines)


def test_what_a_lake_must_declare_is_named_as_in_fencepost_toml(place):
    place.land("a.csv", HEAD + "a,1795003200,1,1\n")
    place.ingest()
    (aside,) = place.aside()
    assert aside["detail"].endswith('(ts_unit = "s", "ms", "us" or "ns" in fencepost.toml)')
    columns = {"stream_id": ["a"], "ts": [1], "price": ["x"], "volume": [1.0]}
    pq.write_table(pa.table(columns), place.land("b.parquet", ""))
    place.left_alone(
        place.settings.feeds["ticks"].source / "b.parquet", place.settings.feeds["ticks"].source
    )
    (refused,) = place.ingest().refused
    assert 'Say what it counts: ts_unit = "s"' in refused.detail
    assert 'name those that are: axes = ["price", "volume"] in fencepost.toml.' in refused.detail
    assert "--" not in refused.detail
