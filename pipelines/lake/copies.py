"""Copies of a store's data files on this host, for programs that map files or read them twice.

Law: a copy has the bytes that were written, and lies under its table's folders, whose names say the
values of its columns. A data file never changes, so a copy is right for ever.
"""

from collections.abc import Callable
from pathlib import Path

from fencepost.hashing import digest
from pipelines.lake.checksums import content
from pipelines.places import Remote, replace
from pipelines.places.host import host_cache


def copied(folder: Remote, path: str, content: Callable[[Remote, str], bytes] = content) -> Path:
    """Give the copy of a table's file, fetched if there is none. One request, or none.

    `content` reads a file, verified.
    """
    copy = host_cache() / digest(str(folder).encode(), 8) / path
    if not copy.exists():
        found = content(folder, path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        replace(copy, found)
    return copy
