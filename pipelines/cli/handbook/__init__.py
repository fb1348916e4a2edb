"""The pages of docs/ that are written from the code, so that they cannot say anything else.

`python -m pipelines.cli.handbook` writes them; a test says when they are behind.
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
"""By its name in docs/: what writes a page."""

__all__ = ["PAGES", "api", "commands", "configuration"]
