"""How the help reads: as a manual, in plain text, at any width.

Commands come in panels, one whole line each; options follow. Rich would draw frames and cost a
quarter of a second, so it is not used.

Law: nothing is cut off. Between 50 and 80 columns are used; what does not fit wraps.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

Rows = list[tuple[str, str]]
Command = Callable[..., Any]

HELP_NAMES = {"help_option_names": ["-h", "--help"]}
RANGES = (
    (re.compile(r"(\d+)<=x<=(\d+)"), r"\1 to \2"),
    (re.compile(r"x>=(\d+)"), r"\1 or more"),
    (re.compile(r"default: \((.*)\)"), r"default: \1"),
)
"""Typer's wording, and ours."""

NUMBER = re.compile(r"<(?:int|float)(?: range)?>")


class Page(TyperCommand):
    """The page of one command."""

    def get_short_help_str(self, limit: int = 45) -> str:
        """Give the first sentence, whole."""
        del limit
        return first_sentence(self.help)

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Name the arguments: in brackets if optional, with dots if repeatable."""
        pieces = ["[OPTIONS]"]
        for parameter in self.get_params(ctx):
            if isinstance(parameter, TyperArgument):
                name = bare(parameter) if parameter.required else f"[{bare(parameter)}]"
                pieces.append(name if parameter.nargs == 1 else f"{name}...")
        return pieces

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # noqa: ANN401  Typer's own
        """Write the arguments and the options."""
        _write_parameters(self, ctx, formatter)


class Manual(TyperGroup):
    """The page of several commands, in panels; then the options."""

    panels: ClassVar[Mapping[str, Sequence[str]]] = {}
    """The commands by heading; without any, all under one."""

    sections: ClassVar[Sequence[tuple[str, Rows]]] = ()
    """The tables at the end, by heading."""

    def get_short_help_str(self, limit: int = 45) -> str:
        """Give the first sentence, whole."""
        del limit
        return first_sentence(self.help)

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # noqa: ANN401
        """Write the commands, the options, and the tables at the end."""
        lines = {name: command.get_short_help_str() for name, command in self.commands.items()}
        widest = max(map(len, lines))
        for title, names in (self.panels or {"Commands": list(lines)}).items():
            _write_section(formatter, title, [(name, lines[name]) for name in names], widest)
        _write_parameters(self, ctx, formatter)
        for title, rows in self.sections:
            _write_section(formatter, title, rows)


def page(app: typer.Typer, name: str) -> Callable[[Command], Command]:
    """Give a command its name and its page in an app."""
    return app.command(name, cls=Page, context_settings=HELP_NAMES)


def pages(summary: str) -> typer.Typer:
    """Make an app of several commands, with a page that lists them."""
    return typer.Typer(
        help=summary,
        cls=Manual,
        rich_markup_mode=None,
        no_args_is_help=True,
        context_settings=HELP_NAMES,
        add_completion=False,
    )


def bare(argument: TyperArgument) -> str:
    """Give an argument's name without brackets and dots."""
    return (argument.metavar or str(argument.name).upper()).strip("[].")


def first_sentence(words: str | None) -> str:
    """Give the first sentence of a page, in one line."""
    paragraph = inspect.cleandoc(words or "").split("\n\n")[0]
    return re.split(r"(?<=[.?]) ", " ".join(paragraph.split()))[0]


def _write_parameters(command: Any, ctx: typer.Context, formatter: Any) -> None:  # noqa: ANN401
    arguments: Rows = []
    options: Rows = []
    for parameter in command.get_params(ctx):
        name, words = parameter.get_help_record(ctx) or ("", "")
        for typed, said in RANGES:
            words = typed.sub(said, words)
        if isinstance(parameter, TyperArgument):
            arguments.append((bare(parameter), words))
        elif name:
            options.append((NUMBER.sub("N", name), words))
    for title, rows in (("Arguments", arguments), ("Options", options)):
        if rows:
            _write_section(formatter, title, rows)


def _write_section(formatter: Any, title: str, rows: Rows, least: int = 0) -> None:  # noqa: ANN401
    with formatter.section(title):
        formatter.write_dl([(name.ljust(least), words) for name, words in rows], col_max=26)
