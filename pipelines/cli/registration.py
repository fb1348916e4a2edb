"""What the commands of `fencepost queries` share: the lake, and the question before removing."""

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fencepost.errors import InputError
from fencepost.text import counted
from pipelines.cli.options import print_json

if TYPE_CHECKING:  # Arrow and Delta are imported where they are needed: --help stays quick
    from pipelines.lake.store import Store
    from pipelines.project.settings import Settings
    from pipelines.registry.commit import Registered

Agreed = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before removing.")]


def settings_of(config: Path | None, lake: str | None) -> "Settings":
    """Load fencepost.toml."""
    from pipelines.project.settings import load

    return load(config, lake=lake)


def store_of(settings: "Settings") -> "Store":
    """Open the lake to read."""
    from pipelines.lake.store import Store

    return Store.to_read(settings.root, settings.tables)


def agreement(yes: bool) -> Callable[[int], None] | None:
    """Give what asks before queries are removed; None with --yes."""
    return None if yes else _agree


def _agree(count: int) -> None:
    what = counted(count, "query", "queries")
    if not sys.stdin.isatty():
        raise InputError(f"{what} would be removed: add --yes to confirm. Nothing changed.")
    if not typer.confirm(f"Remove {what}?", err=True):
        raise InputError("nothing changed")


def print_registered(registered: "Registered", as_json: bool) -> None:
    """Print what a registration changed."""
    from pipelines.registry.listing import summary

    if as_json:
        print_json(asdict(registered))
    else:
        typer.echo(summary(registered))
