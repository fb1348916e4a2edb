"""The marts and the report: rebuilt from the views when their inputs are newer."""

from collections.abc import Callable, Iterator

import dagster as dg

from assets.graph import MARTS, REPORT, REPORTS, key, marts
from assets.resources import LakeAccess, plain_failures
from pipelines.project.settings import Feed, Settings
from pipelines.runs.run import session_of
from pipelines.serve import pictures
from pipelines.serve.marts import refresh
from pipelines.serve.publish import keep_up
from pipelines.serve.report.links import link

Picture = Callable[[Settings, str], pictures.Picture]

SHOWN: dict[str, tuple[tuple[str, Picture], ...]] = {
    "inside_now": (),
    "visits": (),
    "daily_summary": (
        ("events by query and hour", pictures.events_by_query_and_hour),
        ("epochs", pictures.epochs),
        ("quarantine", pictures.quarantine),
        ("partitions", pictures.partitions),
    ),
}
"""By mart: the pictures that are shown with it."""


def of_feed(settings: Settings, feed: Feed) -> dg.AssetsDefinition:
    """Give the marts of a feed; each can be made alone."""

    @dg.multi_asset(name=f"marts_{feed.name}", specs=marts(settings, feed), can_subset=True)
    def write_marts(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[LakeAccess]
    ) -> Iterator[dg.MaterializeResult[None]]:
        """Write the requested marts; the lake is only read, so no writer has to wait.

        The catalogs that fencepost.toml names are brought up to date with them.
        """
        names = [name for name in MARTS if key(feed, name) in context.selected_asset_keys]
        with plain_failures():
            for report in refresh(lake.settings, feed.name, names):
                drawn = {
                    title: dg.MetadataValue.md(pictures.as_markdown(draw(lake.settings, feed.name)))
                    for title, draw in SHOWN[report.name]
                }
                yield dg.MaterializeResult(
                    key(feed, report.name),
                    metadata={
                        "dagster/row_count": report.rows,
                        "seconds": round(report.seconds, 3),
                        "how": report.how,
                        "path": dg.MetadataValue.path(str(report.path)),
                        **drawn,
                    },
                )
            for line in keep_up(lake.settings, (), session_of(lake.settings)):
                context.log.warning(line)

    return write_marts


def report(settings: Settings) -> dg.AssetsDefinition:
    """Give the report, one page over all feeds."""
    latest = settings.reports / "latest.html"

    @dg.asset(
        key=REPORT,
        config_schema={},
        group_name=REPORTS,
        kinds={"html"},
        deps=[key(feed, "daily_summary") for feed in settings.feeds.values()],
        description="One self-contained HTML page: a map, charts and results.",
    )
    def page(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[LakeAccess]
    ) -> dg.MaterializeResult[None]:
        """Write the page over the whole lake."""
        from pipelines.serve.report import write_report  # which has Arrow import pandas

        with plain_failures():
            written = write_report(lake.settings, latest)
        context.log.info(f"{written.path}: {written.bytes:,} bytes")
        return dg.MaterializeResult(
            metadata={
                "open it": dg.MetadataValue.url(link(lake.settings, written.path)),
                "path": dg.MetadataValue.path(str(written.path)),
                "bytes": written.bytes,
            }
        )

    return page
