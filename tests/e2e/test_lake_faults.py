"""What a lake is given that is no good, or suffers on disk: told, never lost, never wrong."""

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from fencepost.errors import LakeError
from pipelines.epochs.drive import Lake, advance, chain_of
from pipelines.lake.store import Store
from pipelines.runs.run import run
from pipelines.serve.views.duckdb import duckdb_session
from pipelines.spark.runner import HereRunner
from schemas import FORMAT
from tests.support.lakes import builder, tick_past
from tests.support.lakes.builder import SECOND, instant, reopened
from tests.support.lakes.on_disk import on_disk
from tests.support.lakes.tick_past import NOW, Way, land, play, tables_of

BEGIN = tick_past.BEGIN
HOSTILE = (
    "o'clock",
    '"; DROP TABLE events; --',
    "../../etc/passwd",
    "%2e%2e%2f",
    "=cmd()|' /C calc'!A0",
    "${jndi:ldap://x}",
    "\\u00e9 é",
    "e\u0301",
    "é",
    "AAPL",
    "aapl",
    "`back`tick`",
    "x" * 256,
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return tick_past.new_lake(tmp_path)


def evaluated(lake: Lake, name: str, *lines: str, now: int = NOW) -> None:
    text = "\n".join(["stream_id,ts,price,volume", *lines]) + "\n"
    land(lake.settings, name, text)
    builder.ingest(lake, now)
    list(advance(lake, lake.lane("ticks")))


def asked(lake: Lake, sql: str) -> list[dict[str, object]]:
    with duckdb_session(on_disk(lake.store.root), lake.store.tables) as session:
        rows: list[dict[str, object]] = session.sql(sql).to_arrow_table().to_pylist()
    return rows


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.fault(44, 60, 61)
def test_hostile_ids_are_data_and_stay_as_they_are(lake: Lake) -> None:
    rules = [
        {"id": name, "feed": "ticks", "where": "price >= 10", "note": name, "within": "1s"}
        for name in HOSTILE
    ]
    builder.register(lake, rules, NOW)
    times = [instant(BEGIN + k * SECOND) for k in (0, 1)]
    lines = [f"{quoted(name)},{ts},{9 + k},1" for k, ts in enumerate(times) for name in HOSTILE]
    evaluated(lake, "a.csv", *lines)
    events = asked(lake, "select query_id, stream_id from events")
    assert len(events) == len(HOSTILE) ** 2
    assert {row["query_id"] for row in events} == set(HOSTILE)
    assert {row["stream_id"] for row in events} == set(HOSTILE)
    assert {row["id"] for row in asked(lake, "select id from queries")} == set(HOSTILE)
    folders = {path.name for path in on_disk(lake.store.root).rglob("*") if path.is_dir()}
    assert not [name for name in folders if any(h in name for h in HOSTILE if h != "AAPL")]


@pytest.mark.fault(44)
def test_a_stream_id_that_is_none_goes_to_quarantine(lake: Lake) -> None:
    ts = instant(BEGIN)
    evaluated(
        lake, "a.csv", f",{ts},1,1", f"{'x' * 257},{ts},1,1", f'"a\0b",{ts},1,1', f"ok,{ts},1,1"
    )
    rows = asked(lake, "select reason, line from quarantine order by line")
    assert [(row["reason"], row["line"]) for row in rows] == [("malformed", k) for k in (2, 3, 4)]


@pytest.mark.fault(49)
def test_one_tuple_that_crosses_every_border_is_many_events_and_nothing_else(lake: Lake) -> None:
    many = 100_000
    table = pa.table(
        {
            "id": [f"q{k}" for k in range(many)],
            "price_lo": pa.array(range(1, many + 1), pa.float64()),
        }
    )
    from fencepost.queries import QuerySet
    from pipelines.registry import commit
    from pipelines.registry.changes import QueryChanges
    from pipelines.registry.queries import rows_of

    queries = QuerySet.from_table("ticks", ("price", "volume"), table)
    commit.register(lake.store, lake.settings, QueryChanges(rows_of(queries, {})), NOW)
    evaluated(lake, "a.csv", f"a,{instant(BEGIN)},0,1", f"a,{instant(BEGIN + SECOND)},1e9,1")
    assert chain_of(lake.store, "ticks").epochs[-1].counts["entered"] == many
    (row,) = asked(lake, "select count(*) n, count(distinct query_id) d from events")
    assert row == {"n": many, "d": many}


@pytest.mark.fault(50, 51)
def test_empty_and_bad_deliveries_move_the_lake_on(lake: Lake) -> None:
    rule = {"id": "q", "feed": "ticks", "where": "price >= 10", "within": "1s"}
    builder.register(lake, [rule], NOW)
    evaluated(lake, "a.csv", f"a,{instant(BEGIN)},9,1", f"a,{instant(BEGIN + SECOND)},11,1")
    evaluated(lake, "b.csv")
    evaluated(lake, "c.csv", "only,nonsense", ",,,")
    epochs = chain_of(lake.store, "ticks").epochs
    assert [epoch.counts["rows"] for epoch in epochs] == [2, 0, 2]
    assert [epoch.counts["stay"] for epoch in epochs] == [0, 0, 0], "no wall clock settles it"
    evaluated(lake, "d.csv", f"other,{instant(BEGIN + 3 * SECOND)},1,1")
    assert chain_of(lake.store, "ticks").epochs[-1].counts["stay"] == 1
    assert not asked(lake, "select * from epoch_accounting where not balanced")


@pytest.mark.fault(36)
def test_a_tuple_far_ahead_moves_no_watermark(lake: Lake) -> None:
    ahead = instant(NOW + 10 * 365 * 86_400 * SECOND)
    evaluated(lake, "a.csv", f"a,{ahead},1,1", f"a,{instant(BEGIN)},1,1")
    assert chain_of(lake.store, "ticks").watermark == BEGIN
    assert asked(lake, "select reason, count(*) n from quarantine group by 1") == [
        {"reason": "future", "n": 1}
    ]


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("stream_id,ts,price", "no column 'volume'"),
        ("stream_id,ts,prize,volume", "no column 'price'"),
        ("symbol,ts,price,volume", "no column 'stream_id'"),
    ],
)
@pytest.mark.fault(46)
def test_a_delivery_without_an_axis_is_refused_and_the_next_one_taken(
    lake: Lake, header: str, told: str
) -> None:
    land(lake.settings, "a.csv", f"{header}\na,{instant(BEGIN)},1,1\n")
    evaluated(lake, "b.csv", f"a,{instant(BEGIN)},1,1")
    rows = asked(lake, "select path, state, detail from arrivals order by path")
    assert [row["state"] for row in rows] == ["refused", "done"]
    assert told in str(rows[0]["detail"])


@pytest.mark.fault(46)
def test_columns_in_another_order_and_one_too_many_are_no_fault(lake: Lake) -> None:
    land(
        lake.settings,
        "a.csv",
        f"venue,volume,price,ts,stream_id\nX,7,5,{instant(BEGIN)},a\n",
    )
    evaluated(lake, "b.csv", f"a,{instant(BEGIN + SECOND)},6,8")
    rows = asked(lake, "select price, volume from ticks order by ts")
    assert rows == [{"price": 5.0, "volume": 7.0}, {"price": 6.0, "volume": 8.0}]
    (row,) = asked(lake, "select ignored from arrivals where path = 'a.csv'")
    assert row["ignored"] == ["venue"]


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return play(tmp_path_factory.mktemp("past"), HereRunner(), Way(run_every=3), 2 * SECOND, 6)


@pytest.fixture
def copied(past: Lake, tmp_path: Path) -> Lake:
    shutil.copytree(on_disk(past.settings.root).parent, tmp_path / "copy")
    settings = replace(
        tick_past.past_settings(tmp_path / "copy", 2 * SECOND), root=tmp_path / "copy" / "lake"
    )
    return Lake.of(Store.open(settings.root, settings.tables), settings, HereRunner())


@pytest.mark.parametrize(
    "content", [b"", b'{"commitInfo": {"timest', b"{\xb5}"], ids=["empty", "torn", "no text"]
)
@pytest.mark.parametrize("table", ["events", "epochs", "stream_state", "ticks", "arrivals"])
@pytest.mark.fault(13, 14)
def test_a_commit_that_a_power_cut_tore_is_named_and_nothing_goes_on(
    copied: Lake, table: str, content: bytes
) -> None:
    log = on_disk(copied.store.folder(table)) / "_delta_log"
    last = max(log.glob("*.json"))
    last.write_bytes(content)
    with pytest.raises(LakeError, match=f"'{table}'.* is empty or cut off.*{last.name}"):
        run(copied.settings, HereRunner(), patient=False)


@pytest.mark.fault(14)
def test_a_torn_commit_moved_away_is_made_anew(copied: Lake, past: Lake) -> None:
    """The last words of the last epoch are lost: it is evaluated again, and all is as it was."""
    last = max((on_disk(copied.store.folder("epochs")) / "_delta_log").glob("*.json"))
    last.unlink()
    lake = reopened(copied)
    list(advance(lake, lake.lane("ticks")))
    assert tables_of(lake) == tables_of(past)


@pytest.mark.fault(15)
def test_a_lost_checkpoint_note_costs_nothing(copied: Lake, past: Lake) -> None:
    for name in copied.store.tables:
        copied.store.delta(name).create_checkpoint()
        note = on_disk(copied.store.folder(name)) / "_delta_log" / "_last_checkpoint"
        note.write_text("{nonsense")
        note.unlink()
    assert tables_of(reopened(copied)) == tables_of(past)


@pytest.mark.parametrize("how", ["missing", "cut off", "flipped"])
@pytest.mark.parametrize("table", ["stream_state", "ticks", "pending"])
@pytest.mark.fault(16)
def test_a_lost_data_file_is_named_and_no_wrong_row_comes_of_it(
    copied: Lake, table: str, how: str
) -> None:
    for file in copied.store.files(table):
        path = on_disk(copied.store.folder(table)) / file.path
        content = path.read_bytes()
        if how == "missing":
            path.unlink()
        elif how == "cut off":
            path.write_bytes(content[: len(content) // 2])
        else:
            at = last_byte_of(path, "ts")
            path.write_bytes(content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1 :])
    before = {name: copied.store.version(name) for name in ("events", "stream_state", "pending")}
    with pytest.raises(
        LakeError, match=f"the table '{table}' names the file .* missing or damaged"
    ):
        list(landed_lakes_again(copied))
    assert {name: copied.store.version(name) for name in before} == before


def last_byte_of(path: Path, column: str) -> int:
    """Where the values of a column end in a file."""
    group = pq.ParquetFile(path).metadata.row_group(0)
    chunks = [group.column(k) for k in range(group.num_columns)]
    (chunk,) = [chunk for chunk in chunks if chunk.path_in_schema == column]
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    return int(begin + chunk.total_compressed_size - 1)


def landed_lakes_again(lake: Lake) -> list[object]:
    """Evaluate the last partition once more: that reads tuples, and the state before them."""
    from pipelines.epochs.partitions import keys_of, partitions

    return list(
        partitions(lake, lake.lane("ticks"), keys_of(lake, lake.lane("ticks"))[-1:], again=True)
    )


@pytest.mark.fault(30)
def test_a_table_dropped_and_made_anew_is_refused(copied: Lake) -> None:
    shutil.rmtree(on_disk(copied.store.folder("events")))
    from pipelines.lake.create import make_table

    make_table(on_disk(copied.store.folder("events")), copied.store.tables["events"])
    with pytest.raises(LakeError, match=r"'events' of the lake .* was dropped and created again"):
        reopened(copied)


@pytest.mark.fault(31)
def test_a_lake_of_a_newer_format_is_refused(copied: Lake) -> None:
    note = on_disk(copied.store.root) / "_fencepost.json"
    newer = note.read_text().replace(f'"format": {FORMAT}', f'"format": {FORMAT + 1}')
    note.write_text(newer)
    with pytest.raises(LakeError, match=f"has format {FORMAT + 1}, this .* knows up to {FORMAT}"):
        reopened(copied)


@pytest.mark.fault(27)
def test_ledger_rows_that_are_missing_are_noticed(copied: Lake) -> None:
    rows = copied.store.rows("epochs")
    first = rows.filter(pc.not_equal(rows["epoch"], 1))
    assert first.num_rows < rows.num_rows
    copied.store.delta("epochs").delete("epoch = 1")
    with pytest.raises(LakeError, match="has epoch 2 where 1 was expected"):
        reopened(copied)
