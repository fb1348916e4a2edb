"""This host's copies of objects that never change: the folder where they are.

Law: only this user can write to it, so what was verified stays so.
"""

import os
import stat
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

WEEK = 7 * 86_400
"""Seconds after which a copy that nobody reads is deleted."""


@cache
def host_cache() -> Path:
    """Give the folder, made if missing; once in a process, old copies are deleted. O(copies)."""
    folder = Path(tempfile.gettempdir()) / f"fencepost-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not ours or found.st_mode & 0o077:
        return Path(tempfile.mkdtemp(prefix="fencepost-"))  # another user was first
    _forget(folder, time.time() - WEEK)
    return folder


def _forget(folder: Path, before: float) -> None:
    for above, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # another process deletes it
                path = Path(above, name)
                found = path.stat()
                if max(found.st_atime, found.st_mtime) < before:
                    path.unlink()
