"""Which of a lake's tables a statement can read: so that a session need not open the others.

Law: a table that is not among them is not read, unless the statement makes up names while it runs;
then it gets an error, never other rows.
"""

import re
from collections.abc import Mapping

from pipelines.serve.views.ledgers import ARRIVALS, EPOCHS
from pipelines.serve.views.view import View
from schemas import Table

_WORD = re.compile(r"\w+")
_LITERAL = re.compile(r"'[^']*'")
"""A text within a view; it may be the name of a feed, and is no name of a table."""


def tables_read(statement: str, views: Mapping[str, View], tables: Mapping[str, Table]) -> set[str]:
    """Name the tables below the views that a statement names, and the ledgers."""
    found = {ARRIVALS.name, EPOCHS.name}
    waiting, seen = _words(statement), set[str]()
    while waiting:
        word = waiting.pop()
        seen.add(word)
        if word in views:
            waiting |= _words(_LITERAL.sub("", views[word].sql)) - seen
        if word.removeprefix("raw_") in tables and word.startswith("raw_"):
            found.add(word.removeprefix("raw_"))
    return found


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
