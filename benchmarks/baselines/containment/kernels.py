"""Cutting boxes into the pieces of a containment encoding, and the search, compiled.

A block is 2^levels cells wide on each axis. Its pieces are itself, its halves (quarters on two
axes), theirs, down to the cells. A cell's code is its number within the block, the bits of its axes
interleaved; piece `first[l] + (code >> d·l)` of level l contains it.
"""

import numpy as np
from numba import njit

U = np.uint64


@njit(nogil=True)
def _code(x, y, axes):
    """Interleave the bits of two axes; of one axis it is the number itself."""
    if axes == 1:
        return x
    code, bit = 0, 0
    while x >> bit or y >> bit:
        code |= (((x >> bit) & 1) << (2 * bit)) | (((y >> bit) & 1) << (2 * bit + 1))
        bit += 1
    return code


@njit(cache=True, nogil=True)
def pieces(touched, sure, levels, first, blocks, whole_at, edge_at, whole, edge):
    """Cut each box into the largest pieces it contains, and the cells that it only touches.

    `touched` and `sure` are [box, axis, (from, to)] in cells; where the lists are empty, the pieces
    are only counted, else written.
    """
    axes, writing = touched.shape[1], len(whole) + len(edge) > 0
    per_block = first[levels] + 1
    stack = np.empty((8 * levels + 8, 3), np.int64)
    for box in range(len(touched)):
        t, s = touched[box], sure[box]
        low_y = t[1, 0] >> levels if axes == 2 else 0
        high_y = (t[1, 1] - 1) >> levels if axes == 2 else 0
        for by in range(low_y, high_y + 1):
            for bx in range(t[0, 0] >> levels, ((t[0, 1] - 1) >> levels) + 1):
                base = (by * blocks + bx) * per_block
                stack[0] = levels, bx << levels, by << levels if axes == 2 else 0
                depth = 1
                while depth:
                    depth -= 1
                    level, x, y = stack[depth]
                    size = 1 << level
                    if x >= t[0, 1] or x + size <= t[0, 0]:
                        continue
                    if axes == 2 and (y >= t[1, 1] or y + size <= t[1, 0]):
                        continue
                    inside = s[0, 0] <= x and x + size <= s[0, 1]
                    if axes == 2:
                        inside = inside and s[1, 0] <= y and y + size <= s[1, 1]
                    if inside or level == 0:
                        mask = (1 << levels) - 1
                        code = _code(x & mask, y & mask, axes)
                        piece = base + first[level] + (code >> (axes * level))
                        if inside:
                            if writing:
                                whole[whole_at[piece]] = box
                            whole_at[piece] += 1
                        else:
                            if writing:
                                edge[edge_at[piece]] = box
                            edge_at[piece] += 1
                        continue
                    half = size >> 1
                    for down in range(axes):
                        for right in range(2):
                            stack[depth] = level - 1, x + right * half, y + down * half
                            depth += 1


@njit(cache=True, nogil=True, error_model="numpy")
def find(
    cells, points, levels, first, blocks, whole_at, whole, edge_at, edge, lo, hi, ptr, room, p
):
    """Copy the lists of the pieces that contain each point's cell; test those of its edge list."""
    axes, n = points.shape
    mask, per_block = (1 << levels) - 1, first[levels] + 1
    used = U(ptr[p])
    while p < n:
        x, y = cells[0, p], cells[1, p] if axes == 2 else 0
        base = ((y >> levels) * blocks + (x >> levels)) * per_block
        code = _code(x & mask, y & mask, axes)
        for level in range(levels + 1):
            piece = base + first[level] + (code >> (axes * level))
            begin, end = U(whole_at[piece]), U(whole_at[piece + 1])
            if used + (end - begin) > U(len(room)):
                return p
            for k in range(begin, end):
                room[used] = whole[k]
                used += U(1)
        if len(edge):
            piece = base + first[0] + code
            begin, end = U(edge_at[piece]), U(edge_at[piece + 1])
            if used + (end - begin) > U(len(room)):
                return p
            for k in range(begin, end):
                box = edge[k]
                held = lo[0, box] <= points[0, p] < hi[0, box]
                if axes == 2:
                    held = held and lo[1, box] <= points[1, p] < hi[1, box]
                if held:
                    room[used] = box
                    used += U(1)
        ptr[p + 1] = used
        p += 1
    return n
