"""A project of two feeds with three rules in a file, and `fencepost queries` in its folder."""

import contextlib
import json
from pathlib import Path

import pytest

from pipelines.lake.store import Store
from pipelines.project.settings import load
from tests.support.commands.commands import Said, fencepost
from tests.support.commands.files import written

TOML = """
[lake]
path = "lake"

[feeds.ticks]
axes = ["price", "volume"]
source = "landing/ticks"

[feeds.locations]
axes = ["x", "y", "speed"]
source = "landing/locations"
"""
RULES = (
    '{"id": "aapl-breakout", "feed": "ticks", "streams": ["AAPL"], "where": "price >= 231.5"}\n'
    '{"id": "depot-7", "feed": "locations", "where": "x < 4230 AND y < 9", "within": "3m"}\n'
    '{"id": "thin", "feed": "ticks", "where": "volume < 10", "owner": "ada", "tags": ["a", "b"]}\n'
)
ALL = ["aapl-breakout", "depot-7", "thin"]


def ruled_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an empty lake, and three rules in `rules.jsonl`."""
    monkeypatch.delenv("FENCEPOST_LAKE", raising=False)
    settings = load(written(tmp_path, "fencepost.toml", TOML))
    Store.create(settings.root, settings.tables, buckets=8)
    return written(tmp_path, "rules.jsonl", RULES).parent


def queries(folder: Path, *arguments: object) -> Said:
    with contextlib.chdir(folder):
        return fencepost("queries", *arguments)


def standing(folder: Path) -> list[str]:
    said = queries(folder, "export")
    assert said.code == 0, said.err
    return sorted(json.loads(line)["id"] for line in said.out.splitlines())
