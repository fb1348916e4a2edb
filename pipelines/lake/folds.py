"""Values computed from the rows of a ledger, kept up as the ledger grows.

Law: a row is added once, in whichever files it has been since.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from pipelines.lake.log import Log


class Fold(Protocol):
    """A value computed from the rows of a ledger, in any order."""

    def add(self, rows: pa.Table) -> None:
        """Add rows."""
        ...


@dataclass
class Folded:
    """A fold, and the files whose rows it has seen."""

    value: Any
    log: Log | None
    paths: set[str]
    rearrangements: int

    @classmethod
    def of(cls, value: Fold, log: Log | None) -> "Folded":
        """Begin with a fold that has seen nothing."""
        return cls(value, log, set(), 0 if log is None else log.rearrangements)

    def keeps_up(self, files: Collection[str]) -> bool:
        """Follow its rows into the files where they are now; False where they cannot be found."""
        if self.log is not None and self.rearrangements != self.log.rearrangements:
            for each in self.log.rearranged(self.rearrangements) or ():
                if each.gone <= self.paths:
                    self.paths = (self.paths - each.gone) | each.came
            self.rearrangements = self.log.rearrangements
        return all(path in files for path in self.paths)
