"""What a `where` says, as a tree, and what it amounts to: boxes.

Law: a Condition compares axes (by number, from 0) with doubles, or with one another, and joins the
comparisons by NOT, AND and OR. A tree is a value: two texts that differ in spaces, spelling of
keywords or order of `5 < x` and `x > 5` give equal trees.
"""

from dataclasses import dataclass

Box = tuple[tuple[float, float], ...]
"""One (lo, hi) per axis; a tuple is in it iff lo <= v < hi on every axis."""

OPS = ("<", "<=", "=")

Test = tuple[int, str, int]
"""(left axis, op, right axis), op one of OPS: what a tuple in a box must satisfy beside."""

Tests = tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """`axis op value`, op one of `>`, `>=`, `=`, `<`, `<=`."""

    axis: int
    op: str
    value: float


@dataclass(frozen=True, slots=True)
class CompareAxes:
    """`left op right`, both of them axes, op one of OPS: `y > x` is `x < y`."""

    left: int
    op: str
    right: int


@dataclass(frozen=True, slots=True)
class Not:
    """What `term` does not hold for."""

    term: "Condition"


@dataclass(frozen=True, slots=True)
class And:
    """What all of the terms hold for; two or more."""

    terms: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    """What any of the terms holds for; two or more."""

    terms: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class All:
    """No condition: it holds for every tuple."""


Condition = Compare | CompareAxes | Not | And | Or | All
