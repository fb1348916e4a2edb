"""The views, held against a plain reading of what they say, in DuckDB."""

# ruff: noqa: S608  SQL is what is tested

from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings

from pipelines.project.settings import VIEWS
from pipelines.serve.views import statements, views, views_for
from pipelines.serve.views.duckdb import duckdb_session
from schemas import RESERVED, all_tables
from tests.support.lakes.ledger import Ledger, answered, at
from tests.support.stories.histories import (
    FEED,
    Crossing,
    histories,
    laid_out,
    visits_of,
)

SHARED = Ledger({FEED: ("price",)}).in_memory()


def seconds(instant: Any) -> int | None:
    return None if instant is None else int((instant - at(0)).total_seconds())


@given(histories())
def test_oracle_visits_are_those_of_a_walk_through_the_history(history):
    connection = laid_out(history).in_memory(SHARED)
    found = connection.execute(
        "SELECT query_id, query_version, stream_id, entered_ts, left_ts, ended_by, "
        "entered_place, left_place, duration FROM visits"
    ).fetchall()
    plain = [(*row[:3], seconds(row[3]), seconds(row[4]), *row[5:8]) for row in found]
    assert sorted(plain, key=repr) == sorted(visits_of(history), key=repr)
    for (_, _, _, entered, left, *_), (*_, duration) in zip(plain, found, strict=True):
        assert duration == (None if entered is None or left is None else left - entered)


@given(histories())
def test_oracle_inside_now_are_the_visits_that_go_on(history):
    connection = laid_out(history).in_memory(SHARED)
    found = connection.execute(
        "SELECT query_id, query_version, stream_id, since, since_place FROM inside_now"
    ).fetchall()
    expected = [(*visit[:4], visit[6]) for visit in visits_of(history) if visit[5] is None]
    assert sorted((*row[:3], seconds(row[3]), row[4]) for row in found) == sorted(expected)


def counted(pairs: dict[Any, list[Crossing]], inside: Counter[Any]) -> list[tuple[Any, ...]]:
    """Count the crossings of each key: entered, left, inside now, first and last."""
    return sorted(
        (
            *key,
            sum(c.type == "I" for c in crossings),
            sum(c.type == "O" for c in crossings),
            inside[key],
            min(c.ts for c in crossings),
            max(c.ts for c in crossings),
        )
        for key, crossings in pairs.items()
    )


@given(histories())
def test_oracle_activity_counts_the_crossings_in_force(history):
    connection = laid_out(history).in_memory(SHARED)
    inside = [visit for visit in visits_of(history) if visit[5] is None]
    by_query, by_stream = defaultdict(list), defaultdict(list)
    for crossing in history.in_force:
        by_query[crossing.query, crossing.version].append(crossing)
        by_stream[crossing.stream,].append(crossing)
    told = "times_entered, times_left, inside_now, first_ts, last_ts"
    of_queries, of_streams = (
        sorted(connection.execute(f"SELECT {columns} FROM {view}").fetchall())
        for view, columns in (
            ("query_activity", f"query_id, query_version, {told}, streams"),
            ("stream_activity", f"stream_id, {told}, queries"),
        )
    )
    rows = [(*row[:-3], *map(seconds, row[-3:-1])) for row in of_queries]
    assert rows == counted(by_query, Counter(visit[:2] for visit in inside))
    rows = [(*row[:-3], *map(seconds, row[-3:-1])) for row in of_streams]
    assert rows == counted(by_stream, Counter(visit[2:3] for visit in inside))
    assert [(*row[:2], row[-1]) for row in of_queries] == [
        (*key, len({c.stream for c in by_query[key]})) for key in sorted(by_query)
    ]
    assert [(row[0], row[-1]) for row in of_streams] == [
        (*key, len({c.query for c in by_stream[key]})) for key in sorted(by_stream)
    ]


@given(histories())
def test_oracle_versions_stand_from_their_first_row_to_their_end(history):
    connection = laid_out(history).in_memory(SHARED)
    log = [(n, row) for n, step in enumerate(history.steps, 1) for row in step.rows]
    expected = []
    for query, version in dict.fromkeys((row["id"], row["version"]) for _, row in log):
        mine = [(n, r) for n, r in log if (r["id"], r["version"]) == (query, version)]
        stood = [(n, r) for n, r in mine if not r["removed"]]
        later = [
            (n, "removal" if r["removed"] else "change")
            for n, r in log
            if r["id"] == query and (r["version"] > version or r["removed"]) and n > stood[0][0]
        ]
        until, how = min(later, default=(None, None))
        expected.append((query, version, stood[0][0], until, how, stood[-1][1]["note"]))
    columns = "id, version, n, until_n, ended_by, note"
    found = answered(connection, f"SELECT {columns} FROM query_versions")
    assert found == sorted(expected, key=repr)
    standing = answered(connection, "SELECT id, version, note FROM queries")
    assert standing == sorted(((q, v, note) for q, v, _, u, _, note in expected if not u), key=repr)


@given(histories())
def test_oracle_the_events_of_done_epochs_in_force_are_all_there_is(history):
    connection = laid_out(history).in_memory(SHARED)
    found = connection.execute(
        "SELECT type, query_id, query_version, stream_id, ts, place, prev_ts FROM events"
    ).fetchall()
    plain = [(*row[:4], seconds(row[4]), row[5], seconds(row[6])) for row in found]
    expected = [
        (c.type, c.query, c.version, c.stream, c.ts, c.place, c.prev_ts) for c in history.in_force
    ]
    assert sorted(plain) == sorted(expected)
    in_force = answered(connection, "SELECT epoch, generation FROM epochs WHERE in_force")
    assert in_force == answered(connection, "SELECT epoch, generation FROM done_epochs")
    assert [epoch for epoch, _ in in_force] == sorted(range(1, history.epochs + 1), key=str)


def test_a_higher_generation_replaces_from_its_first_epoch_on_before_it_is_done():
    ledger = Ledger()
    for epoch in (1, 2, 3, 4):
        ledger.epoch("ticks", epoch, [epoch])
        ledger.epoch("locations", epoch, [])
    ledger.epoch("ticks", 3, [3, 5], generation=2)
    ledger.epoch("ticks", 4, [4], generation=2, state="planned")
    connection = ledger.in_memory()
    force = "SELECT lane, epoch, generation FROM done_epochs"
    assert answered(connection, f"{force} WHERE lane = 'ticks'") == [
        ("ticks", 1, 1),
        ("ticks", 2, 1),
        ("ticks", 3, 2),
    ]
    assert len(answered(connection, f"{force} WHERE lane = 'locations'")) == 4
    states = answered(connection, "SELECT epoch, generation, state FROM epochs WHERE NOT in_force")
    assert [row for row in states if row[1] == 2] == [(4, 2, "planned")]


def test_a_horizon_is_no_epoch():
    ledger = Ledger()
    ledger.epoch("ticks", 1, [1])
    ledger.add("epochs", lane="ticks", epoch=1, generation=9, state="horizon")
    connection = ledger.in_memory()
    assert answered(connection, "SELECT epoch, generation FROM done_epochs") == [(1, 1)]
    assert answered(connection, "SELECT epoch, generation FROM epochs") == [(1, 1)]


def test_tuples_and_quarantine_show_what_arrived_whole_and_what_is_in_force():
    ledger = Ledger()
    done, refused = ledger.arrive("ticks"), ledger.arrive("ticks", "refused")
    planned = ledger.arrive("ticks", "planned")
    for n in (done, refused, planned):
        ledger.add("ticks", stream_id=f"s{n}", arrival=n)
        ledger.add("quarantine", feed="ticks", arrival=n, reason="malformed")
        ledger.add("quarantine", feed="ticks", arrival=n, reason="late", epoch=1, generation=n)
    ledger.epoch("ticks", 1, [done])
    ledger.epoch("ticks", 1, [done], generation=2)
    connection = ledger.in_memory()
    assert answered(connection, "SELECT stream_id, arrival FROM ticks") == [("s1", 1)]
    found = answered(connection, "SELECT reason, arrival, generation FROM quarantine")
    assert found == [("late", refused, 2), ("malformed", done, None)]
    told = answered(connection, "SELECT n, state FROM arrivals")
    assert told == [(1, "done"), (2, "refused"), (3, "planned")]


def test_logs_give_the_newest_row_of_a_key_since_the_last_snapshot():
    ledger = Ledger()
    for epoch in (1, 2, 3):
        ledger.epoch("ticks", epoch, [epoch], snapshot=epoch == 2)
    ledger.epoch("ticks", 4, [4], state="planned")
    ledger.epoch("locations", 1, [])

    def log(table: str, epoch: int, stream: str, **more: Any) -> None:
        row = {"feed": "ticks", "generation": 1, **more}
        ledger.add(table, epoch=epoch, stream_id=stream, **row)

    log("stream_state", 1, "old", ts=at(1), price=1.0)  # the snapshot does not have it
    log("stream_state", 2, "a", ts=at(2), price=2.0)
    log("stream_state", 2, "a", ts=at(2), price=2.0, snapshot=True)
    log("stream_state", 2, "b", ts=at(1), price=5.0, snapshot=True)
    log("stream_state", 2, "c", ts=at(2))  # what the snapshot has not is not there
    log("stream_state", 3, "b", ts=at(3), price=6.0)
    log("stream_state", 4, "a", ts=at(4), price=9.0)  # not done
    log("stream_state", 1, "a", ts=at(9), x=1.0, feed="locations")
    found = answered(
        ledger.in_memory(), "SELECT feed, stream_id, ts, price, x, epoch FROM stream_state"
    )
    assert found == [
        ("locations", "a", at(9), None, 1.0, 1),
        ("ticks", "a", at(2), 2.0, None, 2),
        ("ticks", "b", at(3), 6.0, None, 3),
    ]
    log("reorder", 2, "a", ts=at(5), snapshot=True)
    log("reorder", 2, "a", ts=at(6), snapshot=True)
    log("reorder", 3, "a", ts=at(5), gone=True)
    assert answered(ledger.in_memory(), "SELECT stream_id, ts FROM reorder") == [("a", at(6))]
    pair: dict[str, Any] = {"query_id": "q", "query_version": 1}
    log("pending", 2, "a", **pair, type="I", ts=at(2), snapshot=True)
    log("pending", 3, "a", **pair, type="I", ts=at(2), gone=True)
    log("pending", 3, "a", **pair, type="O", ts=at(3))
    log("pending", 2, "b", **pair, type="I", ts=at(2), snapshot=True)
    log("pending", 3, "b", **pair, type="I", ts=at(2), gone=True)
    found = answered(ledger.in_memory(), "SELECT stream_id, type, ts FROM pending")
    assert found == [("a", "O", at(3))]


def test_an_end_takes_effect_when_the_lane_has_come_to_it():
    ledger = Ledger()
    ledger.register({"id": "q"})
    first, second = ledger.arrive("ticks"), ledger.arrive("ticks")
    ledger.epoch("ticks", 1, [first], watermark=at(10))
    ledger.event("I", "q", "a", 4)
    ledger.register({"id": "q", "removed": True})
    inside, ended = "SELECT query_id FROM inside_now", "SELECT left_ts, ended_by FROM visits"
    assert answered(ledger.in_memory(), inside) == [("q",)]
    assert answered(ledger.in_memory(), ended) == [(None, None)]
    ledger.epoch("ticks", 2, [second], watermark=at(20), registry_version=1)
    assert answered(ledger.in_memory(), inside) == []
    assert answered(ledger.in_memory(), ended) == [(at(20), "removal")]
    third = ledger.arrive("ticks")
    ledger.epoch("ticks", 3, [third], watermark=at(30))
    assert answered(ledger.in_memory(), ended) == [(at(20), "removal")]


@pytest.mark.parametrize(
    ("watermark", "removed_at", "expected"),
    [
        (9, None, (None, None)),
        (10, None, (10, "valid_to")),
        (11, None, (10, "valid_to")),
        (30, 9, (9, "removal")),
        (30, 10, (10, "valid_to")),
        (30, 11, (10, "valid_to")),
    ],
)
def test_a_visit_ends_where_the_validity_ends_or_the_query_was_removed_before(
    watermark, removed_at, expected
):
    ledger = Ledger()
    ledger.register({"id": "q", "valid_to": at(10)})
    ledger.event("I", "q", "a", 4)
    first = ledger.arrive("ticks")
    ledger.epoch("ticks", 1, [first], watermark=at(removed_at or watermark))
    if removed_at is not None:
        ledger.register({"id": "q", "removed": True})
        ledger.epoch("ticks", 2, [ledger.arrive("ticks")], watermark=at(watermark))
    connection = ledger.in_memory()
    left, how = expected
    assert answered(connection, "SELECT left_ts, ended_by FROM visits") == [(at(left), how)]
    inside = answered(connection, "SELECT query_id FROM inside_now")
    assert inside == ([] if how else [("q",)])


def test_a_visit_ends_with_the_change_of_its_query_not_with_a_later_edit():
    ledger = Ledger()
    marks = iter((10, 20, 30))
    for epoch, version in ((1, 1), (2, 2), (3, 2)):
        ledger.register({"id": "q", "version": version})
        delivery = ledger.arrive("ticks")
        ledger.epoch("ticks", epoch, [delivery], watermark=at(next(marks)))
    ledger.event("I", "q", "a", 4)
    ledger.event("I", "q", "a", 14, query_version=2, epoch=2)
    connection = ledger.in_memory()
    told = "SELECT query_version, left_ts, ended_by FROM visits"
    assert answered(connection, told) == [(1, at(10), "removal"), (2, None, None)]
    queries = "SELECT stream_id, queries, times_entered FROM stream_activity"
    assert answered(connection, queries) == [("a", 1, 2)]


def test_a_query_that_stood_stood_not_and_stood_again_ends_its_visit_before_it_was_seen_outside():
    ledger = Ledger()
    ledger.register({"id": "q"})
    ledger.epoch("ticks", 1, [ledger.arrive("ticks")], watermark=at(10))
    ledger.event("I", "q", "a", 4)
    ledger.event("I", "q", "a", 9, prev_ts=at(8))
    assert answered(ledger.in_memory(), "SELECT entered_ts, left_ts, ended_by FROM visits") == [
        (at(4), at(8), "removal"),
        (at(9), None, None),
    ]
    ledger.event("O", "q", "b", 4)
    ledger.event("O", "q", "b", 9)
    unseen = "SELECT entered_ts, left_ts, ended_by FROM visits WHERE stream_id = 'b'"
    assert answered(ledger.in_memory(), unseen) == [
        (None, at(4), "crossing"),
        (None, at(9), "crossing"),
    ]


def test_an_epoch_that_lost_a_row_is_not_balanced():
    ledger = Ledger()
    ledger.epoch("ticks", 1, [1], rows=10, accepted=5, waiting=2, malformed=1, late=2)
    ledger.epoch("ticks", 2, [2], rows=3, accepted=4, duplicate=1)
    ledger.epoch("ticks", 3, [3], rows=3, accepted=2)
    found = answered(
        ledger.in_memory(),
        "SELECT epoch, rows, waiting_before, accepted, waiting, balanced FROM epoch_accounting",
    )
    assert found == [(1, 10, 0, 5, 2, True), (2, 3, 2, 4, 0, True), (3, 3, 0, 2, 0, False)]


def test_transitions_are_counted_by_type():
    ledger = Ledger()
    ledger.register({"id": "q"})
    ledger.epoch("ticks", 1, [ledger.arrive("ticks")], watermark=at(10))
    ledger.event("O", "q", "a", 4)
    for type_, stream in (("stay", "a"), ("stay", "b"), ("departure", "a")):
        row = {"feed": "ticks", "query_id": "q", "query_version": 1, "generation": 1}
        ledger.add("transitions", type=type_, stream_id=stream, epoch=1, **row)
        ledger.add("transitions", type=type_, stream_id=stream, epoch=2, **row)
    kinds = "pass_through, short_absence, stay, departure"
    connection = ledger.in_memory()
    assert answered(connection, f"SELECT {kinds} FROM query_activity") == [(0, 0, 2, 1)]
    assert answered(connection, f"SELECT {kinds} FROM stream_activity") == [(0, 0, 1, 1)]


def test_matches_are_counted_beside_the_crossings():
    ledger = Ledger()
    ledger.register({"id": "q"}, {"id": "m", "kind": "match"})
    for epoch in (1, 2):
        ledger.epoch("ticks", epoch, [ledger.arrive("ticks")], watermark=at(10 * epoch))
    ledger.event("I", "q", "a", 4)
    matched = {"feed": "ticks", "query_id": "m", "query_version": 1, "generation": 1}
    for stream, ts, epoch in (("a", 2, 1), ("b", 3, 1), ("a", 12, 2), ("a", 13, 3)):
        ledger.add("matches", **matched, stream_id=stream, ts=at(ts), epoch=epoch)
    connection = ledger.in_memory()
    told = "times_entered, matches, streams, inside_now, first_ts, last_ts"
    assert answered(connection, f"SELECT query_id, {told} FROM query_activity") == [
        ("m", 0, 3, 2, 0, at(2), at(12)),  # nothing of epoch 3, which is not done
        ("q", 1, 0, 1, 1, at(4), at(4)),
    ]
    told = "times_entered, matches, queries, inside_now, first_ts, last_ts"
    assert answered(connection, f"SELECT stream_id, {told} FROM stream_activity") == [
        ("a", 1, 2, 2, 1, at(2), at(12)),
        ("b", 0, 1, 1, 0, at(3), at(3)),
    ]
    assert answered(connection, "SELECT stream_id, ts FROM matches WHERE epoch = 2") == [
        ("a", at(12))
    ]


def test_every_view_gives_the_columns_that_it_declares(tmp_path):
    ledger = Ledger()
    ledger.written(tmp_path / "lake")
    session = duckdb_session(tmp_path / "lake", ledger.tables, "SHOW TABLES")
    for view in views(ledger.tables):
        empty = session.execute(f'SELECT * FROM "{view.name}"').to_arrow_table()
        assert empty.num_rows == 0
        assert empty.schema.names == view.arrow.names, view.name
        assert empty.schema.types == view.arrow.types, view.name
        assert view.comment


def test_no_feed_can_take_a_name_of_a_view():
    names = {name for name, _ in statements(all_tables({}))}
    assert names <= {*RESERVED, *VIEWS}


@settings(max_examples=5)
@given(histories())
def test_delta_tables_show_what_the_same_rows_in_memory_show(history):
    ledger = laid_out(history)
    in_memory = ledger.in_memory(SHARED)
    with TemporaryDirectory() as folder:
        ledger.written(Path(folder) / "lake")
        session = duckdb_session(Path(folder) / "lake", ledger.tables)
        for name in (view.name for view in views_for("", ledger.tables)):
            told = answered(session, f'SELECT * FROM "{name}"')
            assert told == answered(in_memory, f'SELECT * FROM "{name}"'), name
        session.close()
