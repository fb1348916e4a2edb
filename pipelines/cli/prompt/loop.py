"""The prompt: statements and commands, until Ctrl-D.

Enter runs complete input, and begins a new line in incomplete input; Ctrl-C drops what is typed, or
cancels the running statement.
"""

import os
import sys
import termios
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import get_args

import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import History as AnyHistory
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.shortcuts import CompleteStyle

from fencepost.errors import FencepostError, InputError
from fencepost.text import did_you_mean, shortened
from pipelines.cli.prompt.execution import execute
from pipelines.cli.prompt.history import History, prepared, state_folder
from pipelines.cli.prompt.statements import is_blank, is_whole, split
from pipelines.cli.prompt.suggestions import suggestions
from pipelines.cli.tables import (
    BY_COMMAND,
    most_rows,
    print_answer,
    print_description,
    print_relations,
)
from pipelines.lake.layout import Note
from pipelines.project.settings import Settings
from pipelines.serve.views import relations
from pipelines.serve.views.answers import BINARY, Form

ASKS = "fencepost> "
GOES_ON = "      ...> "
HELP = """\
A statement ends with ; and may span several lines. Statements are read-only.
  .views              list views and tables
  .describe NAME      show the columns of a view or table
  .format [NAME]      show answers as table, lines, csv or json
  .limit [N]          set the maximum number of rows; 0: all
  .help               show this
  .exit               quit, like Ctrl-D
Tab completes names and keywords. Ctrl-C cancels a statement, or drops what is typed."""
FORMS = tuple(form for form in get_args(Form) if form not in BINARY)
LOCAL = 3
"""The place of the local modes in a terminal's attributes."""

ENDS = (".exit", ".quit")
WORDS = ("help", "exit", "quit")
"""Commands that people type without the dot."""


class _Offers(Completer):
    """What Tab completes."""

    def __init__(self, settings: Settings) -> None:
        self.relations = relations(settings.tables)
        arguments: dict[str, Iterable[str]] = dict.fromkeys(Prompt.COMMANDS, ())
        self.commands = {**arguments, ".describe": self.relations, ".format": FORMS}

    def get_completions(self, document: Document, _: CompleteEvent) -> Iterator[Completion]:
        """Offer what fits at the cursor."""
        place = document.cursor_position
        for each in suggestions(document.text, place, self.relations, self.commands):
            yield Completion(each.text, -each.typed, display_meta=each.what)


def prompt(settings: Settings, form: Form, limit: int | None) -> None:
    """Run statements until Ctrl-D. LakeError if there is no lake."""
    Note.read(settings.root)
    asking: PromptSession[str] = PromptSession(
        ASKS,
        completer=_Offers(settings),
        complete_style=CompleteStyle.READLINE_LIKE,
        complete_while_typing=False,
        history=_history(os.environ),
        key_bindings=_keys(),
        multiline=True,
        prompt_continuation=GOES_ON,
    )
    answering = Prompt(settings, form, limit)
    typer.echo(f"{settings.root}\n.help lists commands; Ctrl-D quits")
    with _keys_kept(sys.stdin.fileno()):
        while not answering.ended:
            try:
                typed = asking.prompt()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            answering.run(typed)


@contextmanager
def _keys_kept(terminal: int) -> Iterator[None]:
    """Keep keys typed while a statement runs for the next prompt.

    A terminal in line mode would treat a Ctrl-D as the end of input, for good.
    """
    before = termios.tcgetattr(terminal)
    raw = [*before]
    raw[LOCAL] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(terminal, termios.TCSANOW, raw)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)


def _history(around: Mapping[str, str]) -> AnyHistory:
    try:
        return History(str(prepared(state_folder(around))))
    except (OSError, RuntimeError) as why:  # no home
        sys.stderr.write(f"history is not saved: {why}\n")
        return InMemoryHistory()


def _keys() -> KeyBindings:
    """Let Enter run complete input."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        typed = event.current_buffer.text
        if is_blank(typed) or is_whole(typed) or is_command(typed):
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    return keys


def is_command(typed: str) -> bool:
    """Say whether the input is a command of the prompt, not SQL."""
    return typed.lstrip().startswith(".") or typed.strip().lower() in WORDS


class Prompt:
    """Runs the input: commands, and statements one by one.

    form   the format of answers
    limit  the maximum number of rows; None: the default of the format
    ended  whether .exit was typed
    """

    COMMANDS = (".help", ".views", ".describe", ".format", ".limit", *ENDS)

    def __init__(self, settings: Settings, form: Form, limit: int | None) -> None:
        self.settings, self.form, self.limit = settings, form, limit
        self.ended = False

    def run(self, typed: str) -> None:
        """Run the input; an error is printed, and ends this input, nothing else."""
        try:
            if is_command(typed):
                self._command(*typed.split())
            else:
                for statement in split(typed)[0]:
                    if not is_blank(statement.rstrip().removesuffix(";")):
                        self._answer(statement)
        except KeyboardInterrupt:
            sys.stderr.write("cancelled\n")
        except FencepostError as fault:
            sys.stderr.write(f"{fault}\n")
        except Exception as fault:  # noqa: BLE001  the next statement may be answered
            sys.stderr.write(f"{type(fault).__name__}: {fault}\n")

    def _answer(self, statement: str) -> None:
        begun = time.perf_counter()
        most = most_rows(self.form, self.limit)
        answer = execute(self.settings, statement, most)
        took = time.perf_counter() - begun
        print_answer(answer, self.form, most, BY_COMMAND)
        sys.stdout.flush()
        sys.stderr.write(f"{took:.2f} s\n")

    def _command(self, name: str, *arguments: str) -> None:
        name = name.lower() if name.startswith(".") else f".{name.lower()}"
        actions: dict[str, Callable[..., None]] = {
            ".help": lambda: typer.echo(HELP),
            ".views": lambda: print_relations(self.settings.tables),
            ".describe": self._describe,
            ".format": self._format,
            ".limit": self._limit,
        }
        if name in ENDS:
            self.ended = True
            return
        if name not in actions:
            near = did_you_mean(name, self.COMMANDS)
            raise InputError(f"unknown command '{shortened(name)}'; .help lists them.{near}")
        most = 1 if name in (".describe", ".format", ".limit") else 0
        if len(arguments) > most:
            expected = "one argument" if most else "no argument"
            raise InputError(f"{name} takes {expected}: {' '.join(arguments)}")
        actions[name](*arguments)

    def _describe(self, name: str = "") -> None:
        if not name:
            raise InputError(".describe needs a name; .views lists them")
        print_description(self.settings.tables, name.rstrip(";"))

    def _format(self, name: str = "") -> None:
        if name:
            if name not in FORMS:
                near = did_you_mean(name, FORMS)
                raise InputError(f"unknown format '{shortened(name)}': {', '.join(FORMS)}.{near}")
            self.form = next(form for form in get_args(Form) if form == name)
        typer.echo(f"format: {self.form}")

    def _limit(self, rows: str = "") -> None:
        if rows:
            if not rows.isascii() or not rows.isdigit():
                raise InputError(f".limit takes a whole number, 0 for all: '{shortened(rows)}'")
            self.limit = int(rows)
        most = most_rows(self.form, self.limit)
        typer.echo(f"limit: {f'{most:,} rows' if most else 'none'}")
