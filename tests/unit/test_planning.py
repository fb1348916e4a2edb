"""The laws of the planner: one chain without gaps, over all deliveries in their order."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import LakeError
from pipelines.planning.chain import Chain, Epoch
from pipelines.planning.deliveries import Arrivals
from pipelines.planning.plan import (
    Limits,
    first_difference,
    moved,
    next_group,
)
from schemas.arrivals import ARRIVALS, DONE, PLANNED
from schemas.epochs import COUNTS, EPOCHS, HORIZON
from tests.support.lakes.planned import (
    KEYS,
    LANE,
    NOW,
    Ledger,
    arrived,
    context,
    delivery,
    limits,
    ordered,
    registrations,
)


@given(arrived, limits, registrations, st.integers(0, 5))
def test_every_delivery_is_taken_once_in_order_whatever_the_limits(
    deliveries, limits, commits, lateness
) -> None:
    ledger = Ledger()
    groups = ledger.advance(deliveries, limits, commits=commits, lateness=lateness)
    chain = ledger.chain
    in_order = ordered(deliveries)
    assert chain.covered == [d.n for d in in_order]
    assert [e.epoch for e in chain.epochs] == list(range(1, len(chain) + 1))
    marks = [mark for epoch in chain.epochs for mark in epoch.watermarks]
    stands = None
    assert marks == [stands := moved(stands, d.max_ts, lateness) for d in in_order]
    befores = [epoch.watermark_before for epoch in chain.epochs]
    assert befores == [None, *(epoch.watermark for epoch in chain.epochs)][: len(chain)]
    for group in groups:
        assert {(e.first, e.last) for e in group} == {(group[0].epoch, group[-1].epoch)}
        assert len(group) <= limits.group


@given(arrived, limits, registrations)
def test_an_epoch_has_one_partition_and_one_registry_and_keeps_to_the_limits(
    deliveries, limits, commits
) -> None:
    by_number = {d.n: d for d in deliveries}
    version_at = context(commits).registry_version_at
    for group in Ledger().advance(deliveries, limits, commits=commits):
        for epoch in group:
            own = [by_number[n] for n in epoch.arrivals]
            assert {d.key for d in own} == {epoch.key}
            assert {version_at(d.n) for d in own} == {epoch.registry_version}
            assert epoch.fingerprint == f"f{epoch.registry_version}"
            assert len(own) == 1 or sum(d.tuples for d in own) <= limits.epoch_rows
            assert limits.epoch_deliveries is None or len(own) <= limits.epoch_deliveries
        rows = sum(by_number[n].tuples for epoch in group for n in epoch.arrivals)
        assert len(group) == 1 or rows <= limits.epoch_rows


@given(arrived, limits, st.lists(st.integers(0, 9), max_size=4), registrations)
def test_what_arrives_late_is_taken_in_its_place_and_all_behind_it_anew(
    deliveries, limits, cuts, commits
) -> None:
    ledger = Ledger()
    for cut in sorted(cuts):
        before = ledger.chain
        kept = first_difference(before, ordered(deliveries[:cut]))
        groups = ledger.advance(deliveries[:cut], limits, commits=commits)
        assert ledger.chain.covered == [d.n for d in ordered(deliveries[:cut])]
        assert ledger.chain.epochs[:kept] == before.epochs[:kept]
        if kept < len(before):
            assert groups[0][0].epoch == kept + 1
            assert groups[0][0].generation == before.generation + 1
    whole = ledger.advance(deliveries, limits, commits=commits)
    assert ledger.chain.covered == [d.n for d in ordered(deliveries)]
    assert ledger.chain.replaced == ()
    assert not ledger.plan(deliveries, limits, commits=commits), whole


@given(arrived, limits)
@pytest.mark.fault(2)
def test_a_plan_depends_on_the_ledgers_alone(deliveries, limits) -> None:
    one, other = Ledger(), Ledger()
    assert one.advance(deliveries, limits) == other.advance(deliveries, limits)


@given(arrived, limits, st.sampled_from(KEYS))
def test_nothing_behind_the_partition_asked_for_is_planned(deliveries, limits, until) -> None:
    ledger = Ledger()
    ledger.advance(deliveries, limits, until=until)
    assert ledger.chain.covered == [d.n for d in ordered(deliveries) if d.key <= until]
    ledger.advance(deliveries, limits)
    assert ledger.chain.covered == [d.n for d in ordered(deliveries)]


@given(arrived, limits, st.integers(0, 8))
def test_the_state_is_laid_down_whole_often_enough_and_only_where_a_group_ends(
    deliveries, limits, grown_after
) -> None:
    ledger = Ledger()
    last = 0
    for group in ledger.advance(deliveries, limits, grown_after=grown_after):
        assert not any(epoch.snapshot for epoch in group[:-1])
        is_due = group[-1].epoch - last >= limits.snapshot_every
        assert group[-1].snapshot == (is_due and group[0].epoch - 1 - last >= grown_after)
        last = group[-1].epoch if group[-1].snapshot else last
    assert ledger.chain.snapshot == last


def test_a_partition_that_got_another_delivery_is_evaluated_from_the_epoch_that_differs() -> None:
    first = [delivery(1), delivery(2, KEYS[1]), delivery(3, KEYS[2])]
    ledger = Ledger()
    ledger.advance(first)
    late = [*first, delivery(4, KEYS[1])]
    group = ledger.plan(late, until=KEYS[1])
    assert [(e.epoch, e.generation, e.arrivals) for e in group] == [(3, 2, (4,))]
    assert [e.key for e in ledger.chain.replaced] == [KEYS[2]]
    ledger.rows += [replace(epoch, done=True) for epoch in group]
    assert ledger.chain.eras == [(1, 1, 2), (2, 3, 3)]
    assert ledger.chain.replaced != ()  # the last partition is stale until it is evaluated too
    [again] = ledger.advance(late)
    assert [(e.epoch, e.generation, e.arrivals) for e in again] == [(4, 2, (3,))]
    assert ledger.chain.replaced == ()


def test_nothing_is_planned_while_a_group_is_open() -> None:
    ledger = Ledger()
    group = ledger.plan([delivery(1), delivery(2, KEYS[1])])
    assert ledger.chain.open == tuple(group)
    with pytest.raises(LakeError, match="the epochs 1–2 are not done"):
        ledger.plan([delivery(1), delivery(2, KEYS[1])])
    ledger.rows.append(replace(group[0], done=True))
    assert [epoch.done for epoch in ledger.chain.open] == [True, False]
    ledger.rows.append(replace(group[1], done=True))
    assert not ledger.chain.open


def test_asked_for_anew_epochs_are_planned_under_the_next_generation_though_nothing_changed() -> (
    None
):
    deliveries = [delivery(1), delivery(2, KEYS[1]), delivery(3, KEYS[2])]
    ledger = Ledger()
    ledger.advance(deliveries, Limits(group=1))
    [first, second] = ledger.advance(deliveries, Limits(group=1), again_from=2)
    told = [(e.epoch, e.generation, e.arrivals) for e in (*first, *second)]
    assert told == [(2, 2, (2,)), (3, 2, (3,))]
    assert ledger.chain.eras == [(1, 1, 1), (2, 2, 3)]


def test_what_lies_before_the_horizon_cannot_be_evaluated_anew() -> None:
    deliveries = [delivery(n, key) for n, key in enumerate(KEYS, 1)]
    ledger = Ledger()
    ledger.advance(deliveries)
    ledger.rows.append(replace(ledger.chain.epochs[1], horizon=True))
    assert ledger.chain.horizon == 2
    late = [*deliveries, delivery(4, KEYS[0])]
    with pytest.raises(LakeError, match="states before epoch 2 are gone"):
        ledger.plan(late)
    later = [*deliveries, delivery(4, KEYS[1])]
    assert [e.epoch for e in ledger.plan(later)] == [3, 4]


@pytest.mark.fault(27)
def test_of_a_chain_with_a_hole_it_is_said_where() -> None:
    ledger = Ledger()
    ledger.advance([delivery(n, key) for n, key in enumerate(KEYS, 1)], Limits(group=1))
    holed = [epoch for epoch in ledger.rows if epoch.epoch != 2]
    with pytest.raises(LakeError, match="has epoch 3 where 2 was expected"):
        Chain.of(LANE, holed)
    undone = [epoch for epoch in ledger.rows if epoch.epoch != 2 or not epoch.done]
    with pytest.raises(LakeError, match="epoch 2 of 'grid' is not done, and later ones"):
        Chain.of(LANE, undone)


@given(arrived, limits, st.randoms(use_true_random=False))
def test_the_order_of_the_ledgers_rows_and_other_lanes_change_nothing(
    deliveries, limits, draw
) -> None:
    ledger = Ledger()
    ledger.advance(deliveries, limits)
    ledger.advance(deliveries, limits, again_from=2)
    mixed = [*ledger.rows, *(replace(epoch, lane="other", epoch=9) for epoch in ledger.rows)]
    draw.shuffle(mixed)
    assert Chain.of(LANE, mixed) == ledger.chain


@given(arrived, limits)
def test_a_prefix_of_the_chain_is_the_chain_as_it_was(deliveries, limits) -> None:
    ledger = Ledger()
    groups = ledger.advance(deliveries, limits)
    for group, following in pairwise(groups):
        upto = ledger.chain.upto(group[-1].epoch)
        assert upto.watermark == following[0].watermark_before
        assert upto.covered == ledger.chain.covered[: len(upto.covered)]
        assert upto.eras == [(1, 1, group[-1].epoch)]


def test_an_epoch_survives_the_ledger() -> None:
    epoch = Epoch(
        LANE, 3, 2, "p", 3, 4, KEYS[0], (5, 7), 2, "f", None, (None, 9), True, {"a": 1}, "c"
    )
    counts = {**dict.fromkeys(COUNTS, 0), "rows": 4, "waiting": 1}
    done = replace(epoch, counts=counts, done=True, choice='{"matches": {}}')
    horizon = replace(epoch, horizon=True)
    rows = [epoch.as_row(PLANNED, NOW), done.as_row(DONE, NOW, {"job": 0.5})]
    rows.append(horizon.as_row(HORIZON, NOW))
    table = pa.Table.from_pylist([dict(row) for row in rows], EPOCHS.arrow)
    assert [Epoch.of_row(row) for row in table.to_pylist()] == [epoch, done, horizon]
    older = {**table.to_pylist()[1], "matched": None, "choice": None}
    assert Epoch.of_row(older) == replace(done, choice=None)  # of before there were matches


def arrival(n: int, state: str, **more: Any) -> dict[str, Any]:
    row = {"n": n, "lane": LANE, "kind": "delivery", "state": state, "plan": "p", "path": f"{n}"}
    row |= {"files": [f"{n}.csv"], "content": "", "partition_key": KEYS[0], "found_at": NOW}
    row |= {"bases": "{}"}
    if state == DONE:
        row |= {"rows": 3, "tuples": 2, "malformed": 1, "future": 0, "max_ts": NOW}
    return row | more


def ledger_of(*rows: dict[str, Any]) -> Arrivals:
    return Arrivals.of(pa.Table.from_pylist(list(rows), ARRIVALS.arrow).to_pylist())


def test_only_what_is_done_counts_and_the_last_word_tells() -> None:
    arrivals = ledger_of(
        arrival(4, DONE),
        arrival(4, PLANNED),
        arrival(2, DONE, partition_key=KEYS[1]),
        arrival(3, PLANNED),
        arrival(5, "refused"),
        arrival(6, DONE, lane="other"),
        arrival(7, DONE, kind="registry", lane="queries", registry_version=1),
    )
    assert [(d.key, d.n) for d in arrivals.deliveries(LANE)] == [(KEYS[0], 4), (KEYS[1], 2)]
    mine = arrivals.deliveries(LANE)[0]
    assert (mine.rows, mine.tuples, mine.malformed, mine.files) == (3, 2, 1, ("4.csv",))


@pytest.mark.fault(24)
def test_a_delivery_goes_by_the_last_registry_that_was_done_before_it() -> None:
    registry = {"kind": "registry", "lane": "queries", "partition_key": ""}
    arrivals = ledger_of(
        arrival(2, DONE, **registry, registry_version=1),
        arrival(4, "refused", **registry, registry_version=2),
        arrival(6, PLANNED, **registry, registry_version=3),
        arrival(8, DONE, **registry, registry_version=4),
    )
    versions = {n: arrivals.registry_version_at(n) for n in (1, 2, 3, 5, 7, 8, 9)}
    assert versions == {1: 0, 2: 0, 3: 1, 5: 1, 7: 1, 8: 1, 9: 4}


@pytest.mark.fault(24)
@pytest.mark.parametrize("ends", [DONE, "refused"])
def test_nothing_is_planned_behind_a_registration_that_is_not_concluded(ends) -> None:
    registry = {"kind": "registry", "lane": "queries", "partition_key": "", "registry_version": 1}
    arrivals = ledger_of(arrival(1, DONE), arrival(2, PLANNED, **registry), arrival(3, DONE))
    assert [each.n for each in arrivals.settled(LANE)] == [1]
    arrivals.take(arrival(2, ends, **registry))
    assert [each.n for each in arrivals.settled(LANE)] == [1, 3]


@pytest.mark.parametrize(
    ("before", "latest", "lateness", "after"),
    [
        (None, [None, 5, None, 3, 9], 0, [None, 5, 5, 5, 9]),
        (None, [5, 9], 3, [2, 6]),
        (7, [5, 9, None], 3, [7, 7, 7]),
        (None, [], 3, []),
    ],
)
def test_the_watermark_never_falls(before, latest, lateness, after) -> None:
    marks = [before := moved(before, ts, lateness) for ts in latest]
    assert marks == after


def test_a_lane_of_two_feeds_has_a_watermark_when_both_have_and_it_is_the_smaller() -> None:
    told = [(1, "bids", 5), (2, "asks", None), (3, "asks", 9), (4, "bids", 20), (5, "asks", 30)]
    deliveries = [delivery(n, feed=feed, max_ts=ts) for n, feed, ts in told]
    made = replace(context(), lateness={"bids": 0, "asks": 3})
    for cut in (1, 2, 5):
        chain = Chain("bids~asks", (), 1, 0, ())
        while group := next_group(chain, deliveries, made, Limits(epoch_deliveries=cut)):
            done = [replace(epoch, done=True) for epoch in group]
            chain = Chain.of("bids~asks", [*chain.epochs, *done])
        marks = [mark for epoch in chain.epochs for mark in epoch.watermarks]
        assert marks == [None, None, 5, 6, 20]
        assert chain.feed_watermarks == {"bids": 20, "asks": 27}


def test_a_watermark_does_not_fall_where_more_lateness_is_allowed() -> None:
    ledger = Ledger()
    ledger.advance([delivery(1, max_ts=100)])
    ledger.advance([delivery(1, max_ts=100), delivery(2, max_ts=110)], lateness=60)
    later = [delivery(1, max_ts=100), delivery(2, max_ts=110), delivery(3, max_ts=190)]
    ledger.advance(later, lateness=60)
    assert [epoch.watermark for epoch in ledger.chain.epochs] == [100, 100, 130]


def test_a_lane_of_two_feeds_has_the_deliveries_of_both_in_one_order() -> None:
    arrivals = ledger_of(
        arrival(1, DONE, lane="bids", partition_key=KEYS[1]),
        arrival(2, DONE, lane="asks", partition_key=KEYS[0]),
        arrival(3, DONE, lane="fish", partition_key=KEYS[0]),
        arrival(4, DONE, lane="asks", partition_key=KEYS[1]),
    )
    taken = [(d.n, d.feed) for d in arrivals.deliveries("bids~asks")]
    assert taken == [(2, "asks"), (1, "bids"), (4, "asks")]


def test_what_stands_for_one_delivery_of_a_lane_stands_for_those_behind_it() -> None:
    registry = {"kind": "registry", "lane": "queries", "partition_key": ""}
    arrivals = ledger_of(
        arrival(1, DONE, lane="bids", partition_key=KEYS[1]),
        arrival(2, DONE, **registry, registry_version=1),
        arrival(3, DONE, lane="bids", partition_key=KEYS[0]),
        arrival(4, DONE, lane="asks", partition_key=KEYS[1]),
    )
    in_order = arrivals.deliveries("bids~asks")
    assert [d.n for d in in_order] == [3, 1, 4]
    version_at = arrivals.rising_versions(in_order)
    assert {n: version_at(n) for n in (3, 1, 4)} == {3: 1, 1: 1, 4: 1}
    assert arrivals.registrations(0, 1) == {1: (2, int(NOW.timestamp()) * 1_000_000)}
