"""A feed found out together with its user: the sample says most, the user the rest.

Law: whoever cannot be asked is told every question at once, with the options that answer it.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from fencepost.errors import InputError
from fencepost.text import counted, escaped, few
from pipelines.files import losses
from pipelines.files.guess.check import SampleCheck, checked
from pipelines.files.guess.draft import Draft, Question, Value
from pipelines.files.guess.guess import guess
from pipelines.files.guess.hints import FeedHints
from pipelines.files.guess.roles import WhyNot
from pipelines.files.guess.sample import Sampled, SampleFiles, files_of, sampled

WIDTH = 78


@dataclass(frozen=True)
class Discovery:
    """A draft without questions, and how many rows of its sample it takes."""

    files: SampleFiles
    draft: Draft
    check: SampleCheck


def discover(
    given: Sequence[Path],
    hints: FeedHints,
    why_no_axis: WhyNot,
    *,
    yes: bool,
    as_json: bool = False,
) -> Discovery:
    """Find out how the feed of a sample is declared; ask what is unknown, where one can."""
    files = files_of(given)
    samples = sampled(files, hints.form)
    hints = replace(hints, file_streams=yes)
    may_ask = not yes and not as_json and sys.stdin.isatty() and sys.stderr.isatty()
    draft = guess(samples, hints, why_no_axis, is_delta=files.is_delta)
    while draft.questions:
        if not may_ask:
            raise InputError(_unanswered(samples, draft.questions, yes=yes))
        hints = _answered(draft.questions[0], hints, draft)
        draft = guess(samples, hints, why_no_axis, is_delta=files.is_delta)
    return Discovery(files, draft, checked(samples, draft))


def _unanswered(samples: Sequence[Sampled], questions: Sequence[Question], *, yes: bool) -> str:
    named = escaped(samples[0].path, WIDTH)
    lines = [f"{named} does not say everything:", *(f"  {question}" for question in questions)]
    series = next((each.usual for each in questions if each.key == "stream"), None)
    if series is not None and not yes:
        lines.append(f"  (or --yes, which takes the file's name for its only stream: {series})")
    return "\n".join(lines)


def _answered(question: Question, hints: FeedHints, draft: Draft) -> FeedHints:
    """Ask one question."""
    typer.echo(f"{question.asks[:1].upper()}{question.asks[1:]}.", err=True)
    if question.key == "wide":
        streams = typer.confirm("Is each of them a stream?", default=None, err=True)
        names = tuple(each.name for each in draft.grid.columns if each.is_number)
        return replace(hints, wide=True) if streams else replace(hints, axes=names, wide=False)
    said = _prompt(question)
    names = tuple(name.strip() for name in said.split(","))
    value: Any = names if question.key in ("ts_column", "axes") else said
    answer: dict[str, Any] = {question.key: value}
    return replace(hints, **answer)


def _prompt(question: Question) -> str:
    choices = f" ({' or '.join(question.choices)})" if question.choices else ""
    while True:
        said: str = typer.prompt(f"{question.key}{choices}", default=question.usual, err=True)
        if not question.choices or said in question.choices:
            return said
        typer.echo(f"One of {', '.join(question.choices)} was expected.", err=True)


def lines_of(found: Discovery) -> list[str]:
    """Say what was found, why, and how much of the sample it takes."""
    draft = found.draft
    paths = draft.paths
    more = f" and {len(found.files.files) - 1} more" if len(found.files.files) > 1 else ""
    lines = [f"{escaped(paths[0])}{more}: {draft.form}"]
    width = min(40, max(len(_shown(key.value)) for key in draft.keys))
    for key in draft.keys:
        value = _shown(key.value)
        lines.append(f"  {key.name:<16} {value:<{width}}  {escaped(key.why, WIDTH)}".rstrip())
    unused = [f"{escaped(name, 40)} ({why})" for name, why in draft.unused.items()]
    if unused:
        lines.append(f"  {'not used':<16} {', '.join(unused)}")
    if found.files.others:
        named = few([escaped(path.name, 40) for path in found.files.others])
        lines.append(
            f"  {'not looked at':<16} {named}: a delivery each, if they land with the rest"
        )
    return [*lines, *draft.notes, *check_lines(found.check)]


def check_lines(check: SampleCheck) -> list[str]:
    """Say how many rows of the sample would be taken, and why others not."""
    lines = [f"{check.accepted:,} of {counted(check.rows, 'row')} of the sample would be taken."]
    return [*lines, *losses.lines_of(check.losses), *map(str, check.faults)]


def _shown(value: Value) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} ({kind})" for name, kind in value.items())
    return str(value).lower() if isinstance(value, bool) else escaped(str(value))
