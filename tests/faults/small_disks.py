"""A disk of any size, for as long as a test takes: a tmpfs, where mounting is allowed."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PAGE = 4096
ROOMY = 64 << 20


@dataclass(frozen=True)
class Disk:
    """A mounted disk."""

    root: Path

    def leave(self, pages: int) -> None:
        """Let so many pages be free, and no more."""
        self._remount(f"size={shutil.disk_usage(self.root).used + pages * PAGE}")

    def make_room(self) -> None:
        """Let there be room, and let it be written to."""
        self._remount(f"rw,size={ROOMY}")

    def close_to_writers(self) -> None:
        """Let it be read only."""
        self._remount("ro")

    def _remount(self, options: str) -> None:
        _mount("-o", f"remount,{options}", str(self.root))


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk]:
    """Mount a disk on a new folder; skip, and say why, where that is not allowed."""
    folder.mkdir()
    try:
        _mount("-t", "tmpfs", "-o", f"size={ROOMY}", "tmpfs", str(folder))
    except (OSError, subprocess.CalledProcessError) as why:
        pytest.skip(f"no disk can be mounted here: {getattr(why, 'stderr', None) or why}")
    try:
        yield Disk(folder)
    finally:  # files of it may still be mapped
        subprocess.run(["/usr/bin/umount", "--lazy", str(folder)], check=True)


def _mount(*arguments: str) -> None:
    subprocess.run(["/usr/bin/mount", *arguments], check=True, capture_output=True, text=True)
