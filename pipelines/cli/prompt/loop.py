"""The prompt: what is typed, answered until Ctrl-D.

Enter runs what is whole, and begins a new line in what is not; Ctrl-C drops what is typed, or
cancels the statement that runs.
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
from pipelines.cli.prompt.history import History, prepared, state_folder
from pipelines.cli.prompt.running import run
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
from pipelines.serve.views.answers import Form

ASKS = "fencepost> "
GOES_ON = "      ...> "
HELP = """\
A statement ends with ; and may take several lines. Statements only read.
  .views              list what can be asked
  .describe NAME      show the columns of a view or table
  .format [NAME]      show answers as table, lines, csv or json
  .limit [N]          print at most so many rows; 0: all
  .help               show this
  .exit               end, like Ctrl-D
Tab completes names and keywords. Ctrl-C cancels a statement, or drops what is typed."""
FORMS = tuple(form for form in get_args(Form) if form != "parquet")
LOCAL = 3
"""Where a terminal's attributes have its local modes."""

ENDS = (".exit", ".quit")
WORDS = ("help", "exit", "quit")
"""What people type where a command is meant."""


class _Offers(Completer):
    """What Tab completes."""

    def __init__(self, settings: Settings) -> None:
        self.relations = relations(settings.tables)
        takes: dict[str, Iterable[str]] = dict.fromkeys(Prompt.COMMANDS, ())
        self.commands = {**takes, ".describe": self.relations, ".format": FORMS}

    def get_completions(self, document: Document, _: CompleteEvent) -> Iterator[Completion]:
        """Offer what can stand at the cursor."""
        place = document.cursor_position
        for each in suggestions(document.text, place, self.relations, self.commands):
            yield Completion(each.text, -each.typed, display_meta=each.what)


def prompt(settings: Settings, form: Form, limit: int | None) -> None:
    """Answer what is typed until Ctrl-D. LakeError where there is no lake."""
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
    typer.echo(f"{settings.root}\n.help shows what can be typed; Ctrl-D ends")
    with _keys_kept(sys.stdin.fileno()):
        while not answering.ended:
            try:
                typed = asking.prompt()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            answering.take(typed)


@contextmanager
def _keys_kept(terminal: int) -> Iterator[None]:
    """Keep what is typed while a statement runs for the next prompt, key by key.

    A terminal that reads lines would take a Ctrl-D for the end of its input, for good.
    """
    before = termios.tcgetattr(terminal)
    kept = [*before]
    kept[LOCAL] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(terminal, termios.TCSANOW, kept)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)


def _history(around: Mapping[str, str]) -> AnyHistory:
    try:
        return History(str(prepared(state_folder(around))))
    except (OSError, RuntimeError) as why:  # no home
        sys.stderr.write(f"what is typed is not kept for the next time: {why}\n")
        return InMemoryHistory()


def _keys() -> KeyBindings:
    """Let Enter run what is whole."""
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
    """Say whether what is typed is for the prompt itself, not for SQL."""
    return typed.lstrip().startswith(".") or typed.strip().lower() in WORDS


class Prompt:
    """What the prompt does with what is typed: commands, and statements one after another.

    form   how answers are printed
    limit  how many rows are printed at most; None: as the form has it
    ended  whether it was asked to end
    """

    COMMANDS = (".help", ".views", ".describe", ".format", ".limit", *ENDS)

    def __init__(self, settings: Settings, form: Form, limit: int | None) -> None:
        self.settings, self.form, self.limit = settings, form, limit
        self.ended = False

    def take(self, typed: str) -> None:
        """Do what was typed; an error is said, and ends what was typed with it, nothing else."""
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
        answer = run(self.settings, statement, most)
        took = time.perf_counter() - begun
        print_answer(answer, self.form, most, BY_COMMAND)
        sys.stdout.flush()
        sys.stderr.write(f"{took:.2f} s\n")

    def _command(self, name: str, *given: str) -> None:
        name = name.lower() if name.startswith(".") else f".{name.lower()}"
        does: dict[str, Callable[..., None]] = {
            ".help": lambda: typer.echo(HELP),
            ".views": lambda: print_relations(self.settings.tables),
            ".describe": self._describe,
            ".format": self._format,
            ".limit": self._limit,
        }
        if name in ENDS:
            self.ended = True
            return
        if name not in does:
            near = did_you_mean(name, self.COMMANDS)
            raise InputError(f"unknown command '{shortened(name)}'; .help lists them.{near}")
        most = 1 if name in (".describe", ".format", ".limit") else 0
        if len(given) > most:
            raise InputError(f"{name} takes {'one word' if most else 'nothing'}: {' '.join(given)}")
        does[name](*given)

    def _describe(self, name: str = "") -> None:
        if not name:
            raise InputError("name what to describe: .describe NAME; .views lists the names")
        print_description(self.settings.tables, name.rstrip(";"))

    def _format(self, name: str = "") -> None:
        if name:
            if name not in FORMS:
                near = did_you_mean(name, FORMS)
                raise InputError(f"unknown format '{shortened(name)}': {', '.join(FORMS)}.{near}")
            self.form = next(form for form in get_args(Form) if form == name)
        typer.echo(f"format: {self.form}")

    def _limit(self, given: str = "") -> None:
        if given:
            if not given.isascii() or not given.isdigit():
                raise InputError(f".limit takes a whole number, 0 for all: '{shortened(given)}'")
            self.limit = int(given)
        most = most_rows(self.form, self.limit)
        typer.echo(f"limit: {f'{most:,} rows' if most else 'none'}")
