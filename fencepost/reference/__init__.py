"""The reference evaluator: slow, and obviously right. Tests trust it; nothing else runs it.

Law: it reads like the contract. Where the engine and this room differ, the engine is wrong.
"""

from fencepost.reference.crossings import Event, Match, holds, holds_by_text
from fencepost.reference.order import Delivery, Registration, Sighting
from fencepost.reference.run import Rows, run
from fencepost.reference.transitions import Pending, Transition

__all__ = [
    "Delivery",
    "Event",
    "Match",
    "Pending",
    "Registration",
    "Rows",
    "Sighting",
    "Transition",
    "holds",
    "holds_by_text",
    "run",
]
