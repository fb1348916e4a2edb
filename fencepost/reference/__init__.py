"""The reference evaluator: slow, and obviously right. Tests trust it; nothing else runs it.

Law: it reads like the contract. Where the engine and this room differ, the engine is wrong.
"""

from fencepost.reference.crossings import Event, Match, holds, holds_by_text
from fencepost.reference.joins import (
    Change,
    JoinRegistration,
    JoinRows,
    Pair,
    SideDelivery,
    run_joins,
)
from fencepost.reference.order import Delivery, Registration, Sighting
from fencepost.reference.run import Rows, run
from fencepost.reference.transitions import Pending, Transition

__all__ = [
    "Change",
    "Delivery",
    "Event",
    "JoinRegistration",
    "JoinRows",
    "Match",
    "Pair",
    "Pending",
    "Registration",
    "Rows",
    "SideDelivery",
    "Sighting",
    "Transition",
    "holds",
    "holds_by_text",
    "run",
    "run_joins",
]
