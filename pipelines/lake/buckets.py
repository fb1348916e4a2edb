"""Which share of the streams a stream belongs to: by a hash of its id, the same everywhere.

A bucket is a residue of that hash. A file says of which modulus, so files of several divisions may
lie side by side: a task reads every file that may hold rows of its share, and passes over the
rows of others.

Law: whatever the moduli, the shares of a job have each row once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd, lcm

import numpy as np
import pyarrow as pa

from fencepost.hashing import hashes_of_strings
from fencepost.tuples import Int32s

MIXED = -1
"""The bucket of a small file that holds rows of all shares."""

BITS = 16
"""Above these the modulus stands, below the residue; without a modulus it is that of the lake."""

MOST = (1 << 15) - 1
"""The largest modulus."""

ROWS = 10_000_000
"""Rows of a bucket from which on twice as many are worth their files."""

FULL = 1_000_000
"""Rows of a task from which on there are two for each slot."""

MOST_ROWS = 12_500_000
"""Rows of a task at most: its memory goes by them."""

MOST_FOUND = 4_000_000
"""Events that a task is expected to find at most: one that fails does them all again."""


@dataclass(frozen=True)
class Shares:
    """Some residues of a modulus: what a task has of the streams."""

    modulus: int
    residues: tuple[int, ...]

    def may_have(self, bucket: int, lake: int) -> bool:
        """Say whether a file of a bucket may hold rows of it. `lake`: the modulus of old ones."""
        if bucket < 0:
            return True
        modulus, residue = division_of(bucket, lake)
        common = gcd(modulus, self.modulus)
        return any((own - residue) % common == 0 for own in self.residues)


def residues_of(names: pa.StringArray, modulus: int) -> Int32s:
    """Give the residue of each stream id, 0 to `modulus` - 1. O(bytes); ask for distinct ids."""
    shares: Int32s = (hashes_of_strings(names) % np.uint64(modulus)).astype(np.int32)
    return shares


def buckets_of(names: pa.StringArray, modulus: int) -> Int32s:
    """Give the bucket of each stream id, as files say it."""
    buckets: Int32s = residues_of(names, modulus) | np.int32(modulus << BITS)
    return buckets


def bucket_of(modulus: int, residue: int) -> int:
    """Name a bucket as files do."""
    return modulus << BITS | residue


def division_of(bucket: int, lake: int) -> tuple[int, int]:
    """Give the modulus and the residue of a bucket; `lake` is the modulus of those of old."""
    return bucket >> BITS or lake, bucket & ((1 << BITS) - 1)


def divided(tasks: int, modulus: int) -> list[Shares]:
    """Divide the streams among tasks, evenly; each reads few of the files of a modulus.

    The residues of a common multiple, in the order of the files that they are in, cut evenly.
    """
    common = lcm(tasks, modulus)
    if common > MOST:
        return [Shares(tasks, (task,)) for task in range(tasks)]
    ordered = sorted(range(common), key=lambda residue: (residue % modulus, residue))
    each = common // tasks
    return [Shares(common, tuple(ordered[k * each : (k + 1) * each])) for k in range(tasks)]


def tasks_for(rows: int, slots: int, found: int = 0) -> int:
    """Say how many tasks are worth it for this many rows: one or two for each slot, or more.

    `found` is how many events they are expected to give.
    """
    many = 2 * slots if rows >= 2 * slots * FULL else slots
    return max(many, -(-rows // MOST_ROWS), -(-found // MOST_FOUND))


def modulus_for(rows: int, lake: int, tasks: int = 1) -> int:
    """Give the modulus by which this many rows are worth dividing: the lake's, or it doubled."""
    modulus = lake
    while modulus * 2 <= MOST and (modulus * ROWS < rows or modulus < tasks):
        modulus *= 2
    return modulus


def usual(buckets: Iterable[tuple[int, int]], lake: int) -> int:
    """Give the modulus of most rows, by the bucket and the rows of each file."""
    rows: dict[int, int] = {}
    for bucket, many in buckets:
        if bucket >= 0:
            modulus, _ = division_of(bucket, lake)
            rows[modulus] = rows.get(modulus, 0) + many
    return max(rows, key=lambda modulus: rows[modulus], default=lake)
