"""The join of S3, compiled: clusters of points against the boxes of a multilevel grid file.

A cluster's window is fetched once. Then duality once more: a box is to the cluster's points what a
query is to data. On each axis the points are sorted, and the first r of them are a row of bits; a
box holds on this axis the points between two ranks, the difference of two such rows. So a box
meets 512 points in two ranks and two rows an axis, and no point is tested against any box.

Indices are unsigned in hot loops: a signed one costs a test for Python's negative indices.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from fencepost.matches.papers.spatial_join.mlgf_kernels import ALL, ROUND, fetch
from fencepost.simd import WORDS, U, exchange, keep_range, lowest, ones

BLOCK = 64 * WORDS  # points that are paired together
CELLS = 2 * BLOCK  # even cells along an axis, to find a rank in one look-up
PAD = 8  # entries behind the sorted values that may be read, and never pass for smaller
STEEPEST = 1e300

Words = npt.NDArray[np.uint64]


@njit(cache=True, nogil=True, error_model="numpy")
def hilbert_keys(cells, bits, keys):
    """Give each column of cells[d, n], of so many bits an axis, its place along the curve.

    Skilling's: undo the excess of each level from the top, then Gray-code; without branches, which
    the data would make a coin's toss. O(d bits) a point. `cells` is used up.
    """
    axes, count = U(cells.shape[0]), U(cells.shape[1])
    for i in range(count):
        for level in range(bits - 1, 0, -1):
            below = (np.int64(1) << level) - 1
            for a in range(axes):
                upper = -((cells[a, i] >> level) & 1)
                change = (cells[U(0), i] ^ cells[a, i]) & below & ~upper
                cells[U(0), i] ^= change | (below & upper)
                cells[a, i] ^= change
        for a in range(U(1), axes):
            cells[a, i] ^= cells[a - U(1), i]
        change = np.int64(0)
        for level in range(bits - 1, 0, -1):
            change ^= ((np.int64(1) << level) - 1) & -((cells[axes - U(1), i] >> level) & 1)
        key = np.int64(0)
        for level in range(bits - 1, -1, -1):
            for a in range(axes):
                key = (key << 1) | (((cells[a, i] ^ change) >> level) & 1)
        keys[i] = key


@njit(inline="always")
def _cell(origin, scale, value):
    return U(min(max((value - origin) * scale, 0.0), float(CELLS)))


@njit(cache=True, nogil=True, error_model="numpy")
def rank_cells(values, axis, start, stop, ruler, cells, order, ranked, rows):
    """Sort a block's points on an axis, tell where each cell begins, and write the rows of bits.

    By cells, and by insertion within them: 15 ns a point on each axis.
    """
    count = stop - start
    origin, end = np.inf, -np.inf
    for i in range(start, stop):
        origin, end = min(origin, values[axis, i]), max(end, values[axis, i])
    scale = 1.0
    if end > origin:
        scale = min(max(CELLS / (end - origin), 1 / STEEPEST), STEEPEST)
    ruler[axis, 0], ruler[axis, 1] = origin, scale
    for c in range(CELLS + 2):
        cells[axis, c] = 0
    for i in range(start, stop):
        cells[axis, _cell(origin, scale, values[axis, i])] += 1
    before = 0
    for c in range(CELLS + 2):
        before += cells[axis, c]
        cells[axis, c] = before
    for i in range(stop - 1, start - 1, -1):
        value = values[axis, i]
        cell = _cell(origin, scale, value)
        place = cells[axis, cell] - 1
        cells[axis, cell] = place
        ranked[axis, place], order[place] = value, i - start
    for i in range(1, count):
        value, who, k = ranked[axis, i], order[i], i
        while k > 0 and ranked[axis, k - 1] > value:
            ranked[axis, k], order[k] = ranked[axis, k - 1], order[k - 1]
            k -= 1
        ranked[axis, k], order[k] = value, who
    ranked[axis, count : count + PAD] = np.inf
    for w in range(WORDS):
        rows[axis, w] = U(0)
    for r in range(U(count)):
        row = U(WORDS) * r
        for w in range(U(WORDS)):
            rows[axis, row + U(WORDS) + w] = rows[axis, row + w]
        who = U(order[r])
        rows[axis, row + U(WORDS) + (who >> U(6))] |= U(1) << (who & U(63))


@njit(cache=True, nogil=True, error_model="numpy")
def ranks(ends, axis, found, begin, size, count, ruler, cells, ranked, row):
    """Count the block's values below the ends of some boxes: where their rows of bits begin.

    A look-up, and two tests without a branch; only where values crowd in a cell, a search. A loop
    of its own: in a longer one Numba counts references at every step (196 → 67 ns a box of eight
    axes).
    """
    origin, scale, many = ruler[axis, 0], ruler[axis, 1], U(count)
    for k in range(size):
        end = ends[axis, U(found[begin + k])]
        rank = U(cells[axis, _cell(origin, scale, end)])
        rank = rank + U(ranked[axis, rank] < end) + U(ranked[axis, rank + U(1)] < end)
        if ranked[axis, rank] < end:
            step = U(BLOCK // 2)
            while step:
                if rank + step <= many and ranked[axis, rank + step - U(1)] < end:
                    rank += step
                step >>= U(1)
        row[k] = rank << U(3)


@njit(inline="always")
def _transpose(masks):
    """Turn 64 boxes of 512 points each into 512 points of 64 boxes each, eight words abreast."""
    j, mask = U(32), U(0xFFFFFFFF)
    while j:
        k = U(0)
        while k < U(64):
            exchange(masks, k * U(WORDS), (k + j) * U(WORDS), j, mask)
            k = (k + j + U(1)) & ~j
        j >>= U(1)
        mask ^= mask << j


@njit(cache=True, nogil=True, error_model="numpy")
def pair(tree, found, many, count, ruler, cells, ranked, rows, masks, bits, start, wide):
    """Pair a block's points with the boxes found, exactly: for each point, a bit for each box.

    Those of point p are the words of `bits` from start + p wide on.
    """
    lo, hi, axes = tree.lo, tree.hi, len(tree.lo)
    words = U((count + 63) // 64)
    stride = U(rows.shape[1])
    flat = rows.reshape(-1)
    lows, highs = np.empty(64, U), np.empty(64, U)
    for b in range(U((many + U(63)) >> U(6))):
        begin = b << U(6)
        size = min(U(64), many - begin)
        for k in range(size << U(3)):
            masks[k] = ALL
        for k in range(size << U(3), U(64 * WORDS)):
            masks[k] = U(0)
        for a in range(axes):
            base = U(a) * stride
            ranks(lo, a, found, begin, size, count, ruler, cells, ranked, lows)
            ranks(hi, a, found, begin, size, count, ruler, cells, ranked, highs)
            for k in range(size):
                keep_range(flat, base + lows[k], base + highs[k], masks, k << U(3))
        _transpose(masks)
        for w in range(words):
            for p in range(min(U(64), U(count) - (w << U(6)))):
                bits[U(start) + ((w << U(6)) + p) * U(wide) + b] = masks[(p << U(3)) + w]


@njit(cache=True, nogil=True, error_model="numpy")
def spell(bits, at, blocks, ids, first, out, place, end):
    """Write the ids of a point's bits from `place` to `end`, in rounds that never pass the end."""
    for b in range(blocks):
        word = bits[at + b]
        if word:
            begin, next_ = first + (b << U(6)), place + U(ones(word))
            while place < next_:
                if place + U(ROUND) <= end:
                    for k in range(U(ROUND)):
                        out[place + k] = ids[begin + U(lowest(word))]
                        word &= word - U(1)
                    place += U(ROUND)
                else:
                    out[place] = ids[begin + U(lowest(word))]
                    word &= word - U(1)
                    place += U(1)
            place = next_
    return place


@njit(cache=True, nogil=True, error_model="numpy")
def join(tree, values, cluster, kept, pool, counts, state):
    """Pair cluster after cluster of values[d, n], as long as what is found has room in the pool.

    Of each block the pool keeps what is shorter: the bits, behind the numbers of the cluster's
    boxes, or the numbers found for each point. So it is never longer than the answer, but for the
    block at hand.

    kept[block]   first point and end; words from a point to the next, or 0 where numbers are kept;
                  where the cluster's numbers begin, where what is kept; words of a point that count
    counts[n]     how many boxes hold each point
    state         blocks kept, words used, points done, words wanted: returns when there are fewer
    """
    axes, points = values.shape
    done, used, first = state[0], state[1], state[2]
    stack = np.empty(tree.deepest, np.int64)
    found = np.empty(len(tree.ids) + 1, np.int32)
    least, most = np.empty(axes), np.empty(axes)
    side = min(BLOCK, points)
    ruler, cells = np.empty((axes, 2)), np.empty((axes, CELLS + 2), np.int32)
    ranked, order = np.empty((axes, side + PAD)), np.empty(side, np.int64)
    rows, masks = np.empty((axes, (side + 1) * WORDS), U), np.empty(64 * WORDS, U)
    spelled = np.empty(0, np.int32)
    numbers = pool.view(np.int32)
    while first < points:
        last = min((first // cluster + 1) * cluster, points)
        for a in range(axes):
            least[a], most[a] = np.inf, -np.inf
            for i in range(first, last):
                least[a], most[a] = min(least[a], values[a, i]), max(most[a], values[a, i])
        many = fetch(tree, least, most, stack, found)
        blocks = np.int64((many + U(63)) >> U(6))
        wide = (((blocks + 7) >> 3) | 1) * 8  # an odd number of lines: all sets of the cache serve
        who = 2 * used
        listed = who // 2 + blocks * 32 + 40
        state[3] = listed + wide * side
        if state[3] > len(pool):
            return
        for k in range(many):
            numbers[U(who) + k] = tree.ids[found[k]]
        used = listed
        while first < last:
            stop = min(first + BLOCK, last)
            state[3] = used + wide * side
            if state[3] > len(pool):
                return
            for a in range(axes):
                rank_cells(values, a, first, stop, ruler, cells, order, ranked, rows)
            pair(
                tree, found, many, stop - first, ruler, cells, ranked, rows, masks, pool, used, wide
            )
            total = U(0)
            for p in range(U(stop - first)):
                at, here = U(used) + p * U(wide), U(0)
                for b in range(U(blocks)):
                    here += ones(pool[at + b])
                counts[U(first) + p] = here
                total += here
            kept[done, 0], kept[done, 1], kept[done, 3], kept[done, 4] = first, stop, who, used
            kept[done, 5] = blocks
            if total < U(2 * blocks * (stop - first)):
                if len(spelled) < total:
                    spelled = np.empty(total + total // U(4), np.int32)
                place = U(0)
                for p in range(U(stop - first)):
                    at = U(used) + p * U(wide)
                    place = spell(pool, at, U(blocks), numbers, U(who), spelled, place, total)
                for k in range(total):
                    numbers[U(2 * used) + k] = spelled[k]
                kept[done, 2], kept[done, 4] = 0, 2 * used
                used += np.int64((total + U(1)) >> U(1))
            else:
                kept[done, 2] = wide
                used += (stop - first) * wide
            done, first = done + 1, stop
            state[0], state[1], state[2] = done, used, first


@njit(cache=True, nogil=True, error_model="numpy")
def gather(order, kept, pool, ptr, out):
    """Bring what was kept to where each point came from."""
    numbers = pool.view(np.int32)
    for block in range(len(kept)):
        first, stop, wide, who, start, blocks = kept[block]
        at = U(start)
        for i in range(first, stop):
            place, end = U(ptr[order[i]]), U(ptr[order[i] + 1])
            if wide:
                spell(pool, at, U(blocks), numbers, U(who), out, place, end)
                at += U(wide)
            else:
                for k in range(end - place):
                    out[place + k] = numbers[at + k]
                at += end - place
