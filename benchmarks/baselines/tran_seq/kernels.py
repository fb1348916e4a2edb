"""Insert, probe, delete: Fig. 8 of S1, compiled.

An event is a cell: it is linked to its neighbours in the list of its type, newest first, and to the
next cell of its hash bucket. `access` counts as S1 does: one for each list or table operation, and
in a probe one for each cell of the bucket that is looked at.
"""

import numpy as np
from numba import njit

U = np.uint64
NONE = -1
PASS_THROUGH, SHORT_ABSENCE, STAY, DEPARTURE = 0, 1, 2, 3


@njit(nogil=True)
def _bucket(query, stream, mask):
    mixed = (U(query) * U(0x9E3779B97F4A7C15)) ^ (U(stream) * U(0xC2B2AE3D27D4EB4F))
    mixed ^= mixed >> U(29)
    return np.int64((mixed * U(0xBF58476D1CE4E5B9) >> U(32)) & U(mask))


@njit(nogil=True)
def _unlink(cell, side, heads, tails, newer, older, buckets, chain, bucket_of):
    """Take a cell out of its list and its bucket."""
    if newer[cell] == NONE:
        heads[side] = older[cell]
    else:
        older[newer[cell]] = older[cell]
    if older[cell] == NONE:
        tails[side] = newer[cell]
    else:
        newer[older[cell]] = newer[cell]
    at = buckets[side, bucket_of[cell]]
    if at == cell:
        buckets[side, bucket_of[cell]] = chain[cell]
        return
    while chain[at] != cell:
        at = chain[at]
    chain[at] = chain[cell]


@njit(cache=True, nogil=True)
def compose(events, within, until, buckets, cells, found):
    """Run all events through; what is older than `within` at `until` is decided at the end.

    Returns how many transitions were found, and the accesses.
    """
    query, stream, ts, kind = events
    newer, older, chain, bucket_of = cells
    kinds, begun, ended = found
    heads, tails = np.full(2, NONE, np.int64), np.full(2, NONE, np.int64)
    mask, used, access = buckets.shape[1] - 1, 0, 0
    for e in range(len(query) + 1):
        now = ts[e] if e < len(query) else until
        for side in range(2):  # 3) delete, from the tail, before the probe: Fig. 8 pairs too late
            while tails[side] != NONE and now - ts[tails[side]] > within:
                cell = tails[side]
                _unlink(cell, side, heads, tails, newer, older, buckets, chain, bucket_of)
                kinds[used] = STAY if side == 0 else DEPARTURE
                begun[used], ended[used] = cell, NONE
                used, access = used + 1, access + 2
        if e == len(query):
            return used, access
        side = 0 if kind[e] > 0 else 1
        b = _bucket(query[e], stream[e], mask)
        bucket_of[e], newer[e], older[e] = b, NONE, heads[side]  # 1) insert
        if heads[side] == NONE:
            tails[side] = e
        else:
            newer[heads[side]] = e
        heads[side] = e
        chain[e] = buckets[side, b]
        buckets[side, b] = e
        access += 2
        cell = buckets[1 - side, b]  # 2) probe
        while cell != NONE:
            access += 1
            if query[cell] == query[e] and stream[cell] == stream[e]:
                _unlink(cell, 1 - side, heads, tails, newer, older, buckets, chain, bucket_of)
                kinds[used] = PASS_THROUGH if side == 1 else SHORT_ABSENCE
                begun[used], ended[used] = cell, e
                used, access = used + 1, access + 2
                break
            cell = chain[cell]
    return used, access
