"""The views of joins over ledgers written by hand: what counts, and what it adds up to."""

# ruff: noqa: S608  SQL is what is tested

from collections import Counter, defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.lakes.ledger import AXES, Ledger, answered, at

LANE, TURNED = "ticks~locations", "locations~ticks"
FOUND: dict[str, Any] = {"lane": LANE, "query_version": 1, "generation": 1, "epoch": 1}
BAND = {"id": "b", "kind": "band_join", "feed": LANE}
SHARED = Ledger().in_memory()


def change(ledger: Ledger, sign: int, left: str, right: str, ts: float, **more: Any) -> None:
    """A pair that came in (+1) or went out (-1)."""
    row = {**FOUND, "query_id": "b", "arrival": 0, **more}
    pair = {"left_stream_id": left, "right_stream_id": right, "ts": at(ts), "day": at(ts)}
    ledger.add("band_changes", **row, **pair, change=sign, left_value=1.5, right_value=1.0)


def shown(ledger: Ledger, sql: str) -> list[tuple[Any, ...]]:
    return answered(ledger.in_memory(SHARED), sql)


def two_epochs(ledger: Ledger) -> tuple[int, int]:
    """An epoch of each feed's delivery, done; the numbers of both."""
    one, two = ledger.arrive("ticks"), ledger.arrive("locations")
    ledger.epoch(LANE, 1, [one])
    ledger.epoch(LANE, 2, [two])
    return one, two


def test_pairs_and_changes_are_shown_of_epochs_that_are_done_and_in_force() -> None:
    ledger = Ledger()
    one, two = two_epochs(ledger)
    ledger.epoch(LANE, 2, [two], generation=2)
    ledger.epoch(LANE, 3, [9], generation=2, state="planned")
    ledger.epoch(TURNED, 3, [9], generation=2)
    for epoch, generation in ((1, 1), (2, 1), (2, 2), (3, 2)):
        told = {"epoch": epoch, "generation": generation, "arrival": one}
        stream = f"{epoch}.{generation}"
        ledger.add(
            "pairs",
            **{**FOUND, **told},
            query_id="w",
            ts=at(epoch),
            left_stream_id=stream,
            left_price=2.0,
            right_stream_id="v",
            right_x=3.0,
        )
        change(ledger, 1, stream, "v", epoch, **told)
    wanted = [("1.1", "v"), ("2.2", "v")]
    both = "left_stream_id, right_stream_id"
    assert shown(ledger, f"SELECT {both} FROM pairs") == wanted
    assert shown(ledger, f"SELECT {both} FROM band_changes") == wanted
    values = "left_price, left_x, right_price, right_x"
    assert set(shown(ledger, f"SELECT {values} FROM pairs")) == {(2.0, None, None, 3.0)}


def test_a_lane_is_no_other_and_its_feeds_have_epochs_of_their_own() -> None:
    ledger = Ledger()
    ledger.epoch("ticks", 1, [ledger.arrive("ticks")])
    change(ledger, 1, "a", "v", 1)
    assert shown(ledger, "SELECT * FROM band_changes") == []
    ledger.epoch(TURNED, 1, [1])
    assert shown(ledger, "SELECT * FROM band_changes") == []
    ledger.epoch(LANE, 1, [1])
    assert shown(ledger, "SELECT lane, left_stream_id FROM band_changes") == [(LANE, "a")]


def test_of_a_changed_query_the_new_version_has_a_result_and_of_a_removed_one_none() -> None:
    ledger = Ledger()
    ledger.register(BAND, {**BAND, "id": "gone"})
    one, two = two_epochs(ledger)
    for query in ("b", "gone"):
        change(ledger, 1, "a", "v", 1, query_id=query, arrival=one)
        change(ledger, 1, "b", "v", 2, query_id=query, arrival=one)
    told = "SELECT query_id, query_version, left_stream_id, since FROM band_pairs"
    assert len(shown(ledger, told)) == 4
    ledger.register({**BAND, "version": 2}, {**BAND, "id": "gone", "removed": True})
    assert shown(ledger, told) == []
    change(ledger, 1, "b", "v", 9, query_version=2, arrival=two, epoch=2)
    assert shown(ledger, told) == [("b", 2, "b", at(9))]
    assert len(shown(ledger, "SELECT * FROM band_changes")) == 5


def test_a_pair_is_in_since_the_change_that_brought_it_in_last_whatever_its_time() -> None:
    ledger = Ledger()
    ledger.register(BAND)
    one, two = two_epochs(ledger)
    change(ledger, 1, "a", "v", 30, arrival=one)
    change(ledger, -1, "a", "v", 5, arrival=two, epoch=2)  # the other feed's clock is behind
    told = "SELECT left_stream_id, right_stream_id, since FROM band_pairs"
    assert shown(ledger, told) == []
    change(ledger, 1, "a", "v", 7, arrival=two, epoch=2)
    assert shown(ledger, told) == [("a", "v", at(7))]


def test_a_query_is_affected_once_by_a_tuple_whatever_the_pairs_and_never_by_a_registration() -> (
    None
):
    ledger = Ledger()
    commit = ledger.register(BAND)
    one, two = two_epochs(ledger)
    change(ledger, 1, "z", "v", 0, arrival=commit)
    change(ledger, -1, "z", "v", 1, arrival=one)
    change(ledger, 1, "z", "w", 1, arrival=one)
    change(ledger, 1, "z", "u", 1, arrival=one)
    change(ledger, 1, "z", "u", 1, arrival=one, query_id="c")
    change(ledger, 1, "z", "t", 2, arrival=one)  # another tuple of the stream
    change(ledger, -1, "z", "u", 2, arrival=two, epoch=2)
    change(ledger, -1, "y", "u", 2, arrival=two, epoch=2)
    told = "feed, stream_id, query_id, ts, came_in, went_out, arrival"
    assert shown(ledger, f"SELECT {told} FROM affected_queries") == [
        ("locations", "u", "b", at(2), 0, 2, two),
        ("ticks", "z", "b", at(1), 2, 1, one),
        ("ticks", "z", "b", at(2), 1, 0, one),
        ("ticks", "z", "c", at(1), 1, 0, one),
    ]


def test_a_feed_whose_name_begins_another_s_is_told_apart() -> None:
    ledger = Ledger({"bid": ("x",), "bids": ("x",)})
    one, two = ledger.arrive("bid"), ledger.arrive("bids")
    for lane in ("bid~bids", "bids~bid"):
        ledger.epoch(lane, 1, [one, two])
        for arrival in (one, two):
            change(ledger, 1, "l", "r", 1, lane=lane, arrival=arrival)
    found = answered(ledger.in_memory(), "SELECT lane, feed, stream_id FROM affected_queries")
    assert set(found) == {
        ("bid~bids", "bid", "l"),
        ("bid~bids", "bids", "r"),
        ("bids~bid", "bid", "r"),
        ("bids~bid", "bids", "l"),
    }


def test_members_are_the_newest_tuples_since_the_last_snapshot_but_those_that_went() -> None:
    ledger = Ledger()
    for epoch in (1, 2, 3):
        ledger.epoch(LANE, epoch, [epoch], snapshot=epoch == 2)
    ledger.epoch(LANE, 4, [4], state="planned")
    ledger.epoch(TURNED, 1, [])

    def member(epoch: int, stream: str, **more: Any) -> None:
        row = {"lane": LANE, "feed": "ticks", "generation": 1, "member": True, **more}
        ledger.add("set_members", epoch=epoch, stream_id=stream, **row)

    member(1, "old")  # the snapshot does not have it
    member(2, "a", price=2.0)
    member(2, "a", price=2.0, snapshot=True)
    member(2, "b", price=5.0, snapshot=True)
    member(2, "out", snapshot=True, member=False)
    member(3, "b", price=6.0)
    member(3, "c", price=7.0, member=False)
    member(3, "a", feed="locations", x=1.0)
    member(4, "a", price=9.0)  # not done
    member(1, "a", lane=TURNED, price=4.0)
    told = "SELECT lane, feed, stream_id, price, x, epoch FROM set_members"
    assert shown(ledger, told) == [
        (TURNED, "ticks", "a", 4.0, None, 1),
        (LANE, "locations", "a", None, 1.0, 3),
        (LANE, "ticks", "a", 2.0, None, 2),
        (LANE, "ticks", "b", 6.0, None, 3),
    ]


def test_live_windows_are_all_since_the_snapshot_and_what_waits_is_of_the_newest_epoch() -> None:
    ledger = Ledger()
    for epoch in (1, 2, 3):
        ledger.epoch(LANE, epoch, [epoch], snapshot=epoch == 2)

    def live(epoch: int, stream: str, place: int | None, **more: Any) -> None:
        row = {"lane": LANE, "feed": "ticks", "generation": 1, **more}
        ledger.add("live_windows", epoch=epoch, stream_id=stream, place=place, **row)

    live(1, "a", 0)
    live(2, "b", 1)
    live(2, "a", 0, snapshot=True)
    live(2, "b", 1, snapshot=True)
    live(2, "waited", None)
    live(2, "waited", None, snapshot=True)
    live(3, "waited", 2)
    live(3, "waits", None)
    told = "SELECT stream_id, waits FROM live_windows"
    found = [("a", False), ("b", False), ("waited", False), ("waits", True)]
    assert shown(ledger, told) == found


PAIRS = st.tuples(st.sampled_from("bc"), st.sampled_from("xy"), st.sampled_from("vw"))


@given(st.lists(PAIRS, max_size=30), st.integers(1, 4))
def test_oracle_band_pairs_are_the_sum_of_the_changes(updates, width: int) -> None:
    ledger = Ledger()
    ledger.register(BAND, {**BAND, "id": "c"})
    states: dict[Any, int] = defaultdict(int)
    since = {}
    numbers = [ledger.arrive("ticks") for _ in range(0, len(updates), width)]
    for epoch, n in enumerate(numbers, 1):
        ledger.epoch(LANE, epoch, [n])
    for place, pair in enumerate(updates):
        n = place // width
        sign = 1 - 2 * states[pair]
        states[pair] += sign
        ts = 100 - n + place % width / 10  # times rise in a delivery, and not from one to the next
        since[pair] = at(ts)
        query, left, right = pair
        told = {"arrival": numbers[n], "epoch": n + 1}
        change(ledger, sign, left, right, ts, query_id=query, **told)
    columns = "query_id, left_stream_id, right_stream_id, since"
    found = shown(ledger, f"SELECT {columns} FROM band_pairs")
    assert found == sorted((*pair, since[pair]) for pair, times in states.items() if times)
    summed = shown(
        ledger,
        "SELECT query_id, left_stream_id, right_stream_id FROM band_changes "
        "GROUP BY ALL HAVING SUM(change) > 0",
    )
    assert Counter(summed) == Counter(row[:3] for row in found)


def test_the_axes_of_both_feeds_stand_on_either_side_of_a_pair() -> None:
    axes = {axis for own in AXES.values() for axis in own}
    names = {name for (name, *_) in SHARED.execute("DESCRIBE pairs").fetchall()}
    assert {f"{side}_{axis}" for side in ("left", "right") for axis in axes} <= names


@given(st.lists(PAIRS, max_size=30), st.lists(PAIRS, max_size=20))
def test_oracle_the_activity_of_joins_counts_what_they_found_and_what_still_holds(
    updates, paired
) -> None:
    ledger = Ledger()
    ledger.register(BAND, {**BAND, "id": "c"})
    ledger.epoch(LANE, 1, [ledger.arrive("ticks")])
    states: dict[Any, int] = defaultdict(int)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    seen: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    for place, (query, left, right) in enumerate(updates):
        sign = 1 - 2 * states[query, left, right]
        states[query, left, right] += sign
        change(ledger, sign, left, right, place, query_id=query, arrival=1)
        counts[query]["came in" if sign > 0 else "went out"] += 1
        counts[query]["in now"] += sign
        seen[query].append((left, right, place))
    for place, (query, left, right) in enumerate(paired):
        row = {**FOUND, "query_id": f"w{query}", "ts": at(place), "arrival": 1}
        ledger.add("pairs", **row, left_stream_id=left, right_stream_id=right)
        counts[f"w{query}"]["pairs"] += 1
        seen[f"w{query}"].append((left, right, place))
    columns = "query_id, pairs, came_in, went_out, in_now, left_streams, right_streams"
    wanted = [
        (
            query,
            *(counts[query][what] for what in ("pairs", "came in", "went out", "in now")),
            *(len({row[side] for row in rows}) for side in (0, 1)),
            at(min(row[2] for row in rows)),
            at(max(row[2] for row in rows)),
        )
        for query, rows in seen.items()
    ]
    found = shown(ledger, f"SELECT {columns}, first_ts, last_ts FROM join_activity")
    assert found == sorted(wanted, key=repr)
