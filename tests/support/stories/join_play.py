"""Stories of two feeds and their joins through the lane's engine, in steps cut anywhere.

Law: nothing is decided here. Tables become the reference's rows one to one.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost.joins.engine import JoinOutcome, step
from fencepost.joins.index import LaneIndex
from fencepost.joins.state import LaneState
from fencepost.order import NEVER, OrderRules
from fencepost.queries.joins import JoinQuery, JoinSets
from fencepost.reference import (
    Change,
    JoinRegistration,
    JoinRunResult,
    NearChange,
    Pair,
    SideDelivery,
    Sighting,
)
from fencepost.tuples import TupleBatch
from tests.support.oracles.oracles import sequence_of
from tests.support.stories.join_stories import FEEDS, Axes, JoinStory


@dataclass
class Played:
    """What the engine found, row after row, in its own order, and the state that is left."""

    pairs: list[Pair]
    changes: list[Change]
    near_changes: list[NearChange]
    affected: list[tuple[int, int, int, str, str]]
    accepted: list[int]
    rejected: tuple[list[tuple[int, int, str]], ...]
    watermarks: list[int | None]
    state: LaneState


def played(
    story: JoinStory,
    cuts: Collection[int] | None = None,
    *,
    most: int | None = None,
    reloaded: bool = False,
    later: tuple[int, tuple[OrderRules, OrderRules]] | None = None,
) -> Played:
    """Play a story, a step ending before every cut and every registration; at None, everywhere.

    Results are found `most` at a time. `later` is a delivery from which on other rules hold;
    it is a cut.
    """
    state = LaneState.empty(story.feeds, story.axes)
    rows = Played([], [], [], [], [0, 0], ([], []), [], state)
    registry, number = 0, 0
    index = index_of(story.axes, (), {}, story.feeds)
    registered: dict[tuple[str, int], int] = {}
    newly: list[str] = []
    run: list[SideDelivery] = []

    def stepped() -> None:
        nonlocal number
        at, near_at = (
            [n for n, name in enumerate(its.ids.to_pylist()) if name in newly]
            for its in (index.bands, index.nears)
        )
        its = batches(story.axes, run, story.feeds)
        sides = np.array([each.side for each in run], np.int8)
        outcome = step(
            rows.state,
            its[0],
            sides,
            index,
            rules=story.rules if later is None or number < later[0] else later[1],
            registry=registry,
            newly=np.array(at, np.int32),
            near_newly=np.array(near_at, np.int32),
            gone=its[1],
        )
        gather(rows, story.axes, outcome, its[0], number, most)
        rows.state = retold(outcome.state) if reloaded else outcome.state
        number += len(run)
        run.clear()
        newly.clear()

    for item in story.script:
        if isinstance(item, JoinRegistration):
            if run or newly:
                stepped()
            registry += 1
            before = registered
            registered = {
                name: before.get(name, registry)
                for name in ((q.id, q.version) for q in item.queries)
            }
            newly = [name for name, version in registered if (name, version) not in before]
            index = index_of(story.axes, item.queries, registered, story.feeds)
        else:
            beyond = number + len(run)
            at_cut = cuts is None or beyond in cuts or (later is not None and beyond == later[0])
            if run and at_cut:
                stepped()
            run.append(item)
    stepped()
    return rows


def index_of(
    axes: Axes,
    queries: Sequence[JoinQuery],
    registered: dict[tuple[str, int], int],
    feeds: tuple[str, str] = FEEDS,
) -> LaneIndex:
    """The index of the joins in force."""
    since = [registered.get((q.id, q.version), 0) for q in queries]
    return LaneIndex.build(JoinSets.from_queries(feeds, axes, queries, since))


def batches(
    axes: Axes, run: Sequence[SideDelivery], feeds: tuple[str, str] = FEEDS
) -> tuple[Any, Any]:
    """The tuples of deliveries as a step's input, and which are marked gone."""
    found, gone = [], []
    for side, feed in enumerate(feeds):
        rows = [
            (n, seen, row in each.gone)
            for n, each in enumerate(run)
            if each.side == side
            for row, seen in enumerate(each.delivery.tuples)
        ]
        values = np.array([seen.values for _, seen, _ in rows], np.float64)
        batch = TupleBatch.from_columns(
            feed,
            axes[side],
            pa.array([seen.stream for _, seen, _ in rows], pa.string()),
            np.array([seen.ts for _, seen, _ in rows], np.int64),
            values.reshape(-1, len(axes[side])).T,
            np.array([n for n, _, _ in rows], np.int32),
            sequence=sequence_of([seen for _, seen, _ in rows]),
        )
        found.append(batch)
        gone.append(np.array([is_gone for _, _, is_gone in rows], np.bool_))
    return tuple(found), tuple(gone)


def gather(
    rows: Played, axes: Axes, outcome: JoinOutcome, given: Any, first: int, most: int | None
) -> None:
    """Append the results of a step to those before."""
    if most is None:
        pairs, changes, affected = outcome.pairs, outcome.band_changes, outcome.affected
        near = outcome.near_changes
    else:
        pairs = pa.concat_tables([outcome.pairs.slice(0, 0), *outcome.pair_pieces(most)])
        pieces = list(outcome.band_pieces(most))
        changes = pa.concat_tables([outcome.band_changes.slice(0, 0), *(p[0] for p in pieces)])
        affected = pa.concat_tables([outcome.affected.slice(0, 0), *(p[1] for p in pieces)])
        near = pa.concat_tables([outcome.near_changes.slice(0, 0), *outcome.near_pieces(most)])
    for row in pairs.to_pylist():
        left, right = (
            Sighting(
                row[f"{side}_stream_id"],
                row[f"{side}_ts"],
                tuple(row[f"{side}_{axis}"] for axis in own),
            )
            for side, own in zip(("left", "right"), axes, strict=True)
        )
        name = row["query_id"], row["query_version"]
        places = row["left_place"], row["right_place"]
        rows.pairs.append(Pair(*name, row["ts"], left, right, row["delivery"] + first, *places))
    for row in changes.to_pylist():
        number = row["delivery"] + (first if row["delivery"] >= 0 else 0)
        place = row.pop("place")
        rows.changes.append(Change(*list(row.values())[:-1], number, place))  # type: ignore[call-arg]
    for row in near.to_pylist():
        number = row["delivery"] + (first if row["delivery"] >= 0 else 0)
        rows.near_changes.append(
            NearChange(
                row["query_id"],
                row["query_version"],
                row["change"],
                row["left_stream_id"],
                row["right_stream_id"],
                (row["left_x"], row["left_y"]),
                (row["right_x"], row["right_y"]),
                row["distance"],
                row["ts"],
                number,
                row["place"],
            )
        )
    for row in affected.to_pylist():
        side = FEEDS.index(row["feed"])
        where = row["delivery"] + first, row["ts"], side, row["stream_id"]
        rows.affected.append((*where, row["query_id"]))
    for side in (0, 1):
        rows.accepted[side] += outcome.accepted[side]
        batch = given[side]
        begins = np.searchsorted(batch.delivery, batch.delivery)
        for row, reason in zip(*outcome.rejected(side).to_pydict().values(), strict=True):
            at = int(batch.delivery[row]) + first
            rows.rejected[side].append((at, int(row - begins[row]), reason))
    rows.watermarks += [None if w == NEVER else w for w in outcome.watermarks.tolist()]


def retold(state: LaneState) -> LaneState:
    """Write both sides down as tables, and read them back in another order of streams."""
    left, right = (
        side.with_heads(side.heads_table(np.arange(len(side), dtype=np.int32)[::-1])).with_live(
            side.live_table()
        )
        for side in state.sides
    )
    return LaneState((left, right))


def told(state: LaneState) -> list[Any]:
    """All that a state holds, streams by their names."""
    found = []
    for side in state.sides:
        heads = sorted(map(str, side.heads_table().to_pylist()))
        names, waits = side.waiting.names.to_pylist(), side.waiting
        nth = np.zeros(0, np.int32) if waits.nth is None else waits.nth
        columns = waits.stream, waits.ts, nth, waits.values.T.tolist(), side.waiting_gone
        waiting = sorted(
            (names[s], int(ts), int(n), tuple(v), bool(g))
            for s, ts, n, v, g in zip(*columns, strict=True)
        )
        found.append((heads, waiting, side.live_table().to_pylist(), side.accepted, side.watermark))
    return found


def assert_told_by(expected: JoinRunResult, found: Played) -> None:
    """Fail with every row that only one of them has."""
    for name in ("pairs", "changes", "near_changes", "affected"):
        wanted, given = Counter(getattr(expected, name)), Counter(getattr(found, name))
        missing = [f"{name}: missing {row}" for row in (wanted - given).elements()]
        extra = [f"{name}: not expected {row}" for row in (given - wanted).elements()]
        assert not missing + extra, "\n".join([*missing, *extra])
    assert found.accepted == [len(side) for side in expected.accepted]
    for side in (0, 1):
        assert sorted(found.rejected[side]) == sorted(expected.rejected[side])
    assert found.watermarks == expected.watermarks
