"""What checks report: counts, faults, verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from schemas.promises import Severity

SAMPLES = 5
"""Faults that are shown; all are counted."""

LONGEST_SAMPLE = 200


class FaultCount(NamedTuple):
    """How many rows there were to check, and what was wrong with them."""

    rows: int
    faults: int
    samples: Sequence[str]


@dataclass(frozen=True)
class Checked:
    """The result of a check.

    table        its table, by the name in the lake
    severity     what a failure would be: an error, or a warning
    description  what it asserts; where it could not check everything, what it checked
    counts       `rows` checked (whatever the check calls a row), and the `faults` among them
    samples      some of the faults, in words
    since        when this was found, if it was not checked again since nothing has changed
    docs         the page with details
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
