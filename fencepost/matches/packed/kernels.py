"""The tree, compiled: in what order boxes come, how nodes are filled and probed.

A node of sixteen costs two comparisons of vectors an axis, and a leaf one store.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from fencepost.simd import LANES, lowest, put, within
from fencepost.tuples import Doubles, Int32s, Int64s

FANOUT = LANES
U = np.uint64
Words = npt.NDArray[np.uint64]
SAMPLE = 64  # boxes of a node that show along which bound to cut it; 256 cut no better


@njit(cache=True, nogil=True, error_model="numpy")
def hilbert(lo: Doubles, hi: Doubles, least: Doubles, most: Doubles, bits: int, keys: Int64s):
    """Give each box the place of its middle along a Hilbert curve over the extent (Skilling's).

    The curve has 2 ** bits cells on each axis. `hi` may be `lo`: then these are points. What lies
    outside of the extent stands at its rim.
    """
    axes, many = lo.shape
    cells = float(1 << bits)
    x = np.empty(axes, np.int64)
    for i in range(many):
        for a in range(axes):
            width = most[a] * 0.5 - least[a] * 0.5
            low = min(max(lo[a, i], least[a]), most[a]) * 0.5
            high = min(max(hi[a, i], least[a]), most[a]) * 0.5
            share = ((low - least[a] * 0.5) + (high - least[a] * 0.5)) * 0.5 / width
            x[a] = np.int64(min(share * cells, cells - 1.0)) if width > 0.0 else 0
        q = 1 << (bits - 1)
        while q > 1:
            p = q - 1
            for a in range(axes):
                if x[a] & q:
                    x[0] ^= p
                else:
                    t = (x[0] ^ x[a]) & p
                    x[0] ^= t
                    x[a] ^= t
            q >>= 1
        for a in range(1, axes):
            x[a] ^= x[a - 1]
        t = 0
        q = 1 << (bits - 1)
        while q > 1:
            if x[axes - 1] & q:
                t ^= q - 1
            q >>= 1
        key = np.int64(0)
        for bit in range(bits - 1, -1, -1):
            for a in range(axes):
                key = (key << 1) | (((x[a] ^ t) >> bit) & 1)
        keys[i] = key


@njit(inline="always")
def _bound(lo, hi, least, most, c, box):
    axis = c >> 1
    end = hi[axis, box] if c & 1 else lo[axis, box]
    return min(max(end, least[axis]), most[axis]) * 0.5


@njit
def _best_cut(lo, hi, least, most, order, begin, end, left, kept, far):
    """Along which of the 2 d bounds the halves would be visited least often, as a sample has it.

    A half is visited in proportion to its extent along the axis, as points are even over it.
    """
    n = end - begin
    s = min(max(n >> 4, 16), SAMPLE)
    cut = max(1, min(s - 1, (s * left) // n))
    best, least_cost = 0, np.inf
    for c in range(2 * len(lo)):
        other = c ^ 1
        for k in range(s):  # insertion sort by the bound, its other end beside it
            box = order[begin + (k * n) // s]
            key = _bound(lo, hi, least, most, c, box)
            beside = _bound(lo, hi, least, most, other, box)
            j = k
            while j > 0 and kept[j - 1] > key:
                kept[j], far[j] = kept[j - 1], far[j - 1]
                j -= 1
            kept[j], far[j] = key, beside
        expected, total_low, total_high = 0.0, np.inf, -np.inf
        for first, last in ((0, cut), (cut, s)):
            low, high = kept[first], kept[last - 1]
            for k in range(first, last):
                low, high = min(low, far[k]), max(high, far[k])
            expected += (last - first) * (high - low)
            total_low, total_high = min(total_low, low), max(total_high, high)
        width = total_high - total_low
        cost = expected / (s * width) if width > 0.0 else 1.0
        if cost < least_cost:
            best, least_cost = c, cost
    return best


@njit(inline="always")
def _parted(keys, order, low, high, pivot, also):
    """Move those below the pivot to the front (and those at it, if `also`); return where they end.

    No branch depends on a key: 6 ns a box and level, where Hoare's way costs 10.
    """
    end = low
    for i in range(low, high):
        key, box = keys[i], order[i]
        keys[i], order[i] = keys[end], order[end]
        keys[end], order[end] = key, box
        end += np.int64((key < pivot) | (also & (key == pivot)))
    return end


@njit
def _select(keys, order, low, high, at):
    """Move the smallest of order[low:high] to the front, up to `at`, by their keys."""
    while low < at < high:
        n = high - low
        a, b, c = keys[low + n // 4], keys[low + n // 2], keys[high - 1 - n // 4]
        pivot = max(min(a, b), min(max(a, b), c))
        below = _parted(keys, order, low, high, pivot, False)
        if at <= below:
            high = below
            continue
        low = _parted(keys, order, below, high, pivot, True)
        if at <= low:
            return


@njit(cache=True, nogil=True, error_model="numpy")
def halves(lo: Doubles, hi: Doubles, least: Doubles, most: Doubles, leaf: int, order: Int32s):
    """Order the boxes by halves of halves, down to a leaf, each cut where it pays most.

    O(m log(m / leaf)). The left half holds a leaf times a power of two, so that all leaves but the
    last are full.
    """
    many = len(order)
    keys = np.empty(many, np.float64)
    kept, far = np.empty(SAMPLE), np.empty(SAMPLE)
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, many
    depth = 1
    while depth:
        depth -= 1
        begin, end = stack[depth, 0], stack[depth, 1]
        if end - begin <= leaf:
            continue
        left = leaf
        while 2 * left < end - begin:
            left *= 2
        c = _best_cut(lo, hi, least, most, order, begin, end, left, kept, far)
        for i in range(begin, end):
            keys[i] = _bound(lo, hi, least, most, c, order[i])
        _select(keys, order, begin, end, begin + left)
        stack[depth, 0], stack[depth, 1] = begin, begin + left
        stack[depth + 1, 0], stack[depth + 1, 1] = begin + left, end
        depth += 2


@njit(cache=True, nogil=True, error_model="numpy")
def fill(lo: Doubles, hi: Doubles, ids: Int32s, first: Int64s, bounds: Doubles):
    """Write the bounds of all nodes: those of the boxes into the leaves, and up from there.

    bounds[node, axis, 0 lowest or 1 highest, child]; a place without a child holds nothing.
    """
    axes, levels, many = len(lo), len(first) - 1, lo.shape[1]
    for at in range((first[levels] - first[levels - 1]) * FANOUT):
        node, child = first[levels - 1] + at // FANOUT, at % FANOUT
        for a in range(axes):
            bounds[node, a, 0, child] = lo[a, ids[at]] if at < many else np.inf
            bounds[node, a, 1, child] = hi[a, ids[at]] if at < many else -np.inf
    for level in range(levels - 2, -1, -1):
        below = first[level + 2] - first[level + 1]
        for at in range((first[level + 1] - first[level]) * FANOUT):
            node, child = first[level] + at // FANOUT, at % FANOUT
            for a in range(axes):
                low, high = np.inf, -np.inf
                if at < below:
                    for k in range(FANOUT):
                        low = min(low, bounds[first[level + 1] + at, a, 0, k])
                        high = max(high, bounds[first[level + 1] + at, a, 1, k])
                bounds[node, a, 0, child], bounds[node, a, 1, child] = low, high


@njit(inline="always")
def _holding(flat, axes, node, points, i):
    """Which children of a node hold the point, as bits; the first axis that none does ends it."""
    at = node * axes * U(2 * FANOUT)
    mask = within(flat, at, flat, at + U(FANOUT), points[U(0), i])
    for a in range(U(1), axes):
        if mask == U(0):
            break
        at += U(2 * FANOUT)
        mask &= within(flat, at, flat, at + U(FANOUT), points[a, i])
    return mask


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def probe(
    bounds: Doubles, ids: Int32s, first: Int64s, points: Doubles, masks: Words, nodes: Words,
    ptr: Int64s, room: Int32s, start: int,
):  # fmt: skip
    """Find the boxes of points from `start` on, depth first; return the first that did not fit.

    `masks` and `nodes` are a place a level: whose children are being visited, and which are left.
    No references are counted (`_nrt=False`), which cost more than a node does.
    """
    axes, many, leaves = U(len(points)), U(points.shape[1]), len(first) - 2
    limit, w = len(room) - FANOUT, U(ptr[start])
    for i in range(U(start), many):
        level, node = 0, U(0)
        mask = _holding(bounds, axes, node, points, i)
        while True:
            if level == leaves:
                if np.int64(w) > limit:
                    return np.int64(i)
                w = put(ids, node * U(FANOUT), room, w, mask)
                mask = U(0)
            while mask == U(0) and level > 0:
                level -= 1
                mask, node = masks[level], nodes[level]
            if mask == U(0):
                break
            child = node * U(FANOUT) + lowest(mask)
            masks[level], nodes[level] = mask & (mask - U(1)), node
            level, node = level + 1, child
            mask = _holding(bounds, axes, U(first[level]) + node, points, i)
        ptr[i + U(1)] = np.int64(w)
    return np.int64(many)
