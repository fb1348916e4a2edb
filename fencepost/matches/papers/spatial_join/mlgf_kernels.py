"""The multilevel grid file, compiled: cutting it, writing its codes, asking it for a window.

A page's boxes are asked 64 at a time, two comparisons of a vector an axis; the ends are not read.
"""

import numpy as np
from numba import njit

from fencepost.simd import GROUP, U, bytes_from, bytes_up_to, lowest, ones

ALL = U(0xFFFFFFFFFFFFFFFF)
ROUND = 8  # ids written at a time; what is written past the last, the next writes over


@njit(cache=True, nogil=True, error_model="numpy")
def cut(keys, bits, capacity, starts):
    """Halve the region of sorted keys, bit by bit, until a part has at most so many of them.

    Empty halves are not recorded; keys that are all alike are cut into pages by number. Returns
    how many parts there are; `starts` gets the first of each.
    """
    stack = np.empty((bits + 2, 3), np.int64)
    stack[0] = (0, len(keys), bits - 1)
    deep, parts = 1, 0
    while deep:
        deep -= 1
        first, last, bit = stack[deep]
        while last - first > capacity and bit >= 0:
            low, high = first, last
            while low < high:
                middle = (low + high) >> 1
                if (keys[middle] >> bit) & 1:
                    high = middle
                else:
                    low = middle + 1
            bit -= 1
            if first < low < last:
                stack[deep] = (low, last, bit)
                deep += 1
                last = low
        for start in range(first, last, capacity):
            starts[parts] = start
            parts += 1
    return parts


@njit(inline="always")
def _may(codes, at, least, most):
    """Which of 64 boxes may, by the codes of their ends, hold values from least to most."""
    return bytes_up_to(codes, at, most) & bytes_from(codes, at + U(GROUP), least)


@njit(inline="always")
def _must(codes, at, least, most):
    """Which of 64 boxes hold all values from least to most, whatever the codes hide."""
    return ~(bytes_from(codes, at, least) | bytes_up_to(codes, at + U(GROUP), most))


@njit(inline="always")
def _of_page(left):
    return ALL if left >= GROUP else (U(1) << U(left)) - U(1)


@njit(inline="always")
def _meets(reach, node, least, most):
    for a in range(len(least)):
        if reach[node, a, 0] > most[a] or reach[node, a, 1] <= least[a]:
            return False
    return True


@njit(inline="always")
def _code(edges, axis, value):
    """Tell the stretch of a value, from 1; 0 and 255 are kept for ends that are infinite."""
    low, high = 0, edges.shape[1]
    while low < high:
        middle = (low + high) >> 1
        if edges[axis, middle] <= value:
            low = middle + 1
        else:
            high = middle
    return np.uint8(low + 1)


@njit(cache=True, nogil=True, error_model="numpy")
def encode(lo, hi, edges, span, groups, codes):
    """Write the codes of the boxes of each page, 64 by 64: begins and ends, axis after axis."""
    axes = len(lo)
    for page in range(len(groups) - 1):
        for i in range(span[page, 0], span[page, 1]):
            k = i - span[page, 0]
            at = (groups[page] + k // GROUP) * 2 * axes * GROUP + k % GROUP
            for a in range(axes):
                low = np.uint8(0) if lo[a, i] == -np.inf else _code(edges, a, lo[a, i])
                high = np.uint8(255) if hi[a, i] == np.inf else _code(edges, a, hi[a, i])
                codes[at + 2 * a * GROUP], codes[at + (2 * a + 1) * GROUP] = low, high


@njit(cache=True, nogil=True, error_model="numpy")
def fetch(tree, least, most, stack, found):
    """Write the places of the boxes in the window [.., most] × (least, ..]; return how many.

    To the stretch: a few beside the window are among them, and pairing drops them.
    """
    span, reach, leaves, groups, codes = tree.span, tree.reach, tree.leaves, tree.groups, tree.codes
    axes, edges = len(least), tree.edges
    low_codes, high_codes = np.empty(axes, np.uint8), np.empty(axes, np.uint8)
    for a in range(axes):
        low_codes[a], high_codes[a] = _code(edges, a, least[a]), _code(edges, a, most[a])
    count, deep = U(0), 0
    if len(span):
        stack[0], deep = len(span) - 1, 1
    while deep:
        deep -= 1
        node = stack[deep]
        if not _meets(reach, node, least, most):
            continue
        low, high = span[node, 0], span[node, 1]
        if node >= leaves:
            for child in range(high - 1, low - 1, -1):
                stack[deep] = child
                deep += 1
            continue
        for group in range(groups[node], groups[node + 1]):
            at, left = U(group * 2 * axes * GROUP), high - low
            word = _of_page(left)
            for a in range(U(axes)):
                word &= _may(codes, at + a * U(2 * GROUP), low_codes[a], high_codes[a])
            for k in range(U(min(left, GROUP))):
                found[count] = np.int32(U(low) + k)
                count += (word >> k) & U(1)
            low += GROUP
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def reach_each(tree, values, ptr, room, first):
    """Find the boxes point by point: each is a cluster of its own. A `Finder`."""
    axes, points = values.shape
    span, reach, leaves, groups, codes = tree.span, tree.reach, tree.leaves, tree.groups, tree.codes
    lo, hi, ids, edges = tree.lo, tree.hi, tree.ids, tree.edges
    stack = np.empty(tree.deepest, np.int64)
    last = U(len(ids)) - U(1)
    point, code = np.empty(axes), np.empty(axes, np.uint8)
    for i in range(first, points):
        for a in range(axes):
            point[a] = values[a, i]
            code[a] = _code(edges, a, point[a])
        at, deep = U(ptr[i]), 0
        if len(span):
            stack[0], deep = len(span) - 1, 1
        while deep:
            deep -= 1
            node = stack[deep]
            if not _meets(reach, node, point, point):
                continue
            low, high = span[node, 0], span[node, 1]
            if node >= leaves:
                for child in range(high - 1, low - 1, -1):
                    stack[deep] = child
                    deep += 1
                continue
            if at + U(high - low + ROUND) > U(len(room)):
                return i
            for group in range(groups[node], groups[node + 1]):
                start, left = U(group * 2 * axes * GROUP), high - low
                word = _of_page(left)
                for a in range(U(axes)):
                    word &= _may(codes, start + a * U(2 * GROUP), code[a], code[a])
                if not word:
                    low += GROUP
                    continue
                sure = word
                for a in range(U(axes)):
                    sure &= _must(codes, start + a * U(2 * GROUP), code[a], code[a])
                whole, end = sure, at + U(ones(sure))
                while at < end:
                    for k in range(U(ROUND)):
                        room[at + k] = ids[min(U(low) + lowest(whole), last)]
                        whole &= whole - U(1)
                    at += U(ROUND)
                at, word = end, word & ~sure
                while word:
                    box, holds = U(low) + lowest(word), True
                    for a in range(axes):
                        holds &= (lo[a, box] <= point[a]) & (point[a] < hi[a, box])
                    room[at] = ids[box]
                    at += U(holds)
                    word &= word - U(1)
                low += GROUP
        ptr[i + 1] = at
    return points
