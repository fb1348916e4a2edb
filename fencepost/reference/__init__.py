"""The reference evaluator: slow, and obviously right. Tests trust it; nothing else runs it.

Law: it reads like the contract. Where the engine and this room differ, the engine is wrong.
"""

from fencepost.reference.crossings import Event, Match, holds, holds_by_text
from fencepost.reference.joins import (
    Change,
    JoinRegistration,
    JoinRunResult,
    Pair,
    SideDelivery,
    run_joins,
)
from fencepost.reference.near import NearChange
from fencepost.reference.order import FeedDelivery, Registration, Sighting
from fencepost.reference.run import RunResult, run
from fencepost.reference.transitions import PendingEvent, Transition

__all__ = [
    "Change",
    "Event",
    "FeedDelivery",
    "JoinRegistration",
    "JoinRunResult",
    "Match",
    "NearChange",
    "Pair",
    "PendingEvent",
    "Registration",
    "RunResult",
    "SideDelivery",
    "Sighting",
    "Transition",
    "holds",
    "holds_by_text",
    "run",
    "run_joins",
]
