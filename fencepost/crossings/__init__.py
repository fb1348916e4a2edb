"""Which standing queries did a step of a stream enter or leave?

The posts are the ends of all queries, sorted. A step from p to c passes the posts between them and
no others, so only the queries that begin or end there can have changed: that is the whole idea
(BMQ-Index, S0 §3).

Law: for every query q, a step (p, c) gives I iff q does not hold p and holds c, O iff it holds p
and does not hold c.
"""

from fencepost.crossings.index import BorderIndex
from fencepost.crossings.state import Heads
from fencepost.crossings.walk import Walk, walk

__all__ = ["BorderIndex", "Heads", "Walk", "walk"]
