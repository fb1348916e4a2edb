"""Queries that join two feeds, or one with itself: what they say, and sets of them as columns."""

from fencepost.queries.joins.query import (
    BAND_JOIN,
    JOINS,
    NEAR_JOIN,
    WINDOW_JOIN,
    Conjunct,
    JoinQuery,
    JoinTest,
    SomeStreams,
)
from fencepost.queries.joins.sets import FOREVER, BandJoins, JoinSets, NearJoins, WindowJoins

__all__ = [
    "BAND_JOIN",
    "FOREVER",
    "JOINS",
    "NEAR_JOIN",
    "WINDOW_JOIN",
    "BandJoins",
    "Conjunct",
    "JoinQuery",
    "JoinSets",
    "JoinTest",
    "NearJoins",
    "SomeStreams",
    "WindowJoins",
]
