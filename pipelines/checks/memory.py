"""What was checked and passed, so that nothing unchanged is checked twice.

It is in the lake's `_cache`, a small file per lane. A unit is one of our own checks, or the
contract of one table; over all of a lane, or over the epochs of its last run.

Law: only what passed is remembered, with the fingerprint under which it did. A file that is lost,
torn or cannot be written only costs a repeated check.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from fencepost.errors import StorageError
from pipelines import places
from pipelines.checks.results import Checked
from pipelines.lake.layout import CACHE
from pipelines.places import Place

FORMAT = 1


@dataclass(frozen=True)
class Passed:
    """Checks that passed: when, and under which fingerprint."""

    key: str
    at: str
    checks: tuple[Checked, ...]


class PassedChecks:
    """What passed of one lane."""

    def __init__(self, root: Place, lane: str) -> None:
        """Read what earlier calls have left."""
        self._path = root / CACHE / f"checks-{lane}.json"
        self._known = self._read()
        self._new: dict[str, Passed | None] = {}

    def recall(self, unit: str, key: str) -> list[Checked] | None:
        """Give the checks of a unit if they passed under this very fingerprint."""
        passed = self._known.get(unit)
        if passed is None or passed.key != key:
            return None
        return [replace(checked, since=passed.at, seconds=0.0) for checked in passed.checks]

    def note(self, unit: str, key: str, at: str, made: Sequence[Checked]) -> None:
        """Remember a unit that passed, forget one that did not."""
        passed = all(checked.passed for checked in made)
        self._new[unit] = Passed(key, at, tuple(made)) if passed else None

    def keep(self) -> None:
        """Write what is new, keeping what others have written meanwhile."""
        if not self._new:
            return
        known = {**self._read(), **self._new}
        units = {unit: asdict(passed) for unit, passed in known.items() if passed is not None}
        said = json.dumps({"format": FORMAT, "units": units}) + "\n"
        with suppress(OSError, StorageError):  # a lake that can only be read, a disk that is full
            self._path.parent.mkdir(exist_ok=True)
            places.replace(self._path, said.encode())

    def _read(self) -> dict[str, Passed]:
        try:
            record: dict[str, Any] = json.loads(self._path.read_text())
            if record["format"] != FORMAT:
                return {}
            return {unit: _passed(fields) for unit, fields in record["units"].items()}
        except (OSError, StorageError, ValueError, KeyError, TypeError, AttributeError):
            return {}


def _passed(fields: dict[str, Any]) -> Passed:
    checks = tuple(Checked(**checked) for checked in fields["checks"])
    return Passed(str(fields["key"]), str(fields["at"]), checks)
