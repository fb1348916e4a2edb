"""What a crossing turned into: a pass-through, a short absence, a stay, a departure (S1 §6).

The events of one query and one stream alternate, so every transition is a fact about two
neighbours, or about one event and the watermark. No windows, no linked lists: a sort, and one look
at each event and the next.
"""

from fencepost.transitions.columns import Clocks, Crossed
from fencepost.transitions.decide import KINDS, Transitions, decide
from fencepost.transitions.state import Pending

__all__ = ["KINDS", "Clocks", "Crossed", "Pending", "Transitions", "decide"]
