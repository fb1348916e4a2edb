"""How the deliveries of a feed are ordered and judged, as the ledgers record it.

Law: a delivery is judged as was declared when it was planned, whatever is declared now. One from
before this was recorded is judged as before: the first of an instant counts, and the lateness is
the declared one.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fencepost.order import OrderRules, Ties

SEQUENCE_KEY = "sequence_column"
"""In a record: the column that orders the tuples of one instant."""

BY_FEED, BY_STREAM = "feed", "stream"
"""Whose watermark a tuple waits for."""


def as_json(rules: OrderRules) -> dict[str, Any]:
    """Give rules as the ledgers record them; times in µs."""
    return {
        "ties": rules.ties,
        "allowed_lateness": rules.lateness,
        "lateness_by": BY_FEED if rules.idle is None else BY_STREAM,
        "idle": rules.idle,
    }


def of_json(fields: Mapping[str, Any]) -> OrderRules:
    """Take rules from such a record."""
    idle = fields["idle"] if fields["lateness_by"] == BY_STREAM else None
    return OrderRules(fields["ties"], fields["allowed_lateness"], idle)


@dataclass(frozen=True)
class Record:
    """What the record of a delivery says of how it is judged.

    rules      None: not recorded
    sequenced  whether its tuples have a sequence
    """

    rules: OrderRules | None = None
    sequenced: bool = False

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, declared: str | None) -> "Record":
        """Read a record; most deliveries of a feed have the same."""
        fields = json.loads(declared or "{}")
        rules = of_json(fields) if "ties" in fields else None
        return cls(rules, SEQUENCE_KEY in fields)

    @property
    def ties(self) -> Ties:
        """What became of several tuples of one instant."""
        return "first" if self.rules is None else self.rules.ties


def unrecorded(lateness: int) -> OrderRules:
    """Give the rules of deliveries from before there were records, by the declared lateness."""
    return OrderRules("first", lateness)


def by_feed(rules: Mapping[str, OrderRules]) -> str:
    """Write the rules of an epoch's feeds as JSON."""
    return json.dumps({feed: as_json(own) for feed, own in rules.items()})


def of_feeds(declared: str | None) -> dict[str, OrderRules]:
    """Read the rules of an epoch's feeds; empty where they were not recorded."""
    return {feed: of_json(own) for feed, own in json.loads(declared or "{}").items()}
