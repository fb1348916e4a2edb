"""What can be completed at the cursor: views, columns, keywords, commands.

Law: suggestions begin with what was typed, in any case; nothing is read but the names that the
settings declare.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pipelines.serve.views import Relation

KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "QUALIFY", "LIMIT", "OFFSET"),
    *("JOIN", "LEFT JOIN", "ON", "USING", "UNION ALL", "EXCEPT", "INTERSECT", "WITH", "AS"),
    *("AND", "OR", "NOT", "IN", "IS NULL", "IS NOT NULL", "BETWEEN", "LIKE", "ILIKE", "EXISTS"),
    *("CASE", "WHEN", "THEN", "ELSE", "END", "DISTINCT", "ASC", "DESC", "OVER", "PARTITION BY"),
    *("COUNT(*)", "SUM(", "AVG(", "MIN(", "MAX(", "COALESCE(", "CAST(", "INTERVAL", "FILTER"),
    *("DESCRIBE", "SUMMARIZE", "SHOW TABLES", "EXPLAIN", "VALUES", "NULL", "TRUE", "FALSE"),
)

_WORD = re.compile(r'(?:(?P<of>\w+)\.)?"?(?P<word>\w*)\Z')
_COMMAND = re.compile(r"\s*(?P<command>\.\w*)(?:\s+(?P<given>\w*))?\Z")
_NAMED = re.compile(r'\b(?:from|join)\s+"?(\w+)"?(?:\s+(?:as\s+)?(\w+))?', re.IGNORECASE)
_WANTS_RELATION = re.compile(r'\b(?:from|join|describe|summarize)\s+"?\w*\Z', re.IGNORECASE)


@dataclass(frozen=True)
class Suggestion:
    """A text for the last `typed` characters, and what it is."""

    text: str
    typed: int
    what: str


def suggestions(
    text: str,
    place: int,
    relations: Mapping[str, Relation],
    commands: Mapping[str, Iterable[str]],
) -> Iterator[Suggestion]:
    """Complete the word that ends at this place. `commands` has the arguments of each."""
    before = text[:place]
    command = _COMMAND.match(before)
    if command:
        yield from _of_command(command, commands)
        return
    found = _WORD.search(before)
    of, word = (found["of"], found["word"]) if found else (None, "")
    used = dict(_used(text, relations))
    if of is not None:
        yield from _columns(word, [used[of]] if of in used else [])
    elif _WANTS_RELATION.search(before):
        yield from _relations(word, relations)
    elif word:
        yield from _columns(word, used.values())
        yield from _relations(word, relations)
        yield from _fitting(word, ((keyword, "") for keyword in KEYWORDS))


def _of_command(
    command: re.Match[str], commands: Mapping[str, Iterable[str]]
) -> Iterator[Suggestion]:
    if command["given"] is None:
        yield from _fitting(command["command"], ((name, "") for name in commands))
    else:
        arguments = commands.get(command["command"], ())
        yield from _fitting(command["given"], ((name, "") for name in arguments))


def _used(text: str, relations: Mapping[str, Relation]) -> Iterator[tuple[str, Relation]]:
    """Give the relations of a statement, by their own names and by their aliases."""
    for name, alias in _NAMED.findall(text):
        relation = relations.get(name)
        if relation is not None:
            yield name, relation
            if alias:
                yield alias, relation


def _columns(word: str, of: Iterable[Relation]) -> Iterator[Suggestion]:
    columns = {column.name: column.kind for relation in of for column in relation.columns}
    return _fitting(word, columns.items())


def _relations(word: str, relations: Mapping[str, Relation]) -> Iterator[Suggestion]:
    return _fitting(word, ((name, relation.comment) for name, relation in relations.items()))


def _fitting(word: str, offered: Iterable[tuple[str, str]]) -> Iterator[Suggestion]:
    typed = word.casefold()
    for text, what in offered:
        if text.casefold().startswith(typed) and text != word:
            yield Suggestion(text, len(word), what)
