"""The workloads against what S1 says of them, and against their promise: same seed, same bytes."""

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InputError
from fencepost.queries import QuerySet
from fencepost.tuples import TupleBatch
from pipelines.workloads import (
    Garages,
    Market,
    MovingObjects,
    PriceBands,
    PriceWalks,
    RoadNetwork,
    Squares,
    mean_steps,
    town,
)
from pipelines.workloads.draws import Draws, folded

SECOND = 1_000_000
MINUTE = 60 * SECOND


@pytest.fixture(scope="module")
def roads() -> RoadNetwork:
    return town(1)


def digest(*parts: TupleBatch | RoadNetwork | pa.Table) -> str:
    """The bytes of what was made, in little-endian order, in sixteen letters."""
    hashed = hashlib.sha256()
    for part in parts:
        if isinstance(part, TupleBatch):
            columns: list[npt.NDArray[Any]] = [part.stream, part.ts, part.values]
            hashed.update("\n".join(part.names.to_pylist()).encode())
        elif isinstance(part, RoadNetwork):
            columns = [part.x, part.y, part.begin, part.end, part.limit]
        else:
            numbers = part.select([name for name in part.column_names if name != "id"])
            columns = [column.to_numpy() for column in numbers.columns]
        for column in columns:
            hashed.update(column.astype(column.dtype.newbyteorder("<")).tobytes())
    return hashed.hexdigest()[:16]


def of_stream(tuples: TupleBatch, stream: int) -> TupleBatch:
    return tuples.take(tuples.stream == stream)


# --- the same bytes


def test_the_same_seed_gives_the_same_bytes_on_every_platform(roads):
    # These stood so on x86-64 Linux, NumPy 2.4. Another value elsewhere means that an operation was
    # used that has more than one right answer; a change of a generator changes them knowingly.
    walks = PriceWalks(streams=20, length=50, dimensions=2, starts="normal", seed=7)
    assert digest(walks.tuples(), walks.bands(PriceBands(count=50)).table()) == "26a28e89dba65ef1"
    assert digest(Market(symbols=20, length=50, seed=7).tuples()) == "9c23525e732bab81"
    moving = MovingObjects(objects=40, updates=30, parked=MINUTE, seed=7)
    assert digest(roads, moving.tuples(roads)) == "cc8a384daf27a8bf"
    fences = (Squares(count=50, seed=7).table(), Garages(count=600, seed=7).table(roads))
    assert digest(*fences) == "17b5fab84b7a20f4"


@pytest.mark.parametrize(
    "plan", [PriceWalks(streams=9, length=9), Market(symbols=9, length=9)], ids=["walks", "market"]
)
def test_seeds_reproduce_and_differ(plan):
    again, other = replace(plan).tuples(), replace(plan, seed=2).tuples()
    assert digest(plan.tuples()) == digest(again) != digest(other)
    bands = replace(plan, seed=2).bands(PriceBands(count=9)).table()
    assert not bands.equals(plan.bands(PriceBands(count=9)).table())


def test_seeds_of_towns_and_journeys_differ(roads):
    assert digest(town(1)) == digest(roads) != digest(town(2))
    few = MovingObjects(objects=9, updates=9)
    assert digest(few.tuples(roads)) != digest(replace(few, seed=2).tuples(roads))


def test_uniform_draws_are_bit_for_bit_those_of_numpys_generator():
    sequence = np.random.SeedSequence(3, spawn_key=tuple(b"steps"))
    numpys = np.random.Generator(np.random.PCG64(sequence)).random(1000)
    assert np.array_equal(Draws(3, "steps").uniform(1000), numpys)


def test_normal_draws_have_mean_zero_and_deviation_one():
    drawn = Draws(1, "normal").normal(100_000)
    assert abs(drawn.mean()) < 0.01
    assert abs(drawn.std() - 1.0) < 0.01


def test_draws_of_one_purpose_do_not_move_those_of_another():
    many = PriceWalks(streams=5, length=5)
    few, more = (replace(many).bands(PriceBands(count=n)).table() for n in (10, 20))
    assert more.slice(0, 10).drop_columns("id").equals(few.drop_columns("id"))


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20),
    st.floats(-1e3, 1e3),
    st.floats(1e-3, 1e3),
)
def test_a_folded_walk_stays_in_and_no_step_grows(values, low, span):
    walk = np.array(values)
    inside = folded(walk, low, low + span)
    assert (inside >= low).all()
    assert (inside <= low + span + 1e-9).all()
    assert (np.abs(np.diff(inside)) <= np.abs(np.diff(walk)) + 1e-6).all()


# --- ticks


@pytest.mark.parametrize("level", [0.0001, 0.001, 0.01])
@pytest.mark.parametrize("dimensions", [1, 3])
def test_the_realised_fluctuation_is_the_one_asked_for(level, dimensions):
    walks = PriceWalks(streams=200, length=200, fluctuation=level, dimensions=dimensions)
    assert walks.realised(walks.tuples()) == pytest.approx([level] * dimensions, rel=0.05)


def test_a_step_is_uniform_up_to_twice_its_mean():
    walks = PriceWalks(streams=50, length=2_000)
    steps = np.abs(np.diff(walks.tuples().values[0].reshape(2_000, 50), axis=0)).ravel()
    assert steps.max() <= 2 * 0.0001 * 1_000_000 * (1 + 1e-6)
    share, _ = np.histogram(steps, 10, (0.0, 200.0))
    assert share / len(steps) == pytest.approx([0.1] * 10, rel=0.05)


@pytest.mark.parametrize("starts", ["uniform", "normal"])
@pytest.mark.parametrize("level", [0.0001, 0.25])
def test_no_value_leaves_the_domain(starts, level):
    walks = PriceWalks(streams=300, length=300, domain=10.0, fluctuation=level, starts=starts)
    values = walks.tuples().values
    assert values.min() >= 0.0
    assert values.max() <= 10.0
    assert values.max() - values.min() > 6.0


def test_starts_are_spread_as_asked():
    uniform, normal = (
        PriceWalks(streams=20_000, length=1, domain=1.0, starts=starts).tuples().values[0]
        for starts in ("uniform", "normal")
    )
    assert uniform.std() == pytest.approx(12**-0.5, rel=0.02)
    assert normal.std() == pytest.approx(1 / 6, rel=0.02)
    assert (uniform.mean(), normal.mean()) == pytest.approx((0.5, 0.5), abs=0.01)


def test_at_each_instant_every_stream_has_a_tuple_in_time_order():
    tuples = PriceWalks(streams=7, length=5, start=0).tuples()
    assert tuples.ts.tolist() == [k * SECOND for k in range(5) for _ in range(7)]
    assert tuples.stream.tolist() == list(range(7)) * 5
    assert tuples.axes == ("price",)


def test_stream_order_is_the_same_tuples_one_stream_after_another():
    walks = PriceWalks(streams=7, length=5, dimensions=9)
    by_time, by_stream = walks.tuples(), replace(walks, order="stream").tuples()
    order = np.lexsort((by_time.ts, by_time.stream))
    assert digest(by_time.take(order)) == digest(by_stream)
    assert by_stream.axes == ("a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8")


def test_a_longer_walk_begins_with_the_shorter_one():
    walks = PriceWalks(streams=7, length=5, dimensions=2)
    longer = replace(walks, length=9).tuples()
    assert digest(longer.take(slice(0, 35))) == digest(walks.tuples())


def test_a_market_trades_in_cents_and_round_lots_within_its_band():
    market = Market(symbols=50, length=400)
    tuples = market.tuples()
    price, volume = tuples.values
    assert np.array_equal(price, np.rint(price * 100) / 100)
    assert set(volume % 100) == {0.0}
    assert volume.min() >= 100
    opening = market.opening[tuples.stream]
    assert (np.abs(price / opening - 1.0) <= 0.5).all()
    assert market.realised(tuples) == pytest.approx([0.0003], rel=0.05)


def test_in_a_market_a_symbols_times_strictly_rise_with_gaps_of_the_mean_asked_for():
    tuples = Market(symbols=30, length=500, interval=2 * SECOND, start=0).tuples()
    assert (np.diff(tuples.ts) >= 0).all()
    gaps = [np.diff(of_stream(tuples, stream).ts) for stream in range(30)]
    assert min(gap.min() for gap in gaps) > 0
    assert np.mean(gaps) == pytest.approx(2 * SECOND, rel=0.05)
    assert (np.concatenate(gaps) < SECOND).mean() > 0.3


def test_one_trade_in_four_repeats_the_price_before_it():
    tuples = Market(symbols=30, length=500, fluctuation=0.05).tuples()
    still = np.mean([np.diff(of_stream(tuples, s).values[0]) == 0.0 for s in range(30)])
    assert still == pytest.approx(0.25, abs=0.03)


def test_symbols_are_distinct_words_of_four_letters_and_numbers_behind_when_they_run_out():
    names = Market(symbols=300).names.to_pylist()
    assert all(len(name) == 4 and name.isupper() for name in names)
    many = Market(symbols=4_000).names.to_pylist()
    assert len(set(many)) == 4_000


def test_a_stream_of_one_tuple_has_no_step():
    walks = PriceWalks(streams=3, length=1, dimensions=2)
    assert walks.realised(walks.tuples()).tolist() == [0.0, 0.0]


def test_mean_steps_look_at_each_stream_alone_whatever_the_order():
    batch = TupleBatch.from_columns(
        "ticks",
        ("price",),
        pa.array(["a", "b", "a", "b", "a"]),
        np.arange(5),
        np.array([[1.0, 100.0, 3.0, 110.0, 2.0]]),
    )
    assert mean_steps(batch, 1.0).tolist() == [(2 + 1 + 10) / 3]
    assert mean_steps(batch, np.array([1.0, 10.0])).tolist() == [(2 + 1 + 1) / 3]


# --- bands


@pytest.mark.parametrize("bounds", ["uniform", "normal"])
def test_a_band_begins_in_the_domain_and_is_as_wide_as_asked(bounds):
    table = PriceBands(count=5_000, axes=("a0", "a1"), domain=1e5, bounds=bounds).table()
    for axis in ("a0", "a1"):
        lo, hi = table[f"{axis}_lo"].to_numpy(), table[f"{axis}_hi"].to_numpy()
        assert lo.min() >= 1.0
        assert lo.max() <= 1e5 - 1.0
        assert hi - lo == pytest.approx(np.full(5_000, 100.0))
    assert len(QuerySet.from_table("ticks", ("a0", "a1"), table)) == 5_000


def test_widths_are_drawn_between_the_two_that_are_given():
    table = PriceBands(count=5_000, width=0.001, widest=0.01, within=3 * MINUTE).table()
    width = pc.subtract(table["price_hi"], table["price_lo"]).to_numpy()
    assert width.min() >= 1_000.0 * (1 - 1e-9)
    assert width.max() <= 10_000.0 * (1 + 1e-9)
    assert width.mean() == pytest.approx(5_500, rel=0.05)
    assert set(table["within"].to_pylist()) == {3 * MINUTE}


def test_the_named_share_watches_one_symbol_each_near_its_opening_price():
    market = Market(symbols=20)
    table = market.bands(PriceBands(count=2_000, named=0.8)).table()
    queries = QuerySet.from_table("ticks", ("price", "volume"), table)
    assert (~queries.everywhere).mean() == pytest.approx(0.8, abs=0.03)
    opening = dict(zip(market.names.to_pylist(), market.opening, strict=True))
    for row in table.to_pylist():
        if row["streams"] is not None:
            (name,) = row["streams"]
            assert abs(row["price_lo"] / opening[name] - 1.0) <= 0.05 + 1e-9


def test_no_query_at_all_is_a_set_of_none(roads):
    tables = PriceBands(count=0).table(), Squares(count=0).table(), Garages(count=0).table(roads)
    assert [len(table) for table in tables] == [0, 0, 0]


# --- refusals


@pytest.mark.parametrize(
    ("plan", "given", "words"),
    [
        (PriceWalks, {"streams": 0}, "streams 0: expected 1 or more"),
        (PriceWalks, {"length": -1}, "length -1"),
        (PriceWalks, {"domain": 0.0}, "domain 0: expected more than 0"),
        (
            PriceWalks,
            {"fluctuation": 0.5},
            "fluctuation 0.5: expected more than 0 and at most 0.25",
        ),
        (PriceWalks, {"fluctuation": float("nan")}, "fluctuation nan"),
        (PriceWalks, {"starts": "middle"}, "starts 'middle': expected uniform or normal"),
        (PriceWalks, {"order": "id"}, "order 'id': expected time or stream"),
        (Market, {"interval": 1}, "interval 1: expected 10000 or more"),
        (PriceBands, {"width": 2.0}, "width 2"),
        (PriceBands, {"widest": 0.0001}, "widest 0.0001: expected more than 0.001"),
        (PriceBands, {"named": 1.5}, "named 1.5: expected a share"),
        (Squares, {"count": -1}, "queries -1"),
        (Squares, {"centres": "x"}, "centres 'x'"),
        (Garages, {"side": 0.0}, "side 0"),
        (MovingObjects, {"fast": -0.1}, "fast -0.1"),
        (MovingObjects, {"interval": 10}, "interval 10"),
    ],
)
def test_a_set_up_without_meaning_is_refused_in_words(plan, given, words):
    with pytest.raises(InputError, match=words):
        plan(**given)


def test_what_only_shows_when_it_is_made_is_refused_then():
    with pytest.raises(InputError, match="expected the names"):
        PriceBands(named=0.5).table()
    with pytest.raises(InputError, match="years 1900"):
        PriceWalks(streams=1, length=3, interval=10**16).tuples()
    with pytest.raises(InputError, match="seed -1"):
        PriceWalks(seed=-1).tuples()
