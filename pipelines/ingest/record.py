"""What was declared of a feed when a delivery was planned: written to the ledger, and read back.

Law: a planned delivery is read and judged by its record alone, however often and whatever
fencepost.toml says by then. One from before there were records is read by what is declared now.
"""

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

from fencepost.order import OrderRules, Ties
from pipelines.places import place_of
from pipelines.planning.rules import BY_STREAM, as_json
from pipelines.project.settings import Feed

OF_READING = (
    *("form", "stream_column", "ts_column", "ts_unit", "timezone", "ts_format"),
    *("clock_column", "max_skew", "deleted", "sequence_column", "sequence_is", "payload"),
    *("date", "date_from_path", "stream", "stream_from_path", "wide"),
    *("columns", "skip_lines", "delimiter", "decimal", "encoding"),
)
"""What says how a delivery is read: fields of `Feed`. In a record only as far as it is declared."""

NEW_FEED: Ties = "all"
"""What becomes of ties in a feed that declares nothing of them and has no delivery yet."""

_DEFAULTS = {field.name: field.default for field in fields(Feed) if field.name in OF_READING}


def record_of(feed: Feed, before: Ties | None) -> str:
    """Record how a delivery is to be read and judged, as JSON.

    `before` is what became of ties in the feed's last delivery, which holds on where nothing is
    declared; None: it has none yet.
    """
    ties = cast("Ties", feed.ties or before or NEW_FEED)
    idle = feed.idle if feed.lateness_by == BY_STREAM else None
    record = as_json(OrderRules(ties, feed.allowed_lateness, idle))
    for name, default in _DEFAULTS.items():
        if getattr(feed, name) != default:
            record[name] = getattr(feed, name)
    return json.dumps(record)


def as_recorded(feed: Feed, record: str | None) -> Feed:
    """Give a feed as it was declared when a delivery was planned."""
    if record is None:
        return feed
    known = json.loads(record)
    then = {name: known.get(name, default) for name, default in _DEFAULTS.items()}
    return replace(feed, **{name: value_of(name, value) for name, value in then.items()})


def feed_of(values: Mapping[str, Any]) -> Feed:
    """Give a feed whose fields were written as JSON."""
    return Feed(**{name: value_of(name, value) for name, value in values.items()})


def value_of(name: str, value: Any) -> Any:  # noqa: ANN401  any of a feed's
    """Give a feed's value as it was before it was JSON, which has lists for tuples."""
    if name == "source":
        return place_of(value, Path("/"))
    if name == "payload":
        return tuple((column, kind) for column, kind in value)
    return tuple(value) if isinstance(value, list) else value
