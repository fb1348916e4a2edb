"""A table [feeds.<name>], key by key.

Law: a feed that was read without a fault can be read from: its keys do not contradict each other.
"""

from dataclasses import replace
from pathlib import Path

from fencepost.times import format_instant, parse_instant
from pipelines.project.settings import feed_keys as keys
from pipelines.project.settings import reading_keys
from pipelines.project.settings.contradictions import contradictions
from pipelines.project.settings.model import Feed
from pipelines.project.settings.names import why_no_feed
from pipelines.project.settings.section import Key, Section
from pipelines.project.settings.values import unlike


def read_feed(section: Section, name: str, folder: Path) -> Feed:
    """Read a feed; its paths begin at `folder`."""
    why = why_no_feed(name)
    if why is not None:
        section.fault(why)
    feed = Feed(
        name=name,
        axes=section.value(keys.AXES),
        source=section.place(keys.SOURCE, folder),
        form=section.value(keys.FORM),
        stream_column=section.value(keys.STREAM_COLUMN),
        ts_column=section.value(keys.TS_COLUMN),
        ts_unit=section.value(keys.TS_UNIT),
        timezone=section.value(keys.TIMEZONE),
        clock_column=section.value(keys.CLOCK_COLUMN),
        deleted=section.value(keys.DELETED),
        sequence_column=section.value(keys.SEQUENCE_COLUMN),
        sequence_is=section.value(keys.SEQUENCE_IS),
        ties=section.value(keys.TIES),
        payload=section.value(keys.PAYLOAD_COLUMNS),
        position=section.names(keys.POSITION),
        position_in=section.value(keys.POSITION_IN),
        allowed_lateness=section.value(keys.ALLOWED_LATENESS),
        lateness_by=section.value(keys.LATENESS_BY),
        idle=section.value(keys.IDLE),
        max_skew=section.value(keys.MAX_SKEW),
        settle=section.value(keys.SETTLE),
        partition=section.value(keys.PARTITION),
        partition_in_path=section.value(keys.PARTITION_IN_PATH),
        partitions_from=section.value(keys.PARTITIONS_FROM),
        partitions_to=section.value(keys.PARTITIONS_TO),
        owners=section.value(keys.FEED_OWNERS),
        fresh_within=section.value(keys.FRESH_WITHIN),
        units=section.value(keys.AXIS_UNITS),
        ts_format=section.value(reading_keys.TS_FORMAT),
        date=section.value(reading_keys.DATE),
        date_from_path=section.value(reading_keys.DATE_FROM_PATH),
        columns=section.names(reading_keys.COLUMNS),
        skip_lines=section.value(reading_keys.SKIP_LINES),
        delimiter=section.value(reading_keys.DELIMITER),
        decimal=section.value(reading_keys.DECIMAL),
        encoding=section.value(reading_keys.ENCODING),
        stream=section.value(reading_keys.STREAM),
        stream_from_path=section.value(reading_keys.STREAM_FROM_PATH),
        wide=section.value(reading_keys.WIDE),
    )
    section.end()
    for wrong in contradictions(feed, section.given):
        section.fault(wrong)
    first = _partition(section, feed, keys.PARTITIONS_FROM, feed.partitions_from, "T00")
    last = _partition(section, feed, keys.PARTITIONS_TO, feed.partitions_to, "T23")
    if first is not None and last is not None and last < first:
        section.wrong(keys.PARTITIONS_TO, f"{last} lies before partitions_from, {first}")
    return replace(feed, partitions_from=first, partitions_to=last)


def _partition(
    section: Section, feed: Feed, key: Key[str | None], given: str | None, hour: str
) -> str | None:
    """Parse the day or hour that a feed's partitions begin or end with; a day is `hour` of it."""
    if given is None:
        return None
    hourly = feed.partition == "hour"
    first = f"{given}{hour}" if hourly and "T" not in given else given
    whole = f"{first}:00" if hourly else f"{first}T00:00"
    try:
        if format_instant(parse_instant(f"{whole}Z")).startswith(f"{whole}:"):
            return first
    except ValueError:  # said below, with what was expected
        pass
    expected = 'an hour like "2026-11-18T09"' if hourly else 'a day like "2026-11-18"'
    section.wrong(key, str(unlike(given, expected)))
    return None
