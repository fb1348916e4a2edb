"""Marks on their way from landing files and Delta tables to a feed's table, and out of it again."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from fencepost.errors import LakeError
from fencepost.order import OrderRules
from fencepost.row_hashes import content_hash
from pipelines.execute.logs import AsOf
from pipelines.execute.read import in_order, tuples_of
from pipelines.execute.share import FeedStep, Share
from pipelines.ingest import units, write
from pipelines.lake.evidence import Evidence
from pipelines.lake.store import Store
from pipelines.project.settings import Feed
from schemas import all_tables, axes_only
from tests.support.crashes import Killed, killed_at
from tests.support.lakes.landing_place import AT, T0, Place, as_json_lines
from tests.support.lakes.on_disk import on_disk

FEED = Feed("quotes", ("price",), Path("quotes"), deleted="gone")
HEAD = "stream_id,ts,price,gone\n"
AXES = {"quotes": ("price",)}
Marked = list[tuple[str, float, bool | None]]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A lake whose feed says which rows take their streams out."""
    return Place.make(tmp_path, FEED)


def land(place: Place, name: str, *cells: str) -> None:
    """Quotes a second apart, each of a stream of its own, marked by these cells."""
    rows = [f"s{k},{AT.format(k)},{k},{cell}\n" for k, cell in enumerate(cells)]
    place.land(name, HEAD + "".join(rows), "quotes")


def source_of(place: Place) -> Path:
    return on_disk(place.settings.feeds["quotes"].source)


def told(place: Place) -> Marked:
    return [(row["stream_id"], row["price"], row["deleted"]) for row in place.tuples("quotes")]


def share(place: Place, *buckets: int) -> Share:
    """A task over everything that a lake took."""
    n = tuple(row["n"] for row in place.arrivals())
    paths = tuple(file.path for file in place.store.files("quotes"))
    return Share(
        root=str(place.settings.root),
        feed="quotes",
        columns=axes_only(AXES),
        all_buckets=place.store.buckets,
        buckets=buckets or None,
        watermark=None,
        steps=(FeedStep(1, 1, n, (None,) * len(n), None, None, OrderRules()),),
        paths={},
        files={"quotes": paths},
        as_of=AsOf((), 0),
        snapshot=False,
    )


def test_a_mark_is_true_in_the_table_and_whatever_is_no_mark_is_null(place):
    land(place, "a.csv", "true", "", "0", "T")
    place.ingest()
    assert told(place) == [
        ("s0", 0.0, True), ("s1", 1.0, None), ("s2", 2.0, None), ("s3", 3.0, True)
    ]  # fmt: skip
    assert place.arrivals()[0]["ignored"] == []


def test_the_same_marks_in_any_form_are_the_same_rows(place):
    cells = [True, None, False, True]
    rows = [
        {"stream_id": f"s{k}", "ts": AT.format(k), "price": float(k), "gone": cell}
        for k, cell in enumerate(cells)
    ]
    land(place, "a.csv", "yes", "", "no", "1")
    left_out = [{k: v for k, v in row.items() if v is not None} for row in rows]
    place.land("b.jsonl", as_json_lines(left_out), "quotes")
    pq.write_table(pa.Table.from_pylist(rows), place.land("c.parquet", b"", "quotes"))
    place.left_alone(source_of(place) / "c.parquet", source_of(place))
    assert [taken.tuples for taken in place.ingest().loaded] == [4, 4, 4]
    whole = told(place)
    assert whole[:4] == whole[4:8] == whole[8:]
    assert [mark for _, _, mark in whole[:4]] == [True, None, None, True]


def test_a_mark_that_nobody_can_read_puts_its_row_aside_as_it_stood(place):
    land(place, "a.csv", "true", "perhaps", "")
    place.ingest()
    detail = "gone: 'perhaps' is none of true, t, yes, 1, false, f, no, 0"
    assert place.reasons() == [(3, "malformed", detail)]
    assert place.aside()[0]["raw"] == f"s1,{AT.format(1)},1,perhaps"
    assert [stream for stream, _, _ in told(place)] == ["s0", "s2"]


def test_a_file_that_lacks_the_column_is_refused_and_the_feed_goes_on(place):
    place.land("a.csv", f"stream_id,ts,price,goner\ns,{AT.format(0)},1,true\n", "quotes")
    land(place, "b.csv", "true")
    report = place.ingest()
    (refused,) = report.refused
    assert refused.detail == (
        "a.csv:1: no column 'gone'\n"
        "    the columns are: stream_id, ts, price, goner.  Did you mean 'goner'?"
    )
    assert told(place) == [("s0", 0.0, True)]


def test_a_marked_row_too_far_ahead_is_set_aside_as_it_stood(place):
    row = "s,2036-11-18T12:00:00Z,1,true"
    place.land("a.csv", f"{HEAD}{row}\n", "quotes")
    place.ingest()
    assert told(place) == []
    assert [(aside["reason"], aside["raw"]) for aside in place.aside()] == [("future", row)]


def test_rows_put_aside_for_their_marks_are_taken_up_once_the_column_means_nothing(place):
    land(place, "a.csv", "true", "perhaps")
    place.ingest()
    place.declare("quotes", deleted=None)
    assert [taken.tuples for taken in place.retry().loaded] == [1]
    assert told(place) == [("s0", 0.0, True), ("s1", 1.0, None)]


def test_a_feed_that_declares_no_marks_has_none_and_its_evidence_says_nothing_of_them(place):
    place.declare("quotes", deleted=None)
    land(place, "a.csv", "true", "maybe")
    place.ingest()
    assert [mark for _, _, mark in told(place)] == [None, None]
    assert place.arrivals()[0]["ignored"] == ["gone"]
    (said,) = place.store.evidence("quotes", 0)
    assert said.hash == content_hash(place.store.rows("quotes"), ("bucket", "deleted"))


def test_the_evidence_of_a_commit_counts_its_marks(place):
    land(place, "a.csv", "true", "")
    place.ingest()
    (said,) = place.store.evidence("quotes", 0)
    rows = place.store.rows("quotes")
    assert said.hash == content_hash(rows, ("bucket",))
    unmarked = rows.set_column(
        rows.column_names.index("deleted"), "deleted", pa.nulls(2, pa.bool_())
    )
    assert said.hash != content_hash(unmarked, ("bucket",))


def test_a_crash_between_reading_and_commit_takes_each_mark_once(place):
    land(place, "a.csv", "true", "", "t")
    with killed_at("ingest.tuples"), pytest.raises(Killed):
        place.ingest()
    place.recovered()
    assert [mark for _, _, mark in told(place)] == [True, None, True]


@pytest.fixture
def cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deliveries are large from a few hundred bytes on, units small, and files of a bucket each."""
    for name, size in {"SMALL": 300, "LEAST": 300, "MOST": 4000}.items():
        monkeypatch.setattr(units, name, size)
    monkeypatch.setattr(write, "FEW", 200)
    monkeypatch.setattr(write, "AT_ONCE", 100)


@pytest.mark.usefixtures("cut_small")
def test_however_a_delivery_is_cut_into_units_and_files_each_row_keeps_its_mark(place):
    n = 3000
    flags = np.arange(n) % 7 == 0
    flags[1000:2000] = False  # units and pieces without a mark lie between
    columns = {
        "stream_id": [f"s{k % 97}" for k in range(n)],
        "ts": pa.array(np.arange(n) + T0, pa.timestamp("us", "UTC")),
        "price": np.arange(n, dtype=float),
        "gone": flags,
    }
    path = place.land("a.parquet", b"", "quotes")
    pq.write_table(pa.table(columns), path, row_group_size=300)
    place.left_alone(path, source_of(place))
    assert [taken.tuples for taken in place.ingest().loaded] == [n]
    assert len(place.store.files("quotes")) > 4
    assert [mark for _, _, mark in told(place)] == [True if flag else None for flag in flags]
    for buckets in ((), (0, 2), (1, 3)):
        part = share(place, *buckets)
        rows = tuples_of(part, place.store.tables["quotes"], marked=True)
        tuples = in_order(part, rows, {})
        assert tuples.deleted is not None
        assert tuples.deleted.tolist() == flags[tuples.batch.values[0].astype(int)].tolist()
        assert tuples.deleted.any()


def test_who_does_not_ask_for_marks_reads_no_more_columns_than_before(place):
    land(place, "a.csv", "true", "")
    place.ingest()
    part = share(place)
    rows = tuples_of(part, place.store.tables["quotes"])
    assert rows.column_names == ["stream_id", "ts", "price", "arrival", "file", "line"]
    assert in_order(part, rows, {}).deleted is None


# Somebody else's Delta table


def rows_of_delta(**more: list[object]) -> pa.Table:
    count = len(next(iter(more.values()), [None]))
    return pa.table(
        {
            "stream_id": [f"s{k}" for k in range(count)],
            "ts": pa.array([T0 + k for k in range(count)], pa.timestamp("us", "UTC")),
            "price": [float(k) for k in range(count)],
            **more,
        }
    )


@pytest.fixture
def delta(tmp_path: Path) -> Place:
    """A lake whose feed is a Delta table."""
    return Place.make(tmp_path, replace(FEED, form="delta"))


@pytest.mark.parametrize("partition_by", [None, ["gone"]])
@pytest.mark.parametrize("cells", [[True, None, False], [1, None, 0], ["Yes", None, "f"]])
def test_a_delta_table_says_it_in_its_rows_or_in_its_partitions(delta, cells, partition_by):
    table = rows_of_delta(gone=cells)
    write_deltalake(str(source_of(delta)), table, partition_by=partition_by)
    delta.ingest()
    assert sorted(told(delta)) == [("s0", 0.0, True), ("s1", 1.0, None), ("s2", 2.0, None)]
    assert delta.aside() == []


def test_in_a_delta_table_too_a_strange_mark_is_malformed(delta):
    write_deltalake(str(source_of(delta)), rows_of_delta(gone=[3, 1]))
    delta.ingest()
    (aside,) = delta.aside()
    assert (aside["line"], aside["detail"][:25]) == (1, "gone: '3' is none of true")
    assert json.loads(aside["raw"])["gone"] == 3
    assert told(delta) == [("s1", 1.0, True)]


def test_a_column_of_marks_that_came_later_marks_no_row_before(delta):
    source = str(source_of(delta))
    write_deltalake(source, rows_of_delta())
    write_deltalake(source, rows_of_delta(gone=[True]), mode="append", schema_mode="merge")
    delta.ingest()
    assert told(delta) == [("s0", 0.0, None), ("s0", 0.0, True)]


def test_versions_of_a_table_that_never_had_the_column_are_refused(delta):
    write_deltalake(str(source_of(delta)), rows_of_delta())
    assert [refused.reason for refused in delta.ingest().refused] == ["unreadable"]
    assert told(delta) == []


# A lake that was made before there were marks


def test_a_table_made_without_marks_gets_them_last_and_keeps_its_rows(tmp_path):
    tables = all_tables(axes_only(AXES))
    quotes = tables["quotes"]
    kept = tuple(column for column in quotes.columns if column.name != "deleted")
    root = tmp_path / "lake"
    old = Store.create(root, tables | {"quotes": replace(quotes, columns=kept)}, buckets=4)
    where = {"arrival": 1, "file": 0, "bucket": -1}
    row = {"stream_id": "a", "ts": 0, "price": 1.0, **where, "line": 1}
    written = old.write_rows("quotes", [row])
    old.append("quotes", 1, written, Evidence("made", "by hand", "quotes", 1, 1, 0, 1, 0))

    assert Store.to_read(root, tables).rows("quotes")["deleted"].to_pylist() == [None]
    assert len(old.delta("quotes").schema().fields) == len(kept)
    store = Store.open(root, tables)
    assert [field.name for field in store.delta("quotes").schema().fields] == quotes.arrow.names
    more = store.write_rows("quotes", [{**row, "line": 2, "deleted": True}])
    at = store.version("quotes")
    store.append("quotes", at, more, Evidence("made", "by hand", "quotes", 2, 2, 0, 1, 0))
    marks = {row["line"]: row["deleted"] for row in store.rows("quotes").to_pylist()}
    assert marks == {1: None, 2: True}
    with pytest.raises(LakeError, match="is declared with the axes price, size, and this lake"):
        Store.open(root, all_tables(axes_only({"quotes": ("price", "size")})))
