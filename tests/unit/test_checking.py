"""Our own checks: each passes on a lake as it should be, and fails on the fault it is for."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

from fencepost.errors import InputError
from fencepost.reference import FeedDelivery, Registration, Sighting
from pipelines.checks import OWN, contract_checks, own_checks
from pipelines.checks.scope import CheckScope, latest_run
from pipelines.epochs.drive import chain_of
from pipelines.lanes import lane_named
from pipelines.planning.plan import Limits
from pipelines.spark.runner import HereRunner
from tests.support.examples import FEW, MANY
from tests.support.lakes.ledger import Ledger, at
from tests.support.lakes.sound_feed import failed, sound, sound_settings
from tests.support.lakes.story_lake import LakeWay, lake_of, play
from tests.support.lakes.tick_past import Way
from tests.support.lakes.tick_past import play as landed
from tests.support.stories.strategies import Story, judged_stories

NAMES = [check.name for check in OWN]


def rows(ledger: Ledger, table: str, **which: Any) -> list[dict[str, Any]]:
    """The rows of a table that have these values."""
    return [row for row in ledger.rows[table] if which.items() <= row.items()]


def alter(table: str, change: dict[str, Any], **which: Any) -> Callable[[Ledger], None]:
    """Write other values into some rows."""

    def fault(ledger: Ledger) -> None:
        found = rows(ledger, table, **which)
        assert found
        for row in found:
            row.update(change)

    return fault


def lose(table: str, **which: Any) -> Callable[[Ledger], None]:
    """Take rows away."""

    def fault(ledger: Ledger) -> None:
        found = rows(ledger, table, **which)
        assert found
        ledger.rows[table] = [row for row in ledger.rows[table] if row not in found]

    return fault


def late_delivery(ledger: Ledger) -> None:
    ledger.arrive("ticks", partition_key="2026-11-17", rows=0, tuples=0, malformed=0, future=0)


def refused_delivery(ledger: Ledger) -> None:
    ledger.arrive("ticks", "refused", path="junk.csv", reason="unreadable", detail="no header")


FAULTS = [
    (
        "deliveries_are_accounted_for",
        alter("arrivals", {"rows": 5}, n=2),
        "5 rows read, 4 reported",
    ),
    ("deliveries_are_accounted_for", lose("ticks", line=2), "3 tuples, 1 malformed"),
    ("deliveries_are_accounted_for", lose("quarantine", reason="malformed"), "3, 0 and 0 found"),
    ("epochs_are_accounted_for", alter("epochs", {"late": 0}, epoch=2), "are not the sum"),
    ("epochs_are_accounted_for", alter("epochs", {"entered": 2}, epoch=1), "entered 2 and 1 there"),
    ("epochs_are_accounted_for", lose("quarantine", reason="late"), "late 1 and 0 there"),
    ("epochs_are_accounted_for", lose("transitions", type="departure"), "departure 1 and 0 there"),
    ("crossings_alternate", alter("events", {"type": "I"}, type="O"), "q v1, a: I at "),
    ("crossings_are_those_of_the_queries", lose("events", type="O"), "missing: O of q v1 by a"),
    (
        "crossings_are_those_of_the_queries",
        alter("events", {"type": "O"}, type="I"),
        "not a crossing: O of q v1 by a",
    ),
    (
        "crossings_are_those_of_the_queries",
        alter("queries", {"streams": ["b"]}),
        "not a crossing: ",
    ),
    ("transitions_follow", lose("transitions", type="pass_through"), "became nothing, expected"),
    ("transitions_follow", alter("transitions", {"ts": at(9)}, type="departure"), "another time"),
    (
        "transitions_follow",
        alter("transitions", {"type": "stay"}, type="pass_through"),
        "became stay, expected pass_through",
    ),
    ("epochs_are_accounted_for", lose("matches"), "matched 1 and 0 there"),
    ("matches_are_those_of_the_queries", lose("matches"), "missing: m v1 by a at 2026-11-18"),
    (
        "matches_are_those_of_the_queries",
        alter("queries", {"hi": [12.0]}, id="m"),
        "not a match: m v1 by a",
    ),
    (
        "matches_are_those_of_the_queries",
        alter("queries", {"valid_to": at(1)}, id="m"),
        "not a match: m v1 by a",
    ),
    ("matches_are_of_tuples_taken", alter("matches", {"ts": at(2)}), "m v1, a: no tuple of"),
    (
        "state_is_the_newest",
        alter("stream_state", {"ts": at(9)}, epoch=2),
        "its newest tuple is of",
    ),
    ("state_is_the_newest", alter("stream_state", {"price": 1.0}, epoch=2), "other values"),
    ("state_is_the_newest", lose("stream_state"), "a has no state"),
    ("ledger_has_no_gaps", alter("epochs", {"epoch": 3}, epoch=2), "3 where 2 was expected"),
    ("ledger_has_no_gaps", alter("epochs", {"arrivals": [2, 3]}, epoch=2), "2 is in 2 epochs"),
    ("ledger_has_no_gaps", alter("epochs", {"watermark": at(2)}, epoch=2), "goes back"),
    ("ledger_has_no_gaps", alter("arrivals", {"n": 9}, n=3), "number 3 of the sequence"),
    ("nothing_is_stale", late_delivery, "partition 2026-11-18"),
    ("deliveries_were_readable", refused_delivery, "ticks/junk.csv: unreadable: no header"),
]


@pytest.mark.parametrize(("name", "fault", "said"), FAULTS)
def test_a_fault_in_the_lake_is_found_and_told(tmp_path, name, fault, said):
    ledger = sound()
    fault(ledger)
    ledger.written(tmp_path / "lake")
    (checked,) = own_checks(sound_settings(tmp_path), "ticks", names=[name])
    assert not checked.passed
    assert checked.counts["faults"] > 0
    assert any(said in sample for sample in checked.samples), checked.samples


@pytest.mark.fault(72)
def test_every_check_has_a_fault_that_it_finds():
    assert {name for name, *_ in FAULTS} == set(NAMES)
    assert len(set(NAMES)) == len(NAMES)


def test_a_sound_lake_passes_and_says_what_was_looked_at(tmp_path):
    sound().written(tmp_path / "lake")
    made = own_checks(sound_settings(tmp_path), "ticks")
    assert [checked.name for checked in made] == NAMES
    assert failed(made) == []
    assert all(checked.counts["rows"] > 0 for checked in made)
    assert [checked.table for checked in made][:3] == ["ticks", "ticks", "events"]


@pytest.mark.parametrize("lateness", [0, 2_000_000])
def test_what_the_engine_made_of_a_day_passes(tmp_path, lateness):
    way = Way(run_every=3, limits=Limits(epoch_deliveries=1))
    lake = landed(tmp_path, HereRunner(), way, lateness)
    made = own_checks(lake.settings, "ticks")
    assert failed(made) == []
    looked = {checked.name: checked.counts["rows"] for checked in made}
    assert looked["transitions_follow"] > 100
    assert looked["crossings_are_those_of_the_queries"] > 100
    assert looked["matches_are_those_of_the_queries"] > 100
    assert looked["matches_are_of_tuples_taken"] > 100


ONE_CLOCK_EACH = Story(
    ("x",),
    (Registration(()), FeedDelivery((Sighting("a", 0, (-2.0,)),))),
    lateness=0,
    idle=2_000_000,
)
"""What a lake's record says of it, and not what its fencepost.toml does now."""


@settings(max_examples=FEW // 2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(ONE_CLOCK_EACH)
@given(judged_stories())
def test_whatever_happens_to_a_lake_our_own_checks_hold(tmp_path_factory, story: Story):
    own_checks_hold(tmp_path_factory, story)


@pytest.mark.slow
@settings(max_examples=MANY, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(judged_stories())
def test_our_own_checks_hold_in_many_stories(tmp_path_factory, story: Story):
    own_checks_hold(tmp_path_factory, story)


def own_checks_hold(tmp_path_factory: pytest.TempPathFactory, story: Story) -> None:
    """Play a story on a lake, and check it."""
    way = LakeWay(at_once=2, limits=Limits(epoch_deliveries=1))
    lake = lake_of(tmp_path_factory.mktemp("lake"), story, way)
    play(lake, story, way)
    (feed,) = lake.settings.feeds
    assert failed(own_checks(lake.settings, feed)) == []
    assert failed(contract_checks(lake.settings, feed)) == []


def test_the_epochs_of_a_run_are_looked_at_and_no_others(tmp_path):
    ledger = sound()
    ledger.rows["events"][0]["type"] = "O"  # of epoch 1
    store = ledger.written(tmp_path / "lake")
    declared = sound_settings(tmp_path)
    first, second = chain_of(store, "ticks").epochs
    whole = own_checks(declared, "ticks", [first, second])
    assert [name for _, name, _ in failed(whole)] == [
        "epochs_are_accounted_for",
        "crossings_alternate",
        "crossings_are_those_of_the_queries",
        "transitions_follow",
    ]
    assert failed(own_checks(declared, "ticks", [second])) == []
    looked = {each.name: each.counts["rows"] for each in own_checks(declared, "ticks", [second])}
    assert looked["deliveries_are_accounted_for"] == 1
    assert looked["crossings_alternate"] == 0
    assert looked["state_is_the_newest"] == 1


def test_a_delivery_that_no_epoch_has_taken_yet_is_looked_at_with_any_run(tmp_path):
    ledger = sound()
    ledger.arrive("ticks", rows=3, tuples=3, malformed=0, future=0, partition_key="2026-11-18")
    store = ledger.written(tmp_path / "lake")
    second = chain_of(store, "ticks").epochs[1:]
    (checked,) = own_checks(
        sound_settings(tmp_path), "ticks", second, ["deliveries_are_accounted_for"]
    )
    assert (checked.counts["rows"], checked.counts["faults"]) == (2, 1)


def test_a_stream_that_left_unseen_while_its_query_did_not_stand_may_enter_again(tmp_path):
    ledger = sound()
    ledger.register({"id": "q", "removed": True})
    for epoch, registry in ((3, 2), (4, 1)):
        arrival = ledger.arrive("ticks", rows=0, tuples=0, malformed=0, future=0)
        ledger.epoch(
            "ticks", epoch, [arrival], registry_version=registry, bases="{}", watermarks=[at(30)]
        )
    ledger.event("O", "q", "a", 20, epoch=4, arrival=4)
    ledger.written(tmp_path / "lake")
    (checked,) = own_checks(sound_settings(tmp_path), "ticks", names=["crossings_alternate"])
    assert checked.passed, checked.samples


def test_a_check_that_cannot_be_made_has_failed(tmp_path):
    ledger = sound()
    for row in ledger.rows["epochs"]:
        row["epoch"] += 1
    ledger.written(tmp_path / "lake")
    (checked,) = own_checks(sound_settings(tmp_path), "ticks", names=["nothing_is_stale"])
    assert checked.failed
    assert "has epoch 2 where 1 was expected" in checked.samples[0]


def test_the_latest_run_is_what_was_committed_together(tmp_path):
    chain = chain_of(sound().written(tmp_path / "lake"), "ticks")
    assert [epoch.epoch for epoch in latest_run(chain)] == [2]
    assert latest_run(chain.upto(0)) == ()
    ticks = lane_named(sound_settings(tmp_path), "ticks")
    assert CheckScope.of(ticks, chain.epochs).runs == ((1, 2),)
    assert CheckScope.of(ticks, ()).epochs("e") == "(FALSE)"


def test_an_unknown_feed_is_refused_in_words(tmp_path):
    sound().written(tmp_path / "lake")
    with pytest.raises(InputError, match=r"no feed 'tick'.*Did you mean 'ticks'"):
        own_checks(sound_settings(tmp_path), "tick")
