"""The walk along a linked list of segments, compiled.

Node i is the segment from border[i] to border[after[i]]. Its delta sets are linked lists of
entries: `plus[i]` and `minus[i]` are the first ones, -1 ends a list.
"""

from numba import njit


@njit(cache=True, nogil=True)
def traverse(starts, values, nodes, entries, pointers, run, seen, place, query, kind, used):
    """Lead each run of a path along the list; the node reached is each stream's pointer.

    `seen` marks the queries of the union that is subtracted. Returns the run that did not fit, the
    rows used, and how many entries were visited.
    """
    border, after, before, plus, minus = nodes
    ids, following = entries
    visited = 0
    while run < len(starts) - 1:
        node, fits, began, before_it = pointers[run], True, used, visited
        for p in range(starts[run] + 1, starts[run + 1]):
            value, from_node, up = values[p], node, True
            if border[after[node]] <= value:
                while border[after[node]] <= value:
                    node = after[node]
            else:
                up = False
                while border[node] > value:
                    node = before[node]
            if node == from_node:
                continue
            entered, left = (plus, minus) if up else (minus, plus)
            for sign in (1, -1):  # QSet+ = entered - left, QSet- = left - entered
                one, other = (entered, left) if sign == 1 else (left, entered)
                at = after[from_node] if up else from_node
                stop = after[node] if up else node
                while at != stop:
                    e = other[at]
                    while e >= 0:
                        seen[ids[e]] = sign * (p + 1)
                        e = following[e]
                    at = after[at] if up else before[at]
                at = after[from_node] if up else from_node
                while at != stop:
                    e = one[at]
                    while e >= 0:
                        visited += 1
                        if seen[ids[e]] != sign * (p + 1):
                            if used == len(place):
                                fits = False
                                break
                            place[used], query[used], kind[used] = p, ids[e], sign
                            used += 1
                        e = following[e]
                    if not fits:
                        break
                    at = after[at] if up else before[at]
                if not fits:
                    break
            if not fits:
                break
        if not fits:
            return run, began, before_it
        pointers[run] = node
        run += 1
    return run, used, visited
