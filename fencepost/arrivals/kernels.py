"""Tuples judged in the order in which they come, compiled.

What is known of a stream lies together, half a cache line for one axis: its last ts, the row of its
last tuple, and the posts around it. All of these are doubles: times in microseconds and rows are
exact below 2^53.
"""

import numpy as np
from numba import njit

from fencepost.arrivals.columns import Incoming, Lasts, Places, Verdicts
from fencepost.crossings.columns import FenceColumns
from fencepost.simd import prefetch

U = np.uint64
TS, ROW, GAP = 0, 1, 2  # of a stream's line
NEVER = np.iinfo(np.int64).min
PASSED_BY, DUPLICATE, CONFLICT, LATE, KEPT = 0, 1, 2, 3, 4
AHEAD = 16  # tuples whose streams are fetched before they are needed


@njit(inline="always")
def _find_gap(fences, axis, value, seen, line):
    """Find the posts around a value."""
    cells, posts, first = fences.cells[axis], fences.posts, U(fences.first[axis])
    at = (value - fences.origin[axis]) * fences.scale[axis]
    cell = U(fences.first_cell[axis]) + U(min(max(at, 0.0), float(cells - 1)))
    low, high = U(fences.starts[cell]), U(fences.starts[cell + U(1)])
    while low < high:
        middle = (low + high) >> U(1)
        if posts[first + middle + U(1)] <= value:
            low = middle + U(1)
        else:
            high = middle
    gap = line + U(GAP + 2 * axis)
    seen[gap], seen[gap + U(1)] = posts[first + low], posts[first + low + U(1)]


@njit(nogil=True, cache=True, _nrt=False)
def judge(
    arrivals: Incoming,
    lasts: Lasts,
    fences: FenceColumns,
    first_only: bool,
    begin: int,
    end: int,
    thin_to: int,
    out: Verdicts,
):
    """Judge the tuples from begin to end, where those before `begin` are.

    Up to `thin_to` only those accepted are kept whose step passes a post, the ones before them, and
    the first sights of streams; from there on all. Returns how many were accepted, and how many
    of them tie; how many steps were compared with posts, and how many passed one; and `end`, or the
    row at which it gave up, as it is earlier than one of its stream and delivery.
    """
    code, stream, ts, values = arrivals.code, arrivals.stream, arrivals.ts, arrivals.values
    delivery, verdict, nth, kept = arrivals.delivery, out.verdict, out.nth, out.kept
    seen, largest, axes = out.seen, out.largest, values.shape[0]
    width, last = U(GAP + 2 * axes), U(len(stream) - 1)
    accepted, tied, compared, passed = 0, 0, 0, 0
    for k in range(begin, end):
        i = U(k)
        prefetch(seen, U(code[stream[min(i + U(AHEAD), last)]]) * width)
        s, t, d = U(code[stream[i]]), ts[i], delivery[i]
        line = s * width
        before, row = seen[line + U(TS)], np.int64(seen[line + U(ROW)])
        if float(t) <= before:
            if float(t) < before:
                if row >= 0 and delivery[row] == d:
                    return accepted, tied, compared, passed, k
                verdict[i] = LATE
                continue
            if first_only:
                same = True
                for axis in range(axes):
                    known = values[axis, row] if row >= 0 else lasts.values[axis, s]
                    same = same and values[axis, i] == known
                verdict[i] = DUPLICATE if same else CONFLICT
                continue
            nth[i] = (nth[row] if row >= 0 else lasts.place[s]) + 1
            tied += 1
        accepted += 1
        largest[d] = max(largest[d], t)
        keeps = k >= thin_to
        if not keeps:
            if row < 0:
                keeps = lasts.ts[s] == NEVER
                for axis in range(axes):
                    known = values[axis, i] if keeps else lasts.values[axis, s]
                    _find_gap(fences, axis, known, seen, line)
            stays = True
            for axis in range(axes):
                value, gap = values[axis, i], line + U(GAP + 2 * axis)
                if not (seen[gap] <= value < seen[gap + U(1)]):
                    _find_gap(fences, axis, value, seen, line)
                    stays = False
            compared += not keeps
            passed += not stays
            keeps = keeps or not stays
        if keeps:
            if 0 <= row < thin_to and verdict[row] == PASSED_BY:
                verdict[row] = KEPT
                kept[s] += 1
            verdict[i] = KEPT
            kept[s] += 1
        seen[line + U(TS)], seen[line + U(ROW)] = float(t), float(k)
    return accepted, tied, compared, passed, end


@njit(nogil=True, cache=True, _nrt=False)
def arrange(arrivals: Incoming, verdicts: Verdicts, out: Places):
    """Write the tuples that are kept to the places of their streams, in the order they came in."""
    code, stream, axes = arrivals.code, arrivals.stream, arrivals.values.shape[0]
    ties, tagged = len(out.nth) > 0, len(out.tag) > 0
    for k in range(len(stream)):
        i = U(k)
        if verdicts.verdict[i] != KEPT:
            continue
        s = U(code[stream[i]])
        place = U(out.next[s])
        out.next[s] += 1
        out.ts[place], out.delivery[place] = arrivals.ts[i], arrivals.delivery[i]
        for axis in range(axes):
            out.values[axis, place] = arrivals.values[axis, i]
        if ties:
            out.nth[place] = verdicts.nth[i]
        if tagged:
            out.tag[place] = arrivals.tag[i]
