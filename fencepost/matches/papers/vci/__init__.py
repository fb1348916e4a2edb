"""S2 in one axis: virtual construct intervals, and a list of queries at every position.

An axis becomes integers (`grid`), intervals at each of them are numbered once and for all
(`construct`), and a query is in the lists of those intervals that it is cut into. The queries that
hold a point are then in the lists of the intervals around it, whose numbers are known beforehand.
"""

from fencepost.matches.papers.vci.bit_vector import LciBv
from fencepost.matches.papers.vci.construct import Construct, decompose
from fencepost.matches.papers.vci.grid import PositionGrid
from fencepost.matches.papers.vci.index import Dlist, Lci, Sci
from fencepost.matches.papers.vci.length import optimal_length

__all__ = [
    "Construct",
    "Dlist",
    "Lci",
    "LciBv",
    "PositionGrid",
    "Sci",
    "decompose",
    "optimal_length",
]
