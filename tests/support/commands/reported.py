"""A project of one feed, from its rules and its rows to the page of its report."""

import contextlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.commands.commands import Said, fencepost

VANS = """
[run]
runner = "here"
[feeds.vans]
axes = ["x", "y"]
position = ["x", "y"]
source = "landing/vans"
"""


def reported(
    folder: Path, rules: Iterable[Mapping[str, Any]], rows: str, toml: str = VANS
) -> tuple[Path, Said]:
    """Register rules, load the rows of vans, and write a report: its file, and what was said."""
    (folder / "fencepost.toml").write_text(toml)
    (folder / "rules.jsonl").write_text("\n".join(map(json.dumps, rules)))
    with contextlib.chdir(folder):
        assert fencepost("init").code == 0
        assert fencepost("queries", "import", "rules.jsonl").code == 0
        Path("landing/vans/a.csv").write_text(rows)
        assert fencepost("run").code == 0
        said = fencepost("report", "-o", "map.html")
        assert said.code == 0
    return folder / "map.html", said
