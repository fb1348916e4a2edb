"""How a key is declared: with a default, or as one that may be left out, or that must be there.

Law: a default is what the key itself would take.
"""

import tomllib
from typing import TypeVar

from pipelines.project.settings.section import Key
from pipelines.project.settings.values import Read

T = TypeVar("T")


def defaulted(  # noqa: PLR0913
    name: str,
    read: Read[T],
    default: str,
    brief: str,
    meaning: str,
    *,
    example: str | None = None,
    variable: str | None = None,
) -> Key[T]:
    """Declare a key that has a default, written as TOML."""
    value = read.take(tomllib.loads(f"default = {default}")["default"])
    return Key(name, read, value, default, brief, meaning, example or default, None, variable)


def optional(
    name: str, read: Read[T], brief: str, meaning: str, *, example: str, variable: str | None = None
) -> Key[T | None]:
    """Declare a key that may be left out."""
    return Key(name, read, None, None, brief, meaning, example, None, variable)


def required(
    name: str, read: Read[T], empty: T, meaning: str, *, example: str, hint: str
) -> Key[T]:
    """Declare a key that must be there."""
    return Key(name, read, empty, None, "", meaning, example, hint)
