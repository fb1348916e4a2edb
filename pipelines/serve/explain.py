"""What would be done with the queries of a lane, and why: the indexes chosen, and their costs.

Law: nothing is changed and nothing evaluated. What is told of an index is what an evaluation of
many tuples builds of the same queries; what is told of epochs is what their ledger recorded.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow.compute as pc

from fencepost.crossings import BorderIndex
from fencepost.errors import Faults
from fencepost.joins.index import LaneIndex
from fencepost.matches import IndexChoice, Matcher
from fencepost.queries import QuerySet
from fencepost.queries.files import StandingQueries, read_queries
from fencepost.queries.joins import BandJoins, WindowJoins
from pipelines.files.read.query_file import open_queries
from pipelines.lake.store import Store
from pipelines.lanes import Lane, declared_lanes, lane_named, lanes_of
from pipelines.project.settings import Settings
from pipelines.registry import joins
from pipelines.registry.queries import newest_version, query_set
from schemas.arrivals import DONE

LAST = 3
"""Epochs whose choice is told."""


@dataclass(frozen=True)
class Part:
    """Some of a feed's match queries, those for all streams or for named ones, and their index."""

    index: str
    named: bool
    boxes: int
    axes: int
    held: float | None
    why: str
    costs: Mapping[str, float]
    told: str


@dataclass(frozen=True)
class Explained:
    """One feed.

    crossings  how many queries, and how their borders are laid out
    matches    how many, and the indexes chosen for them
    epochs     how the last ones were evaluated
    """

    feed: str
    axes: tuple[str, ...]
    crossings: int
    posts: int
    crossing_bytes: int
    matches: int
    match_bytes: int
    parts: tuple[Part, ...] = ()
    epochs: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class Plane:
    """Band joins over one axis of each feed.

    groups   of bands that share a point: an update looks into each
    fewest   how few groups there could be
    """

    left_axis: str
    right_axis: str
    bands: int
    groups: int
    fewest: int
    bytes: int


@dataclass(frozen=True)
class ExplainedJoins:
    """One ordered pair of feeds.

    windows  how many window joins, and how they are laid out
    """

    lane: str
    windows: int
    window_bytes: int
    told: str
    planes: tuple[Plane, ...]


def explain(
    settings: Settings,
    files: Sequence[str],
    lanes: Sequence[Lane] | None,
    batch: int | None,
    index: str,
) -> Iterator[Explained | ExplainedJoins]:
    """Explain lanes, one after the other: of files of queries, or of what stands in the lake.

    None: every feed, and every pair of feeds that has joins.
    """
    asked = partial(_explained, batch=batch, index=index)
    if files:
        standing = _given(files, settings, lanes)
        every = (lane_named(settings, name) for name in (*settings.feeds, *standing.joins))
        for lane in lanes if lanes is not None else every:
            if not lane.joins:
                yield asked(standing.sets[lane.name], standing.matches[lane.name], ())
            elif lane.name in standing.joins:
                yield _joined(*standing.joins[lane.name])
        return
    store = Store.to_read(settings.root, settings.tables)
    version = newest_version(store)
    for lane in lanes if lanes is not None else lanes_of(store, settings):
        if lane.joins:
            yield _joined(*joins.join_sets(store, settings, lane.name, version))
            continue
        crossing = query_set(store, settings, lane.name, version)
        match = query_set(store, settings, lane.name, version, kind="match")
        yield asked(crossing, match, _recorded(store, lane.name))


def _given(
    files: Sequence[str], settings: Settings, lanes: Sequence[Lane] | None
) -> StandingQueries:
    opened = [open_queries(path) for path in files]
    feeds = [lane.name for lane in lanes or declared_lanes(settings) if not lane.joins]
    only = feeds[0] if len(feeds) == 1 else None
    standing = read_queries(opened, settings.axes, only)
    if standing.unevaluated:
        strange = ", ".join(standing.unevaluated)
        raise Faults([], f"no feed is called {strange}; there are: {', '.join(settings.feeds)}")
    return standing


def _explained(
    crossing: QuerySet,
    match: QuerySet,
    epochs: tuple[Mapping[str, Any], ...],
    *,
    batch: int | None,
    index: str,
) -> Explained:
    walked = BorderIndex.build(crossing)
    matcher = Matcher.build(match, index, batch=batch) if len(match) else None
    lists = [posts for layer in walked.layers for posts in layer.lists()]
    return Explained(
        feed=crossing.feed,
        axes=crossing.axes,
        crossings=len(crossing),
        posts=int(np.sum([posts.begins + posts.ends for posts in lists], dtype=np.int64)),
        crossing_bytes=walked.nbytes,
        matches=len(match),
        match_bytes=0 if matcher is None else matcher.nbytes,
        parts=() if matcher is None else tuple(_parts(matcher)),
        epochs=epochs,
    )


def _joined(windows: WindowJoins, bands: BandJoins) -> ExplainedJoins:
    built = LaneIndex.build(windows, bands)
    left, right = bands.axes
    return ExplainedJoins(
        lane=windows.lane,
        windows=len(windows),
        window_bytes=built.window_index.nbytes,
        told=built.window_index.describe() if len(windows) else "",
        planes=tuple(
            Plane(
                left[plane.left_axis],
                right[plane.right_axis],
                len(plane.rows),
                plane.bands.tau,
                plane.bands.optimal(),
                plane.bands.nbytes,
            )
            for plane in built.planes
        ),
    )


def _parts(matcher: Matcher) -> Iterator[Part]:
    for choice, told in zip(matcher.choices, matcher.describe(), strict=True):
        yield _part(choice, told)


def _part(choice: IndexChoice, told: str) -> Part:
    return Part(
        index=choice.name,
        named=choice.named,
        boxes=choice.boxes,
        axes=choice.axes,
        held=choice.hits,
        why=choice.why,
        costs=dict(choice.costs),
        told=told,
    )


def _recorded(store: Store, feed: str) -> tuple[Mapping[str, Any], ...]:
    """Read how the last epochs were evaluated; only these become objects of Python."""
    rows = store.rows("epochs").select(["lane", "state", "generation", "epoch", "choice"])
    chosen = pc.not_equal(rows["choice"], "")  # null, and so left out, before format 2
    mine = pc.and_(pc.equal(rows["lane"], feed), pc.equal(rows["state"], DONE))
    told = rows.filter(pc.and_(mine, chosen))
    told = told.sort_by([("generation", "ascending"), ("epoch", "ascending")])
    last = told.slice(max(0, told.num_rows - LAST)).to_pylist()
    return tuple({"epoch": row["epoch"], **json.loads(row["choice"])} for row in last)


def as_json(explained: Explained | ExplainedJoins) -> dict[str, Any]:
    """Give it as an object."""
    return asdict(explained)
