"""One table of a TOML file, read key by key; faults are collected, none stops the reading.

Law: a value is what its key takes, or there is a fault that says what was given, what was expected
and under which key. An unknown key is a fault too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from fencepost.errors import Fault, InputError
from fencepost.text import did_you_mean
from pipelines.places import Place, place_of
from pipelines.project.settings.values import Read, shown

T = TypeVar("T")
Of_co = TypeVar("Of_co", covariant=True)


@dataclass(frozen=True)
class Key(Generic[Of_co]):
    """A key of a table.

    default   its value if absent
    shown     the default as TOML; None if there is none to show: `meaning` describes it
    brief     the comment beside it in the file that `fencepost init` writes
    meaning   what it is for, in a sentence or two
    example   as TOML
    missing   for a required key: what to do if it is absent
    variable  the environment variable that overrides it
    """

    name: str
    read: Read[Of_co]
    default: Of_co
    shown: str | None
    brief: str
    meaning: str
    example: str
    missing: str | None = None
    variable: str | None = None


@dataclass(eq=False)
class Section:
    """A table being read.

    over  by key: what overrides it (a variable, an option), and its value
    """

    source: str
    name: str
    given: Mapping[str, Any]
    faults: list[Fault]
    over: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    known: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, source: str, name: str, given: object, faults: list[Fault]) -> "Section":
        """Read a table; anything else is a fault."""
        if isinstance(given, dict):
            return cls(source, name, given, faults)
        message = f"{name} is {shown(given)}, where a table [{name}] was expected"
        faults.append(Fault(source, message))
        return cls(source, name, {}, faults)

    def value(self, key: Key[T]) -> T:
        """Read a key; its default if it is absent or wrong."""
        self.known.append(key.name)
        if key.missing is not None and key.name not in self.given:
            self.fault(f"{key.name} is missing", key.missing)
        try:
            if key.name in self.over:
                return key.read.take(_as_toml(self.over[key.name][1]))
            if key.name in self.given:
                return key.read.take(self.given[key.name])
        except ValueError as why:
            self.wrong(key, str(why))
        return key.default

    def names(self, key: Key[tuple[str, ...] | None]) -> tuple[str, ...]:
        """Read a key that is a list, or absent: then there are none."""
        return self.value(key) or ()

    def place(self, key: Key[str], begin: Path) -> Place:
        """Read a key that is a place; a path begins at a folder, unless it is absolute."""
        read = _placed(key.read, begin)
        default = Path() if key.missing else read.take(key.default)
        found: Key[Place] = Key(**{**vars(key), "read": read, "default": default})
        return self.value(found)

    def path_if_any(self, key: Key[Path | None], begin: Path) -> Path | None:
        """Read a key that is a path, or absent."""
        return self.value(replace(key, read=_begun(key.read, begin)))

    def wrong(self, key: Key[Any], why: str) -> None:
        """Add a fault of a key, at the place that gave its value."""
        if key.name in self.over:
            self.faults.append(Fault(self.over[key.name][0], why))
        else:
            self.fault(f"{key.name}: {why}")

    def fault(self, message: str, hint: str | None = None) -> None:
        """Add a fault of this table."""
        self.faults.append(Fault(self.source, f"[{self.name}] {message}", hint=hint))

    def end(self) -> None:
        """Report every unknown key."""
        for key in self.given:
            if key not in self.known:
                hint = f"the keys are: {', '.join(self.known)}.{did_you_mean(key, self.known)}"
                self.fault(f"unknown key {shown(key)}", hint)


def _placed(read: Read[str], begin: Path) -> Read[Place]:
    def take(given: object) -> Place:
        try:
            return place_of(read.take(given), begin)
        except InputError as why:
            raise ValueError(str(why)) from None
        except (OSError, RuntimeError) as why:  # a cycle of links, an unknown user's home
            raise ValueError(f"{shown(given)} leads nowhere: {why}") from None

    return Read(read.expected, take)


def _begun(read: Read[Path | None], begin: Path) -> Read[Path]:
    def take(given: object) -> Path:
        try:
            return (begin / (read.take(given) or Path()).expanduser()).resolve()
        except (OSError, RuntimeError) as why:  # a cycle of links, an unknown user's home
            raise ValueError(f"{shown(given)} leads nowhere: {why}") from None

    return Read(read.expected, take)


def _as_toml(said: str) -> object:
    """Read the environment's text as TOML would have had it: a number, or a text."""
    return int(said) if said.isascii() and said.isdecimal() else said
