"""The options that several commands share, with the same names and help everywhere."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.cli import completion
from pipelines.places import Place, is_remote

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
    str | None,
    typer.Option("--lake", metavar="PLACE", help="The lake; overrides fencepost.toml."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Never ask: what cannot be known is an error.")
]
OfFeed = Annotated[
    str | None,
    typer.Option("--feed", metavar="FEED", help="Only this feed.", autocompletion=completion.feeds),
]


def shown_place(place: Place) -> str:
    """Give a place relative to the working folder, if it is below it."""
    here = Path.cwd()
    if is_remote(place) or not place.absolute().is_relative_to(here):
        return str(place)
    return str(place.absolute().relative_to(here))


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
