"""Which standing queries hold a point, or each point of a batch (S2, S3).

`matcher.py` answers for a set of queries; beneath it any of the indexes of `index.py`, by name or
as `auto` chooses: those of the papers, and those that beat them today.
"""

from fencepost.matches.auto import Choice
from fencepost.matches.boxes import Boxes
from fencepost.matches.exact import AxisTests, ConvexPolygons, Exact
from fencepost.matches.found import Found
from fencepost.matches.index import KINDS, BoxIndex, named
from fencepost.matches.matcher import Asked, Matcher
from fencepost.matches.regions import Regions

__all__ = [
    "KINDS",
    "Asked",
    "AxisTests",
    "BoxIndex",
    "Boxes",
    "Choice",
    "ConvexPolygons",
    "Exact",
    "Found",
    "Matcher",
    "Regions",
    "named",
]
