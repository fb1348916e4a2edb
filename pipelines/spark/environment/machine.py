"""The cores and the memory that we may use, as the container limits them."""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fencepost.errors import InputError

CGROUP = Path("/sys/fs/cgroup")
UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}
LEAST = 512 * 2**20  # Spark itself refuses less than 450 MiB


@dataclass(frozen=True)
class MachineMemory:
    """Bytes: the total that this process could have, and what is free now."""

    total: int
    free: int


def cores() -> int:
    """Count the cores that this process may use."""
    may_use = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    quota = _words(CGROUP / "cpu.max")
    if len(quota) == 2 and quota[0].isdigit():
        return max(1, min(may_use or 1, round(int(quota[0]) / int(quota[1]))))
    return may_use or 1


def memory() -> MachineMemory:
    """Measure the memory of the machine, or of the container if that has less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    free = total
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    limit, used = _words(CGROUP / "memory.max"), _words(CGROUP / "memory.current")
    if limit and used and limit[0].isdigit():
        total = min(total, int(limit[0]))
        free = min(free, max(0, total - int(used[0])))
    return MachineMemory(total, free)


def heap(size: str | None, *, quick: bool) -> int:
    """Return the bytes that the JVM's heap may take.

    By default 1 GiB for short work, else a quarter of the machine between 1 and 8 GiB: most of
    the memory belongs to the Python workers. InputError if the wanted size is invalid or too small.
    """
    if size is None:
        return UNITS["g"] if quick else min(8 * UNITS["g"], max(UNITS["g"], memory().total // 4))
    found = re.fullmatch(r"([1-9][0-9]{0,9})([kmg])", size.strip().lower())
    if found is None:
        raise InputError(f"a memory of {size!r}, expected a size like 512m or 4g")
    wanted = int(found[1]) * UNITS[found[2]]
    if wanted < LEAST:
        raise InputError(f"a memory of {size}, expected 512m or more: Spark starts with no less")
    return wanted


def _words(file: Path) -> list[str]:
    with suppress(OSError):
        return file.read_text().split()
    return []
