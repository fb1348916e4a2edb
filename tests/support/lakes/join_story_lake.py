"""Plays a story of two feeds and their joins on a lake, and returns the reference's kind of rows.

Law: how deliveries are grouped into epochs and committed together, how often the whole state is
written, and how the joins are shared out are arguments here, and none of them may change a row.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from fencepost.errors import QueryFault
from fencepost.lanes import lane_of
from fencepost.order import OrderRules
from fencepost.queries.joins import WINDOW_JOIN, JoinQuery
from fencepost.queries.joins.on import parse_join
from fencepost.reference import (
    Change,
    JoinRegistration,
    NearChange,
    Pair,
    SideDelivery,
    Sighting,
)
from pipelines.epochs.drive import Lake, arrivals_of, chain_of
from pipelines.execute.joins.job import JoinJob
from pipelines.planning.chain import Chain
from pipelines.planning.plan import Limits
from pipelines.spark.runner import Runner
from tests.support.lakes.builder import evaluate, new_lake, settings_of
from tests.support.lakes.story_lake import KEY, deliver, register, sequence_options

FEEDS = ("bids", "asks")
LANE = lane_of(*FEEDS)
AXES = (("x", "y"), ("x", "z"))

Axes = tuple[tuple[str, ...], tuple[str, ...]]
Script = Sequence[SideDelivery | JoinRegistration]


@dataclass(frozen=True)
class JoinWay:
    """A way to play a story on a lake.

    at_once   deliveries that have arrived before each advance; None: all of them
    tasks     how many parts the joins are shared out to
    """

    at_once: int | None = 1
    limits: Limits = field(default_factory=Limits)
    tasks: int = 1
    piece: int = 1 << 20


def lake_of(
    root: Path,
    lateness: tuple[int, int] = (0, 0),
    way: JoinWay = JoinWay(),
    runner: Runner | None = None,
    axes: Axes = AXES,
    script: Script = (),
    feeds: tuple[str, str] = FEEDS,
) -> Lake:
    """Make a lake of two feeds, or of one twice, with nothing in it.

    Their tuples have the script's sequences.
    """
    options = {
        name: {
            "allowed_lateness": late,
            "deleted": "deleted",
            **sequence_options(_seen(script, side)),
        }
        for side, (name, late) in enumerate(zip(dict.fromkeys(feeds), lateness, strict=False))
    }
    settings = settings_of(root, dict(zip(feeds, axes, strict=True)), options, buckets=2)
    return new_lake(settings, runner, way.limits)


def _seen(script: Script, side: int) -> list[Sighting]:
    mine = (each for each in script if isinstance(each, SideDelivery) and each.side == side)
    return [seen for each in mine for seen in each.delivery.tuples]


def play(
    lake: Lake,
    script: Script,
    way: JoinWay = JoinWay(),
    rules: tuple[OrderRules, OrderRules] | tuple[None, None] = (None, None),
    feeds: tuple[str, str] = FEEDS,
) -> None:
    """Let a story happen on a lake; `rules` are recorded with each delivery, by its side."""
    arrived = 0
    with shared_out(way):
        for item in script:
            if isinstance(item, JoinRegistration):
                register(lake, item)
                continue
            feed = feeds[item.side]
            deliver(lake, item.delivery, KEY, feed, item.gone, rules[item.side])
            arrived += 1
            if way.at_once is not None and arrived % way.at_once == 0:
                evaluate(lake, lane_of(*feeds))
        evaluate(lake, lane_of(*feeds))


@contextmanager
def shared_out(way: JoinWay) -> Iterator[None]:
    """Part even a handful of joins into tasks, and write rows piece by piece."""
    with (
        mock.patch.object(JoinJob, "parts", property(lambda _: way.tasks)),
        mock.patch("pipelines.execute.joins.write.PIECE", way.piece),
    ):
        yield


def in_force(lake: Lake, name: str, lane: str = LANE) -> list[dict[str, Any]]:
    """Read the rows of a table that count."""
    chain: Chain = chain_of(lake.store, lane)
    assert not chain.open
    force = {(epoch.epoch, epoch.generation) for epoch in chain.epochs}
    rows = lake.store.rows(name)
    pairs = zip(rows["epoch"].to_pylist(), rows["generation"].to_pylist(), strict=True)
    kept = rows.filter(pa.array([pair in force for pair in pairs], pa.bool_()))
    return [row for row in kept.to_pylist() if row["lane"] == lane]


def places(lake: Lake, lane: str = LANE) -> dict[int, int]:
    """Say of each delivery which of the lane's it is, from 0."""
    return {d.n: k for k, d in enumerate(arrivals_of(lake.store).deliveries(lane))}


def us(instant: Any) -> int:
    """Return an instant as µs."""
    return int(np.datetime64(instant.replace(tzinfo=None), "us").astype(np.int64))


def told_pairs(lake: Lake) -> list[Pair]:
    """Return the pairs in the form of the reference's."""
    place, axes = places(lake), (lake.settings.axes[FEEDS[0]], lake.settings.axes[FEEDS[1]])
    found = []
    for row in in_force(lake, "pairs"):
        left, right = (
            Sighting(
                row[f"{side}_stream_id"],
                us(row[f"{side}_ts"]),
                tuple(row[f"{side}_{axis}"] for axis in own),
            )
            for side, own in zip(("left", "right"), axes, strict=True)
        )
        name = row["query_id"], row["query_version"]
        theirs = row["left_place"], row["right_place"]
        found.append(Pair(*name, us(row["ts"]), left, right, place[row["arrival"]], *theirs))
    return found


def told_changes(lake: Lake) -> list[Change]:
    """Return the changes in the form of the reference's: those of a registration have no time."""
    place = places(lake)
    return [
        Change(
            row["query_id"],
            row["query_version"],
            row["change"],
            row["left_stream_id"],
            row["right_stream_id"],
            row["left_value"],
            row["right_value"],
            us(row["ts"]) if row["arrival"] in place else None,
            place.get(row["arrival"], -1),
            row["place"],
        )
        for row in in_force(lake, "band_changes")
    ]


def told_near_changes(lake: Lake, lane: str = LANE) -> list[NearChange]:
    """Return the changes of near joins in the form of the reference's."""
    place = places(lake, lane)
    return [
        NearChange(
            row["query_id"],
            row["query_version"],
            row["change"],
            row["left_stream_id"],
            row["right_stream_id"],
            (row["left_x"], row["left_y"]),
            (row["right_x"], row["right_y"]),
            row["distance"],
            us(row["ts"]) if row["arrival"] in place else None,
            place.get(row["arrival"], -1),
            row["place"],
        )
        for row in in_force(lake, "near_changes", lane)
    ]


def of_tables(pairs: Sequence[Pair]) -> list[Pair]:
    """Give the reference's pairs as tables have them: without sequences."""
    return [
        pair._replace(
            left=replace(pair.left, sequence=None), right=replace(pair.right, sequence=None)
        )
        for pair in pairs
    ]


def with_a_delivery(script: Script) -> list[SideDelivery | JoinRegistration]:
    """Leave out registrations that no delivery was evaluated under: a lake never acts on them."""
    return [
        item
        for item, after in pairwise([*script, JoinRegistration(())])
        if isinstance(item, SideDelivery) or isinstance(after, SideDelivery)
    ]


def texted(query: JoinQuery, axes: Axes) -> JoinQuery:
    """Add to a drawn join the texts that a registry keeps; of several conjuncts, the first's.

    What no pair can satisfy is no query: it becomes one that every pair does.
    """
    if query.kind != WINDOW_JOIN:
        return query
    names = [f"left.{axis}" for axis in axes[0]] + [f"right.{axis}" for axis in axes[1]]
    box, tests = query.conjuncts[0]
    where = [
        term
        for name, (lo, hi) in zip(names, box, strict=True)
        for term in (f"{name} >= {lo!r}" * (lo > -inf), f"{name} < {hi!r}" * (hi < inf))
        if term
    ]
    on = [
        f"{names[t.axis]} {_plus(t.plus)} {t.op} {names[t.other]} {_plus(t.other_plus)}"
        for t in tests
    ]
    said = " AND ".join(on) or "ALL", " AND ".join(where) or None
    try:
        conjuncts = parse_join(*said, FEEDS, axes)
    except QueryFault:
        said = "ALL", None
        conjuncts = parse_join(*said, FEEDS, axes)
    return replace(query, on=said[0], where=said[1], conjuncts=conjuncts)


def _plus(number: float) -> str:
    return f"{'-' if number < 0 else '+'} {abs(number)!r}" if number else ""


def written(script: Script, axes: Axes) -> Script:
    """Add their texts to the joins of a script."""
    return [
        JoinRegistration(tuple(texted(query, axes) for query in item.queries))
        if isinstance(item, JoinRegistration)
        else item
        for item in script
    ]
