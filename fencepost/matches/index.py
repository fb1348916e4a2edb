"""The protocol of every index over boxes, and their names.

An index is built once, of boxes, and never changes; adding and removing queries is up to the
`Matcher` above it, in one way for all of them.

Law: whichever index is probed, the same boxes hold the same points; `scan` says which.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar, Protocol, Self, cast

from fencepost.errors import InputError
from fencepost.matches.boxes import Boxes
from fencepost.matches.result import ProbeResult
from fencepost.text import did_you_mean, shortened
from fencepost.tuples import Doubles

Parameter = int | float | str | None


class BoxIndex(Protocol):
    """Finds the boxes that hold a point."""

    name: ClassVar[str]

    @classmethod
    def build(cls, boxes: Boxes, **parameters: Parameter) -> Self:
        """Build it; without parameters, choose good ones."""

    @property
    def boxes(self) -> Boxes:
        """What it was built of."""

    @property
    def nbytes(self) -> int:
        """Bytes of its own, those of the boxes it needs at a probe among them."""

    def probe(self, points: Doubles) -> ProbeResult:
        """Find, for points[d, n] of finite doubles, the boxes that hold each of them."""

    def check(self) -> None:
        """Raise BrokenIndex unless every invariant holds."""

    def describe(self) -> str:
        """Describe in a line how it was built: its parameters and what came of them."""


@dataclass(frozen=True)
class Kind:
    """Where an index is to be imported from, and how many axes it supports; None: any number."""

    module: str
    cls: str
    axes: int | None
    after: str  # the paper that describes it, or what it is


KINDS: Mapping[str, Kind] = {
    "scan": Kind("scan", "Scan", None, "every box for every point"),
    "sci": Kind("papers.vci", "Sci", 1, "S2: simple construct intervals"),
    "lci": Kind("papers.vci", "Lci", 1, "S2: logarithmic construct intervals"),
    "lci_bv": Kind(
        "papers.vci", "LciBv", 1, "S2: the same, with a bit vector and a difference table"
    ),
    "dlist": Kind("papers.vci", "Dlist", 1, "S2: a list of queries at every point"),
    "vcr_sd": Kind("papers.vcr", "VcrSd", 2, "S2: virtual construct rectangles, cut in strips"),
    "vcr_od": Kind("papers.vcr", "VcrOd", 2, "S2: the same, overlapping"),
    "spatial_join": Kind(
        "papers.spatial_join", "SpatialJoin", None, "S3: clusters against an MLGF"
    ),
    "ladder": Kind("ladder", "Ladder", 1, "intervals by width, sorted"),
    "grid": Kind("grid", "Grid", 2, "cells of a few sizes"),
    "bitmaps": Kind("bitmaps", "Bitmaps", None, "a bitmap for each stretch of each axis"),
    "packed": Kind("packed", "Packed", None, "a packed R-tree"),
}
"""Every index by its name; `auto` is no index, it chooses one."""


def named(name: str, axes: int) -> type[BoxIndex]:
    """Return the index of a name; InputError where there is none, or not for that many axes."""
    kind = KINDS.get(name)
    if kind is None:
        raise InputError(
            f"unknown index '{shortened(name)}'; there are: auto, {', '.join(KINDS)}."
            f"{did_you_mean(name, (*KINDS, 'auto'))}"
        )
    if kind.axes not in (None, axes):
        fits = [other for other, each in KINDS.items() if each.axes in (None, axes)]
        raise InputError(
            f"the index '{name}' is for {kind.axes} {'axis' if kind.axes == 1 else 'axes'}, "
            f"not for {axes}; for {axes} there are: {', '.join(fits)}"
        )
    module = import_module(f"fencepost.matches.{kind.module}")
    return cast("type[BoxIndex]", getattr(module, kind.cls))
