"""What the languages of conditions share: AND, OR, NOT, ALL, brackets, and how they refuse.

    condition = and ("OR" and)*        and = term ("AND" term)*
    term      = "NOT" term | "(" condition ")" | "ALL" | comparison

Each language defines its own comparisons. Keywords in any case; a name by its exact letters,
in double quotes where it is no plain identifier or is a keyword.

Law: a text that is read has one meaning, SQL's. Whatever else a text holds is refused with the
column (from 1) of the first place where it leaves the language. Reading is linear in the text, and
neither nesting nor length can exhaust stack or memory.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import ClassVar

from fencepost.doubles import NUMBER, parse_number
from fencepost.errors import QueryFault
from fencepost.queries.condition import All, And, CompareAxes, Condition, Not, Or
from fencepost.text import shortened

LONGEST = 2**20
DEEPEST = 200

_TOKEN = re.compile(
    r"[^\W\d]\w*"  # a keyword or an axis
    r"|[<>=!]+"
    rf"|{NUMBER.pattern}(?![\w.])"
    r"|[+-]?\.?\d[\w.]*"  # what sets out as a number and is none: 1d, 1_0, 0x1F
    r'|"(?:[^"]|"")*+"?'
    r"|'[^']*+'?"
    r"|[&|]+|\S"
)
is_word = re.compile(r"[^\W\d]\w*").fullmatch
KEYWORDS = {
    "".join(spelling): word
    for word in ("AND", "OR", "NOT", "ALL", "BETWEEN")
    for spelling in product(*zip(word, word.lower(), strict=True))
}
MIRRORED = {">": "<", ">=": "<=", "=": "=", "<": ">", "<=": ">="}
STARTS_A_NUMBER = frozenset("0123456789.+-")
COMPARISONS = "one of >, >=, =, <, <=, BETWEEN"
OPERATORS = "one of >, >=, =, <, <="
_ARITHMETIC = frozenset("+-*/%^")
_HINTS = {
    "==": "equality is one `=`",
    "=>": "write `>=`",
    "=<": "write `<=`",
    "&&": "write AND",
    "||": "write OR",
    "!": "write NOT",
    ";": "one condition, and no `;` after it",
    "IN": "write `x = 1 OR x = 2`",
    "IS": "an axis is never null",
}


def tokens_of(text: str, field: str) -> list[str]:
    """Cut a text into plain strings, "" behind the last; a refusal cuts again for its column."""
    if len(text) > LONGEST:
        raise QueryFault(f"`{field}` has {len(text):,} characters; the limit is {LONGEST:,}")
    tokens: list[str] = _TOKEN.findall(text)
    tokens.append("")
    return tokens


@contextmanager
def at_text(text: str) -> Iterator[None]:
    """Attach the whole text to a fault that is about all of it."""
    try:
        yield
    except QueryFault as fault:
        raise QueryFault(
            fault.message, column=1, text=text, width=len(text), hint=fault.hint
        ) from None


def compare_axes(left: int, op: str, right: int) -> CompareAxes:
    """Turn a comparison of two axes round where it is written from the larger side."""
    if op in (">", ">=") or (op == "=" and left > right):
        left, op, right = right, MIRRORED[op], left
    return CompareAxes(left, op, right)


class Reader(ABC):
    """One reading: the tokens, the place among them, and the brackets open there."""

    field: ClassVar[str] = "where"
    arithmetic: ClassVar[str] = "there is no arithmetic; a sign touches its digits: -5"

    def __init__(self, text: str, tokens: list[str]) -> None:
        """Begin at the first token."""
        self.text = text
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.opened: list[int] = []

    @abstractmethod
    def comparison(self, token: str) -> Condition:
        """Read what begins with this token."""

    def whole(self) -> Condition:
        """Read the whole text."""
        if not self.tokens[0]:
            raise self.fault(f"`{self.field}` is empty", "write ALL for no condition")
        condition = self.disjunction()
        if self.tokens[self.at]:
            raise self.left_over()
        return condition

    def disjunction(self) -> Condition:
        """Read conjunctions joined by OR."""
        either: list[Condition] = []
        both = [self.term()]
        while True:
            word = KEYWORDS.get(self.tokens[self.at])
            if word == "AND":
                self.at += 1
                both.append(self.term())
                continue
            either.append(both[0] if len(both) == 1 else And(tuple(both)))
            if word != "OR":
                return either[0] if len(either) == 1 else Or(tuple(either))
            self.at += 1
            both = [self.term()]

    def term(self) -> Condition:
        """Read what AND and OR join."""
        token = self.tokens[self.at]
        word = KEYWORDS.get(token)
        if word is None and token != "(":  # noqa: S105  no password
            return self.comparison(token)
        if word == "ALL":
            self.at += 1
            return All()
        if word is not None and word != "NOT":
            raise self.expected("a condition")
        if self.depth == DEEPEST:
            raise self.fault(
                f"more than {DEEPEST} brackets and NOTs inside one another at {self.here}"
            )
        self.depth += 1
        self.at += 1
        inner = Not(self.term()) if word == "NOT" else self.bracketed()
        self.depth -= 1
        return inner

    def bracketed(self) -> Condition:
        """Read up to the bracket that closes the one just passed."""
        self.opened.append(self.at - 1)
        inner = self.disjunction()
        if self.tokens[self.at] != ")":
            raise self.left_over()
        self.opened.pop()
        self.at += 1
        return inner

    def between(self) -> bool:
        """Pass `BETWEEN` or `NOT BETWEEN`; say whether it is negated."""
        negated = KEYWORDS.get(self.tokens[self.at]) == "NOT"
        if negated:
            self.at += 1
        self.keyword("BETWEEN", "BETWEEN" if negated else COMPARISONS)
        return negated

    def keyword(self, word: str, expected: str) -> None:
        """Pass a keyword, in any case; otherwise refuse with what was expected."""
        if KEYWORDS.get(self.tokens[self.at]) != word:
            raise self.expected(expected)
        self.at += 1

    def operator(self, expected: str) -> str:
        """Read a comparison's sign."""
        token = self.tokens[self.at]
        if token not in MIRRORED:
            raise self.expected(expected)
        self.at += 1
        return token

    def number(self, expected: str = "a number") -> float:
        """Read a number, its sign included."""
        token = self.tokens[self.at]
        try:
            value = parse_number(token)
        except ValueError as why:
            if token.strip("+-.")[:1].isdigit():
                raise self.fault(f"{why} ({self.here})") from None
            raise self.expected(expected) from None
        self.at += 1
        return value

    def unquoted(self, token: str) -> str:
        """Return the name that a token writes, in quotes or without."""
        if token[:1] == '"':
            if token.count('"') % 2:
                raise self.fault(f"the quote that opens at {self.here} is not closed")
            return token[1:-1].replace('""', '"')
        if not is_word(token) or token in KEYWORDS:
            raise self.expected("an axis")
        return token

    @property
    def here(self) -> str:
        """The place of the current token, for a message."""
        return f"column {self.column(self.at)}"

    def column(self, place: int) -> int:
        """Find where a token begins; the end begins behind the last one."""
        for k, found in enumerate(_TOKEN.finditer(self.text)):
            if k == place:
                return found.start() + 1
        return len(self.text.rstrip()) + 1

    def fault(self, message: str, hint: str | None = None) -> QueryFault:
        """Refuse the token at hand."""
        width = max(1, len(self.tokens[self.at]))
        column = self.column(self.at)
        return QueryFault(message, column=column, text=self.text, width=width, hint=hint)

    def left_over(self) -> QueryFault:
        """Refuse what follows a whole condition."""
        token = self.tokens[self.at]
        if token == ")":  # noqa: S105
            return self.fault(f"the `)` at {self.here} closes nothing")
        end = "`)`" if self.opened else "the end"
        if token in MIRRORED:
            return self.expected(f"AND, OR or {end}", "one comparison at a time: `1 < x AND x < 5`")
        if token:
            return self.expected(f"AND, OR or {end}")
        opened = self.column(self.opened[-1])
        return self.expected(end, f"the `(` at column {opened} is not closed")

    def expected(self, what: str, hint: str | None = None) -> QueryFault:
        """Refuse the token at hand, or the end, naming what was expected there."""
        token = self.tokens[self.at]
        if not token:
            end = shortened(self.text.rstrip()[::-1])[::-1]
            return self.fault(f"`{end}` ends where {what} was expected ({self.here})", hint)
        message = f"{what} was expected at {self.here}, not `{shortened(token)}`"
        return self.fault(message, hint or self.hint(token, what))

    def hint(self, token: str, what: str) -> str | None:  # noqa: ARG002  languages ask what
        """Say how to write what was probably meant."""
        if token in ("!=", "<>"):
            left, right = self.tokens[self.at - 1], self.tokens[self.at + 1]
            return f"write `NOT ({shortened(left)} = {shortened(right)})`"
        if token.lower() in ("nan", "inf", "infinity"):
            return "axis values are finite numbers"
        if token in _ARITHMETIC:
            return self.arithmetic
        return _HINTS.get(token.upper())
