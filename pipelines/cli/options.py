"""The options that several commands share, with the same names and help everywhere."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.cli import completion

Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        metavar="FILE",
        envvar="FENCEPOST_CONFIG",
        help="fencepost.toml or its folder; default: the nearest one, upward.",
    ),
]
LakeFolder = Annotated[
    Path | None,
    typer.Option("--lake", metavar="DIR", help="The lake; overrides fencepost.toml."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Never ask: what cannot be known is an error.")
]
OfFeed = Annotated[
    str | None,
    typer.Option("--feed", metavar="FEED", help="Only this feed.", autocompletion=completion.feeds),
]


def print_json(content: Any) -> None:  # noqa: ANN401  whatever JSON can say
    """Print one JSON object on one line."""
    typer.echo(json.dumps(content, ensure_ascii=False))


def duration(text: str) -> int:
    """Parse a duration option; µs."""
    from fencepost.times import parse_duration

    try:
        return parse_duration(text)
    except ValueError as why:
        raise typer.BadParameter(str(why)) from None
