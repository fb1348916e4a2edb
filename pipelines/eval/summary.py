"""What an evaluation did, as text and as JSON.

Law: read = accepted + waiting + quarantined, or there is no summary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.errors import BrokenIndex
from fencepost.text import counted
from pipelines.files.losses import Loss, lines_of

REASONS = ("malformed", "duplicate", "conflict", "late", "future")
CROSSINGS = ("I", "O")
CHANGES = ("+1", "-1")
TRANSITIONS = ("pass_through", "short_absence", "stay", "departure")


@dataclass(frozen=True)
class Summary:
    """Counts of rows; `written` are the files, `unevaluated` the queries by feed without tuples.

    `losses` is what each delivery lost. Of what no query is there to find, the count is None:
    matches, leaps, pairs, and the changes of band joins and of near joins.
    """

    deliveries: int
    read: int
    accepted: int
    waiting: int
    quarantined: Mapping[str, int]
    events: Mapping[str, int]
    transitions: Mapping[str, int]
    matches: int | None
    leaps: int | None
    pairs: int | None
    band_changes: Mapping[str, int] | None
    near_changes: Mapping[str, int] | None
    unevaluated: Mapping[str, int]
    written: Sequence[str]
    notes: Sequence[str] = field(default_factory=list)
    losses: Sequence[Loss] = field(default_factory=list)

    @property
    def is_lost(self) -> bool:
        """Whether all of some file was refused."""
        return any(loss.is_total for loss in self.losses)

    def check(self) -> None:
        """Raise if a row was lost or counted twice."""
        quarantined = sum(self.quarantined.values())
        if self.read != self.accepted + self.waiting + quarantined:
            raise BrokenIndex(
                f"{self.read} rows read, but {self.accepted} accepted, {self.waiting} "
                f"waiting and {quarantined} quarantined"
            )

    def as_json(self, seconds: float) -> dict[str, object]:
        """Give the summary as JSON."""
        return {
            "read": self.read,
            "accepted": self.accepted,
            "waiting": self.waiting,
            "quarantined": {reason: self.quarantined.get(reason, 0) for reason in REASONS},
            "events": sum(self.events.values()),
            "transitions": sum(self.transitions.values()),
            "matches": self.matches or 0,
            "leaps": self.leaps or 0,
            "pairs": self.pairs or 0,
            "band_changes": sum((self.band_changes or {}).values()),
            "near_changes": sum((self.near_changes or {}).values()),
            "events_by_type": {kind: self.events.get(kind, 0) for kind in CROSSINGS},
            "transitions_by_type": {kind: self.transitions.get(kind, 0) for kind in TRANSITIONS},
            "band_changes_by_sign": {
                sign: (self.band_changes or {}).get(sign, 0) for sign in CHANGES
            },
            "near_changes_by_sign": {
                sign: (self.near_changes or {}).get(sign, 0) for sign in CHANGES
            },
            "unevaluated": sum(self.unevaluated.values()),
            "unevaluated_by_feed": dict(self.unevaluated),
            "losses": [loss.as_json() for loss in self.losses],
            "seconds": round(seconds, 3),
        }

    def as_text(self, seconds: float) -> str:
        """Give the summary as text."""
        quarantined = sum(self.quarantined.values())
        deliveries = counted(self.deliveries, "delivery", "deliveries")
        lines = [
            f"read         {deliveries}, {self._balance(quarantined)}",
            f"crossings    {_total(self.events, CROSSINGS)}",
            f"transitions  {_total(self.transitions, TRANSITIONS)}",
        ]
        if self.matches is not None:
            lines.append(f"matches      {self.matches:,}")
        if self.leaps is not None:
            lines.append(f"leaps        {self.leaps:,}")
        if self.pairs is not None:
            lines.append(f"pairs        {self.pairs:,}")
        if self.band_changes is not None:
            lines.append(f"band changes {_total(self.band_changes, CHANGES)}")
        if self.near_changes is not None:
            lines.append(f"near changes {_total(self.near_changes, CHANGES)}")
        if quarantined:
            lines.append(f"quarantine   {_total(self.quarantined, REASONS)}")
            lines += (f"  {line}" for line in lines_of(self.losses))
        lines.append(f"written      {'  '.join(self.written)}   {seconds:.1f} s")
        return "\n".join(lines)

    def _balance(self, quarantined: int) -> str:
        waiting = f" + {self.waiting:,} waiting" if self.waiting else ""
        rows = counted(self.read, "row")
        return f"{rows} = {self.accepted:,} accepted{waiting} + {quarantined:,} quarantined"


def _total(counts: Mapping[str, int], order: Sequence[str]) -> str:
    total = sum(counts.values())
    parts = " · ".join(f"{kind} {counts[kind]:,}" for kind in order if counts.get(kind))
    return f"{total:,} ({parts})" if total else "0"
