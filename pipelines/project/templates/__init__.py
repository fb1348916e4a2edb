"""The initial files of a project, besides its lake and its landing folders.

`dagster.yaml` and `workspace.yaml` are copied, and the repository's own are the same text;
`fencepost.toml` is written from the declared keys.
"""

from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from pipelines.project.settings import keys
from pipelines.project.settings.section import Key

FOR_DAGSTER = {
    "dagster.yaml": "Dagster instance settings",
    "workspace.yaml": "the code that Dagster loads",
}
"""The files for Dagster, each with a description."""

_COMMENT_AT = 34
_EXAMPLE = {"axes": '["celsius", "humidity"]', "source": '"landing/sensors"'}
_SETTINGS = """\
# The settings of this project. Paths are relative to this file; durations are written 90s, 3m, 24h,
# PT3M. The lines that are commented out show the other keys, with their defaults or an example.

[lake]
{path}
{of_lake}

[run]
{of_run}

# What reports show besides the lake.
#
# [report]
{of_report}

# Where Dagster's sensors report refused deliveries and failed runs.
#
# [alerts]
{of_alerts}

# A feed is a source of tuples: stream_id, ts, and its axes, which are numbers. Each file in the
# source folder is a delivery, CSV, JSON lines or Parquet, plain or packed; so is each folder in it.

{feeds}
# A feed of your own, with the usual keys; docs/configuration.md has those for files of any shape:
# no header, other delimiters, a date and a time apart, one stream a file.
#
# [feeds.sensors]
{of_feed}
"""
_FEEDS = """\
[feeds.ticks]
axes = ["price", "volume"]
source = "landing/ticks"

[feeds.locations]
axes = ["x", "y", "speed"]
source = "landing/locations"
"""


def content(name: str) -> str:
    """Give the text of a file for Dagster."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def first_settings(lake: str, feeds: str = _FEEDS) -> str:
    """Write the fencepost.toml of a new project; `lake` is the lake's folder, as TOML has it."""
    return _SETTINGS.format(
        path=_line(keys.LAKE, lake),
        feeds=feeds,
        of_lake=_marked(key for key in keys.OF_LAKE if key is not keys.LAKE),
        of_run=_marked(keys.OF_RUN),
        of_report=_marked(keys.OF_REPORT),
        of_alerts=_marked(keys.OF_ALERTS),
        of_feed=_marked(keys.OF_FEED_USUAL),
    )


def _marked(listed: Iterable[Key[Any]]) -> str:
    """Write keys as commented lines: each with its default, or else an example."""
    lines = []
    for key in listed:
        shown = key.example if key.shown is None else key.shown
        lines.append(f"# {_line(key, _EXAMPLE.get(key.name, shown), _COMMENT_AT - 2)}")
    return "\n".join(lines)


def _line(key: Key[Any], value: str, comment_at: int = _COMMENT_AT) -> str:
    said = f"{key.name} = {value}"
    return f"{said.ljust(comment_at - 1)} # {key.brief}" if key.brief else said
