"""The pages of docs/ that are generated from the code.

`python -m pipelines.cli.handbook` writes them; a test fails when they are out of date.
"""

from collections.abc import Callable, Mapping

from pipelines.cli.handbook.api import api
from pipelines.cli.handbook.commands import commands
from pipelines.cli.handbook.configuration import configuration

PAGES: Mapping[str, Callable[[], str]] = {
    "configuration.md": configuration,
    "cli.md": commands,
    "api.md": api,
}
"""By file name in docs/: what writes the page."""

__all__ = ["PAGES", "api", "commands", "configuration"]
