"""The options that the commands of a lake have in common."""

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", metavar="FILE", help="The fencepost.toml; else the nearest one, upward."
    ),
]
LakeFolder = Annotated[
    Path | None,
    typer.Option("--lake", metavar="DIR", help="The lake, instead of the one that the file names."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
