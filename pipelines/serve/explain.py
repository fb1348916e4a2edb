"""How the queries of a lane are evaluated, and why: the indexes chosen, and their costs.

Law: nothing is changed and nothing evaluated. An index is described as an evaluation of many tuples
would build it of the same queries, an epoch as its ledger recorded it.
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
from fencepost.joins.index import LaneIndex, PlaneNears
from fencepost.matches import IndexChoice, Matcher
from fencepost.queries import QuerySet
from fencepost.queries.files import StandingQueries, read_queries
from fencepost.queries.joins import JoinSets, NearJoins
from pipelines.lake.store import Store
from pipelines.lanes import Lane, declared_lanes, lane_named, lanes_of
from pipelines.project.settings import Settings
from pipelines.registry import joins
from pipelines.registry.queries import newest_version, query_set
from pipelines.registry.query_files import opening_of
from pipelines.serve.unseen import Unseen, unseen
from schemas.arrivals import DONE

LAST = 3
"""Epochs whose choice is shown."""

KEYS = {"hits": "held", "layout": "told", "method": "told"}
"""Keys of the JSON that are named otherwise here."""


@dataclass(frozen=True)
class MatchIndexPlan:
    """The index of a feed's match queries for all streams, or of those for named streams.

    hits    how many boxes are expected to hold a tuple
    layout  how the index is built
    """

    index: str
    named: bool
    boxes: int
    axes: int
    hits: float | None
    why: str
    costs: Mapping[str, float]
    layout: str


@dataclass(frozen=True)
class RegionPlan:
    """How the crossing queries with a region are evaluated: by the cells that they are in.

    queries  how many, counted once for each stream that they name
    whole    entries of cells that a region covers; `tested` those that its border runs through
    """

    queries: int
    cells: int
    whole: int
    tested: int
    bytes: int


@dataclass(frozen=True)
class FeedPlan:
    """How the queries of a feed are evaluated.

    crossings  how many queries, and the size of their index
    matches    how many, and the indexes chosen for them
    epochs     how the last ones were evaluated
    unseen     rules that name streams which never came, or patterns that fit none
    regions    the cells of those with a region; None: none has one
    """

    feed: str
    axes: tuple[str, ...]
    crossings: int
    posts: int
    crossing_bytes: int
    matches: int
    match_bytes: int
    parts: tuple[MatchIndexPlan, ...] = ()
    epochs: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)
    unseen: Unseen = field(default_factory=lambda: Unseen(0))
    regions: RegionPlan | None = None


@dataclass(frozen=True)
class BandPlan:
    """How the band joins over one axis of each feed are evaluated.

    groups   of bands that share a point: an update probes each
    fewest   the smallest possible number of groups
    """

    left_axis: str
    right_axis: str
    bands: int
    groups: int
    fewest: int
    bytes: int


@dataclass(frozen=True)
class NearPlan:
    """How the near joins of like distances over one position of each feed are evaluated.

    some   how many of them name streams, or patterns of streams
    least  the smallest of their distances; `largest` is the width of the cells as well
    """

    left: tuple[str, str]
    right: tuple[str, str]
    earth: bool
    joins: int
    some: int
    least: float
    largest: float


@dataclass(frozen=True)
class JoinPlan:
    """How the joins of an ordered pair of feeds are evaluated.

    windows  how many window joins, the size of their index, and its method
    planes   of the band joins; `nears` of the near joins
    """

    lane: str
    windows: int
    window_bytes: int
    method: str
    planes: tuple[BandPlan, ...]
    nears: tuple[NearPlan, ...]


def explain(
    settings: Settings,
    files: Sequence[str],
    lanes: Sequence[Lane] | None,
    batch: int | None,
    index: str,
) -> Iterator[FeedPlan | JoinPlan]:
    """Explain lanes, one by one: of the queries in files, or in the lake.

    None: every feed, and every pair of feeds that has joins.
    """
    plan_of = partial(_feed_plan, settings, batch=batch, index=index)
    if files:
        standing = _given(files, settings, lanes)
        every = (lane_named(settings, name) for name in (*settings.feeds, *standing.joins))
        for lane in lanes if lanes is not None else every:
            if not lane.joins:
                yield plan_of(standing.sets[lane.name], standing.matches[lane.name], ())
            elif lane.name in standing.joins:
                yield _join_plan(standing.joins[lane.name])
        return
    store = Store.to_read(settings.root, settings.tables)
    version = newest_version(store)
    for lane in lanes if lanes is not None else lanes_of(store, settings):
        if lane.joins:
            yield _join_plan(joins.join_sets(store, settings, lane.name, version))
            continue
        crossing = query_set(store, settings, lane.name, version)
        match = query_set(store, settings, lane.name, version, kind="match")
        yield plan_of(crossing, match, _recorded(store, lane.name))


def _given(
    files: Sequence[str], settings: Settings, lanes: Sequence[Lane] | None
) -> StandingQueries:
    opened = [*map(opening_of(settings), files)]
    feeds = [lane.name for lane in lanes or declared_lanes(settings) if not lane.joins]
    only = feeds[0] if len(feeds) == 1 else None
    standing = read_queries(opened, settings.axes, only, settings.positions)
    if standing.unevaluated:
        strange = ", ".join(standing.unevaluated)
        raise Faults([], f"no feed is called {strange}; there are: {', '.join(settings.feeds)}")
    return standing


def _feed_plan(
    settings: Settings,
    crossing: QuerySet,
    match: QuerySet,
    epochs: tuple[Mapping[str, Any], ...],
    *,
    batch: int | None,
    index: str,
) -> FeedPlan:
    walked = BorderIndex.build(crossing)
    matcher = Matcher.build(match, index, batch=batch) if len(match) else None
    lists = [posts for layer in walked.layers for posts in layer.lists()]
    return FeedPlan(
        feed=crossing.feed,
        axes=crossing.axes,
        crossings=len(crossing),
        posts=int(np.sum([posts.begins + posts.ends for posts in lists], dtype=np.int64)),
        crossing_bytes=walked.nbytes,
        matches=len(match),
        match_bytes=0 if matcher is None else matcher.nbytes,
        parts=() if matcher is None else tuple(_match_plans(matcher)),
        epochs=epochs,
        unseen=unseen(settings, crossing.feed, (crossing, match)),
        regions=_region_plan(walked),
    )


def _region_plan(walked: BorderIndex) -> RegionPlan | None:
    """Describe the cells, which are built for that."""
    both = [each for layer in walked.layers for each in (layer.shaped, layer.shaped_named)]
    some = [each for each in both if each is not None and len(each)]
    if not some:
        return None
    entries = sum(len(each.cells.columns.entries) for each in some)
    tested = sum(each.cells.tested for each in some)
    return RegionPlan(
        queries=sum(map(len, some)),
        cells=sum(len(each.cells.columns.ptr) - 1 for each in some),
        whole=entries - tested,
        tested=tested,
        bytes=sum(each.nbytes for each in some),
    )


def _join_plan(sets: JoinSets) -> JoinPlan:
    windows, bands, nears = sets
    built = LaneIndex.build(sets)
    left, right = bands.axes
    return JoinPlan(
        lane=windows.lane,
        windows=len(windows),
        window_bytes=built.window_index.nbytes,
        method=built.window_index.describe() if len(windows) else "",
        planes=tuple(
            BandPlan(
                left[plane.left_axis],
                right[plane.right_axis],
                len(plane.rows),
                plane.bands.tau,
                plane.bands.optimal(),
                plane.bands.nbytes,
            )
            for plane in built.planes
        ),
        nears=tuple(_near_plan(nears, plane) for plane in built.near_planes),
    )


def _near_plan(nears: NearJoins, plane: PlaneNears) -> NearPlan:
    left, right = (
        (axes[x], axes[y])
        for axes, (x, y) in zip(nears.axes, (plane.left, plane.right), strict=True)
    )
    reaches = nears.distance[plane.rows]
    return NearPlan(
        left=left,
        right=right,
        earth=plane.earth,
        joins=len(plane.rows),
        some=int(nears.some[plane.rows].any(axis=1).sum()),
        least=float(reaches.min()),
        largest=float(reaches.max()),
    )


def _match_plans(matcher: Matcher) -> Iterator[MatchIndexPlan]:
    for choice, layout in zip(matcher.choices, matcher.describe(), strict=True):
        yield _match_plan(choice, layout)


def _match_plan(choice: IndexChoice, layout: str) -> MatchIndexPlan:
    return MatchIndexPlan(
        index=choice.name,
        named=choice.named,
        boxes=choice.boxes,
        axes=choice.axes,
        hits=choice.hits,
        why=choice.why,
        costs=dict(choice.costs),
        layout=layout,
    )


def _recorded(store: Store, feed: str) -> tuple[Mapping[str, Any], ...]:
    """Read how the last epochs were evaluated; only these become objects of Python."""
    rows = store.rows("epochs").select(["lane", "state", "generation", "epoch", "choice"])
    chosen = pc.not_equal(rows["choice"], "")  # null, and so left out, before format 2
    mine = pc.and_(pc.equal(rows["lane"], feed), pc.equal(rows["state"], DONE))
    recorded = rows.filter(pc.and_(mine, chosen))
    recorded = recorded.sort_by([("generation", "ascending"), ("epoch", "ascending")])
    last = recorded.slice(max(0, recorded.num_rows - LAST)).to_pylist()
    return tuple({"epoch": row["epoch"], **json.loads(row["choice"])} for row in last)


def as_json(plan: FeedPlan | JoinPlan) -> dict[str, Any]:
    """Give a plan as JSON."""
    return asdict(plan, dict_factory=lambda fields: {KEYS.get(k, k): value for k, value in fields})
