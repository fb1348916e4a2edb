"""What was found of a feed: its keys, why each, and what only its owner can know.

Law: a draft without questions is complete: with its keys the sample can be read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.files.guess.grid import SampleGrid

Value = str | int | bool | list[str] | dict[str, str]
"""What a key of fencepost.toml holds."""


@dataclass(frozen=True)
class FoundKey:
    """A key, its value, and why: what was seen, in a few words."""

    name: str
    value: Value
    why: str


@dataclass(frozen=True)
class Question:
    """What the sample cannot show.

    key      the key that the answer gives
    asks     what is not known, and what was seen
    options  the options that answer it, as one types them
    choices  the possible answers, where there are few
    usual    an answer that a reader may well give; never given for them
    """

    key: str
    asks: str
    options: tuple[str, ...]
    choices: tuple[str, ...] = ()
    usual: str | None = None

    def __str__(self) -> str:
        """Say it in one line."""
        return f"{self.asks}: give {' or '.join(self.options)}"


@dataclass(frozen=True)
class Draft:
    """How the feed of a sample would be declared.

    form       of the files, in words
    unused     the columns that no key names, and why
    questions  in the order in which they are best answered
    """

    paths: tuple[str, ...]
    grid: SampleGrid
    form: str
    keys: tuple[FoundKey, ...]
    unused: Mapping[str, str]
    questions: tuple[Question, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, Any]:
        """The keys and their values."""
        return {key.name: key.value for key in self.keys}

    def as_json(self) -> dict[str, Any]:
        """Give the draft as JSON."""
        return {
            "files": list(self.paths),
            "form": self.form,
            "rows": self.grid.rows,
            "keys": self.values,
            "why": {key.name: key.why for key in self.keys},
            "unused": dict(self.unused),
            "questions": [
                {"key": each.key, "asks": each.asks, "options": list(each.options)}
                for each in self.questions
            ],
            "notes": list(self.notes),
        }


def quoted(text: str) -> str:
    """Show an example."""
    return f"'{text[:60]}'"


def listed(names: Sequence[str]) -> str:
    """Name some columns, or the first of many."""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(names[:8]) + more
