"""Tuples judged in the order in which they come, compiled.

What is known of a stream lies together, half a cache line for one axis: the ts and the row of its
last tuple, and the posts around it. All of these are doubles: times in microseconds and rows are
exact below 2^53. The tuples of a stream are chained by time, each to the one before; most are
put at the end of the chain, and those out of order are inserted.
"""

import numpy as np
from numba import njit

from fencepost.arrivals.columns import Incoming, Lasts, Places, Verdicts
from fencepost.crossings.columns import FenceColumns
from fencepost.simd import prefetch
from fencepost.tuples import Int64s

U = np.uint64
TS, ROW, GAP = 0, 1, 2  # of a stream's line
NEVER = np.iinfo(np.int64).min
PASSED_BY, DUPLICATE, CONFLICT, LATE, KEPT, WAITS = 0, 1, 2, 3, 4, 5
NOBODY = -1
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


@njit(inline="always")
def _keep(row, s, verdict, kept):
    if verdict[row] == PASSED_BY:
        verdict[row] = KEPT
        kept[s] += 1


@njit(nogil=True, cache=True, _nrt=False)
def judge(
    arrivals: Incoming,
    lasts: Lasts,
    fences: FenceColumns,
    first_only: bool,
    behind: int,
    begin: int,
    end: int,
    thin_to: int,
    effort: int,
    out: Verdicts,
):
    """Judge the tuples from begin to end, where those before `begin` are.

    Up to `thin_to` only those accepted are kept whose step passes a post, the ones before them, the
    neighbours of what is inserted, and the first sights of streams; from there on all. `behind` is
    how far watermarks are behind the largest ts, below 0 where they are given. `effort` is how many
    tuples may be passed on the way to where others are inserted. Returns a count of each sort: who
    is accepted, ties, is inserted; which steps were compared with posts, and passed one; then the
    largest ts, and `end`, or the row at which the effort was spent.
    """
    code, stream, ts, values = arrivals.code, arrivals.stream, arrivals.ts, arrivals.values
    delivery, verdict, nth, kept = arrivals.delivery, out.verdict, out.nth, out.kept
    seen, marks, before, axes = out.seen, out.marks, out.before, values.shape[0]
    width, last = U(GAP + 2 * axes), U(len(stream) - 1)
    accepted, tied, inserted, compared, passed = 0, 0, 0, 0, 0
    top, current = NEVER, np.int64(0)
    for k in range(begin, end):
        i = U(k)
        prefetch(seen, U(code[stream[min(i + U(AHEAD), last)]]) * width)
        s, t, d = U(code[stream[i]]), ts[i], np.int64(delivery[i])
        if d != current:
            for later in range(max(int(current), 0) + 1, d + 1):
                marks[later] = max(marks[later], marks[later - 1])
            current = d
        line = s * width
        tail, row = seen[line + U(TS)], np.int64(seen[line + U(ROW)])
        node, after, late = row, np.int64(NOBODY), False
        if float(t) <= tail:
            while node >= 0 and ts[node] > t:
                late = late or (delivery[node] < d and ts[node] <= marks[d])
                after, node = node, np.int64(before[node])
                effort -= 1
            if effort < 0:
                return accepted, tied, inserted, compared, passed, top, k
            if late or (node < 0 and t < lasts.ts[s]):
                verdict[i] = LATE
                continue
            again = ts[node] == t if node >= 0 else lasts.ts[s] == t
            if again and first_only and d >= 0:
                same = True
                for axis in range(axes):
                    known = values[axis, node] if node >= 0 else lasts.values[axis, s]
                    same = same and values[axis, i] == known
                verdict[i] = DUPLICATE if same else CONFLICT
                continue
            if again:
                nth[i] = (nth[node] if node >= 0 else lasts.place[s]) + 1
                tied += 1
        before[i] = np.int32(node)
        accepted += 1
        top = max(top, t)
        if behind >= 0 and d >= 0:
            marks[d + 1] = max(marks[d + 1], t - behind)
        if after >= 0:
            inserted += 1
            before[after] = np.int32(k)
            _keep(after, s, verdict, kept)
            if node >= 0:
                _keep(node, s, verdict, kept)
            _keep(k, s, verdict, kept)
            continue
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
            if 0 <= row < thin_to:
                _keep(row, s, verdict, kept)
            _keep(k, s, verdict, kept)
        seen[line + U(TS)], seen[line + U(ROW)] = float(t), float(k)
    for later in range(max(int(current), 0) + 1, len(marks)):
        marks[later] = max(marks[later], marks[later - 1])
    return accepted, tied, inserted, compared, passed, top, end


@njit(nogil=True, cache=True, _nrt=False)
def settle(arrivals: Incoming, mark: int, waits: bool, out: Verdicts):
    """Say who waits for the watermark, if anybody does, and keep the last of each stream's others.

    Returns how many wait.
    """
    code, stream, ts, verdict = arrivals.code, arrivals.stream, arrivals.ts, out.verdict
    waiting = 0
    for k in range(len(stream) if waits else 0):
        i = U(k)
        if ts[i] > mark and (verdict[i] == PASSED_BY or verdict[i] == KEPT):
            out.kept[code[stream[i]]] -= verdict[i] == KEPT
            verdict[i] = WAITS
            waiting += 1
    width = GAP + 2 * arrivals.values.shape[0]
    for s in range(len(out.kept)):
        node = np.int64(out.seen[s * width + ROW])
        while node >= 0 and verdict[node] == WAITS:
            node = np.int64(out.before[node])
        if node >= 0:
            _keep(node, s, verdict, out.kept)
    return waiting


@njit(nogil=True, cache=True, _nrt=False)
def arrange(arrivals: Incoming, verdicts: Verdicts, out: Places):
    """Write the tuples that are kept to the places of their streams, in the order of arrival.

    What was accepted is released by the first delivery whose watermark reaches it.
    """
    code, stream, axes = arrivals.code, arrivals.stream, arrivals.values.shape[0]
    ties, tagged, marks = len(out.nth) > 0, len(out.tag) > 0, verdicts.marks
    for k in range(len(stream)):
        i = U(k)
        if verdicts.verdict[i] != KEPT:
            continue
        s = U(code[stream[i]])
        place = U(out.next[s])
        out.next[s] += 1
        released = max(int(arrivals.delivery[i]), 0)
        while marks[released + 1] < arrivals.ts[i]:
            released += 1
        out.ts[place], out.delivery[place] = arrivals.ts[i], released
        for axis in range(axes):
            out.values[axis, place] = arrivals.values[axis, i]
        if ties:
            out.nth[place] = verdicts.nth[i]
        if tagged:
            out.tag[place] = arrivals.tag[i]


@njit(nogil=True, cache=True, _nrt=False)
def in_order(starts: Int64s, out: Places):
    """Bring the tuples of each run into the order of time; those of one instant stay as they are.

    By insertion: O(places + how far tuples are from where they belong).
    """
    ties, tagged, axes = len(out.nth) > 0, len(out.tag) > 0, out.values.shape[0]
    for run in range(len(starts) - 1):
        for begin in range(starts[run] + 1, starts[run + 1]):
            k = begin
            while k > starts[run] and out.ts[k - 1] > out.ts[k]:
                out.ts[k - 1], out.ts[k] = out.ts[k], out.ts[k - 1]
                out.delivery[k - 1], out.delivery[k] = out.delivery[k], out.delivery[k - 1]
                for axis in range(axes):
                    own = out.values[axis]
                    own[k - 1], own[k] = own[k], own[k - 1]
                if ties:
                    out.nth[k - 1], out.nth[k] = out.nth[k], out.nth[k - 1]
                if tagged:
                    out.tag[k - 1], out.tag[k] = out.tag[k], out.tag[k - 1]
                k -= 1
