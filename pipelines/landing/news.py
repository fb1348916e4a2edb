"""Whether anything new has landed, told without opening a file: what a sensor asks every minute.

Law: nothing is changed. The name of the news depends on the files alone, so whoever has acted on it
knows it again, after any restart.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipelines.landing.deliveries import Found
from pipelines.landing.folder import File, walk
from pipelines.landing.keys import key_in_path, key_of_time
from pipelines.landing.known import Known
from pipelines.settings import Feed


@dataclass(frozen=True)
class News:
    """What has landed, is complete, and was not taken.

    keys  the partitions that it seems to belong to, in order
    """

    files: tuple[File, ...]
    keys: tuple[str, ...]

    @classmethod
    def of_found(cls, found: Sequence[Found]) -> "News":
        """Take what was found in the versions of a Delta table."""
        files = [
            File(file, size, mtime)
            for each in found
            for file, size, mtime in zip(each.files, each.sizes, each.mtimes, strict=True)
        ]
        return cls(tuple(files), tuple(sorted({each.partition_key for each in found})))

    @property
    def name(self) -> str:
        """Name the files as they are."""
        told = "\n".join(f"{file.path}\t{file.size}\t{file.mtime}" for file in self.files)
        return hashlib.blake2b(told.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def news(feed: Feed, arrivals: pa.Table, now: int) -> News:
    """Look for files that the ledger does not know; `now` in µs. One stat a file.

    Not for feeds of the form delta. A file that was touched, or that repeats another, is news here,
    and found to be none when it is opened.
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


def _key(feed: Feed, place: str, file: str, known: Known, now: int) -> str | None:
    if feed.partition_in_path:
        return key_in_path(place, feed.partition) or key_in_path(file, feed.partition)
    return max(known.newest_key, key_of_time(now, feed.partition))
