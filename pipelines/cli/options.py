"""The options that several commands have, with the same name and the same words everywhere."""

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
        help="The fencepost.toml or its folder; else the nearest one, upward.",
    ),
]
LakeFolder = Annotated[
    Path | None,
    typer.Option("--lake", metavar="DIR", help="The lake, instead of the one that the file names."),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON object to stdout, and nothing else there.")
]
OfFeed = Annotated[
    str | None,
    typer.Option(
        "--feed", metavar="FEED", help="Only of this feed.", autocompletion=completion.feeds
    ),
]


def print_json(content: Any) -> None:  # noqa: ANN401  whatever JSON can say
    """Print one JSON object on one line."""
    typer.echo(json.dumps(content, ensure_ascii=False))


def duration(text: str) -> int:
    """Read a duration that was given as an option, in µs."""
    from fencepost.times import parse_duration

    try:
        return parse_duration(text)
    except ValueError as why:
        raise typer.BadParameter(str(why)) from None
