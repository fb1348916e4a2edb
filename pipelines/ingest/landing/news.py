"""Whether anything new has landed, without opening a file: what a sensor checks every minute.

Law: nothing is changed. The name of the news depends on the files alone, so a sensor that acted on
it recognises it, after any restart.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from fencepost.hashing import digest
from pipelines.ingest.landing.folder import File
from pipelines.ingest.landing.known import Known, naming, seen_and_loaded
from pipelines.ingest.landing.look import NewDelivery, key_in_path, key_of_time
from pipelines.ingest.landing.walk import walk
from pipelines.project.settings import Feed


@dataclass(frozen=True)
class News:
    """What has landed, is complete, and was not loaded.

    keys  its probable partitions, in order
    """

    files: tuple[File, ...]
    keys: tuple[str, ...]

    @classmethod
    def of_found(cls, found: Sequence[NewDelivery]) -> "News":
        """Convert versions found in a Delta table."""
        files = [
            File(file, size, mtime)
            for each in found
            for file, size, mtime in zip(each.files, each.sizes, each.mtimes, strict=True)
        ]
        return cls(tuple(files), tuple(sorted({each.partition_key for each in found})))

    @property
    def name(self) -> str:
        """Name the files as they are."""
        names = "\n".join(f"{file.path}\t{file.size}\t{file.mtime}" for file in self.files)
        return digest(names.encode("utf-8", "surrogateescape"), 8)


def news(feed: Feed, arrivals: pa.Table, now: int) -> News:
    """Look for files that the ledger does not know; `now` in µs. One stat a file, or one listing.

    Not for feeds of the form delta. A file that was touched, or that repeats another, is news here,
    and dropped when it is opened.
    """
    known = Known.of(arrivals, feed.name)
    files: list[File] = []
    keys: set[str] = set()
    for landed in walk(feed.source, feed.settle, now).landed:
        fresh = [file for file in landed.complete if not known.has(file)]
        growing = any(not known.has(file) for file in landed.growing)
        if growing or not fresh:
            continue
        files += fresh
        keys |= {_key(feed, landed.path, file.path, known, now) or "" for file in fresh}
    return News(tuple(files), tuple(sorted(keys - {""})))


@dataclass(frozen=True)
class Outside:
    """How many deliveries in a landing folder are not loaded; some are still growing."""

    landed: int = 0
    growing: int = 0


def outside(feed: Feed, arrivals: pa.Table, now: int) -> Outside:
    """Count what has landed and the ledger does not know; `now` in µs. One stat a file, or listed.

    Not for feeds of the form delta. A file that was only touched (the name and the size of one that
    was loaded) is not counted, and none is opened to make sure.
    """
    walked = walk(feed.source, feed.settle, now).landed
    names = {file.path for landed in walked for file in (*landed.complete, *landed.growing)}
    seen, loaded = seen_and_loaded(naming(arrivals, names), feed.name)

    def is_new(file: File) -> bool:
        return (file.path, file.size, file.mtime) not in seen and (
            file.path,
            file.size,
        ) not in loaded

    landed_now = growing = 0
    for landed in walked:
        if any(map(is_new, landed.growing)):
            growing += 1
            continue
        fresh = [file for file in landed.complete if is_new(file)]
        landed_now += len({_place(feed, landed.path, file.path) for file in fresh})
    return Outside(landed_now, growing)


def _place(feed: Feed, place: str, file: str) -> str | None:
    """Say which of a folder's deliveries a file belongs to: where paths have keys, one per key."""
    if not feed.partition_in_path:
        return place
    return key_in_path(place, feed.partition) or key_in_path(file, feed.partition)


def _key(feed: Feed, place: str, file: str, known: Known, now: int) -> str | None:
    if feed.partition_in_path:
        return key_in_path(place, feed.partition) or key_in_path(file, feed.partition)
    return max(known.newest_key, key_of_time(now, feed.partition))
