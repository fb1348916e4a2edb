"""The border index: all standing queries of a feed, arranged for the walk.

A step touches only the posts it passes.

Registration is a further layer over the existing ones: adding a thousand queries to a million
costs a thousand. When the layers above the base, or the holes that removals leave, grow past a
share of it, all is built again.

Law: whatever the history of registrations, the events are those of an index built at once from the
same queries.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from fencepost.crossings.columns import FenceColumns
from fencepost.crossings.fences import fences_of, with_posts_of
from fencepost.crossings.layer import Layer
from fencepost.matches.matcher import Matcher
from fencepost.queries import QuerySet
from fencepost.queries.slots import check_slots, rows_with_added, rows_with_removed, without
from fencepost.tuples import Int32s

if TYPE_CHECKING:
    from fencepost.leaps.index import LeapIndex

REBUILD_SHARE = 8  # built again when an eighth of the base has come or gone
REBUILD_FLOOR = 4096  # and never for fewer than these
MOST_LAYERS = 8


@dataclass(frozen=True, eq=False)
class BorderIndex:
    """n queries in one or more layers.

    build          O(n log n)
    with_added     O(k log k) for k new queries, and a copy of the set's columns; at times a build
    with_removed   O(n): a hole for each
    size           44 bytes for a one-axis query; see Layer
    """

    queries: QuerySet
    layers: tuple[Layer, ...]
    row_of: Int32s | None  # [slot] the query's row in `queries`, or REMOVED; None: slots are rows
    striped: bool

    @classmethod
    def build(cls, queries: QuerySet, *, striped: bool = True) -> "BorderIndex":
        """Build from the set.

        `striped=False` keeps to the papers' border lists, in which every post is a candidate.
        """
        return cls(queries, (Layer.build(queries, striped=striped),), None, striped)

    def __len__(self) -> int:
        """How many queries."""
        return len(self.queries)

    @property
    def slots(self) -> int:
        """How many queries these layers ever had."""
        return self.layers[-1].slot + len(self.layers[-1].queries)

    @property
    def base(self) -> str:
        """The fingerprint that pointers belong to.

        It is that of the layer at the bottom, which registrations leave alone.
        """
        return self.layers[0].queries.fingerprint

    @cached_property
    def stabbing(self) -> Matcher:
        """The same queries, to be probed for which hold at a place: built on first use."""
        return Matcher.build(self.queries)

    @cached_property
    def leaping(self) -> "LeapIndex | None":
        """The queries that ask for leaps, arranged for that on first use; None: none does."""
        if not self.queries.leaps.any():
            return None
        from fencepost.leaps.index import LeapIndex

        return LeapIndex.of(self.queries)

    @cached_property
    def fences(self) -> FenceColumns:
        """Where posts stand, whatever their lists: brought together on first use."""
        return fences_of(self.layers)

    @property
    def has_stabbing(self) -> bool:
        """Whether `stabbing` was made already."""
        return "stabbing" in vars(self)

    @property
    def nbytes(self) -> int:
        """Bytes of all layers; the query set's own columns are its own."""
        rows = 0 if self.row_of is None else self.row_of.nbytes
        return rows + sum(layer.nbytes for layer in self.layers)

    def with_added(self, added: QuerySet) -> "BorderIndex":
        """Return an index that holds these queries too."""
        queries = self.queries.with_added(added)
        if len(added) == 0:
            return replace(self, queries=queries)
        fresh = self.slots + len(added) - len(self.layers[0].queries)
        if self._crowded(fresh) or len(self.layers) == MOST_LAYERS:
            return BorderIndex.build(queries, striped=self.striped)
        layer = Layer.build(added, self.slots, striped=self.striped)
        row_of = rows_with_added(self.row_of, len(self.queries), len(queries))
        found = BorderIndex(queries, (*self.layers, layer), row_of, self.striped)
        if self.has_stabbing:
            vars(found)["stabbing"] = self.stabbing.grown(queries, added)
        if "fences" in vars(self):
            vars(found)["fences"] = with_posts_of(self.fences, layer)
        return found

    def with_removed(self, ids: Iterable[str]) -> "BorderIndex":
        """Return an index without these queries."""
        queries, kept = without(self.queries, ids)
        if len(queries) == len(self.queries):
            return self
        if self._crowded(self.slots - len(queries)):
            return BorderIndex.build(queries, striped=self.striped)
        row_of = rows_with_removed(self.row_of, kept)
        found = BorderIndex(queries, self.layers, row_of, self.striped)
        if self.has_stabbing:
            vars(found)["stabbing"] = self.stabbing.shrunk(queries, kept)
        if "fences" in vars(self):  # those of removed queries stand until it is rebuilt
            vars(found)["fences"] = self.fences
        return found

    def _crowded(self, changed: int) -> bool:
        return changed > max(REBUILD_FLOOR, len(self.layers[0].queries) // REBUILD_SHARE)

    def check(self) -> None:
        """Raise BrokenIndex unless every invariant holds. O(n)."""
        for layer in self.layers:
            layer.check()
        sizes = ((layer.slot, len(layer.queries)) for layer in self.layers)
        check_slots(sizes, self.row_of, len(self.queries), "layer")
