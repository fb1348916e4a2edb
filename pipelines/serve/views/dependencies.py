"""What of a lake a statement can read: so that a session need not open the rest.

Law: what is not named here is not read, unless the statement makes up names while it runs; then it
gets an error, never other rows.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from pipelines.serve.views.ledgers import ARRIVALS, EPOCHS
from pipelines.serve.views.view import View
from schemas import Table

_WORD = re.compile(r"\w+")
_LITERAL = re.compile(r"'[^']*'")
"""A text within a view; it may be the name of a feed, and is no name of a table."""
_CATALOG = re.compile(r"show|pragma|information_schema|sqlite_master|(duckdb|pg|pragma)_\w*")
"""A word that lists what there is."""


class Needs(NamedTuple):
    """Names of views, and of tables."""

    views: set[str]
    tables: set[str]


def needs(statement: str, views: Mapping[str, View], tables: Mapping[str, Table]) -> Needs:
    """Name the views that a statement reads, the tables below them, and the ledgers.

    One that lists what there is needs all views.
    """
    found = Needs(set(), {ARRIVALS.name, EPOCHS.name})
    waiting, seen = _words(statement), set[str]()
    if any(map(_CATALOG.fullmatch, waiting)):
        found.views.update(views)
    while waiting:
        word = waiting.pop()
        seen.add(word)
        if word in views:
            found.views.add(word)
            waiting |= _words(_LITERAL.sub("", views[word].sql)) - seen
        if word.removeprefix("raw_") in tables and word.startswith("raw_"):
            found.tables.add(word.removeprefix("raw_"))
    return found


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
