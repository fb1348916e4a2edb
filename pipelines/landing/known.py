"""What came before: the files of a feed that were taken or refused, as the ledger tells.

Law: what is planned counts as taken, done or not. What `Known` was told of is never found again,
unless it was refused for what stands in it, and has been touched since.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.landing.folder import File

LISTS = ("files", "sizes", "mtimes", "hashes")
FOR_ITS_NAME = ("repeat", "changed")
"""Refusals of a file for what was taken before it: to touch it does not help."""


@dataclass(frozen=True)
class Taken:
    """A file that was taken: its hash, and the number of its delivery; None: just found."""

    file: str
    hash: str
    n: int | None = None

    def __str__(self) -> str:
        """Name it with its delivery."""
        return f"'{self.file}' " + ("beside it" if self.n is None else f"of delivery {self.n}")


@dataclass(frozen=True, eq=False)
class Known:
    """The files of one feed that came before.

    seen        name, size and time of change of each: such a one is not even opened
    by_name     those taken
    by_content  those taken, by hash
    refused     name and hash of those that were refused for what was taken before them
    newest_key  the newest partition that a delivery was taken into
    """

    seen: set[tuple[str, int, int]] = field(default_factory=set)
    by_name: dict[str, Taken] = field(default_factory=dict)
    by_content: dict[str, Taken] = field(default_factory=dict)
    refused: set[tuple[str, str]] = field(default_factory=set)
    newest_key: str = ""

    @classmethod
    def of(cls, arrivals: pa.Table, feed: str) -> "Known":
        """Read a feed's rows of the ledger."""
        rows = arrivals.filter(
            (pc.field("lane") == feed)
            & (pc.field("kind") == "delivery")
            & pc.field("lines").is_null()
        )
        ended = rows.filter(pc.field("state") == "refused")
        refusals = dict(zip(ended["n"].to_pylist(), ended["reason"].to_pylist(), strict=True))
        taken = rows.filter(~pc.field("n").isin(ended["n"].combine_chunks()))
        known = cls(newest_key=pc.max(taken["partition_key"]).as_py() or "")
        for n, file, size, mtime, content in _files(rows):
            known.seen.add((file, size, mtime))
            if n not in refusals:
                known.by_name[file] = known.by_content[content] = Taken(file, content, n)
            elif refusals[n] in FOR_ITS_NAME:
                known.refused.add((file, content))
        return known

    def has(self, file: File) -> bool:
        """Whether a file was seen as it is."""
        return (file.path, file.size, file.mtime) in self.seen


def _files(rows: pa.Table) -> Iterator[tuple[int, str, int, int, str]]:
    """Give the files one by one: number of the delivery, name, size, time of change, hash."""
    listed = rows.filter(pc.is_valid(rows["files"])).combine_chunks()
    n = listed["n"].combine_chunks()
    lists = [listed[name].combine_chunks() for name in LISTS]
    parents = pc.list_parent_indices(lists[0])
    return zip(
        n.take(parents).to_pylist(), *(each.flatten().to_pylist() for each in lists), strict=True
    )
