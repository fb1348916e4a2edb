"""Which standing queries hold a point, or each point of a batch (S2, S3).

`matcher.py` answers for a set of queries; beneath it any of the indexes of `index.py`, by name or
as `auto` chooses: those of the papers, and those that beat them today.
"""

from fencepost.matches.boxes import Boxes
from fencepost.matches.found import Found
from fencepost.matches.index import KINDS, BoxIndex, named

__all__ = ["KINDS", "BoxIndex", "Boxes", "Found", "named"]
