"""The checks where a stream has several tuples at one instant: they go by (ts, place)."""

import pytest

from pipelines.checks import contract_checks, own_checks
from pipelines.serve.views.duckdb import duckdb_session
from tests.support.lakes.ledger import Ledger, at
from tests.support.lakes.sound_feed import failed, sound_settings
from tests.support.lakes.tied_feed import tied


def alter(ledger: Ledger, table: str, place: int, change: dict[str, object]) -> None:
    """Write other values into the one row of `t` with this place, whatever its column is called."""
    places = ("place", "from_place", "ts_place")
    (row,) = [
        row
        for row in ledger.rows[table]
        if row["stream_id"] == "t" and place in [row.get(name) for name in places]
    ]
    row.update(change)


def test_many_steps_at_one_instant_pass_every_check(tmp_path):
    tied().written(tmp_path / "lake")
    declared = sound_settings(tmp_path)
    assert failed(own_checks(declared, "ticks")) == []
    assert failed(contract_checks(declared, "ticks")) == []


def test_their_visits_are_told_apart(tmp_path):
    ledger = tied()
    ledger.written(tmp_path / "lake")
    session = duckdb_session(tmp_path / "lake", ledger.tables)
    told = "entered_ts, entered_place, left_ts, left_place, ended_by, duration"
    found = session.execute(f"SELECT {told} FROM visits ORDER BY entered_place").fetchall()  # noqa: S608
    assert found == [
        (at(1), 1, at(1), 2, "crossing", 0.0),
        (at(1), 3, at(1), 4, "crossing", 0.0),
    ]
    assert session.execute("SELECT * FROM inside_now").fetchall() == []
    session.close()


@pytest.mark.parametrize(
    ("name", "table", "place", "change", "said"),
    [
        ("crossings_alternate", "events", 2, {"place": 9}, "I at 2026-11-18 00:00:01+00, place 3"),
        (
            "crossings_are_those_of_the_queries",
            "events",
            2,
            {"place": 5},
            "missing: O of q v1 by t",
        ),
        ("matches_are_those_of_the_queries", "matches", 3, {"place": 2}, "place 3"),
        ("matches_are_of_tuples_taken", "matches", 3, {"place": 5}, ", place 5 was taken"),
        ("transitions_follow", "transitions", 1, {"to_place": 4}, "place 1 became pass_through by"),
        ("transitions_follow", "transitions", 2, {"from_place": 7}, "place 2 became nothing"),
        ("state_is_the_newest", "stream_state", 4, {"ts_place": 3}, "its newest tuple has place 4"),
        ("state_is_the_newest", "stream_state", 4, {"price": 15.0}, "at other values"),
    ],
)
def test_a_wrong_place_is_found_and_told(tmp_path, name, table, place, change, said):
    ledger = tied()
    alter(ledger, table, place, change)
    ledger.written(tmp_path / "lake")
    (checked,) = own_checks(sound_settings(tmp_path), "ticks", names=[name])
    assert not checked.passed
    assert any(said in sample for sample in checked.samples), checked.samples


@pytest.mark.parametrize(
    ("name", "table", "place", "change"),
    [
        ("one_event_each", "events", 2, {"place": 1}),
        ("steps_go_forward", "events", 1, {"place": 0}),
        ("one_transition_each", "transitions", 2, {"from_place": 1}),
        ("answered_by_a_later_tuple", "transitions", 3, {"to_place": 3}),
        ("one_match_each", "matches", 3, {"place": 1}),
    ],
)
def test_a_promise_of_places_that_is_broken_is_found(tmp_path, name, table, place, change):
    ledger = tied()
    alter(ledger, table, place, change)
    ledger.written(tmp_path / "lake")
    found = failed(contract_checks(sound_settings(tmp_path), "ticks", tables=[table]))
    assert [which for _, which, _ in found] == [name]
