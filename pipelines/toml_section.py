"""One table of a TOML file, read key by key; every fault is kept, none ends the reading.

Law: a value is what its reader takes, or there is a fault that says what was given, what was
expected and under which key. A key that nobody asked for is a fault too.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fencepost.errors import Fault
from fencepost.queries.wording import did_you_mean, shortened
from fencepost.times import parse_duration

T = TypeVar("T")
Read = Callable[[object], T]
"""Takes a value as TOML gives it; ValueError says why it does not."""


@dataclass(eq=False)
class Section:
    """A table on its way to settings.

    over  by key: the environment's variable that stands over it, and what that says
    """

    source: str
    name: str
    given: Mapping[str, Any]
    faults: list[Fault]
    over: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, source: str, name: str, given: object, faults: list[Fault]) -> "Section":
        """Take a table; whatever else stands in its place is a fault."""
        if isinstance(given, dict):
            return cls(source, name, given, faults)
        message = f"{name} is {told(given)}, where a table [{name}] was expected"
        faults.append(Fault(source, message))
        return cls(source, name, {}, faults)

    def value(self, key: str, read: Read[T], default: T) -> T:
        """Read a key; `default` where it is not there, or wrong."""
        self.asked.append(key)
        try:
            if key in self.over:
                return read(_as_toml(self.over[key][1]))
            if key in self.given:
                return read(self.given[key])
        except ValueError as why:
            if key in self.over:
                self.faults.append(Fault(self.over[key][0], str(why)))
            else:
                self.fault(f"{key}: {why}")
        return default

    def needed(self, key: str, read: Read[T], default: T, hint: str) -> T:
        """Read a key that must be there."""
        if key not in self.given:
            self.fault(f"{key} is missing", hint)
        return self.value(key, read, default)

    def fault(self, message: str, hint: str | None = None) -> None:
        """Keep a fault of this table."""
        self.faults.append(Fault(self.source, f"[{self.name}] {message}", hint=hint))

    def end(self) -> None:
        """Tell every key that nobody asked for."""
        for key in self.given:
            if key not in self.asked:
                hint = f"the keys are: {', '.join(self.asked)}.{did_you_mean(key, self.asked)}"
                self.fault(f"unknown key {told(key)}", hint)


def told(given: object) -> str:
    """Show a value as the file has it, cut to what a message can hold."""
    if isinstance(given, bool):
        return str(given).lower()
    return f"'{shortened(given)}'" if isinstance(given, str) else shortened(str(given))


def text(given: object) -> str:
    """Take a text that is not empty."""
    if not isinstance(given, str):
        raise ValueError(f"{told(given)} was given, where a text was expected")  # noqa: TRY004
    if not given or "\0" in given:
        raise ValueError("is empty" if not given else "holds a zero character")
    return given


def flag(given: object) -> bool:
    """Take true or false."""
    if not isinstance(given, bool):
        raise ValueError(f"{told(given)} was given, where true or false was expected")  # noqa: TRY004
    return given


def whole(least: int, most: int | None = None) -> Read[int]:
    """Take a whole number from `least` to `most`."""
    wanted = f"of {least} or more" if most is None else f"from {least} to {most}"

    def read(given: object) -> int:
        number = None if isinstance(given, bool) or not isinstance(given, int) else given
        if number is not None and number >= least and (most is None or number <= most):
            return number
        raise ValueError(f"{told(given)} was given, where a whole number {wanted} was expected")

    return read


def one_of(options: Collection[str]) -> Read[str]:
    """Take one of some words."""

    def read(given: object) -> str:
        if isinstance(given, str) and given in options:
            return given
        near = did_you_mean(given, options) if isinstance(given, str) else ""
        listed = ", ".join(options)
        also = f".{near}" if near else ""
        raise ValueError(f"{told(given)} was given, where one of {listed} was expected{also}")

    return read


def duration(given: object) -> int:
    """Take a duration: µs."""
    if not isinstance(given, str):
        raise ValueError(  # noqa: TRY004
            f'{told(given)} was given, where a duration like "90s" or "3m" was expected'
        )
    return parse_duration(given)


def names(given: object) -> tuple[str, ...]:
    """Take a list of texts."""
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise ValueError(f"{told(given)} was given, where a list of texts was expected")
    if not given:
        raise ValueError("the list is empty, where at least one was expected")
    return tuple(given)


def optional(read: Read[T]) -> Read[T | None]:
    """Take what `read` takes, for a key whose default is None."""
    return read


def _as_toml(said: str) -> object:
    """Read the environment's text as TOML would have had it: a number, or a text."""
    return int(said) if said.isascii() and said.isdecimal() else said
