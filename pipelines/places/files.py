"""Reading, writing and listing, on a disk and on an object store alike.

Law: what appears under a name is whole, and stays until it is replaced or deleted. `create`
has one winner, however many try at once, also where the winner's answer was lost.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from pipelines.disk.atomic import create_bytes, replacing
from pipelines.places import objects
from pipelines.places.place import Place, is_remote
from pipelines.places.remote import Remote


@dataclass(frozen=True)
class Entry:
    """A file below a place.

    path     below the place, with slashes
    changed  µs
    etag     by which a store tells contents apart; None on a disk
    """

    path: str
    size: int
    changed: int
    etag: str | None


def read(place: Place) -> bytes:
    """Read a file; FileNotFoundError where there is none. One request."""
    return place.read_bytes()


def create(place: Place, content: bytes, *, sync: bool = False) -> None:
    """Write a file that must not exist yet; FileExistsError if it does. One request.

    Two writers must not write the same bytes under one name: on a store, both would have won.
    """
    if is_remote(place):
        objects.put_new(place.base, place.key, content)
    else:
        create_bytes(place, content, sync=sync)


def replace(place: Place, content: bytes | BinaryIO, *, sync: bool = False) -> None:
    """Write a file, replacing an existing one. One request; above 8 MiB, one a part."""
    if is_remote(place):
        objects.put(place.base, place.key, content)
        return
    with replacing(place, sync=sync) as (passing,), passing.open("wb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            shutil.copyfileobj(content, file)


def listed(place: Place, *, after: str | None = None) -> Iterator[Entry]:
    """List the files below a place, by path; with `after`, those that come behind it.

    A request per thousand. On a disk O(n log n), all names at once.
    """
    if not is_remote(place):
        yield from _on_disk(place, after)
        return
    behind = None if after is None else (place / after).key
    for found in objects.listed(place.base, place.key, after=behind):
        path = found.key[len(place.key) :].strip("/")
        if path:
            yield Entry(path, found.size, found.changed, found.etag)


def _on_disk(folder: Path, after: str | None) -> Iterator[Entry]:
    paths = [
        Path(above, name).relative_to(folder).as_posix()
        for above, _, names in os.walk(folder)
        for name in names
    ]
    for path in sorted(paths):
        if after is None or path > after:
            try:
                stat = (folder / path).stat()
            except FileNotFoundError:  # deleted since its folder was read
                continue
            yield Entry(path, stat.st_size, stat.st_mtime_ns // 1000, None)


@contextmanager
def written(place: Place) -> Iterator[BinaryIO]:
    """Give a file to write to; its content appears when the block ends, nothing if it fails.

    For a store, what exceeds 8 MiB waits in the system's temporary folder.
    """
    if is_remote(place):
        with tempfile.SpooledTemporaryFile(max_size=objects.PART) as spool:
            yield cast("BinaryIO", spool)
            spool.seek(0)
            objects.put(place.base, place.key, cast("BinaryIO", spool))
        return
    with replacing(place) as (passing,), passing.open("wb") as file:
        yield file


def fetched(place: Place, cache: Path) -> Path:
    """Give a local copy of an object that never changes; on a disk the file itself.

    One request for each host and `cache`, however many processes share that folder.
    """
    if not is_remote(place):
        return place
    copy = copy_of(place, cache)
    if not copy.exists():
        content = place.read_bytes()
        cache.mkdir(parents=True, exist_ok=True)
        replace(copy, content)
    return copy


def copy_of(place: Remote, cache: Path) -> Path:
    """Say where the local copy of an object is, or will be."""
    from fencepost.hashing import digest

    return cache / f"{digest(str(place).encode(), 16)}-{place.name}"


def state(place: Remote) -> tuple[bytes, str] | None:
    """Read an object and its entity tag; None where there is none. One request."""
    try:
        return objects.get(place.base, place.key)
    except FileNotFoundError:
        return None
