"""`fencepost eval` against the reference, and a step a delivery against one step of all."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.crossings.index import BorderIndex
from fencepost.engine import step
from fencepost.matches import Matcher
from fencepost.order_rules import Ties
from fencepost.queries import MATCH, StandingQuery
from fencepost.reference import FeedDelivery, Registration
from fencepost.reference import run as reference_run
from fencepost.state import FeedState
from fencepost.times import format_instant, parse_instant
from fencepost.tuples import TupleBatch
from pipelines.files.read.rows import ReadDelivery
from tests.support.commands.commands import fencepost, rows
from tests.support.commands.files import taken, written
from tests.support.oracles.oracles import (
    event_rows,
    match_rows,
    match_set_of,
    query_set_of,
    transition_rows,
)
from tests.support.stories.strategies import FEED, TICK, Story, stories


def as_file(
    folder: Path, name: str, form: str, axes: tuple[str, ...], delivery: FeedDelivery
) -> Path:
    rows = [(s.stream, format_instant(s.ts), *s.values) for s in delivery.tuples]
    names = ["stream_id", "ts", *axes]
    if form == "csv":
        text = io.StringIO(newline="")
        csv.writer(text).writerows([names, *rows])
        return written(folder, f"{name}.csv", text.getvalue())
    if form == "jsonl":
        return written(
            folder,
            f"{name}.jsonl",
            "".join(json.dumps(dict(zip(names, r, strict=True))) + "\n" for r in rows),
        )
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    kinds = [pa.string(), pa.string(), *[pa.float64()] * len(axes)]
    cells = [pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)]
    pq.write_table(pa.table(cells, names), folder / f"{name}.parquet")
    return folder / f"{name}.parquet"


def as_json(query: StandingQuery) -> str:
    fields = {
        "id": query.id,
        "feed": query.feed,
        "where": query.where,
        "streams": query.streams,
        "streams_like": query.streams_like,
        "within": None if query.within is None else f"{query.within}us",
        **({"kind": MATCH} if query.kind == MATCH else {"on_first": query.on_first}),
        "valid_from": None if query.valid_from is None else format_instant(query.valid_from),
        "valid_to": None if query.valid_to is None else format_instant(query.valid_to),
    }
    return json.dumps(fields) + "\n"


def registered_once(story: Story) -> Story:
    first = next(item for item in story.script if isinstance(item, Registration))
    deliveries = [item for item in story.script if isinstance(item, FeedDelivery)]
    return Story(story.axes, (first, *deliveries), story.lateness, story.ties, story.idle)


def in_any_order(ties: Ties, idle: int | None, story: Story) -> Story:
    return replace(story, ties=ties, idle=idle)


ANY_ORDER = st.builds(
    in_any_order,
    st.sampled_from(("all", "first")),
    st.sampled_from((None, None, 0, 2 * TICK, 30 * TICK)),
    stories(most_axes=3).map(registered_once),
)


@settings(max_examples=25)
@given(ANY_ORDER, st.randoms(use_true_random=False))
def test_oracle_what_eval_writes_is_what_the_reference_says(tmp_path_factory, story, random):
    folder = tmp_path_factory.mktemp("eval")
    expected = reference_run(FEED, story.axes, story.script, story.rules)
    registration, *deliveries = story.script
    written(folder, "q.jsonl", "".join(map(as_json, registration.queries)))
    forms = [random.choice(["csv", "jsonl", "parquet"]) for _ in deliveries]
    files = [
        as_file(folder, str(n), form, story.axes, delivery)
        for n, (form, delivery) in enumerate(zip(forms, deliveries, strict=True))
    ]
    given_ = [argument for file in files for argument in ("--tuples", f"{FEED}={file}")]
    if not given_:
        return
    summary = fencepost(
        "eval", "--queries", folder / "q.jsonl", *given_, "--out", folder / "out", "--json",
        "--axes", ",".join(story.axes), "--allowed-lateness", f"{story.lateness}us",
        "--ties", story.ties,
        *(() if story.idle is None else ("--lateness-by", "stream", "--idle", f"{story.idle}us")),
    ).summary  # fmt: skip
    events = rows(folder / "out" / "events.csv")
    found = [
        (e["type"], e["query_id"], e["stream_id"], parse_instant(e["ts"]), int(e["place"]),
         tuple(float(e[a]) for a in story.axes),
         parse_instant(e["prev_ts"]) if e["prev_ts"] else None)
        for e in events
    ]  # fmt: skip
    wanted = [
        (e.type, e.query_id, e.stream, e.ts, e.place, e.values, e.prev_ts) for e in expected.events
    ]
    assert found == sorted(wanted, key=lambda e: (e[3], e[2], e[4], e[1]))
    transitions = [
        (
            t["type"],
            t["query_id"],
            t["stream_id"],
            parse_instant(t["ts"]),
            parse_instant(t["from_ts"]),
        )
        for t in rows(folder / "out" / "transitions.csv")
    ]
    assert sorted(transitions) == sorted(
        (t.type, t.query_id, t.stream, t.ts, t.from_ts) for t in expected.transitions
    )
    matched = [
        (m["stream_id"], parse_instant(m["ts"]), int(m["place"]), m["query_id"])
        for m in rows(folder / "out" / "matches.csv")
    ]
    assert matched == sorted((m.stream, m.ts, m.place, m.query_id) for m in expected.matches)
    assert summary["matches"] == len(matched)
    quarantine = [
        (files.index(Path(q["source"])), int(q["line"]), q["reason"])
        for q in rows(folder / "out" / "quarantine.csv")
    ]
    header = {"csv": 2, "jsonl": 1, "parquet": 1}
    assert quarantine == sorted(
        (d, row + header[forms[d]], why) for d, row, why in expected.rejected
    )
    assert (summary["accepted"], summary["waiting"]) == (
        len(expected.accepted),
        len(expected.waiting),
    )


def batch_of(delivery: ReadDelivery, number: int) -> TupleBatch:
    where = np.full(len(delivery.ts), number, np.int32)
    return TupleBatch.from_columns(
        FEED, delivery.axes, delivery.ids, delivery.ts, delivery.values, where
    )


@settings(max_examples=25)
@given(stories(most_axes=2).map(registered_once))
def test_differential_a_step_a_delivery_is_one_step_of_all(tmp_path_factory, story):
    folder = tmp_path_factory.mktemp("steps")
    registration, *deliveries = story.script
    index = BorderIndex.build(query_set_of(FEED, story.axes, registration))
    matcher = Matcher.build(match_set_of(FEED, story.axes, registration))
    read = [
        taken(as_file(folder, str(n), "csv", story.axes, delivery), story.axes)
        for n, delivery in enumerate(deliveries)
    ]
    state = FeedState.empty(FEED, story.axes)
    events, transitions, matches = [], [], []
    taking = {"matcher": matcher, "rules": story.rules}
    for n, delivery in enumerate(read):
        outcome = step(state, batch_of(delivery, 0), index, deliveries=1, **taking)
        state = outcome.state
        events += event_rows(outcome.events, story.axes, n)
        transitions += transition_rows(outcome.transitions, n)
        matches += match_rows(outcome.matches, n)
    empty = FeedState.empty(FEED, story.axes)
    batches = [batch_of(delivery, n) for n, delivery in enumerate(read)]
    if batches:
        whole = type(batches[0]).concat(batches)
        at_once = step(empty, whole, index, deliveries=len(read), **taking)
        assert sorted(events, key=repr) == sorted(event_rows(at_once.events, story.axes), key=repr)
        assert sorted(transitions) == sorted(transition_rows(at_once.transitions))
        assert sorted(matches) == sorted(match_rows(at_once.matches))
