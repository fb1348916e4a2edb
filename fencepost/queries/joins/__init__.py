"""Queries that join two feeds: what they say, and whole sets of them as columns."""

from fencepost.queries.joins.query import (
    BAND_JOIN,
    JOINS,
    WINDOW_JOIN,
    Conjunct,
    JoinQuery,
    JoinTest,
)
from fencepost.queries.joins.sets import FOREVER, BandJoins, WindowJoins

__all__ = [
    "BAND_JOIN",
    "FOREVER",
    "JOINS",
    "WINDOW_JOIN",
    "BandJoins",
    "Conjunct",
    "JoinQuery",
    "JoinTest",
    "WindowJoins",
]
