"""What is evaluated in the simulation, instead of crossings: small, and touchy about everything.

Each stream carries a running hash of its tuples, and of the registry, the watermark and the rules
that they were taken under. So a row that is lost, doubled, stale or out of order shows in every
later one.

    a tuple whose ts is a multiple of 3 waits until its stream's next      → reorder
    one whose ts is a multiple of 7 is turned away                         → quarantine
    all others are taken: an event with the new hash; an odd one pends     → events, pending
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.order import OrderRules

LOGS = ("stream_state", "reorder", "pending")


@dataclass(frozen=True)
class Item:
    """A delivery that lands: its partition, its tuples as (stream, ts), its malformed rows."""

    path: str
    key: str
    tuples: tuple[tuple[str, int], ...]
    malformed: int

    @property
    def max_ts(self) -> int | None:
        return max((ts for _, ts in self.tuples), default=None)


@dataclass
class Streams:
    """What is remembered of the streams, and what was found since `found` was last emptied."""

    heads: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    found: list[tuple[str, int, int]] = field(default_factory=list)
    turned: list[tuple[int, str, int]] = field(default_factory=list)
    accepted: int = 0

    def take(
        self,
        n: int,
        tuples: Iterable[tuple[str, int]],
        registry: str,
        mark: int | None,
        rules: OrderRules,
    ) -> None:
        """Take the tuples of one delivery."""
        under = f"{registry} {mark} {rules} {n}"
        for stream, ts in tuples:
            if ts % 7 == 0:
                self.turned.append((n, stream, ts))
                continue
            waits = self.waiting.pop(stream, None)
            if waits is not None:
                self._advance(n, stream, waits, under)
            if ts % 3 == 0:
                self.waiting[stream] = ts
            else:
                self._advance(n, stream, ts, under)

    def _advance(self, n: int, stream: str, ts: int, under: str) -> None:
        now = f"{ts} {under}".encode()
        head = zlib.crc32(now, self.heads.get(stream, 0))
        self.heads[stream] = head
        self.pending.pop(stream, None)
        if head % 2:
            self.pending[stream] = head
        self.found.append((stream, head, n))
        self.accepted += 1

    def logs(self) -> dict[str, dict[str, int]]:
        return {"stream_state": self.heads, "reorder": self.waiting, "pending": self.pending}

    def copy(self) -> "Streams":
        """The same memory, with nothing found yet."""
        return Streams(dict(self.heads), dict(self.waiting), dict(self.pending))


Rows = list[dict[str, Any]]


def changes(before: Streams, after: Streams) -> dict[str, Rows]:
    """Tell what the logs get of one epoch."""
    rows: dict[str, Rows] = {}
    for name, was in before.logs().items():
        now = after.logs()[name]
        told: Rows = [
            {"stream_id": s, "value": v, "gone": False} for s, v in now.items() if was.get(s) != v
        ]
        told += [{"stream_id": s, "value": v, "gone": True} for s, v in was.items() if s not in now]
        rows[name] = told
    return rows


def whole(state: Streams) -> dict[str, Rows]:
    """Tell the whole state, for a snapshot."""
    return {
        name: [{"stream_id": s, "value": v, "gone": False} for s, v in now.items()]
        for name, now in state.logs().items()
    }


def newest(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Read a log: of each stream the newest row that counts, unless it is gone."""
    latest: dict[str, Mapping[str, Any]] = {}
    for row in sorted(rows, key=lambda row: row["epoch"]):
        latest[row["stream_id"]] = row
    return {stream: row["value"] for stream, row in latest.items() if not row["gone"]}
