"""Which share of the streams a stream belongs to: by a hash of its id, the same everywhere."""

import numpy as np
import pyarrow as pa

from fencepost.hashing import finish, mix_strings, seeded
from fencepost.tuples import Int32s

MIXED = -1
"""The bucket of a small file that holds rows of all shares."""


def buckets_of(names: pa.StringArray, buckets: int) -> Int32s:
    """Give the bucket of each stream id, 0 to `buckets` - 1. O(bytes); ask for distinct ids."""
    hashes = seeded(len(names))
    mix_strings(hashes, names)
    finish(hashes)
    shares: Int32s = (hashes[0] % np.uint64(buckets)).astype(np.int32)
    return shares
