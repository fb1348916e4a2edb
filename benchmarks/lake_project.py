"""A project on a disk, for what is measured as a command of its own: `run` and `watch`."""

import os
from pathlib import Path

from benchmarks.lake_made import FEED, Bench
from pipelines.project.settings import Settings, load

ROOT = Path(__file__).resolve().parents[1]


def project(bench: Bench, name: str) -> Settings:
    """Declare the feed of ticks in a fencepost.toml; files are taken as they land."""
    folder = bench.folder / name
    (folder / "landing").mkdir(parents=True)
    (folder / "fencepost.toml").write_text(
        f'[feeds.{FEED}]\naxes = ["price"]\nsource = "landing"\nsettle = "0s"\n'
    )
    return load(folder / "fencepost.toml")


def folder_of(settings: Settings) -> Path:
    """Give the project's folder."""
    return Path(str(settings.root)).parent


def environment() -> dict[str, str]:
    """Give the environment in which a command is this tree's."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}
