"""Requests to an object store: each function says how many it makes.

Reads, listings and plain writes are retried by the client. Conditional writes are retried here:
their answer may be lost, and then the retry is refused because of its own success. Only the
object itself says who wrote it, so conditional writes want contents that nobody else writes.

Law: a conditional write that returned has happened once; one that raised FileExistsError
has not; of one that raised StoreUnavailable nobody knows.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from fencepost.errors import StoreUnavailable
from pipelines.places import connection
from pipelines.places.connection import store_of
from pipelines.places.faults import Busy, translated

PART = 8 << 20
"""Bytes beyond which a write is made of parts of this size."""
AT_ONCE = 4
PAGE = 1000
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0

T = TypeVar("T")


@dataclass(frozen=True)
class Found:
    """An object in a listing; `changed` is in µs."""

    key: str
    size: int
    changed: int
    etag: str | None


def get(base: str, key: str) -> tuple[bytes, str]:
    """Read an object and its entity tag. One request."""
    import obstore

    with translated(f"{base}/{key}"):
        answer = obstore.get(store_of(base), key)
        return bytes(answer.bytes()), answer.meta["e_tag"] or ""


def exists(base: str, key: str) -> bool:
    """Say whether there is an object. One request."""
    import obstore

    if not key:
        return False
    try:
        with translated(f"{base}/{key}"):
            obstore.head(store_of(base), key)
    except FileNotFoundError:
        return False
    return True


def put(base: str, key: str, content: bytes | BinaryIO) -> None:
    """Write an object, replacing an existing one. One request; above 8 MiB two and one a part."""
    import obstore

    with translated(f"{base}/{key}"):
        obstore.put(
            store_of(base),
            key,
            content,
            chunk_size=PART,
            max_concurrency=AT_ONCE,
        )


def delete(base: str, key: str) -> None:
    """Delete an object, if there is one. One request."""
    import obstore

    try:
        with translated(f"{base}/{key}"):
            obstore.delete(store_of(base), key)
    except FileNotFoundError:
        pass


def listed(
    base: str, prefix: str, *, after: str | None = None, at_once: int = PAGE
) -> Iterator[Found]:
    """List what is below a prefix, in the store's order. A request per thousand."""
    import obstore

    with translated(f"{base}/{prefix}"):
        for page in obstore.list(store_of(base), prefix or None, offset=after, chunk_size=at_once):
            for each in page:
                changed = int(each["last_modified"].timestamp() * 1_000_000)
                yield Found(each["path"], each["size"], changed, each["e_tag"])


def children(base: str, prefix: str) -> list[str]:
    """List the keys directly below a prefix, of objects and of what is like a folder."""
    import obstore

    with translated(f"{base}/{prefix}"):
        found = obstore.list_with_delimiter(store_of(base), prefix or None)
        keys = [*found["common_prefixes"], *(each["path"] for each in found["objects"])]
    return sorted({key for key in keys if key != prefix})


def put_new(base: str, key: str, content: bytes) -> str:
    """Write an object that must not exist, and give its entity tag. One request."""
    import obstore

    def attempt() -> str:
        answer = obstore.put(store_of(base, patient=False), key, content, mode="create")
        return answer["e_tag"] or ""

    return _once(base, key, content, attempt)


def _once(base: str, key: str, content: bytes, attempt: Callable[[], str]) -> str:
    """Try a conditional write until its outcome is known, or patience ends."""
    place = f"{base}/{key}"
    uncertain = False
    deadline, pause = time.monotonic() + connection.PATIENCE, FIRST_PAUSE
    while True:
        try:
            with translated(place):
                return attempt()
        except FileExistsError:
            if uncertain and (etag := _ours(base, key, content)) is not None:
                return etag
            raise
        except StoreUnavailable:
            uncertain = True
            if time.monotonic() + pause > deadline:
                raise
        except Busy:
            if time.monotonic() + pause > deadline:
                raise StoreUnavailable(
                    f"{place}: others write to it all the time; try again later"
                ) from None
        time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  jitter is no secret
        pause = min(2 * pause, LONGEST_PAUSE)


def _ours(base: str, key: str, content: bytes) -> str | None:
    """Give the entity tag of an object if it has this content: an answer of ours was lost."""
    try:
        found, etag = get(base, key)
    except FileNotFoundError:
        return None
    return etag if found == content else None
