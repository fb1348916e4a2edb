"""What two tuples must be to one another: the `on` and the `where` of a window join, as conjuncts.

    on         terms joined as in `where`          side  = "left" | "right"
    term       = operand op operand | operand ["NOT"] "BETWEEN" operand "AND" operand
    operand    = side "." axis [("+" | "-") number]

`on` compares axes with axes, `where` axes with numbers: each refuses what belongs in the other.
The sign before a number may touch it or not: `right.volume -10` is `right.volume - 10`.

Law: values of both feeds satisfy `on` and `where` as SQL reads them iff they satisfy one of the
conjuncts. No conjunct has an empty box, none occurs twice, and NOT is exact: what is added to an
axis yields infinity at most, never NaN.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import ClassVar

from fencepost.errors import QueryFault
from fencepost.queries.condition import All, And, Compare, CompareAxes, Condition, Not, Test
from fencepost.queries.fold import MOST_BOXES, is_range, ranges, refuse_none_or_many, regions
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
from fencepost.queries.joins.query import Conjunct, JoinTest
from fencepost.queries.relations import Region, related, settled, tests_of
from fencepost.text import did_you_mean, shortened

SIDES = ("left", "right")
_OPERAND = "`left.` or `right.` and an axis"
_TOGETHER = "`on` with `where`"

Feeds = tuple[str, str]
SideAxes = tuple[Sequence[str] | None, Sequence[str] | None]
"""The axes of the left and of the right feed; None: not known, any name is an axis."""


def parse_join(
    on: str, where: str | None, feeds: Feeds, axes: tuple[Sequence[str], Sequence[str]]
) -> tuple[Conjunct, ...]:
    """Read `on` and `where` into conjuncts; QueryFault with its place where one cannot be read."""
    readings = Readings(feeds, axes)
    each = [readings.on(on)]
    if where is not None:
        each.append(readings.where(where))
    return readings.conjuncts([text for text in (on, where) if text is not None], each)


class Readings:
    """The readings of one query's texts: what its operands are is noted while they are read.

    An axis is its own number, counted over both feeds; whatever is added to one has a number from
    there on.
    """

    def __init__(self, feeds: Feeds, axes: SideAxes) -> None:
        """Begin with the axes alone; the tokens of a text are read once."""
        left, right = (None if own is None else tuple(own) for own in axes)
        self.feeds = feeds
        self.any_axis = [side for side, own in (("left", left), ("right", right)) if own is None]
        self.axes, self.d = _numbered(left or (), right or ())
        if self.any_axis:  # names are noted as they come
            self.axes = {side: dict(own) for side, own in self.axes.items()}
        self.sums: dict[tuple[int, float], int] = {}

    def on(self, text: str) -> Condition:
        """Read what two axes must be to one another."""
        return _OnReader(text, tokens_of(text, "on"), self).whole()

    def where(self, text: str) -> Condition:
        """Read what single axes must be."""
        return _WhereReader(text, tokens_of(text, "where"), self).whole()

    def place(self, axis: int, plus: float) -> int:
        """Return the number of an operand."""
        return self.sums.setdefault((axis, plus), self.d + len(self.sums)) if plus else axis

    def conjuncts(
        self, texts: Sequence[str], conditions: Sequence[Condition]
    ) -> tuple[Conjunct, ...]:
        """Fold conditions that must all hold; a refusal quotes the text that is at fault."""
        whole = conditions[0] if len(conditions) == 1 else And(tuple(conditions))
        plain = self._plain(whole)
        if plain is not None:
            return (plain,)
        try:
            return self._folded(whole, _TOGETHER)
        except QueryFault:
            for field, text, each in zip(("on", "where"), texts, conditions, strict=False):
                with at_text(text):
                    self._folded(each, f"`{field}`")
            with at_text(texts[-1]):
                raise

    def _plain(self, condition: Condition) -> Conjunct | None:
        """Fold what only AND joins, as most queries are written; None for any other.

        None, too, where it holds for nothing: the folding of all says what is at fault.
        """
        box = [(-inf, inf)] * self.d
        pairs: dict[tuple[int, int], int] = {}
        left = [condition]
        while left:
            term = left.pop()
            if isinstance(term, And):
                left += term.terms
            elif isinstance(term, Compare):
                begin, end = ranges(term.op, term.value)[0]
                lo, hi = box[term.axis]
                box[term.axis] = max(lo, begin), min(hi, end)
                if not is_range(*box[term.axis]):
                    return None
            elif isinstance(term, CompareAxes):
                alternatives = related(term, wanted=True)
                if not alternatives:
                    return None
                for a, b, allowed in alternatives[0]:
                    pairs[a, b] = pairs.get((a, b), allowed) & allowed
            elif not isinstance(term, All):
                return None
        if len(pairs) > MOST_BOXES or not all(pairs.values()):
            return None
        relations = tuple([(a, b, pairs[a, b]) for a, b in sorted(pairs)])
        return self._settled((tuple(box), relations), self._operands())

    def _operands(self) -> list[tuple[int, float]]:
        return [*((axis, 0.0) for axis in range(self.d)), *self.sums]

    def _folded(self, condition: Condition, name: str) -> tuple[Conjunct, ...]:
        operands = self._operands()
        found = (self._settled(each, operands) for each in regions(condition, self.d, name))
        distinct = dict.fromkeys(each for each in found if each is not None)
        refuse_none_or_many(len(distinct), name)
        return tuple(sorted(distinct))  # another wording of the same is equal, to the bit

    def _settled(self, region: Region, operands: Sequence[tuple[int, float]]) -> Conjunct | None:
        """Narrow the box by what bare axes say of one another; sums stay beside it as tests."""
        box, relations = region
        if not relations:
            return Conjunct(box)
        bare = tuple(each for each in relations if each[1] < self.d)
        drawn = settled(box, bare)
        if drawn is None:
            return None
        box, tests = drawn
        if len(bare) < len(relations):
            summed = tuple(each for each in relations if each[1] >= self.d)
            tests = (*tests, *tests_of(summed))
        return Conjunct(box, tuple(sorted(_as_join_test(test, operands) for test in tests)))


@lru_cache(maxsize=64)
def _numbered(
    left: tuple[str, ...], right: tuple[str, ...]
) -> tuple[dict[str, dict[str, int]], int]:
    """Number the axes of both feeds; return how many there are, too."""
    d = len(left)
    of_right = {name: d + place for place, name in enumerate(right)}
    return {"left": {name: k for k, name in enumerate(left)}, "right": of_right}, d + len(right)


def _as_join_test(test: Test, operands: Sequence[tuple[int, float]]) -> JoinTest:
    one, op, other = test
    left, right = operands[one], operands[other]
    if op == "=" and left > right:
        left, right = right, left
    return JoinTest(*left, op, *right)


class _SidesReader(Reader):
    """Reads `side.axis`, which both texts share."""

    def __init__(self, text: str, tokens: list[str], readings: Readings) -> None:
        super().__init__(text, tokens)
        self.readings = readings

    def axis(self) -> int:
        """Read `side.axis`; return the axis's place over both feeds."""
        tokens, side = self.tokens, self.tokens[self.at]
        axes = self.readings.axes.get(side)
        if axes is None:
            raise self.expected(_OPERAND)
        self.at += 1
        if tokens[self.at] != ".":
            raise self.expected(f"`.` and an axis of {side}")
        self.at += 1
        token = tokens[self.at]
        place = axes.get(token)
        if place is None or token in KEYWORDS or not is_word(token):
            place = self.quoted_or_new(token, side, axes)
        self.at += 1
        return place

    def quoted_or_new(self, token: str, side: str, axes: dict[str, int]) -> int:
        name = self.unquoted(token)
        if side in self.readings.any_axis:
            return axes.setdefault(name, len(axes))
        if name not in axes:
            raise self.unknown(name, side, axes)
        return axes[name]

    def unknown(self, name: str, side: str, axes: Mapping[str, int]) -> QueryFault:
        feed = self.readings.feeds[SIDES.index(side)]
        hint = f"the feed '{feed}' has: {', '.join(axes)}.{did_you_mean(name, axes)}"
        message = f"unknown axis '{shortened(name)}' of {side} in `{self.field}` at {self.here}"
        return self.fault(message, hint)

    def hint(self, token: str, what: str) -> str | None:
        """Say how to write what was probably meant."""
        if what == _OPERAND:
            if token.lower() in SIDES:
                return "the sides are written `left` and `right`"
            sided = [f"`{side}.{token}`" for side in SIDES if token in self.readings.axes[side]]
            if sided:
                return f"write {' or '.join(sided)}"
        if token in ("!=", "<>"):
            return "write NOT before the comparison, and `=` in it"
        if token[0] == "'":
            return "axes are compared, not texts; a name in quotes stands in double ones"
        return super().hint(token, what)


class _OnReader(_SidesReader):
    """Reads `on`: axes of one side compared with axes of the other, or of the same."""

    field: ClassVar[str] = "on"
    arithmetic: ClassVar[str] = "a number may be added to an axis or subtracted, once: nothing else"

    def comparison(self, token: str) -> Condition:  # noqa: ARG002  an operand begins as it begins
        first = self.operand()
        if KEYWORDS.get(self.tokens[self.at]) is None:
            op = self.operator(COMPARISONS)
            return compare_axes(first, op, self.operand())
        negated = self.between()
        low = self.operand()
        self.keyword("AND", "AND and the upper bound")
        within = And((compare_axes(first, ">=", low), compare_axes(first, "<=", self.operand())))
        return Not(within) if negated else within

    def operand(self) -> int:
        """Read an axis and what is added to it."""
        axis = self.axis()
        sign = self.tokens[self.at]
        if sign[:1] not in ("+", "-"):
            return axis
        if len(sign) > 1:
            return self.readings.place(axis, self.number())
        self.at += 1
        if self.tokens[self.at][:1] in ("+", "-"):
            raise self.expected("a number without a second sign")
        plus = self.number()
        return self.readings.place(axis, -plus if sign == "-" else plus)

    def hint(self, token: str, what: str) -> str | None:
        """Say how to write what was probably meant."""
        if what == _OPERAND and token[0] in STARTS_A_NUMBER and token[-1].isdigit():
            if self.tokens[self.at + 1][:1] in ("+", "-"):
                return "put the axis first: left.price + 5"
            return "`on` compares axes with axes: what is compared with a number belongs in `where`"
        if what == "a number" and token in SIDES:
            return "only a number can be added to an axis: write left.price < right.limit + 5"
        if token[0] in "+-" and len(token) > 1:
            return self.arithmetic
        return super().hint(token, what)


class _WhereReader(_SidesReader):
    """Reads `where`: an axis of a side compared with numbers."""

    arithmetic: ClassVar[str] = "there is no arithmetic in `where`; a sign touches its digits: -5"

    def comparison(self, token: str) -> Condition:
        if token[:1] in STARTS_A_NUMBER:
            value = self.number()
            op = self.operator(OPERATORS)
            return Compare(self.axis(), MIRRORED[op], value)
        axis = self.axis()
        if KEYWORDS.get(self.tokens[self.at]) is None:
            return Compare(axis, self.operator(COMPARISONS), self.number())
        negated = self.between()
        low = self.number()
        self.keyword("AND", "AND and the upper bound")
        within = And((Compare(axis, ">=", low), Compare(axis, "<=", self.number())))
        return Not(within) if negated else within

    def hint(self, token: str, what: str) -> str | None:
        """Say how to write what was probably meant."""
        if what == "a number" and token in SIDES:
            return "what compares two axes belongs in `on`"
        if token[0] in "+-" and len(token) > 1:
            return self.arithmetic
        return super().hint(token, what)
