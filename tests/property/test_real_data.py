"""Real trades and tracks through the engine and a lake, against a reading with pandas.

Of a day of trades up to 28 share a millisecond, and trackers upload late, in any order. Small forms
of the same tests, over made-up data, run everywhere.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fencepost as fp
from fencepost.crossings import BorderIndex
from fencepost.engine import step
from fencepost.order import OrderRules
from fencepost.queries import QuerySet
from fencepost.state import FeedState
from fencepost.tuples import TupleBatch
from pipelines.planning.plan import Limits
from tests.support.lakes.builder import (
    evaluate,
    ingest,
    land,
    new_lake,
    register,
    rows_of,
    settings_of,
)
from tests.support.oracles.by_pandas import Arrivals, Judging, Rule, crossings, judged, transitions
from tests.support.real import data
from tests.support.real.data import needs_real_data
from tests.support.real.rules import SECOND, bands, boxes, lines

FEED = "real"
PRICE, POSITION = ("price", "size"), ("lat", "lng")
DAY = 24 * 3600 * SECOND
EVENT = ["type", "query_id", "stream", "ts", "place"]
TRANSITION = ["type", "query_id", "stream", "ts", "from_ts", "from_place", "to_ts", "to_place"]
NOW = 1_763_420_400 * SECOND

Found = Mapping[str, list[tuple[Any, ...]]]


def listed(rows: pd.DataFrame, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Rows in an order of their own; a null is -1."""
    numbers = rows[list(columns)].sort_values(list(columns))
    return [
        tuple(-1 if pd.isna(value) else value for value in row)
        for row in numbers.itertuples(index=False, name=None)
    ]


def expected(
    rows: pd.DataFrame, axes: Sequence[str], rules: Sequence[Rule], judging: Judging
) -> tuple[Found, Arrivals]:
    """What the semantics say, by the other reading."""
    arrivals = judged(rows, axes, judging)
    events = crossings(arrivals.accepted, axes, rules)
    values = [name for axis in axes for name in (axis, f"prev_{axis}")]
    decided = transitions(events, rules, arrivals)
    found = {
        "events": listed(events, [*EVENT, "prev_ts", *values]),
        "transitions": listed(decided, TRANSITION),
        "rejected": sorted(arrivals.rejected),
    }
    return found, arrivals


def by_engine(
    rows: pd.DataFrame,
    axes: Sequence[str],
    rules: Sequence[Rule],
    judging: Judging,
    cuts: Sequence[int] = (),
) -> Found:
    """What the engine finds in steps of some deliveries; `cuts` are where a step begins."""
    order = OrderRules(ties=judging.ties, lateness=judging.lateness, idle=judging.by_stream)
    index = BorderIndex.build(query_set(axes, rules))
    state = FeedState.empty(FEED, axes)
    many = int(rows["delivery"].max()) + 1
    events, decided, rejected = [], [], []
    for begin, end in zip([0, *cuts], [*cuts, many], strict=True):
        part = rows[(rows["delivery"] >= begin) & (rows["delivery"] < end)]
        part = part.sort_values(["delivery", "row"], kind="stable")
        outcome = step(
            state, batch_of(part, axes, judging, begin), index, deliveries=end - begin, rules=order
        )
        state = outcome.state
        events.append(outcome.events.to_pandas())
        decided.append(outcome.transitions.to_pandas())
        wrong = outcome.rejected.to_pandas()
        at = part.iloc[wrong["row"].to_numpy()]
        rejected += list(zip(at["delivery"], at["row"], wrong["reason"], strict=True))
    return _found(pd.concat(events), pd.concat(decided), rejected, axes)


def query_set(axes: Sequence[str], rules: Sequence[Rule]) -> QuerySet:
    """The rules as the engine takes them."""
    written = fp.rules([json.loads(line) for line in lines(rules, FEED)])
    return written._for({FEED: tuple(axes)}).sets[FEED]


def batch_of(rows: pd.DataFrame, axes: Sequence[str], judging: Judging, first: int) -> TupleBatch:
    """Rows, in the order of delivery and file, as the engine takes them."""
    sequence = judging.sequence
    return TupleBatch.from_columns(
        FEED,
        axes,
        pa.array(rows["stream"]),
        rows["ts"].to_numpy(np.int64),
        rows[list(axes)].to_numpy(np.float64).T,
        (rows["delivery"].to_numpy() - first).astype(np.int32),
        sequence=None if sequence is None else pa.array(rows[sequence], pa.int64()),
    )


def _found(
    events: pd.DataFrame, decided: pd.DataFrame, rejected: Sequence[Any], axes: Sequence[str]
) -> Found:
    values = [name for axis in axes for name in (axis, f"prev_{axis}")]
    named = {"stream_id": "stream"}
    return {
        "events": listed(events.rename(columns=named), [*EVENT, "prev_ts", *values]),
        "transitions": listed(decided.rename(columns=named), TRANSITION),
        "rejected": sorted((int(d), int(r), str(why)) for d, r, why in rejected),
    }


def together(rows: pd.DataFrame, many: int = 1) -> pd.DataFrame:
    """All streams in one order of time, in so many deliveries of as many rows."""
    one = rows.sort_values(["ts", "file", "row"], kind="stable").reset_index(drop=True)
    one["row"] = np.arange(len(one))
    return one.assign(delivery=np.arange(len(one)) * many // len(one))


def each_file(rows: pd.DataFrame) -> pd.DataFrame:
    """Each file as a delivery."""
    return rows.assign(delivery=rows["file"])


def made_trades(many: int = 4_000, seed: int = 3) -> pd.DataFrame:
    """Trades of two shares of which many share a millisecond, as real ones do."""
    rng = np.random.default_rng(seed)
    ts = 1_700_000_000 * SECOND + np.cumsum(rng.choice([0, 0, 0, 1, 500], many)) * 1000
    stream = rng.choice(["spy", "bac"], many)
    price = 1000.0 + np.cumsum(rng.integers(-3, 4, many))
    size = rng.choice([50.0, 100.0, 20_000.0], many)
    columns = {"stream": stream, "ts": ts, "price": price, "size": size, "file": 0}
    return pd.DataFrame({**columns, "row": np.arange(many)})


TRADES = [
    pytest.param(made_trades, id="made"),
    pytest.param(data.trades, id="real", marks=needs_real_data),
]


def splits_an_instant(rows: pd.DataFrame) -> bool:
    """Is some instant of a stream in two deliveries?"""
    return bool((rows.groupby(["stream", "ts"])["delivery"].nunique() > 1).any())


@pytest.mark.parametrize("trades", TRADES)
def test_oracle_every_trade_is_a_step(trades):
    rows = each_file(trades())
    rules = bands(rows, per_stream=20)
    found, arrivals = expected(rows, PRICE, rules, Judging())
    assert arrivals.rejected == []
    assert arrivals.accepted["place"].max() >= 5
    assert len(found["events"]) > 1000
    assert len(found["transitions"]) > 500
    assert by_engine(rows, PRICE, rules, Judging()) == found


@pytest.mark.parametrize("trades", TRADES)
def test_oracle_forty_deliveries_that_split_instants_change_nothing(trades):
    rows = together(trades(), 40)
    assert splits_an_instant(rows)
    rules = bands(rows, per_stream=20)
    found, _ = expected(rows, PRICE, rules, Judging())
    whole, _ = expected(rows.assign(delivery=0), PRICE, rules, Judging())
    assert found["events"] == whole["events"]
    assert by_engine(rows, PRICE, rules, Judging(), cuts=(1, 2, 17, 30)) == found


@pytest.mark.parametrize("trades", TRADES)
def test_trades_delivered_twice_in_pieces_that_overlap_are_duplicates(trades):
    once = together(trades())
    once["number"] = once["row"]
    whole, _ = expected(
        once, PRICE, rules := bands(once, per_stream=10), Judging(sequence="number")
    )
    edges = np.linspace(0, len(once), 41).astype(int)
    overlap = len(once) // 200
    pieces = [
        once.iloc[max(0, begin - overlap) : end].assign(delivery=number)
        for number, (begin, end) in enumerate(pairwise(edges))
    ]
    rows = pd.concat(pieces).reset_index(drop=True)
    span = max(int(p["ts"].iloc[min(overlap, len(p) - 1)] - p["ts"].iloc[0]) for p in pieces)
    judging = Judging(sequence="number", lateness=span + 1000)
    end = once["ts"].max() + judging.lateness + 1  # one more trade, so that none waits
    last = once.tail(1).assign(ts=end, stream="end", number=len(once), delivery=len(pieces))
    rows = pd.concat([rows, last.assign(row=len(once))]).reset_index(drop=True)
    found = by_engine(rows, PRICE, rules, judging, cuts=(3, 20))
    assert {why for _, _, why in found["rejected"]} == {"duplicate"}
    assert len(found["rejected"]) == len(rows) - 1 - len(once)
    assert found["events"] == whole["events"]
    assert found == expected(rows, PRICE, rules, judging)[0]


@pytest.mark.parametrize(
    ("trades", "seed"),
    [
        pytest.param(made_trades, 1, id="made, one way"),
        pytest.param(made_trades, 2, id="made, another"),
        pytest.param(data.trades, 1, id="real", marks=[needs_real_data, pytest.mark.slow]),
    ],
)
def test_oracle_a_lake_of_trades_in_random_epochs(trades, seed, tmp_path):
    rows = together(trades(), 40)
    rules = bands(rows, per_stream=10)
    found, _ = expected(rows, PRICE, rules, Judging())
    assert by_lake(tmp_path, rows, PRICE, rules, {}, seed) == found


def by_lake(
    folder: Path,
    rows: pd.DataFrame,
    axes: Sequence[str],
    rules: Sequence[Rule],
    options: Mapping[str, Any],
    seed: int,
) -> Found:
    """What a lake finds whose deliveries come in runs of random length, in epochs of some rows."""
    rng = np.random.default_rng(seed)
    declared = settings_of(
        folder, {FEED: tuple(axes)}, {FEED: {"settle": 0, "ties": "all", **options}}
    )
    limits = Limits(int(rng.integers(1, len(rows))), epoch_deliveries=int(rng.integers(1, 6)))
    lake = new_lake(declared, limits=limits)
    register(lake, [json.loads(line) for line in lines(rules, FEED)], NOW)
    feed = declared.feeds[FEED]
    for number, part in rows.groupby("delivery"):
        ordered = part.sort_values("row").rename(columns={"stream": "stream_id"})
        table = pa.table({name: ordered[name].to_numpy() for name in ("stream_id", *axes)})
        ts = pa.array(ordered["ts"].to_numpy()).cast(pa.timestamp("us", "UTC"))
        sink = pa.BufferOutputStream()
        pq.write_table(table.append_column("ts", ts), sink)
        land(feed, f"{number:04}.parquet", sink.getvalue().to_pybytes(), NOW)
        if rng.random() < 0.2:
            ingest(lake, NOW + 60 * SECOND)
            evaluate(lake, FEED)
    ingest(lake, NOW + 60 * SECOND)
    evaluate(lake, FEED)
    place = {number: at for at, number in enumerate(sorted(n["n"] for n in _deliveries(lake)))}
    wrong = [
        (place[row["arrival"]], row["line"] - 1, row["reason"])
        for row in rows_of(lake, "select arrival, line, reason from quarantine")
    ]
    events, decided = (
        pd.DataFrame(rows_of(lake, _in_microseconds(name))) for name in ("events", "transitions")
    )
    return _found(events, decided, wrong, axes)


def _deliveries(lake: Any) -> list[dict[str, Any]]:
    return rows_of(lake, "select distinct n from arrivals where kind = 'delivery'")


def _in_microseconds(view: str) -> str:
    times = {"events": ("ts", "prev_ts"), "transitions": ("ts", "from_ts", "to_ts")}[view]
    changed = ", ".join(f"epoch_us({name}) as {name}" for name in times)
    return f"select * replace ({changed}) from {view}"  # noqa: S608  of names above


# ── tracks ────────────────────────────────────────────────────────────────────────────────────────


def made_tracks(streams: int = 4, files: int = 12, fixes: int = 40, seed: int = 5) -> pd.DataFrame:
    """Uploads of some trackers, a file each, a few hours apart; some fixes share a second."""
    rng = np.random.default_rng(seed)
    parts: list[pd.DataFrame] = []
    for stream in range(streams):
        ts = (1_600_000_000 + stream * 40_000_000) * SECOND
        for _ in range(files):
            ts += int(rng.integers(600, 20_000)) * SECOND
            at = ts + np.cumsum(rng.integers(0, 30, fixes)) * SECOND
            ts = int(at[-1])
            moves = np.cumsum(rng.normal(0, 0.002, (2, fixes)), axis=1)
            columns = {"stream": f"{stream:03}", "ts": at, "lat": 40 + moves[0]}
            columns |= {"lng": 116 + moves[1], "file": len(parts), "row": np.arange(fixes)}
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def swapped(rows: pd.DataFrame, pieces: int = 1) -> pd.DataFrame:
    """Uploads cut in pieces, of which neighbours of one stream came in the wrong order.

    Only where the later one ends within a day of the earlier one's beginning.
    """
    cut = rows.groupby("file")["row"].transform("max") + 1
    rows = rows.assign(piece=rows["file"] * pieces + rows["row"] * pieces // cut)
    facts = rows.groupby("piece").agg(stream=("stream", "first"), a=("ts", "min"), b=("ts", "max"))
    order = facts.sort_values(["stream", "a"]).reset_index()
    turn, at = order["piece"].tolist(), 0
    while at + 1 < len(turn):
        one, other = order.iloc[at], order.iloc[at + 1]
        if one["stream"] == other["stream"] and other["b"] - one["a"] < DAY:
            turn[at], turn[at + 1] = turn[at + 1], turn[at]
            at += 1
        at += 1
    delivery = {piece: number for number, piece in enumerate(turn)}
    return rows.assign(delivery=rows["piece"].map(delivery)).drop(columns="piece")


TRACKS = [
    pytest.param(made_tracks, 1, id="made"),
    pytest.param(data.tracks, 1, id="111 uploads", marks=needs_real_data),
    pytest.param(data.tracks, 3, id="333 uploads", marks=needs_real_data),
]
FOREVER = 100_000 * DAY


@pytest.mark.parametrize(("tracks", "pieces"), TRACKS)
def test_oracle_of_uploads_in_the_wrong_order_nothing_is_late(tracks, pieces):
    rows = swapped(tracks(), pieces)
    rules = boxes(rows, 40)
    judging = Judging(lateness=DAY, by_stream=FOREVER)
    found, arrivals = expected(rows, POSITION, rules, judging)
    assert arrivals.rejected == []
    assert judged(rows, POSITION, Judging()).rejected  # without lateness some were
    assert by_engine(rows, POSITION, rules, judging, cuts=(5, 20)) == found


@pytest.mark.parametrize(
    ("tracks", "pieces"),
    [
        TRACKS[0],
        pytest.param(data.tracks, 1, id="111 uploads", marks=[needs_real_data, pytest.mark.slow]),
    ],
)
def test_oracle_a_lake_of_uploads_in_the_wrong_order(tracks, pieces, tmp_path):
    rows = swapped(tracks(), pieces)
    rules = boxes(rows, 20)
    options = {"lateness_by": "stream", "allowed_lateness": DAY, "idle": FOREVER}
    found, _ = expected(rows, POSITION, rules, Judging(lateness=DAY, by_stream=FOREVER))
    assert by_lake(tmp_path, rows, POSITION, rules, options, 1) == found


@pytest.mark.parametrize(("tracks", "pieces"), TRACKS)
def test_oracle_a_silent_stream_is_decided_by_the_feed_after_its_idle_time(tracks, pieces):
    rows = swapped(tracks(), pieces)
    rules = [replace_within(rule) for rule in boxes(rows, 20)]
    judging = Judging(lateness=3600 * SECOND, by_stream=2 * DAY)
    found, _ = expected(rows, POSITION, rules, judging)
    assert by_engine(rows, POSITION, rules, judging, cuts=(7,)) == found


def replace_within(rule: Rule) -> Rule:
    """The same rule, with half an hour to leave again."""
    return rule._replace(within=1800 * SECOND)
