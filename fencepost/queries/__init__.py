"""Standing queries: what they say, the boxes they amount to, and whole sets of them as columns.

`where.py` reads the condition, `fold.py` turns it into boxes, `query.py` and `jsonl.py` read
queries from JSON, `query_set.py` holds a million of them. `joins/` has the queries over two feeds.
"""

from fencepost.queries.columns import CROSSING, MATCH
from fencepost.queries.condition import (
    OPS,
    All,
    And,
    Box,
    Compare,
    CompareAxes,
    Condition,
    Not,
    Or,
    Test,
    Tests,
)
from fencepost.queries.fold import boxes
from fencepost.queries.jsonl import read_queries_jsonl
from fencepost.queries.query import Query, StandingQuery, check_query, parted, query_from_json
from fencepost.queries.query_set import QuerySet
from fencepost.queries.where import parse_match, parse_where, read_where

__all__ = [
    "CROSSING",
    "MATCH",
    "OPS",
    "All",
    "And",
    "Box",
    "Compare",
    "CompareAxes",
    "Condition",
    "Not",
    "Or",
    "Query",
    "QuerySet",
    "StandingQuery",
    "Test",
    "Tests",
    "boxes",
    "check_query",
    "parse_match",
    "parse_where",
    "parted",
    "query_from_json",
    "read_queries_jsonl",
    "read_where",
]
