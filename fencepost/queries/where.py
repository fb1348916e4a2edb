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

from collections.abc import Sequence
from functools import lru_cache
from math import inf

from fencepost.doubles import next_double, parse_number
from fencepost.errors import QueryFault
from fencepost.queries.condition import And, Box, Compare, Condition, Not, Tests
from fencepost.queries.fold import boxes, is_range, ranges, tested_boxes
from fencepost.queries.grammar import (
    COMPARISONS,
    KEYWORDS,
    MIRRORED,
    OPERATORS,
    STARTS_A_NUMBER,
    Reader,
    at_text,
    compare_axes,
    is_word,
    tokens_of,
)
from fencepost.text import did_you_mean, shortened


def parse_where(text: str, axes: Sequence[str], feed: str | None = None) -> tuple[Box, ...]:
    """Read a `where` into boxes; a refusal names the place, and the feed where it is given.

    (Measured) 125 K to 200 K plain conjunctions a second on a quiet core, 45 K short texts with
    brackets and OR.
    """
    tokens = tokens_of(text, "where")
    box = _plain_box(tokens, tuple(axes))
    if box is not None:
        return (box,)
    condition = _Reader(text, tokens, axes, feed).whole()
    with at_text(text):
        return boxes(condition, len(axes))


def parse_match(
    text: str, axes: Sequence[str], feed: str | None = None
) -> tuple[tuple[Box, ...], tuple[Tests, ...]]:
    """Read the `where` of a match into boxes, and the tests of each: () where none has any."""
    tokens = tokens_of(text, "where")
    box = _plain_box(tokens, tuple(axes))
    if box is not None:
        return (box,), ()
    condition = _Reader(text, tokens, axes, feed, compares_axes=True).whole()
    with at_text(text):
        return tested_boxes(condition, len(axes))


def read_where(
    text: str, axes: Sequence[str] | None, feed: str | None = None, *, compares_axes: bool = False
) -> Condition:
    """Read a `where` into a condition; with axes None, of a feed unknown, any name is an axis.

    Only where it may compare two axes, as that of a match may, is `axis op axis` allowed.
    """
    return _Reader(text, tokens_of(text, "where"), axes, feed, compares_axes=compares_axes).whole()


def _plain_box(tokens: list[str], axes: tuple[str, ...]) -> Box | None:
    """Read `axis op number` and `axis BETWEEN a AND b`, joined by AND, straight to their box.

    None for any other text, one that holds for no value or is at fault among them: the reader below
    says what it is. Most queries are written so, and without tree and folding they are read in a
    third of the time.
    """
    places = _plain_axes(axes)
    lo, hi = [-inf] * len(axes), [inf] * len(axes)
    at = 0
    try:
        while True:
            axis, op, a = places[tokens[at]], tokens[at + 1], parse_number(tokens[at + 2])
            at += 3
            if op in MIRRORED:
                begin, end = ranges(op, a)[0]
            elif KEYWORDS[op] == "BETWEEN" and KEYWORDS[tokens[at]] == "AND":
                begin, end = a, next_double(parse_number(tokens[at + 1]))
                at += 2
            else:
                return None
            lo[axis], hi[axis] = max(lo[axis], begin), min(hi[axis], end)
            if not tokens[at]:
                break
            if KEYWORDS[tokens[at]] != "AND":
                return None
            at += 1
    except (KeyError, ValueError, IndexError):
        return None
    return tuple(zip(lo, hi, strict=True)) if all(map(is_range, lo, hi)) else None


@lru_cache(maxsize=64)
def _plain_axes(axes: tuple[str, ...]) -> dict[str, int]:
    """Return the place of every axis whose name needs no quotes."""
    return {
        name: place for place, name in enumerate(axes) if is_word(name) and name not in KEYWORDS
    }


class _Reader(Reader):
    """A reading of the condition of one feed."""

    def __init__(
        self,
        text: str,
        tokens: list[str],
        axes: Sequence[str] | None,
        feed: str | None,
        *,
        compares_axes: bool = False,
    ) -> None:
        super().__init__(text, tokens)
        self.feed = feed
        self.compares_axes = compares_axes
        self.any_axis = axes is None
        self.axes = {} if axes is None else {name: place for place, name in enumerate(axes)}

    def comparison(self, token: str) -> Condition:
        """Read `axis op number`, `number op axis`, `axis op axis` or `axis [NOT] BETWEEN …`."""
        if token[:1] in STARTS_A_NUMBER:
            value = self.number()
            op = self.operator(OPERATORS)
            return Compare(self.axis(), MIRRORED[op], value)
        axis = self.axis()
        if KEYWORDS.get(self.tokens[self.at]) is None:
            op = self.operator(COMPARISONS)
            if self.compares_axes and self.is_at_axis():
                return compare_axes(axis, op, self.axis())
            return Compare(axis, op, self.number(self.operand))
        negated = self.between()
        low = self.number()
        self.keyword("AND", "AND and the upper bound")
        within = And((Compare(axis, ">=", low), Compare(axis, "<=", self.number())))
        return Not(within) if negated else within

    @property
    def operand(self) -> str:
        return "a number or an axis" if self.compares_axes else "a number"

    def axis(self) -> int:
        token = self.tokens[self.at]
        place = self.axes.get(token)
        if place is None or token in KEYWORDS or not is_word(token):
            place = self.quoted_or_new(token)
        self.at += 1
        return place

    def is_at_axis(self) -> bool:
        token = self.tokens[self.at]
        return token[:1] == '"' or bool(is_word(token) and token not in KEYWORDS)

    def quoted_or_new(self, token: str) -> int:
        name = self.unquoted(token)
        if self.any_axis:
            return self.axes.setdefault(name, len(self.axes))
        if name not in self.axes:
            raise self.unknown(name)
        return self.axes[name]

    def unknown(self, name: str) -> QueryFault:
        shown = shortened(name)
        if self.tokens[self.at + 1] == "(":
            return self.fault(f"`{shown}(` at {self.here} would be a function: there are none")
        whose = "the axes are" if self.feed is None else f"the feed '{self.feed}' has"
        hint = f"{whose}: {', '.join(self.axes)}.{did_you_mean(name, self.axes)}"
        return self.fault(f"unknown axis '{shown}' in `where` at {self.here}", hint)

    def hint(self, token: str, what: str) -> str | None:
        """Say how to write what was probably meant."""
        if token[0] in "'\"" and what in ("a number", self.operand):
            return "axes are compared with numbers; streams are named in `streams`"
        if what == "a number" and token in self.axes:
            if self.compares_axes:
                return "BETWEEN takes numbers: write `a <= x AND x <= b`"
            return "only `match` queries compare two axes"
        return super().hint(token, what)
