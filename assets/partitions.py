"""Hours and days, as fencepost.toml has them; a key is written as the ledgers write it."""

from datetime import UTC, datetime, timedelta
from functools import cache

import dagster as dg

from pipelines.project.settings import Feed, Settings

FORMATS = {"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d"}

TimePartitions = dg.HourlyPartitionsDefinition | dg.DailyPartitionsDefinition


RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
"""The tags of a run over several partitions."""

LENGTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1)}


@cache
def partitions_of(unit: str, first: str, last: str | None = None) -> TimePartitions:
    """Give the partitions from the first to the last, or to the current hour or day."""
    start = _begin(unit, first)
    end = None if last is None else _begin(unit, last) + LENGTHS[unit]
    kind = dg.HourlyPartitionsDefinition if unit == "hour" else dg.DailyPartitionsDefinition
    return kind(
        start_date=start,
        end_date=end,
        timezone="UTC",
        fmt=FORMATS[unit],
        end_offset=1 if end is None else 0,
    )


def _begin(unit: str, key: str) -> datetime:
    return datetime.strptime(key, FORMATS[unit]).replace(tzinfo=UTC)


def of_feed(settings: Settings, feed: Feed) -> TimePartitions:
    """Give a feed's partitions: as declared, else from the day on that the lake was made.

    Those of a pair of feeds are those of either: it is no pair otherwise.
    """
    first = feed.partitions_from or made_on(settings).strftime(FORMATS[feed.partition])
    return partitions_of(feed.partition, first, feed.partitions_to)


def made_on(settings: Settings) -> datetime:
    """Say on which day the lake was made; where there is none yet, today."""
    from pipelines.lake.layout import open_table

    ledger = settings.root / "arrivals"
    if not (ledger / "_delta_log").is_dir():
        made = datetime.now(UTC)
    else:
        made = datetime.fromtimestamp(open_table(ledger).metadata().created_time / 1000, UTC)
    return made.replace(hour=0, minute=0, second=0, microsecond=0)


def range_tags(first: str, last: str) -> dict[str, str]:
    """Give the tags of a run over partitions from the first to the last."""
    return dict(zip(RANGE, (first, last), strict=True))


def shown(definition: TimePartitions, key: str) -> bool:
    """Say whether Dagster knows a partition; not future ones, nor any before the first."""
    return definition.has_partition_key(key)
