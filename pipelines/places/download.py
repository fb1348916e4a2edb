"""An object as a local file, for readers that know files only: whole, or some ranges of its bytes.

Law: the bytes of one call are of one version of the object, the one that is given back.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from fencepost.errors import StoreUnavailable
from pipelines.places.connection import store_of
from pipelines.places.faults import translated
from pipelines.places.objects import Found
from pipelines.places.remote import Remote

PIECE = 4 << 20
"""Bytes that are in memory at once."""
RETRIES = 2
"""How often an object is read from its beginning again because the connection ended."""


def found(place: Remote) -> Found:
    """Look at an object; FileNotFoundError where there is none. One request."""
    import obstore

    with translated(str(place)):
        return _found(obstore.head(store_of(place.base), place.key))


def download(place: Remote, into: Path) -> Found:
    """Write an object into a file, replacing it. One request, again where the connection ends."""
    for _ in range(RETRIES):
        with suppress(StoreUnavailable):
            return _download(place, into)
    return _download(place, into)


def _download(place: Remote, into: Path) -> Found:
    import obstore

    with translated(str(place)):
        answer = obstore.get(store_of(place.base), place.key)
        with into.open("wb") as file:
            for piece in answer.stream(min_chunk_size=PIECE):
                file.write(piece)
        return _found(answer.meta)


def download_range(place: Remote, into: Path, begin: int, end: int) -> Found:
    """Write some bytes of an object to where they are in it; the file must exist. One request."""
    import obstore

    with translated(str(place)):
        answer = obstore.get(store_of(place.base), place.key, options={"range": (begin, end)})
        with into.open("r+b") as file:
            file.seek(begin)
            for piece in answer.stream(min_chunk_size=PIECE):
                file.write(piece)
        return _found(answer.meta)


def _found(meta: Any) -> Found:  # noqa: ANN401  obstore's
    changed = int(meta["last_modified"].timestamp() * 1_000_000)
    return Found(meta["path"], meta["size"], changed, meta["e_tag"])
