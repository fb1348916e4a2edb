"""The standing queries as an asset: it registers the rule files that fencepost.toml names.

A query is removed by `fencepost queries remove`, never by leaving it out of a file.
"""

from collections import Counter

import dagster as dg

from assets.feeds import AGAIN, WRITER
from assets.graph import QUERIES, RULES, columns
from assets.metadata import FINGERPRINT, Metadata, table_of
from assets.resources import LakeAccess, plain_failures
from pipelines.lake.store import Store
from pipelines.project.settings import Settings
from pipelines.registry.commit import Registered, put
from pipelines.registry.queries import newest_version, standing
from pipelines.registry.query_files import opening_of, read_given, rule_files
from pipelines.serve import pictures
from pipelines.serve.views.registry import QUERIES as STANDING

KINDS_OF_CHANGE = ("added", "changed", "edited", "removed", "unchanged")


def queries(settings: Settings) -> dg.AssetsDefinition:
    """Give the asset of the registry."""
    where = settings.queries
    from_files = f" Registers the rules in `{where.name}`." if where is not None else ""

    @dg.asset(
        key=QUERIES,
        group_name=RULES,
        kinds={"deltalake"},
        description=f"{STANDING.comment}{from_files} Rules that no file names stay active.",
        metadata={
            "dagster/table_name": "queries",
            "dagster/column_schema": columns(STANDING.columns),
        },
        config_schema={},
        pool=WRITER,
        retry_policy=AGAIN,
    )
    def registered(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[LakeAccess]
    ) -> dg.MaterializeResult[None]:
        """Register the files, if any, and report the active queries."""
        with plain_failures():
            files = [str(path) for path in rule_files(lake.settings)]
            done: Registered | None = None
            if files:
                settings = lake.settings
                only, positions = settings.only_feed, settings.positions
                opening = opening_of(settings)
                rules = read_given(files, settings.axes, only, positions, opening)
                done = put(settings, f"dagster {context.job_name}", rules)
            store = lake.store()
            drawn = _drawn(lake.settings)
        return dg.MaterializeResult(
            metadata={**_difference(done, files), **_standing(store), **drawn}
        )

    return registered


def unreported(instance: dg.DagsterInstance, store: Store) -> list[dg.AssetMaterialization]:
    """Give the active queries, if Dagster shows another version of the registry or none."""
    version = newest_version(store)
    latest = instance.get_latest_materialization_event(QUERIES)
    shown = None if latest is None else latest.asset_materialization
    if not version or (shown is not None and shown.metadata.get(FINGERPRINT) == _version(version)):
        return []
    return [dg.AssetMaterialization(QUERIES, metadata=_standing(store))]


def _version(version: int) -> dg.TextMetadataValue:
    return dg.MetadataValue.text(f"registry version {version}")


def _difference(done: Registered | None, files: list[str]) -> Metadata:
    if done is None:
        hint = 'no rule files: name them by `queries = "rules"` under [lake] in fencepost.toml'
        return {"difference": hint}
    rows = [(kind, getattr(done, kind)) for kind in KINDS_OF_CHANGE if getattr(done, kind)]
    return {
        "difference": table_of(("queries", "how many"), rows),
        **{kind: getattr(done, kind) for kind in KINDS_OF_CHANGE},
        "files": len(files),
    }


def _standing(store: Store) -> Metadata:
    now = standing(store)
    columns = (now[name].to_pylist() for name in ("feed", "kind", "region"))
    shapes = Counter(
        (feed, kind, _shape(region)) for feed, kind, region in zip(*columns, strict=True)
    )
    rows = [(*which, count) for which, count in sorted(shapes.items())]
    return {
        "dagster/row_count": now.num_rows,
        "standing": table_of(("feed", "kind", "shape", "queries"), rows),
        "registry version": newest_version(store),
        FINGERPRINT: _version(newest_version(store)),
    }


def _shape(region: str | None) -> str:
    """Call a query by the shape that it is of; what its region begins with says so."""
    begins = {'{"circle"': "circle", '{"corridor"': "corridor", '{"type"': "polygon"}
    if region is None:
        return "boxes"
    return next((name for begin, name in begins.items() if region.startswith(begin)), "by side")


def _drawn(settings: Settings) -> Metadata:
    """Give a picture of the regions of every feed with a position."""
    return {
        f"regions of {name}": dg.MetadataValue.md(
            pictures.as_markdown(pictures.regions(settings, name, place))
        )
        for name, place in settings.positions.items()
    }
