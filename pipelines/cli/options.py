"""The options that several commands have, with the same name and the same words everywhere."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.cli import completion

MOST_LISTED = 12
"""Of more names than these none is listed where one is near to what was given."""

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


def print_json(told: Any) -> None:  # noqa: ANN401  whatever JSON can say
    """Print one JSON object on one line."""
    typer.echo(json.dumps(told, ensure_ascii=False))


def duration(text: str) -> int:
    """Read a duration that was given as an option, in µs."""
    from fencepost.times import parse_duration

    try:
        return parse_duration(text)
    except ValueError as why:
        raise typer.BadParameter(str(why)) from None


def known(given: str | None, there: Any, what: str) -> None:  # noqa: ANN401  names, in any container
    """Refuse a name that is not there, and say which are."""
    if given is None or given in there:
        return
    from fencepost.errors import InputError
    from fencepost.text import did_you_mean, shortened

    near = did_you_mean(given, there)
    if near and len(there) > MOST_LISTED:
        raise InputError(f"unknown {what} '{shortened(given)}'.{near}")
    raise InputError(f"unknown {what} '{shortened(given)}'; there are: {', '.join(there)}.{near}")
