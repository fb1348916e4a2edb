"""The `where` language: SQL's comparisons over the axes of a feed, and nothing else.

    where      = and ("OR" and)*                   and = term ("AND" term)*
    term       = "NOT" term | "(" where ")" | "ALL" | comparison
    comparison = axis op number | number op axis | axis ["NOT"] "BETWEEN" number "AND" number
               | axis op axis  (of a `match` only)
    op         = ">" | ">=" | "=" | "<" | "<="

Keywords in any case; an axis by its exact name, in double quotes where that is no plain identifier
or is a keyword.

Law: a text that is read has one meaning, SQL's. Whatever else a text holds is refused with the
column (from 1) of the first place where it leaves the language. Reading is linear in the text, and
neither nesting nor length can exhaust stack or memory.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import product
from math import inf

from fencepost.doubles import NUMBER, next_double, parse_number
from fencepost.errors import QueryFault
from fencepost.queries.condition import (
    All,
    And,
    Box,
    Compare,
    CompareAxes,
    Condition,
    Not,
    Or,
    Tests,
)
from fencepost.queries.folding import boxes, is_range, ranges, tested_boxes
from fencepost.queries.wording import did_you_mean, shortened

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
_IS_WORD = re.compile(r"[^\W\d]\w*").fullmatch
_KEYWORDS = {
    "".join(spelling): word
    for word in ("AND", "OR", "NOT", "ALL", "BETWEEN")
    for spelling in product(*zip(word, word.lower(), strict=True))
}
_MIRRORED = {">": "<", ">=": "<=", "=": "=", "<": ">", "<=": ">="}
_STARTS_A_NUMBER = frozenset("0123456789.+-")
_COMPARISONS = "one of >, >=, =, <, <=, BETWEEN"
_NO_ARITHMETIC = "there is no arithmetic; a sign touches its digits: -5"
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
    **dict.fromkeys("+-*/%^", _NO_ARITHMETIC),
}


def parse_where(text: str, axes: Sequence[str], feed: str | None = None) -> tuple[Box, ...]:
    """Read a `where` into boxes; a refusal names the place, and the feed where it is given.

    (Measured) 125 K to 200 K plain conjunctions a second on a quiet core, 45 K short texts with
    brackets and OR.
    """
    tokens = _tokens(text)
    box = _plain_box(tokens, tuple(axes))
    if box is not None:
        return (box,)
    condition = _Reader(text, tokens, axes, feed).whole()
    with _told_of(text):
        return boxes(condition, len(axes))


def parse_match(
    text: str, axes: Sequence[str], feed: str | None = None
) -> tuple[tuple[Box, ...], tuple[Tests, ...]]:
    """Read the `where` of a match into boxes, and the tests of each: () where none has any."""
    tokens = _tokens(text)
    box = _plain_box(tokens, tuple(axes))
    if box is not None:
        return (box,), ()
    condition = _Reader(text, tokens, axes, feed, compares_axes=True).whole()
    with _told_of(text):
        return tested_boxes(condition, len(axes))


def read_where(
    text: str, axes: Sequence[str] | None, feed: str | None = None, *, compares_axes: bool = False
) -> Condition:
    """Read a `where` into a condition; with axes None, of a feed unknown, any name is an axis.

    Only where it may compare two axes, as that of a match may, is `axis op axis` taken.
    """
    return _Reader(text, _tokens(text), axes, feed, compares_axes=compares_axes).whole()


@contextmanager
def _told_of(text: str) -> Iterator[None]:
    """Give what is wrong with a whole text the text."""
    try:
        yield
    except QueryFault as fault:
        raise QueryFault(
            fault.message, column=1, text=text, width=len(text), hint=fault.hint
        ) from None


def _tokens(text: str) -> list[str]:
    """Cut a text into plain strings, "" behind the last; a refusal cuts again for its column."""
    if len(text) > LONGEST:
        raise QueryFault(f"`where` has {len(text):,} characters; at most {LONGEST:,} are taken")
    tokens: list[str] = _TOKEN.findall(text)
    tokens.append("")
    return tokens


def _plain_box(tokens: list[str], axes: tuple[str, ...]) -> Box | None:
    """Take `axis op number` and `axis BETWEEN a AND b`, joined by AND, straight to their box.

    None for any other text, one that holds for no value or is at fault among them: the reader below
    says what it is. Most queries are written so, and without tree and folding they take a third of
    the time.
    """
    places = _plain_axes(axes)
    lo, hi = [-inf] * len(axes), [inf] * len(axes)
    at = 0
    try:
        while True:
            axis, op, a = places[tokens[at]], tokens[at + 1], parse_number(tokens[at + 2])
            at += 3
            if op in _MIRRORED:
                begin, end = ranges(op, a)[0]
            elif _KEYWORDS[op] == "BETWEEN" and _KEYWORDS[tokens[at]] == "AND":
                begin, end = a, next_double(parse_number(tokens[at + 1]))
                at += 2
            else:
                return None
            lo[axis], hi[axis] = max(lo[axis], begin), min(hi[axis], end)
            if not tokens[at]:
                break
            if _KEYWORDS[tokens[at]] != "AND":
                return None
            at += 1
    except (KeyError, ValueError, IndexError):
        return None
    return tuple(zip(lo, hi, strict=True)) if all(map(is_range, lo, hi)) else None


@lru_cache(maxsize=64)
def _plain_axes(axes: tuple[str, ...]) -> dict[str, int]:
    """Give the place of every axis whose name needs no quotes."""
    return {
        name: place for place, name in enumerate(axes) if _IS_WORD(name) and name not in _KEYWORDS
    }


class _Reader:
    """One reading: the tokens, the place among them, and the brackets open there."""

    def __init__(
        self,
        text: str,
        tokens: list[str],
        axes: Sequence[str] | None,
        feed: str | None,
        *,
        compares_axes: bool = False,
    ) -> None:
        self.text = text
        self.tokens = tokens
        self.feed = feed
        self.compares_axes = compares_axes
        self.at = 0
        self.depth = 0
        self.opened: list[int] = []
        self.any_axis = axes is None
        self.axes = {} if axes is None else {name: place for place, name in enumerate(axes)}

    def whole(self) -> Condition:
        """Read the whole text."""
        if not self.tokens[0]:
            raise self.fault("`where` is empty", "write ALL for no condition")
        condition = self.disjunction()
        if self.tokens[self.at]:
            raise self.left_over()
        return condition

    def disjunction(self) -> Condition:
        """Read conjunctions joined by OR."""
        either: list[Condition] = []
        both = [self.term()]
        while True:
            word = _KEYWORDS.get(self.tokens[self.at])
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
        token = self.tokens[self.at]
        word = _KEYWORDS.get(token)
        if word is None and token != "(":
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
        self.opened.append(self.at - 1)
        inner = self.disjunction()
        if self.tokens[self.at] != ")":
            raise self.left_over()
        self.opened.pop()
        self.at += 1
        return inner

    def comparison(self, token: str) -> Condition:
        """Read `axis op number`, `number op axis`, `axis op axis` or `axis [NOT] BETWEEN …`."""
        if token[:1] in _STARTS_A_NUMBER:
            value = self.number()
            op = self.operator("one of >, >=, =, <, <=")
            return Compare(self.axis(), _MIRRORED[op], value)
        axis = self.axis()
        word = _KEYWORDS.get(self.tokens[self.at])
        if word is None:
            op = self.operator(_COMPARISONS)
            if self.compares_axes and self.is_at_axis():
                return _of_axes(axis, op, self.axis())
            return Compare(axis, op, self.number(self.operand))
        if word == "NOT":
            self.at += 1
        self.keyword("BETWEEN", "BETWEEN" if word == "NOT" else _COMPARISONS)
        low = self.number()
        self.keyword("AND", "AND and the upper bound")
        between = And((Compare(axis, ">=", low), Compare(axis, "<=", self.number())))
        return Not(between) if word == "NOT" else between

    def keyword(self, word: str, expected: str) -> None:
        if _KEYWORDS.get(self.tokens[self.at]) != word:
            raise self.expected(expected)
        self.at += 1

    def operator(self, expected: str) -> str:
        token = self.tokens[self.at]
        if token not in _MIRRORED:
            raise self.expected(expected)
        self.at += 1
        return token

    @property
    def operand(self) -> str:
        return "a number or an axis" if self.compares_axes else "a number"

    def number(self, expected: str = "a number") -> float:
        token = self.tokens[self.at]
        try:
            value = parse_number(token)
        except ValueError as why:
            if token.strip("+-.")[:1].isdigit():
                raise self.fault(f"{why} ({self.here})") from None
            raise self.expected(expected) from None
        self.at += 1
        return value

    def axis(self) -> int:
        token = self.tokens[self.at]
        place = self.axes.get(token)
        if place is None or token in _KEYWORDS or not _IS_WORD(token):
            place = self.quoted_or_new(token)
        self.at += 1
        return place

    def is_at_axis(self) -> bool:
        token = self.tokens[self.at]
        return token[:1] == '"' or bool(_IS_WORD(token) and token not in _KEYWORDS)

    def quoted_or_new(self, token: str) -> int:
        name = token
        if token[:1] == '"':
            if token.count('"') % 2:
                raise self.fault(f"the quote that opens at {self.here} is not closed")
            name = token[1:-1].replace('""', '"')
        elif not _IS_WORD(token) or token in _KEYWORDS:
            raise self.expected("an axis")
        if self.any_axis:
            return self.axes.setdefault(name, len(self.axes))
        if name not in self.axes:
            raise self.unknown(name)
        return self.axes[name]

    @property
    def here(self) -> str:
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

    def unknown(self, name: str) -> QueryFault:
        shown = shortened(name)
        if self.tokens[self.at + 1] == "(":
            return self.fault(f"`{shown}(` at {self.here} would be a function: there are none")
        whose = "the axes are" if self.feed is None else f"the feed '{self.feed}' has"
        hint = f"{whose}: {', '.join(self.axes)}.{did_you_mean(name, self.axes)}"
        return self.fault(f"unknown axis '{shown}' in `where` at {self.here}", hint)

    def left_over(self) -> QueryFault:
        """Refuse what follows a whole condition."""
        token = self.tokens[self.at]
        if token == ")":
            return self.fault(f"the `)` at {self.here} closes nothing")
        end = "`)`" if self.opened else "the end"
        if token in _MIRRORED:
            return self.expected(f"AND, OR or {end}", "one comparison at a time: `1 < x AND x < 5`")
        if token:
            return self.expected(f"AND, OR or {end}")
        opened = self.column(self.opened[-1])
        return self.expected(end, f"the `(` at column {opened} is not closed")

    def expected(self, what: str, hint: str | None = None) -> QueryFault:
        """Refuse the token at hand, or the end, for what should stand there."""
        token = self.tokens[self.at]
        if not token:
            end = shortened(self.text.rstrip()[::-1])[::-1]
            return self.fault(f"`{end}` ends where {what} was expected ({self.here})", hint)
        message = f"{what} was expected at {self.here}, not `{shortened(token)}`"
        return self.fault(message, hint or self.hint(token, what))

    def hint(self, token: str, what: str) -> str | None:
        """Say how to write what was probably meant."""
        if token in ("!=", "<>"):
            left, right = self.tokens[self.at - 1], self.tokens[self.at + 1]
            return f"write `NOT ({shortened(left)} = {shortened(right)})`"
        if token[0] in "'\"" and what in ("a number", self.operand):
            return "axes are compared with numbers; streams are named in `streams`"
        if what == "a number" and token in self.axes:
            if self.compares_axes:
                return "BETWEEN takes numbers: write `a <= x AND x <= b`"
            return "only `match` queries compare two axes"
        if token.lower() in ("nan", "inf", "infinity"):
            return "axis values are finite numbers"
        return _HINTS.get(token.upper())


def _of_axes(left: int, op: str, right: int) -> CompareAxes:
    """Turn a comparison of two axes round where it is written from the larger side."""
    if op in (">", ">=") or (op == "=" and left > right):
        left, op, right = right, _MIRRORED[op], left
    return CompareAxes(left, op, right)
