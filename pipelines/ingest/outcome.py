"""What became of a delivery: its counts, or why it was refused.

Law: rows = tuples + malformed + future.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from pipelines.lake.data_files import added

UNREADABLE = "unreadable"
VANISHED = "vanished"
REWRITTEN = "rewritten"
UPDATES = "updates"
MOST_WORDS = 2000
"""Characters of a reason in words; a file of a thousand columns can say more than anybody reads."""


class Turned(Exception):
    """A delivery that cannot be taken: `reason` in a word, `detail` in words."""

    def __init__(self, reason: str, detail: str) -> None:
        """Keep the words short enough for a ledger."""
        super().__init__(detail)
        self.reason = reason
        self.detail = detail if len(detail) <= MOST_WORDS else detail[: MOST_WORDS - 1] + "…"


@dataclass(frozen=True)
class Outcome:
    """Of one delivery, or of a part of it.

    max_ts       µs; None where there is no tuple
    ignored      columns that nobody asked for
    hash, aside  of its tuples and of its rows in quarantine, whatever their order
    reason       why it was refused, in a word; None: it was taken
    """

    n: int
    rows: int = 0
    tuples: int = 0
    malformed: int = 0
    future: int = 0
    max_ts: int | None = None
    ignored: tuple[str, ...] = ()
    hash: int = 0
    aside: int = 0
    reason: str | None = None
    detail: str | None = None

    @classmethod
    def refused(cls, n: int, why: Turned) -> Self:
        """Nothing of it was taken."""
        return cls(n, reason=why.reason, detail=why.detail)

    def and_then(self, other: "Outcome") -> "Outcome":
        """Put two parts of a delivery together; one that is refused refuses all."""
        if self.reason is not None or other.reason is not None:
            return self if self.reason is not None else other
        times = [ts for ts in (self.max_ts, other.max_ts) if ts is not None]
        return Outcome(
            self.n,
            self.rows + other.rows,
            self.tuples + other.tuples,
            self.malformed + other.malformed,
            self.future + other.future,
            max(times, default=None),
            tuple(dict.fromkeys((*self.ignored, *other.ignored))),
            added(self.hash, other.hash),
            added(self.aside, other.aside),
        )

    def as_json(self) -> dict[str, Any]:
        """Lay it out for a task's answer."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Take it back."""
        return cls(**{**fields, "ignored": tuple(fields["ignored"])})
