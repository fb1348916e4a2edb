"""Several tuples of an instant, sequences and streams' own clocks, in Python; and older states."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fencepost as fp
from fencepost.errors import InputError

LOW = {"id": "low", "where": "v < 4", "within": "30s"}
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "monitor-1.zip"
"""Saved by the last Fencepost of format 1 with JOINS and LOW, of the feed `a`, 5 s of lateness."""
JOINS: list[dict[str, Any]] = [
    {
        "id": "near",
        "kind": "window_join",
        "left": "a",
        "right": "b",
        "on": "left.v >= right.v",
        "window": "9s",
    },
    {"id": "band", "kind": "band_join", "left": "a.v", "right": "b.v", "between": [-1, 1]},
]


def row(stream: str, ts: int, v: float, **more: object) -> dict[str, Any]:
    return {"stream_id": stream, "ts": ts, "v": v, **more}


def found(result: fp.Result) -> list[tuple[str, int, float]]:
    return [(e["type"], e["place"], e["v"]) for e in result.events.to_pylist()]


def reasons(result: fp.Result) -> list[tuple[int, str]]:
    return [(r["row"], r["reason"]) for r in result.rejected.to_pylist()]


def test_every_tuple_of_an_instant_is_a_step_unless_the_first_is_wanted():
    rows = [row("s", 1, 9), row("s", 1, 2), row("s", 1, 8), row("s", 1, 8)]
    every = fp.evaluate(rows, LOW, ts_unit="s")
    assert (found(every), reasons(every)) == ([("I", 1, 2.0), ("O", 2, 8.0)], [])
    (passed,) = every.transitions.to_pylist()
    assert (passed["type"], passed["from_place"], passed["to_place"]) == ("pass_through", 1, 2)
    first = fp.evaluate(rows, LOW, ts_unit="s", ties="first")
    assert found(first) == []
    assert reasons(first) == [(1, "conflict"), (2, "conflict"), (3, "conflict")]


def test_a_sequence_orders_the_tuples_of_an_instant():
    rows = [row("s", 1, 9, n=2), row("s", 1, 2, n=1), row("s", 1, 8, n=3), row("s", 1, 8, n=3)]
    rows += [row("s", 2, 8, n=None)]
    monitor = fp.Monitor(LOW, ts_unit="s", sequence="n")
    result = monitor.push(rows)
    assert found(result) == [("O", 1, 9.0)]
    assert reasons(result) == [(3, "duplicate"), (4, "malformed")]
    assert result.rejected["detail"].to_pylist()[1] == "n is null"
    assert monitor.axes == {"tuples": ("v",)}
    monitor = fp.Monitor.from_bytes(monitor.to_bytes(), LOW)
    later = monitor.push([row("s", 1, 1, n=2), row("s", 1, 7, n=3), row("s", 1, 2, n=4)])
    assert reasons(later) == [(0, "late"), (1, "conflict")]
    assert found(later) == [("I", 3, 2.0)]


def test_a_sequence_of_texts_goes_by_their_bytes():
    rows = [row("s", 1, 9, n="9"), row("s", 1, 2, n="10"), row("s", 1, 8, n="ü")]
    result = fp.evaluate(pa.Table.from_pylist(rows), LOW, ts_unit="s", sequence="n")
    assert found(result) == [("O", 1, 9.0)]


def test_by_stream_each_waits_for_its_own_clock():
    rows = [row("near", 100, 9), row("far", 10, 9), row("far", 12, 2), row("far", 20, 9)]
    options: dict[str, Any] = {"ts_unit": "s", "allowed_lateness": "5s"}
    by_feed = fp.evaluate(rows, LOW, **options)
    assert (found(by_feed), by_feed.waiting) == ([("I", 0, 2.0), ("O", 0, 9.0)], 1)
    by_stream = fp.Monitor(LOW, **options, lateness_by="stream", idle=timedelta(hours=1))
    result = by_stream.push(rows)
    assert (found(result), result.waiting) == ([("I", 0, 2.0)], 2)
    by_stream = fp.Monitor.from_bytes(by_stream.to_bytes(), LOW)
    assert found(by_stream.push([row("far", 19, 3), row("far", 25, 1)])) == [("O", 0, 9.0)]
    hour = by_stream.push([row("near", 3700, 1)])
    assert (found(hour), hour.waiting) == ([("I", 0, 1.0)], 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ties": "last"}, "ties is 'last': 'all' or 'first'"),
        ({"lateness_by": "rule"}, "lateness_by is 'rule': 'feed' or 'stream'"),
        ({"threads": 0}, "threads is 0: 1 or more"),
        ({"lateness_by": "stream", "idle": "soon"}, "idle: 'soon'"),
        ({"sequence": "n"}, r"has no column 'n'.*sequence='…'"),
        ({"sequence": "w"}, "column 'w' is of type double: integers of up to 64 bits, or text"),
        ({"sequence": "v", "axes": ["v"]}, "neither 'stream_id' nor 'ts' nor 'v'"),
    ],
)
def test_a_mistake_in_how_tuples_are_ordered_is_an_error(options, words):
    with pytest.raises(InputError, match=f"(?s){words}"):
        fp.evaluate([row("s", 1, 9, w=0.5)], LOW, ts_unit="s", **options)


def test_an_axis_of_any_name_comes_back_from_a_saved_state():
    names = ["sequence", "ts_place", "index", "axis1", "axis0"]
    rule = {"id": "q", "where": " AND ".join(f"{name} < 4" for name in names)}
    first = {"stream_id": "s", "ts": 1, **dict.fromkeys(names, 9.0)}
    whole, again = (fp.Monitor(rule, ts_unit="s", axes=names) for _ in range(2))
    for monitor in (whole, again):
        monitor.push([first | {"axis1": 1.0}])
    again = fp.Monitor.from_bytes(again.to_bytes(), rule)
    inside = [{"stream_id": "s", "ts": 2, **dict.fromkeys(names, 3.0)}]
    assert again.push(inside).events.to_pylist() == whole.push(inside).events.to_pylist()


def test_a_state_of_format_1_goes_on_as_it_was_with_the_first_of_an_instant():
    rules = [LOW | {"feed": "a"}, *JOINS]
    monitor = fp.Monitor.from_bytes(GOLDEN.read_bytes(), rules)
    again = {"a": [row("s", 110, 7), row("s", 110, 8), row("s", 116, 1)], "b": [row("z", 109, 1)]}
    result = monitor.push(again)
    assert [(r["feed"], r["row"], r["reason"]) for r in result.rejected.to_pylist()] == [
        ("a", 0, "duplicate"),
        ("a", 1, "conflict"),
        ("b", 0, "conflict"),
    ]
    assert found(result) == [("O", 0, 7.0)]
    assert result.transitions.select(["type", "stream_id"]).to_pylist() == [
        {"type": "pass_through", "stream_id": "s"}
    ]
    near = monitor.push({"b": [row("z", 115, 1)]})
    pairs = near.pairs.select(["left_v", "left_place", "right_v", "right_place"]).to_pylist()
    assert [tuple(pair.values()) for pair in pairs] == [(9.0, 0, 6.5, 0), (7.0, 0, 6.5, 0)]
    later = fp.Monitor.from_bytes(monitor.to_bytes(), rules)
    assert reasons(later.push({"a": [row("s", 116, 5)]})) == [(0, "conflict")]
