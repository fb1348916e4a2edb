"""Files that are on the disk, not just in the system's memory: `[lake] fsync`.

Law: when `flushed` returns, the files and their names survive a power cut, on a disk that honours
flushes.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from pipelines.disk.errors import naming


def flushed(folder: Path, paths: Iterable[str]) -> None:
    """Flush files below a folder, whichever process wrote them, and the folders that name them."""
    folders = set()
    for path in paths:
        flush(folder / path)
        folders |= {above for above in (folder / path).parents if above.is_relative_to(folder)}
    for each in sorted(folders, reverse=True):
        flush(each)


def flush(path: Path) -> None:
    """Flush a file's bytes, or the names in a folder."""
    with naming(path):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
