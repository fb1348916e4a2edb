"""`fencepost queries` takes joins as a user types them, and gives them back."""

import contextlib
import json
from pathlib import Path
from typing import Any

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
RULE = '{"id": "thin", "feed": "ticks", "where": "volume < 10"}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an empty lake, and a rule in `rules.jsonl`."""
    monkeypatch.delenv("FENCEPOST_LAKE", raising=False)
    settings = load(written(tmp_path, "fencepost.toml", TOML))
    Store.create(settings.root, settings.tables, buckets=8)
    return written(tmp_path, "rules.jsonl", RULE).parent


def queries(folder: Path, *arguments: object) -> Said:
    with contextlib.chdir(folder):
        return fencepost("queries", *arguments)


def test_joins_are_typed_listed_by_either_feed_and_exported(folder):
    assert queries(folder, "import", "rules.jsonl").code == 0
    pair = ("--left", "ticks", "--right", "locations", "--on", "left.price >= right.x - 1")
    typed = ("--id", "w", "--kind", "window_join", *pair, "--where", "left.volume > 5")
    assert queries(folder, "add", *typed, "--window", "1000", "--json").summary["added"] == 1
    sides = ("--left", "ticks.price", "--right", "locations.x")
    band = ("--id", "b", "--kind", "band_join", *sides)
    assert queries(folder, "add", *band, "--between=-0.5,", "--json").summary["added"] == 1
    joins = {each["id"]: each for each in exported(folder) if each["id"] in "wb"}
    assert joins == {
        "w": {
            "id": "w",
            "kind": "window_join",
            "left": "ticks",
            "right": "locations",
            "on": "left.price >= right.x - 1",
            "where": "left.volume > 5",
            "window": 1000,
        },
        "b": {
            "id": "b",
            "kind": "band_join",
            "left": "ticks.price",
            "right": "locations.x",
            "between": [-0.5, None],
        },
    }
    for feed in ("ticks", "locations"):
        mine = queries(folder, "list", "--feed", feed, "--json").summary["queries"]
        assert {"w", "b"} <= {each["id"] for each in mine}
    assert "  window      1,000 tuples\n" in queries(folder, "show", "w").out
    for each in joins.values():
        assert queries(folder, "add", json.dumps(each), "--json").summary["unchanged"] == 1
    rest = queries(folder, "import", "rules.jsonl", "--replace", "--yes", "--json").summary
    assert (rest["removed"], rest["unchanged"]) == (2, 1)


def exported(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in queries(folder, "export").out.splitlines()]
