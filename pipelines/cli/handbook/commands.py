"""docs/cli.md: the help of every command."""

from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperGroup

from pipelines.cli.app import app

WIDTH = 80
TOP = """\
# The command line

Generated from the commands' help by `python -m pipelines.cli.handbook`; do not edit.
"""


def commands() -> str:
    """Write the page."""
    root = typer.main.get_command(app)
    context = _context(root, "fencepost", None)
    return "\n".join([TOP, *(_page(each) for each in _every(context))])


def _context(command: Any, name: str, parent: typer.Context | None) -> typer.Context:  # noqa: ANN401
    """Open a command as if it had been typed, without its arguments."""
    made: typer.Context = command.make_context(
        name,
        [],
        parent,
        resilient_parsing=True,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
    )
    return made


def _every(context: typer.Context) -> Iterator[typer.Context]:
    """List a command and all below it, in the order of the help."""
    yield context
    if isinstance(context.command, TyperGroup):
        for name, command in context.command.commands.items():
            if not command.hidden:
                yield from _every(_context(command, name, context))


def _page(context: typer.Context) -> str:
    words = "\n".join(line.rstrip() for line in context.get_help().splitlines())
    return f"## {context.command_path}\n```text\n{words.strip()}\n```\n"
