"""Insertion into an R-tree of two axes, and its search, compiled.

Node x has counts[x] entries; entry s is the box bounds[x, s] = (lo x, lo y, hi x, hi y) around
below[x, s]: a node, or a box of a leaf. Nodes have a place for the entry too many, too.
"""

import numpy as np
from numba import njit

U = np.uint64
DEEPEST = 40


@njit(inline="always")
def _area(a, b, c, d, frame):
    """Of a box within the frame, which keeps areas finite."""
    wide = min(c, frame[2]) - max(a, frame[0])
    high = min(d, frame[3]) - max(b, frame[1])
    return max(wide, 0.0) * max(high, 0.0)


@njit(inline="always")
def _joined(one, other, frame):
    """The area of the box around two."""
    return _area(
        min(one[0], other[0]),
        min(one[1], other[1]),
        max(one[2], other[2]),
        max(one[3], other[3]),
        frame,
    )


@njit(inline="always")
def _widen(box, other):
    box[0], box[1] = min(box[0], other[0]), min(box[1], other[1])
    box[2], box[3] = max(box[2], other[2]), max(box[3], other[3])


@njit(cache=True, nogil=True, error_model="numpy")
def _around(node, bounds, counts, out):
    out[:] = bounds[node, 0]
    for s in range(1, counts[node]):
        _widen(out, bounds[node, s])


@njit(cache=True, nogil=True, error_model="numpy")
def _seeds(entries, areas, frame):
    """PickSeeds: the pair that would waste most area together."""
    worst, first, second = -np.inf, 0, 1
    for i in range(len(entries)):
        for j in range(i + 1, len(entries)):
            waste = _joined(entries[i], entries[j], frame) - areas[i] - areas[j]
            if waste > worst:
                worst, first, second = waste, i, j
    return first, second


@njit(cache=True, nogil=True, error_model="numpy")
def _next(entries, taken, left, right, frame):
    """PickNext: the entry that most prefers one group, and how much each group would grow."""
    area_left = _area(left[0], left[1], left[2], left[3], frame)
    area_right = _area(right[0], right[1], right[2], right[3], frame)
    best, chosen, to_left = -1.0, -1, True
    for i in range(len(entries)):
        if taken[i]:
            continue
        grows_left = _joined(entries[i], left, frame) - area_left
        grows_right = _joined(entries[i], right, frame) - area_right
        apart = abs(grows_left - grows_right)
        if chosen < 0 or apart > best:
            best, chosen = apart, i
            to_left = grows_left < grows_right
            if grows_left == grows_right:
                to_left = area_left < area_right
    return chosen, to_left


@njit(cache=True, nogil=True, error_model="numpy")
def _split(node, other, bounds, below, counts, least, frame):
    """Deal the entries of an overfull node out to itself and another, by the quadratic rule."""
    many = counts[node]
    entries, children = bounds[node].copy(), below[node].copy()
    areas = np.empty(many)
    for i in range(many):
        box = entries[i]
        areas[i] = _area(box[0], box[1], box[2], box[3], frame)
    taken = np.zeros(many, np.bool_)
    seeds = _seeds(entries, areas, frame)
    covers = np.empty((2, 4))
    for group in range(2):
        target, seed = (node, other)[group], seeds[group]
        covers[group] = entries[seed]
        bounds[target, 0], below[target, 0], counts[target] = entries[seed], children[seed], 1
        taken[seed] = True
    for rest in range(many - 2, 0, -1):
        i, to_left = _next(entries, taken, covers[0], covers[1], frame)
        if counts[node] + rest <= least:
            to_left = True
        elif counts[other] + rest <= least:
            to_left = False
        group, target = (0, node) if to_left else (1, other)
        taken[i] = True
        _widen(covers[group], entries[i])
        at = counts[target]
        bounds[target, at], below[target, at] = entries[i], children[i]
        counts[target] = at + 1


@njit(cache=True, nogil=True, error_model="numpy")
def _chosen(box, node, bounds, counts, frame):
    """ChooseLeaf, one step: the entry that grows least, among equals the smallest."""
    best, smallest, chosen = np.inf, np.inf, 0
    for s in range(counts[node]):
        entry = bounds[node, s]
        area = _area(entry[0], entry[1], entry[2], entry[3], frame)
        grows = _joined(box, entry, frame) - area
        if grows < best or (grows == best and area < smallest):
            best, smallest, chosen = grows, area, s
    return chosen


@njit(cache=True, nogil=True, error_model="numpy")
def grow(boxes, bounds, below, counts, leaf, least, frame):
    """Insert box by box; give the root and the number of nodes."""
    most = bounds.shape[1] - 1
    root, nodes = 0, 1
    path, slots = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    for i in range(len(boxes)):
        node, deep = root, 0
        while not leaf[node]:
            s = _chosen(boxes[i], node, bounds, counts, frame)
            _widen(bounds[node, s], boxes[i])
            path[deep], slots[deep] = node, s
            deep += 1
            node = below[node, s]
        at = counts[node]
        bounds[node, at], below[node, at], counts[node] = boxes[i], i, at + 1
        while counts[node] > most:
            other = nodes
            nodes += 1
            leaf[other] = leaf[node]
            _split(node, other, bounds, below, counts, least, frame)
            if deep == 0:
                root = nodes
                nodes += 1
                leaf[root], counts[root], below[root, 0] = False, 1, node
                _around(node, bounds, counts, bounds[root, 0])
                above = root
            else:
                deep -= 1
                above = path[deep]
                _around(node, bounds, counts, bounds[above, slots[deep]])
            at = counts[above]
            below[above, at], counts[above] = other, at + 1
            _around(other, bounds, counts, bounds[above, at])
            node = above
    return root, nodes


# No branch depends on a test: a node's entries are tested one after the other, and each result is
# written before it is known to be one.
@njit(cache=True, nogil=True, error_model="numpy")
def find(points, many, root, bounds, below, counts, leaf, ptr, room, first):
    """Search for each point, depth first."""
    used = U(ptr[first])
    stack = np.empty(DEEPEST * bounds.shape[1], np.int32)
    for p in range(first, points.shape[1]):
        if used + U(many) + U(1) > U(len(room)):
            return p
        x, y = points[0, p], points[1, p]
        stack[0] = root
        deep = U(1)
        while deep:
            deep -= U(1)
            node = U(stack[deep])
            if leaf[node]:
                for s in range(U(counts[node])):
                    box = bounds[node, s]
                    room[used] = below[node, s]
                    used += U((box[0] <= x) & (x < box[2]) & (box[1] <= y) & (y < box[3]))
            else:
                for s in range(U(counts[node])):
                    box = bounds[node, s]
                    stack[deep] = below[node, s]
                    deep += U((box[0] <= x) & (x < box[2]) & (box[1] <= y) & (y < box[3]))
        ptr[p + 1] = used
    return points.shape[1]
