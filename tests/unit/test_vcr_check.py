"""Does `check()` of the virtual construct rectangles notice what is broken?"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fencepost.errors import BrokenIndex
from fencepost.matches.boxes import Boxes
from fencepost.matches.papers.vcr import Vcr, VcrOd
from tests.support.stories.rectangles import KINDS, WAYS


def changed(array: Any, place: int | tuple[int, ...], value: float) -> Any:
    copy = array.copy()
    copy[place] = value
    return copy


def with_lists(index: Vcr, **columns: Any) -> Vcr:
    return replace(index, lists=replace(index.lists, **columns))


TAMPERED: dict[str, tuple[Callable[[Vcr], Vcr], str]] = {
    "another's piece": (
        lambda v: with_lists(v, entries=changed(v.lists.entries, 3, (v.lists.entries[3] + 1) % 40)),
        "box [0-9]+ takes .* pieces do not hold each of them once|lists box [0-9]+ before",
    ),
    "an unknown box": (
        lambda v: with_lists(v, entries=changed(v.lists.entries, 5, 40)),
        "rectangle [0-9]+ lists box 40; there are 40",
    ),
    "a list too short": (
        lambda v: with_lists(v, entries=v.lists.entries[:-1], skips=v.lists.skips[:-1]),
        "the lists do not add up to",
    ),
    "a grid moved": (
        lambda v: replace(v, where=changed(v.where, 1, 3)),
        r"points are looked up by \[.*\], the grid is \[",
    ),
    "a bound moved": (
        lambda v: replace(v, bounds=changed(v.bounds, (7, 1), 99)),
        "box 7 is .*, its bounds say .*99",
    ),
    "bounds lost": (lambda v: replace(v, bounds=v.bounds[1:]), "39 boxes have bounds, of 40"),
    "one who does not reach out": (
        lambda v: replace(v, reaching=replace(v.reaching, ids=changed(v.reaching.ids, 0, 17))),
        r"boxes reach out .*those listed are not they",
    ),
}
MARKED: dict[str, tuple[Callable[[Vcr], Vcr], str]] = {
    "a mark lost": (
        lambda v: with_lists(v, marks=changed(v.lists.marks, (4, 0), 0)),
        "word 5: [0-9]+ are not marked before it",
    ),
    "a count that is wrong": (
        lambda v: with_lists(v, marks=changed(v.lists.marks, (6, 1), 1)),
        "word 6: 1 are not marked before it",
    ),
    "a mark before all": (
        lambda v: with_lists(v, marks=v.lists.marks + _first_bit(v)),
        "rectangle -64 is marked",
    ),
}


def _first_bit(index: Vcr) -> Any:
    more = np.zeros_like(index.lists.marks)
    more[0, 0], more[1:, 1] = 1, 1
    return more


def breakable(kind: type[Vcr], form: str) -> Vcr:
    """Forty boxes off the lines, one open."""
    at = np.arange(40) / 3
    lo, hi = np.stack((at, at)), np.stack((at + 5, at + 3))
    lo[0, 5] = -np.inf
    return kind.build(Boxes.of(lo, hi), positions=30, side=4, lists=form)


@pytest.mark.parametrize(("kind", "form"), WAYS)
@pytest.mark.parametrize("name", TAMPERED)
def test_check_tells_what_is_broken(kind: type[Vcr], form: str, name: str) -> None:
    tamper, told = TAMPERED[name]
    index = breakable(kind, form)
    index.check()
    with pytest.raises(BrokenIndex, match=told):
        tamper(index).check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MARKED)
def test_check_tells_what_is_broken_among_the_marks(kind: type[Vcr], name: str) -> None:
    tamper, told = MARKED[name]
    with pytest.raises(BrokenIndex, match=told):
        tamper(breakable(kind, "marked")).check()


def test_check_sees_a_piece_that_counts_what_another_counts_already() -> None:
    index = breakable(VcrOd, "marked")
    overlaps = np.flatnonzero(index.lists.skips)
    assert len(overlaps)
    twice = with_lists(index, skips=changed(index.lists.skips, int(overlaps[0]), 0))
    with pytest.raises(BrokenIndex, match="pieces do not hold each of them once"):
        twice.check()
    with pytest.raises(BrokenIndex, match="0 pieces say what another covers"):
        with_lists(index, skips=index.lists.skips[:0]).check()
