"""Which standing queries hold a point, or each point of a batch (S2, S3).

`matcher.py` answers for a set of queries; beneath it any of the indexes of `index.py`, by name or
as `auto` chooses: those of the papers, and those that beat them today.
"""

from fencepost.matches.auto import IndexChoice
from fencepost.matches.boxes import Boxes
from fencepost.matches.exact import AxisTests, ConvexPolygons, Exact
from fencepost.matches.index import KINDS, BoxIndex, named
from fencepost.matches.matcher import Matcher, ProbeInput
from fencepost.matches.regions import Regions
from fencepost.matches.result import ProbeResult

__all__ = [
    "KINDS",
    "AxisTests",
    "BoxIndex",
    "Boxes",
    "ConvexPolygons",
    "Exact",
    "IndexChoice",
    "Matcher",
    "ProbeInput",
    "ProbeResult",
    "Regions",
    "named",
]
