"""Markers of an interval skip list, and its search, compiled.

Node x has the edges first[x] .. first[x + 1], from the lowest level up; after[e] is the node that
edge e leads to. Node 0 is the header at -inf, the last one the tail at +inf.
"""

import numpy as np
from numba import njit

U = np.uint64


@njit(cache=True, nogil=True, error_model="numpy")
def link(first, after):
    """Draw the edges, from the tail backwards."""
    nodes = len(first) - 1
    top = first[1] - first[0]
    ahead = np.full(top, nodes - 1, np.int64)
    for x in range(nodes - 2, -1, -1):
        for level in range(first[x + 1] - first[x]):
            after[first[x] + level] = ahead[level]
            ahead[level] = x


@njit(cache=True, nogil=True, error_model="numpy")
def place(begin, end, first, after, edge_at, node_at, edge_marks, node_marks):
    """Lead each interval from its begin to its end along the highest edges that stay inside.

    It marks those edges, and the nodes where they meet: all that it contains. Where the arrays of
    marks are empty, they are only counted.
    """
    writing = len(node_marks) > 0
    for i in range(len(begin)):
        x, goal = begin[i], end[i]
        while x != goal:
            if writing:
                node_marks[node_at[x]] = i
            node_at[x] += 1
            edge = first[x + 1] - 1
            while after[edge] > goal:
                edge -= 1
            if writing:
                edge_marks[edge_at[edge]] = i
            edge_at[edge] += 1
            x = after[edge]


@njit(cache=True, nogil=True, error_model="numpy")
def find(values, ends, first, after, edges, edge_marks, nodes, node_marks, ptr, room, begin):
    """Descend; intervals that mark an edge spanning the value, or the value's node, hold it."""
    top = first[1] - first[0]
    used = U(ptr[begin])
    for p in range(begin, len(values)):
        value, x = values[p], 0
        level = top - 1
        while level >= 0:
            edge = first[x] + level
            ahead = after[edge]
            while ends[ahead] < value:
                x = ahead
                edge = first[x] + level
                ahead = after[edge]
            if ends[ahead] == value:
                low, high, marks = U(nodes[ahead]), U(nodes[ahead + 1]), node_marks
                level = 0
            else:
                low, high, marks = U(edges[edge]), U(edges[edge + 1]), edge_marks
            if used + high - low > U(len(room)):
                return p
            for k in range(low, high):
                room[used] = marks[k]
                used += U(1)
            level -= 1
        ptr[p + 1] = used
    return len(values)
