"""What is in the graph: the key, description, columns and lineage of every asset.

    landing/F ─▶ F/F ─▶ F/stream_state, F/events, F/transitions, F/pending ─▶ F/inside_now,
             │      └─▶ F/matches   ▲                        F/visits, F/daily_summary ─▶ report
             └▶ F/quarantine  ▲     │
                              └── queries
    F/F, G/G, queries ─▶ F_X_G/set_members, …/live_windows, …/pairs, …/band_changes, …/near_changes

Law: `schemas` and `pipelines.serve.views` alone define what a table is; here it only takes
Dagster's form. Another feed or pair of feeds in fencepost.toml is another group in the
graph, without any code.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

import dagster as dg

from assets.lanes import assets_of, group_of, owners_of
from assets.partitions import of_feed
from pipelines.lanes import Lane, lane_named
from pipelines.places import Place, is_remote
from pipelines.project.settings import Feed, Settings
from pipelines.serve.marts.place import folder_of
from pipelines.serve.views import views
from pipelines.serve.views.of_feeds import EACH, name_of, own_columns
from schemas import Column

MARTS = ("inside_now", "visits", "daily_summary")
QUERIES = dg.AssetKey("queries")
REPORT = dg.AssetKey("report")
RULES, REPORTS = "rules", "reports"
"""The groups of what belongs to no feed."""

LANDING = "landing"
NOTHING: Mapping[str, str | None] = {}
NO_PREFIXES: Mapping[dg.AssetKey, str] = {}

SHORTEST = timedelta(minutes=1)
"""Dagster's shortest window."""

SPARK, DUCKDB = {"spark", "deltalake"}, {"duckdb", "deltalake"}


def landing_key(feed: Feed) -> dg.AssetKey:
    """Name the folder, or the Delta table, that a feed's deliveries land in."""
    return dg.AssetKey([LANDING, feed.name])


def key(of: Feed | Lane, table: str) -> dg.AssetKey:
    """Name a feed's part of a table, or a lane's."""
    return dg.AssetKey([group_of(of) if isinstance(of, Lane) else of.name, table])


def landing(feed: Feed) -> dg.AssetSpec:
    """Declare where a feed's deliveries come from; it is never materialised."""
    kinds = {"deltalake"} if feed.form == "delta" else {"file"}
    return dg.AssetSpec(
        landing_key(feed),
        description=f"Deliveries of {feed.name}. Each is loaded once, when it is complete.",
        group_name=feed.name,
        kinds=kinds,
        owners=list(feed.owners),
    )


def ingested(settings: Settings, feed: Feed) -> list[dg.AssetSpec]:
    """Declare what deliveries are loaded into: tuples and quarantine."""
    times = feed.ts_column if isinstance(feed.ts_column, str) else " and ".join(feed.ts_column)
    landed = {"ts": times, **dict.fromkeys(feed.axes)}
    if feed.has_stream_column:
        landed["stream_id"] = feed.stream_column
    lane = lane_named(settings, feed.name)
    return [
        _spec(settings, lane, feed.name, [landing_key(feed)], landed),
        _spec(settings, lane, "quarantine", [landing_key(feed)]),
    ]


def evaluated(settings: Settings, lane: Lane) -> list[dg.AssetSpec]:
    """Declare what an epoch writes; the state is made from the state as of the partition before."""
    tuples = [key(feed, feed.name) for feed in lane.feeds]
    deps = _deps_of_joins(lane, tuples) if lane.joins else _deps_of_feed(lane, tuples)
    return [_spec(settings, lane, table, deps[table]) for table in assets_of(lane)]


def _deps_of_feed(lane: Lane, tuples: list[dg.AssetKey]) -> Mapping[str, list[Any]]:
    events = key(lane, "events")
    return {
        "stream_state": [*tuples, _before(lane, "stream_state")],
        "events": [*tuples, QUERIES],
        "transitions": [events],
        "matches": [*tuples, QUERIES],
        "leaps": [*tuples, QUERIES],
        "pending": [events],
    }


def _deps_of_joins(lane: Lane, tuples: list[dg.AssetKey]) -> Mapping[str, list[Any]]:
    states = [table.name for table in lane.logs]
    return {
        table: [*tuples, _before(lane, table) if table in states else QUERIES]
        for table in assets_of(lane)
    }


def _before(lane: Lane, table: str) -> dg.AssetDep:
    """Depend on the partition before."""
    mapping = dg.TimeWindowPartitionMapping(start_offset=-1, end_offset=-1)
    return dg.AssetDep(key(lane, table), partition_mapping=mapping)


def marts(settings: Settings, feed: Feed) -> list[dg.AssetSpec]:
    """Declare the marts: views, materialised as tables that any engine reads."""
    deps = {
        "inside_now": [key(feed, "events")],
        "visits": [key(feed, "events")],
        "daily_summary": [key(feed, "events"), key(feed, "transitions")],
    }
    return [_mart(settings, feed, name, deps[name]) for name in MARTS]


def _spec(
    settings: Settings,
    lane: Lane,
    table: str,
    deps: list[Any],
    landed: Mapping[str, str | None] = NOTHING,
) -> dg.AssetSpec:
    declared = settings.tables[table]
    shown = columns_of(settings, lane, table)
    parents = [dep for dep in deps if isinstance(dep, dg.AssetKey)]
    sides = zip(lane.feeds, ("left_", "right_"), strict=False) if lane.joins else ()
    prefixes = {key(feed, feed.name): prefix for feed, prefix in sides}
    return dg.AssetSpec(
        key(lane, table),
        deps=deps,
        description=declared.comment,
        group_name=group_of(lane),
        kinds=SPARK,
        owners=owners_of(lane),
        partitions_def=of_feed(settings, lane.feeds[0]),
        freshness_policy=freshness(lane.feeds[0]) if table == "events" else None,
        metadata={
            "dagster/table_name": name_of(group_of(lane), table) if table in EACH else table,
            "dagster/uri": uri(settings.root / table),
            "dagster/column_schema": columns(shown),
            **lineage(settings, parents, shown, landed, prefixes),
        },
    )


def uri(place: Place) -> str:
    """Name a folder so that a reader on another machine finds it, where it is on a store."""
    return str(place) if is_remote(place) else place.as_uri()


def columns_of(settings: Settings, lane: Lane, table: str) -> tuple[Column, ...]:
    """Give a table's columns as a lane has them: without axes and payload of other feeds."""
    declared = settings.tables[table].columns
    own = [{column.name for column in settings.tables[feed.name].columns} for feed in lane.feeds]
    if table in ("live_windows", "set_members"):
        return own_columns(declared, {"": own[0] | own[-1]})
    if table == "pairs":
        return own_columns(declared, {"left_": own[0], "right_": own[-1]})
    if table in ("events", "stream_state"):
        return own_columns(declared, {"": own[0], "prev_": own[0]})
    return declared


def freshness(feed: Feed) -> dg.FreshnessPolicy | None:
    """Expect events as often as the feed declares; it warns at half the time."""
    if feed.fresh_within is None:
        return None
    late = max(timedelta(microseconds=feed.fresh_within), SHORTEST)
    return dg.FreshnessPolicy.time_window(late, late / 2 if late / 2 >= SHORTEST else None)


def _mart(settings: Settings, feed: Feed, name: str, deps: list[dg.AssetKey]) -> dg.AssetSpec:
    view = next(view for view in views(settings.tables) if view.name == name)
    return dg.AssetSpec(
        key(feed, name),
        deps=deps,
        description=f"{view.comment} Materialised from the view of the same name.",
        group_name=feed.name,
        kinds=DUCKDB,
        owners=list(feed.owners),
        automation_condition=WHEN_NEWER,
        metadata={
            "dagster/table_name": f"marts/{name}",
            "dagster/uri": uri(folder_of(settings.root, name)),
            "dagster/column_schema": columns(view.columns),
            **lineage(settings, deps, view.columns),
        },
    )


# eager() waits until no partition of what it reads is missing, and of a day some always are.
WHEN_NEWER = (
    dg.AutomationCondition.eager()
    .without(~dg.AutomationCondition.any_deps_missing())
    .with_label("when what it reads is newer")
)


def columns(declared: Iterable[Column]) -> dg.TableSchema:
    """Give columns with their comments."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                column.name,
                column.kind,
                column.comment,
                constraints=dg.TableColumnConstraints(nullable=column.nullable),
            )
            for column in declared
        ]
    )


def lineage(
    settings: Settings,
    parents: Iterable[dg.AssetKey],
    declared: Iterable[Column],
    landed: Mapping[str, str | None] = NOTHING,
    prefixes: Mapping[dg.AssetKey, str] = NO_PREFIXES,
) -> dict[str, dg.TableColumnLineage]:
    """Map each column to the parent's column it is made from: the one of its name, or as below.

    landed    by column: the delivery's column that it is read from; None: the one with its name
    prefixes  by parent: the prefix of its columns' names here; else prev_
    """
    lineages: dict[str, list[dg.TableColumnDep]] = {}
    for parent in parents:
        if parent.path[0] == LANDING:
            for name, origin in landed.items():
                lineages.setdefault(name, []).append(dg.TableColumnDep(parent, origin or name))
            continue
        table = settings.tables.get(parent.path[-1])
        names = {column.name for column in table.columns} if table is not None else set()
        for column in declared:
            origin = ORIGINS.get((parent.path[-1], column.name), column.name)
            origin = origin.removeprefix(prefixes.get(parent, "prev_"))
            if origin in names and origin not in OWN:
                lineages.setdefault(column.name, []).append(dg.TableColumnDep(parent, origin))
    return {"dagster/column_lineage": dg.TableColumnLineage(lineages)} if lineages else {}


OWN = ("epoch", "generation", "bucket", "snapshot", "gone", "day", "feed")
"""Columns that each table fills by itself."""

ORIGINS = {
    ("events", "from_ts"): "ts",
    ("events", "to_ts"): "ts",
    ("events", "entered_ts"): "ts",
    ("events", "left_ts"): "ts",
    ("events", "since"): "ts",
    ("events", "from_place"): "place",
    ("events", "to_place"): "place",
    ("events", "entered_place"): "place",
    ("events", "left_place"): "place",
    ("events", "since_place"): "place",
    ("queries", "query_id"): "id",
    ("queries", "query_version"): "version",
}
"""By parent and column: the column it is made of, where the names differ."""
