"""`import fencepost`: tables of every library in, Arrow out, and errors that help."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fencepost as fp
from fencepost.errors import Faults, InputError, StateError
from tests.support.commands.files import written

CHEAP = {"id": "cheap", "where": "price < 10", "within": "3m"}
MINUTES = [0, 2, 1, 3, 0]


def at(minute: int) -> datetime:
    return datetime(2026, 11, 18, 14, minute, tzinfo=UTC)


ROWS = [
    {"stream_id": stream, "ts": at(minute), "price": price, "venue": "X"}
    for stream, minute, price in zip(
        ["A", "A", "A", "A", "B"], MINUTES, [9.0, 8.0, 11.0, 12.0, 3.0], strict=True
    )
]
ARROW = pa.Table.from_pylist(ROWS)
POLARS = pl.DataFrame(ARROW)
FORMS = {
    "arrow": ARROW,
    "batch": ARROW.to_batches()[0],
    "reader": ARROW.to_reader,
    "pandas": ARROW.to_pandas(),
    "pandas, indexed": ARROW.to_pandas().set_index(pd.Index([5, 6, 7, 8, 9])),
    "pandas, categories": ARROW.to_pandas().astype({"stream_id": "category"}),
    "polars": POLARS,
    "polars, categories": POLARS.with_columns(pl.col("stream_id").cast(pl.Categorical)),
    "duckdb": lambda: duckdb.from_arrow(ARROW),
    "columns": ARROW.to_pydict(),
    "rows": ROWS,
    "text and chunks": pa.concat_tables([ARROW.slice(0, 2), ARROW.slice(2)]).set_column(
        1, "ts", pa.chunked_array([[f"2026-11-18T14:0{m}:00Z" for m in MINUTES]])
    ),
}
EXPECTED = [("O", "A", at(1), 11.0), ("I", "A", at(2), 8.0), ("O", "A", at(3), 12.0)]


def events(result: fp.Result) -> list[tuple[Any, ...]]:
    names = ("type", "stream_id", "ts", "price")
    return [tuple(row[name] for name in names) for row in result.events.to_pylist()]


@pytest.mark.parametrize("form", FORMS)
def test_a_table_of_any_library_gives_the_same_events(form):
    given = FORMS[form]
    result = fp.evaluate(given() if callable(given) else given, CHEAP)
    assert events(result) == EXPECTED
    kinds = result.transitions["type"].to_pylist()
    assert kinds == ["short_absence", "pass_through"]
    assert (result.read, result.accepted, result.waiting) == (5, 5, 0)


def test_every_row_is_accepted_or_rejected_with_its_place():
    rows = [*ROWS, ROWS[0], ROWS[1] | {"price": 1.0}]
    rows += [ROWS[4] | {"price": None}, ROWS[4] | {"stream_id": ""}, ROWS[4] | {"ts": None}]
    monitor = fp.Monitor(CHEAP, ties="first")
    result = monitor.push(rows)
    assert result.read == result.accepted + len(result.rejected)
    found = [(row["row"], row["reason"], row["detail"]) for row in result.rejected.to_pylist()]
    assert found[2:] == [
        (7, "malformed", "price is null"),
        (8, "malformed", "stream_id is empty"),
        (9, "malformed", "ts is null"),
    ]
    assert [row[:2] for row in found[:2]] == [(5, "duplicate"), (6, "conflict")]
    late = monitor.push([ROWS[0]])
    assert late.rejected.select(["feed", "row", "reason"]).to_pylist() == [
        {"feed": "tuples", "row": 0, "reason": "late"}
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_no_number_is_a_rejected_row(value):
    result = fp.evaluate(pa.Table.from_pylist([ROWS[0] | {"price": value}, ROWS[3]]), CHEAP)
    assert result.rejected["row"].to_pylist() == [0]
    assert result.accepted == 1


def test_rules_come_from_dicts_tables_and_files(tmp_path):
    line = '{"id": "cheap", "feed": "tuples", "where": "price < 10", "within": "3m"}\n'
    bounds = pa.table({"id": ["cheap"], "price_hi": [10.0], "within": ["3m"]})
    pq.write_table(bounds, tmp_path / "rules.parquet")
    words = pa.table({"id": ["cheap"], "where": ["price < 10"], "within": ["3m"]})
    sources = [
        CHEAP,
        [CHEAP],
        CHEAP | {"within": timedelta(minutes=3)},
        CHEAP | {"valid_from": at(0), "streams": {"A"}},
        written(tmp_path, "rules.jsonl", line),
        str(tmp_path / "rules.jsonl"),
        tmp_path / "rules.parquet",
        bounds,
        bounds.to_pandas(),
        pl.DataFrame(words),
        words.append_column("streams", pa.nulls(1, pa.list_(pa.string()))),
        fp.rules(CHEAP),
    ]
    for source in sources:
        assert len(fp.rules(source)) == 1
        assert events(fp.evaluate(ROWS, source)) == EXPECTED, source
    two = fp.rules(bounds, {"id": "dear", "feed": "ticks", "where": "price > 10"}, feed="ticks")
    assert (len(two), two.feeds) == (2, ("ticks",))


def test_rules_are_taken_whole_and_every_fault_is_named():
    with pytest.raises(Faults) as caught:
        fp.rules([{"id": "a", "where": "price >"}, {"id": "b", "were": "price > 1"}, CHEAP, CHEAP])
    said = str(caught.value)
    for part in ("rules:1:", "rules:2: unknown field `were`", "Did you mean 'where'?", "rules:4:"):
        assert part in said
    with pytest.raises(InputError, match=r"'a' cannot be read: .* is of type object"):
        fp.rules({"id": "a", "where": object()})
    with pytest.raises(Faults, match=r"nope\.jsonl: there is no such file"):
        fp.rules("nope.jsonl")


FRAME = ARROW.to_pandas()
MISTAKES = {
    "no ts": (lambda: fp.evaluate(ARROW.drop_columns("ts"), CHEAP), "no column 'ts'.*ts='…'"),
    "near": (
        lambda: fp.evaluate(ARROW.rename_columns(["stream", "ts", "price", "v"]), CHEAP),
        "no column 'stream_id'.*Did you mean 'stream'",
    ),
    "no zone": (
        lambda: fp.evaluate(FRAME.assign(ts=FRAME["ts"].dt.tz_localize(None)), CHEAP),
        "a time without a zone is no instant.*tz_localize",
    ),
    "integers": (lambda: fp.evaluate(FRAME.assign(ts=[1, 2, 3, 4, 5]), CHEAP), "ts_unit='s'"),
    "a unit": (lambda: fp.evaluate(FRAME, CHEAP, ts_unit="hours"), "'s', 'ms', 'us' or 'ns'"),
    "a day": (
        lambda: fp.evaluate(FRAME.assign(ts=[at(0).date()] * 5), CHEAP),
        "date32.*timestamps with a time zone",
    ),
    "flags": (
        lambda: fp.evaluate(FRAME.assign(price=[True] * 5), CHEAP, axes=["price"]),
        "'price' is of type bool: an axis holds numbers",
    ),
    "no axis": (lambda: fp.evaluate(ARROW.drop_columns("price"), CHEAP), r"'venue' \(string\)"),
    "axes": (lambda: fp.evaluate(ARROW, CHEAP, axes="price"), r"\['price'\]"),
    "axes, wrong": (lambda: fp.evaluate(ARROW, CHEAP, axes=["prize"]), "Did you mean 'price'"),
    "ts an axis": (lambda: fp.evaluate(ARROW, CHEAP, axes=["ts"]), "neither 'stream_id' nor 'ts'"),
    "type": (
        lambda: fp.evaluate(FRAME.assign(type=1.0), CHEAP),
        "an axis cannot be called 'type'",
    ),
    "feed": (
        lambda: fp.evaluate({"tick": ARROW}, CHEAP | {"feed": "ticks"}),
        "no rule watches the feed 'tick': they watch ticks.*Did you mean 'ticks'",
    ),
    "whose": (
        lambda: fp.evaluate(ARROW, [CHEAP | {"feed": "a"}, CHEAP | {"id": "b", "feed": "b"}]),
        "the rules watch a, b: say whose",
    ),
    "path": (lambda: fp.evaluate("ticks.csv", CHEAP), "are a path, 'ticks.csv': read the file"),
    "lazy": (lambda: fp.evaluate(POLARS.lazy(), CHEAP), r"call \.collect\(\)"),
    "number": (lambda: fp.evaluate(42, CHEAP), "of type int: an Arrow table"),
    "twice": (
        lambda: fp.evaluate(pa.table([["A"], ["B"]], ["stream_id", "stream_id"]), CHEAP),
        "have the column 'stream_id' twice",
    ),
    "lateness": (lambda: fp.Monitor(CHEAP, allowed_lateness="soon"), "allowed_lateness: 'soon'"),
    "nothing": (lambda: fp.evaluate({}, CHEAP), "an empty dict"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_an_error_that_says_what_to_do(mistake):
    act, words = MISTAKES[mistake]
    with pytest.raises(InputError, match=f"(?s){words}"):
        act()


def test_a_rule_over_text_says_which_columns_are_no_axes():
    with pytest.raises(Faults, match="unknown axis 'venue'") as caught:
        fp.evaluate(ARROW, {"id": "x", "where": "venue = 10"})
    assert "venue hold text" in caught.value.__notes__[0]


def test_what_was_ignored_or_had_no_tuples_is_in_the_notes():
    rules = [CHEAP | {"feed": "ticks"}, CHEAP | {"id": "b", "feed": "vans"}]
    result = fp.evaluate({"ticks": ARROW}, rules)
    assert result.notes == (
        "feed 'ticks': ignored venue, which are no axes",
        "no tuples came of vans, which rules watch",
    )


def test_a_push_that_raises_changes_nothing():
    monitor = fp.Monitor(CHEAP)
    monitor.push(ROWS[:1])
    before = monitor.to_bytes()
    with pytest.raises(InputError):
        monitor.push([{"stream_id": "A", "ts": at(5)}])
    assert monitor.push([]).read == 0
    assert monitor.to_bytes() == before


def test_what_a_changed_rule_had_left_undecided_is_dropped():
    inside = [ROWS[0] | {"price": 12.0}, ROWS[0] | {"ts": at(1)}]
    later = [ROWS[0] | {"ts": at(9), "stream_id": "Z"}]
    for rule, expected in ((CHEAP, ["stay"]), (CHEAP | {"where": "price < 11"}, [])):
        monitor = fp.Monitor(CHEAP)
        monitor.push(inside)
        loaded = fp.Monitor.from_bytes(monitor.to_bytes(), rule)
        assert loaded.push(later).transitions["type"].to_pylist() == expected


def test_a_state_is_whole_or_refused(tmp_path):
    monitor = fp.Monitor(CHEAP)
    monitor.push(ROWS)
    monitor.save(tmp_path / "state")
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert repr(fp.Monitor.load(tmp_path / "state", CHEAP)) == repr(monitor)
    state = (tmp_path / "state").read_bytes()
    for broken in (b"", b"zip", state[: len(state) // 2], state[:60] + b"\0" * 30 + state[90:]):
        with pytest.raises(StateError, match="no state that a Monitor saved"):
            fp.Monitor.from_bytes(broken, CHEAP)


def test_feeds_that_are_joined_must_be_known_together():
    ends = {"left": "bids.price", "right": "asks.price", "between": [-0.5, 0.5]}
    band = {"id": "b", "kind": "band_join", **ends}
    with pytest.raises(InputError, match="the axes of 'asks' must be known before"):
        fp.Monitor(band).push({"bids": ARROW})
    monitor = fp.Monitor(band, axes={"asks": ["price"], "bids": ["price"]})
    monitor.push({"bids": ARROW})
    changes = monitor.push({"asks": [ROWS[3] | {"stream_id": "C"}]}).band_changes
    assert changes.select(["change", "left_stream_id", "right_stream_id"]).to_pylist() == [
        {"change": 1, "left_stream_id": "A", "right_stream_id": "C"}
    ]


def test_importing_costs_nothing_until_a_name_is_used():
    program = (
        "import sys, fencepost\n"
        "assert not {'numpy', 'pyarrow', 'numba'} & set(sys.modules), sorted(sys.modules)\n"
        "assert len(fencepost.__all__) <= 10 and {*fencepost.__all__} <= {*dir(fencepost)}\n"
        "fencepost.evaluate, fencepost.Monitor, fencepost.rules\n"
        "assert not {'pandas', 'polars', 'duckdb', 'typer', 'pyspark'} & set(sys.modules)\n"
        "try:\n    fencepost.nothing\nexcept AttributeError as why:\n    print(why)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout == "module 'fencepost' has no attribute 'nothing'\n", done.stderr
