"""`fencepost eval` with joins: feeds and lanes against the reference, and what goes wrong."""

import csv
import json
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.queries import check_query
from fencepost.queries.joins import JoinQuery
from fencepost.reference import (
    FeedDelivery,
    JoinRegistration,
    JoinRunResult,
    SideDelivery,
    Sighting,
    run_joins,
)
from fencepost.times import format_instant, parse_instant
from tests.support.commands.commands import T, evaluated, fencepost, rows
from tests.support.commands.files import written
from tests.support.stories.join_stories import ORIGIN, TICK, rules_of

AXES = {"bids": ("price",), "asks": ("price", "size"), "quotes": ("limit",)}
LANES = (("bids", "asks"), ("asks", "bids"), ("asks", "quotes"))
QUOTES = "stream_id,ts,price\n"
PAIR = ",".join(
    (
        *("feeds", "query_id", "query_version", "ts", "left_stream_id", "left_ts", "left_place"),
        *("left_price", "right_stream_id", "right_ts", "right_place", "right_price"),
    )
)
CHANGE = ",".join(
    (
        *("feeds", "query_id", "query_version", "change", "left_stream_id", "right_stream_id"),
        *("left_value", "right_value", "ts", "place"),
    )
)

OF_A_SIDE = ("stream_id", "ts", "place")

Given = list[tuple[str, FeedDelivery]]


def window(id: str = "w", on: str = "left.price >= right.price", **more: Any) -> dict[str, Any]:
    given = {"left": "bids", "right": "asks", "on": on, "window": "2m", **more}
    return {"id": id, "kind": "window_join", **given}


def band(id: str = "b", between: Any = (0, 1), **more: Any) -> dict[str, Any]:
    given = {"left": "bids.price", "right": "asks.price", "between": between, **more}
    return {"id": id, "kind": "band_join", **given}


def queries_file(folder: Path, *queries: dict[str, Any], name: str = "q.jsonl") -> Path:
    return written(folder, name, "".join(json.dumps(query) + "\n" for query in queries))


def quotes(*seen: tuple[str, int, float]) -> str:
    return QUOTES + "".join(f"{s},{T.format(minute)},{price}\n" for s, minute, price in seen)


def at(minute: int) -> str:
    return T.format(minute).replace("Z", ".000000Z")


# ── the reference ─────────────────────────────────────────────────────────────────────────────────


def drawn_queries(random: Random) -> list[dict[str, Any]]:
    found = []
    for n in range(random.randint(3, 12)):
        left, right = random.choice(LANES)
        a, b = random.choice(AXES[left]), random.choice(AXES[right])
        low = random.choice((None, -1, -0.5, 0, 0.5))
        if random.random() < 0.5:
            high = random.choice((None, 0.5, 1, 2))
            found.append(band(f"q{n}", (low, high), left=f"{left}.{a}", right=f"{right}.{b}"))
            continue
        apart = random.choice(("", " - 0.5", " + 0.5"))
        on = random.choice(
            (
                f"left.{a} >= right.{b}{apart}",
                f"left.{a} BETWEEN right.{b}{apart} AND right.{b} + 1",
                f"NOT left.{a}{apart} = right.{b} OR left.{a} = right.{b}",
            )
        )
        length: Any = random.choice(("0s", "1s", "3s", 1, 3, 1000))
        more = {} if low is None else {"where": f"right.{b} > {low}"}
        if random.random() < 0.3:
            more["valid_from"] = format_instant(ORIGIN + 3 * TICK)
        found.append(window(f"q{n}", on, left=left, right=right, window=length, **more))
    return found


def drawn_deliveries(random: Random) -> Given:
    given = []
    for tick in range(random.randint(3, 9)):
        feed = random.choice(list(AXES))
        seen = tuple(
            Sighting(
                random.choice("abc"),
                ORIGIN + (tick + random.randint(-1, 2)) * TICK,
                tuple(random.randint(-4, 4) / 2 for _ in AXES[feed]),
            )
            for _ in range(random.randint(0, 6))
        )
        given.append((feed, FeedDelivery(seen)))
    return given


def as_csv(folder: Path, name: str, feed: str, delivery: FeedDelivery) -> Path:
    path = folder / f"{name}.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["stream_id", "ts", *AXES[feed]])
        out.writerows([s.stream, format_instant(s.ts), *s.values] for s in delivery.tuples)
    return path


def of_lane(
    feeds: tuple[str, str], queries: list[dict[str, Any]], given_: Given, lateness: int
) -> JoinRunResult:
    mine = []
    for each in queries:
        query, faults = check_query(json.loads(json.dumps(each)), AXES)
        assert not faults
        assert isinstance(query, JoinQuery)
        if (query.left, query.right) == feeds:
            mine.append(query)
    script: list[JoinRegistration | SideDelivery] = [JoinRegistration(tuple(mine))]
    script += [SideDelivery(feeds.index(f), delivery) for f, delivery in given_ if f in feeds]
    return run_joins((AXES[feeds[0]], AXES[feeds[1]]), script, rules_of((lateness, lateness)))


def told_pairs(feeds: tuple[str, str], found: JoinRunResult) -> list[tuple[Any, ...]]:
    lane = "~".join(feeds)
    return [
        (p.ts, lane, p.left.stream, p.left.ts, p.right.stream, p.right.ts, p.query_id,
         tuple(zip(AXES[feeds[0]], p.left.values, strict=True)),
         tuple(zip(AXES[feeds[1]], p.right.values, strict=True)))
        for p in found.pairs
    ]  # fmt: skip


def read_pair(row: dict[str, str]) -> tuple[Any, ...]:
    left, right = (
        tuple((n.removeprefix(side), float(v)) for n, v in row.items()
              if n.startswith(side) and v and n.removeprefix(side) not in OF_A_SIDE)
        for side in ("left_", "right_")
    )  # fmt: skip
    streams = row["left_stream_id"], parse_instant(row["left_ts"]), row["right_stream_id"]
    when = parse_instant(row["ts"]), row["feeds"]
    return (*when, *streams, parse_instant(row["right_ts"]), row["query_id"], left, right)


@settings(max_examples=25)
@given(st.integers(0, 10**9), st.sampled_from((0, 0, TICK, 2 * TICK)))
def test_oracle_what_eval_writes_of_joins_is_what_the_reference_says(
    tmp_path_factory: Any, seed: int, lateness: int
) -> None:
    random, folder = Random(seed), tmp_path_factory.mktemp("joins")  # noqa: S311
    asked, given_ = drawn_queries(random), drawn_deliveries(random)
    given_ += [
        (feed, FeedDelivery(())) for feed in AXES
    ]  # each feed has a delivery, so all are known
    queries_file(folder, *asked)
    files = [as_csv(folder, str(n), feed, each) for n, (feed, each) in enumerate(given_)]
    tuples = [
        argument
        for (feed, _), file in zip(given_, files, strict=True)
        for argument in ("--tuples", f"{feed}={file}")
    ]
    summary = fencepost(
        "eval", "--queries", folder / "q.jsonl", *tuples, "--out", folder / "out", "--json",
        "--allowed-lateness", f"{lateness}us", "--ties", "first",
    ).summary  # fmt: skip
    lanes = {feeds: of_lane(feeds, asked, given_, lateness) for feeds in LANES}
    pairs = [pair for feeds, found in lanes.items() for pair in told_pairs(feeds, found)]
    assert list(map(read_pair, rows(folder / "out" / "pairs.csv"))) == sorted(pairs)
    changes = [
        (row["feeds"], row["query_id"], int(row["change"]), row["left_stream_id"],
         row["right_stream_id"], float(row["left_value"]), float(row["right_value"]),
         parse_instant(row["ts"]))
        for row in rows(folder / "out" / "band_changes.csv")
    ]  # fmt: skip
    wanted = [
        ("~".join(feeds), c.query_id, c.change, *c[3:8])
        for feeds, found in lanes.items()
        for c in found.changes
    ]
    assert sorted(changes) == sorted(wanted)
    assert [c[0] for c in changes] == sorted(c[0] for c in changes)
    assert (summary["pairs"], summary["band_changes"]) == (len(pairs), len(wanted))
    assert summary["band_changes_by_sign"]["-1"] == sum(c[2] < 0 for c in changes)


# ── what is written ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a window join and a band join, a bid and two asks."""
    queries_file(tmp_path, window(), band())
    written(tmp_path, "bids.csv", quotes(("a", 1, 5), ("a", 4, 9)))
    written(tmp_path, "asks.csv", quotes(("z", 0, 4), ("z", 2, 4.5)))
    return tmp_path


GIVEN = ("bids=bids.csv", "asks=asks.csv")


def test_all_four_kinds_stand_in_one_file_and_each_has_its_table(folder):
    queries_file(
        folder,
        window(),
        band(),
        {"id": "c", "feed": "bids", "where": "price >= 6", "within": "1m"},
        {"id": "m", "feed": "asks", "kind": "match", "where": "price = 4"},
    )
    summary = evaluated(folder, *GIVEN, more=("--json",)).summary
    names = ("read", "accepted", "events", "transitions", "matches", "pairs", "band_changes")
    assert [summary[name] for name in names] == [4, 4, 1, 0, 1, 3, 0]
    said = evaluated(folder, "asks=asks.csv", "bids=bids.csv")
    assert "pairs        3\nband changes 2 (+1 1 · -1 1)\n" in said.out
    assert "note" not in said.err


def test_the_rows_of_a_pair_and_of_a_change(folder):
    evaluated(folder, "asks=asks.csv", "bids=bids.csv")
    out = folder / "out"
    assert (out / "pairs.csv").read_text().splitlines()[:2] == [
        PAIR,
        f"bids~asks,w,1,{at(1)},a,{at(1)},0,5,z,{at(0)},0,4",
    ]
    assert (out / "band_changes.csv").read_text().splitlines() == [
        CHANGE,
        f"bids~asks,b,1,1,a,z,5,4.5,{at(1)},0",
        f"bids~asks,b,1,-1,a,z,5,4.5,{at(4)},0",
    ]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_the_other_formats_hold_the_same_pairs_and_changes(folder, form):
    evaluated(folder, "asks=asks.csv", "bids=bids.csv")
    evaluated(folder, "asks=asks.csv", "bids=bids.csv", more=("--format", form))
    for name in ("pairs", "band_changes"):
        wanted = rows(folder / "out" / f"{name}.csv")
        path = folder / "out" / f"{name}.{form}"
        if form == "jsonl":
            found = [json.loads(line) for line in path.read_text().splitlines()]
        else:
            table = pq.read_table(path)
            assert table.schema.field("ts").type == pa.timestamp("us", "UTC")
            assert table.schema.field("query_id").type == pa.string()
            found = table.to_pylist()
        assert [row.keys() for row in found] == [row.keys() for row in wanted]
        assert len(found) > 1
        for row, text in zip(found, wanted, strict=True):
            for column, value in row.items():
                if column.endswith("ts"):
                    is_text = isinstance(value, str)
                    assert value == (
                        text[column] if is_text else datetime.fromisoformat(text[column])
                    )
                else:
                    assert value == type(value)(text[column])


def test_without_joins_both_tables_are_there_and_empty(folder):
    queries_file(folder, {"id": "c", "feed": "bids", "where": "price >= 6"})
    said = evaluated(folder, "bids=bids.csv")
    assert "pairs  " not in said.out
    assert "band changes" not in said.out
    for name in ("pairs", "band_changes"):
        lines = (folder / "out" / f"{name}.csv").read_text().splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("feeds,query_id,query_version")


def test_rows_do_not_depend_on_the_order_of_the_queries(folder):
    asked = [window(f"w{n}", window=n + 1) for n in range(3)] + [band(f"b{n}") for n in range(3)]
    told = []
    for order in (asked, asked[::-1]):
        queries_file(folder, *order)
        evaluated(folder, "asks=asks.csv", "bids=bids.csv")
        told.append([(folder / "out" / f"{n}.csv").read_bytes() for n in ("pairs", "band_changes")])
    assert told[0] == told[1]


def test_a_row_that_is_turned_away_is_told_once_and_joins_with_nobody(folder):
    written(folder, "again.csv", quotes(("a", 4, 9), ("a", 4, 8), ("a", 3, 5)))
    more = ("--ties", "first", "--json")
    summary = evaluated(folder, *GIVEN, "bids=again.csv", more=more).summary
    turned = [row["reason"] for row in rows(folder / "out" / "quarantine.csv")]
    assert turned == ["duplicate", "conflict", "late"]
    assert summary["pairs"] == 3


# ── what is said ──────────────────────────────────────────────────────────────────────────────────


def test_a_join_whose_feed_has_no_tuples_is_not_evaluated_and_that_is_said(folder):
    queries_file(folder, window(), band(), band("c", left="no.price"))
    said = evaluated(folder, "bids=bids.csv")
    assert said.code == 0
    assert "note: 2 queries of feed 'asks' not evaluated: it has no tuples." in said.err
    assert "note: 1 query of feed 'no' not evaluated: it has no tuples." in said.err
    assert "no query watches" not in said.err


def test_a_feed_that_no_join_names_is_told(folder):
    said = evaluated(folder, *GIVEN, "other=bids.csv")
    assert "note: no query watches feed 'other'." in said.err


def test_every_faulty_join_is_told_with_its_line_and_column(folder):
    queries_file(
        folder,
        window("w", "left.prize >= right.price"),
        band("b", (1, 0)),
        band("c", right="asks.prize"),
        window("d", window="2x"),
        window("w"),
        name="bad.jsonl",
    )
    said = evaluated(folder, *GIVEN, queries="bad.jsonl")
    assert said.code == 2
    for told in (
        "bad.jsonl:1: unknown axis 'prize' of left in `on` at column 6",
        "    left.prize >= right.price",
        "bad.jsonl:2: `between` is [1.0, 0.0]: put the lower end first",
        "bad.jsonl:3: unknown axis 'prize' in `right`",
        "bad.jsonl:5: the id 'w' occurs twice: in lines 1 and 5",
    ):
        assert told in said.err.splitlines(), said.err
    assert "bad.jsonl:4: `window`" in said.err
    assert "nothing written" in said.err
    assert not (folder / "out").exists()


def test_a_join_does_not_say_of_which_feed_tuples_without_a_name_are(folder):
    said = evaluated(folder, "bids.csv")
    assert said.code == 2
    assert "no feed is named, and the queries name bids, asks" in said.err
    assert "Write --tuples FEED=bids.csv." in said.err


def test_an_id_stands_once_in_all_files_whatever_its_kind(folder):
    written(folder, "more.jsonl", '{"id": "w", "feed": "bids", "where": "ALL"}\n')
    said = evaluated(folder, *GIVEN, more=("--queries", "more.jsonl"))
    assert said.code == 2
    assert "the id 'w' is in q.jsonl" in said.err
