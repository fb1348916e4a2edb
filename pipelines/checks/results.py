"""What a check found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from schemas.expectations import Severity

SAMPLES = 5
"""Faults that are shown; all are counted."""

LONGEST_SAMPLE = 200


class FaultCount(NamedTuple):
    """What there was to look at, and what was wrong with it."""

    rows: int
    faults: int
    samples: Sequence[str]


@dataclass(frozen=True)
class Checked:
    """A check that was made.

    table        the table it speaks of, by its name in the lake
    severity     of what it would be if it failed: an error, or a warning
    description  what it asserts; where it could not look at all there is, what it looked at
    counts       `rows` looked at (whatever the check calls a row), and the `faults` among them
    samples      some of the faults, in words
    since        when this was found, if nothing has changed since and it was not looked at again
    docs         the page that tells more
    """

    table: str
    name: str
    passed: bool
    severity: Severity
    description: str
    counts: Mapping[str, int | float] = field(default_factory=dict)
    samples: list[str] = field(default_factory=list)
    seconds: float = 0.0
    since: str | None = None
    docs: str | None = None

    @property
    def failed(self) -> bool:
        """Whether it did not pass, and that is an error."""
        return not self.passed and self.severity == "error"
