"""The walk, compiled. `twins.py` has the same in NumPy, and tests hold the two equal.

Two passes. The first finds where each tuple is among the posts: two ranks, whatever the number
of queries. The second counts, and then writes, who begins and who ends at the posts between one
tuple and the next.

Indices are unsigned wherever a loop is hot: a signed one costs a test for Python's negative indices
at every access, and keeps the compiler from using vectors (5.7 → 0.8 ns an event in the fill).
"""

import numpy as np
from numba import njit

from fencepost.crossings.columns import Events, Posts, Steps
from fencepost.simd import prefetch
from fencepost.tuples import Bools, Doubles, Int32s, Int64s

U = np.uint64
BLOCK = 32  # tuples whose posts are fetched together; 16 to 64 measure alike
COPY = 16  # entries copied at a time; a slice of ten costs one round and no guess about its length


@njit(inline="always")
def _cell(origin, scale, cells, value):
    return U(min(max((value - origin) * scale, 0.0), float(cells - 1)))


@njit(inline="always")
def _four(posts, rank, value):
    """Pass up to four posts at or below the value without a branch."""
    return (
        rank
        + U(posts[rank] <= value)
        + U(posts[rank + U(1)] <= value)
        + U(posts[rank + U(2)] <= value)
        + U(posts[rank + U(3)] <= value)
    )


@njit
def gallop(posts, rank, value):
    """From a rank that is too low, double the stride, then halve; the pad ends every search."""
    last = U(len(posts) - 1)
    low, stride = U(rank), U(4)
    high = min(low + stride, last)
    while posts[high] <= value:
        low, stride = high + U(1), stride + stride
        high = min(low + stride, last)
    while low < high:
        middle = (low + high) >> U(1)
        if posts[middle] <= value:
            low = middle + U(1)
        else:
            high = middle
    return low


@njit(nogil=True, cache=True)
def ranks(posts: Posts, values: Doubles, start: int, stop: int, begun: Int32s, ended: Int32s):
    """Find the ranks of places start to stop in a list of one segment, wherever the last one was.

    A cell, two fours, and no branch that depends on the data. The three loops let the memory be
    fetched a block ahead: at a million queries 24 ns a tuple, against 57 in one loop and 33 in two
    without the fetch.
    """
    origin, scale, count = posts.origin, posts.scale, posts.ruler_cells
    cells, begin_posts, end_posts = posts.cells, posts.begin_posts, posts.end_posts
    for block in range(U(start), U(stop), U(BLOCK)):
        high = min(block + U(BLOCK), U(stop))
        for i in range(block, high):
            cell = _cell(origin, scale, count, values[i])
            prefetch(cells, U(2) * cell)
            begun[i] = np.int32(cell)
        for i in range(block, high):
            cell = U(2) * U(begun[i])
            b, e = cells[cell], cells[cell + U(1)]
            prefetch(begin_posts, U(b))
            prefetch(begin_posts, U(b) + U(4))
            prefetch(end_posts, U(e))
            prefetch(end_posts, U(e) + U(4))
            begun[i], ended[i] = b, e
        for i in range(block, high):
            value = values[i]
            b = _four(begin_posts, U(begun[i]), value)
            e = _four(end_posts, U(ended[i]), value)
            if begin_posts[b] <= value:
                b = gallop(begin_posts, b, value)
            if end_posts[e] <= value:
                e = gallop(end_posts, e, value)
            begun[i], ended[i] = np.int32(b), np.int32(e)


@njit(nogil=True, cache=True)
def ranks_near(
    posts: Posts,
    steps: Steps,
    first_run: int,
    last_run: int,
    known: Int32s,
    begun: Int32s,
    ended: Int32s,
):
    """Find the ranks where most steps pass no post: to stand still costs one test.

    `known` holds the pointer of each run's first place, (begun, ended), or -1.
    """
    begin_posts, end_posts, cells = posts.begin_posts, posts.end_posts, posts.cells
    origin, scale, count = posts.origin, posts.scale, posts.ruler_cells
    starts, values = steps.starts, steps.values[posts.axis]
    for run in range(first_run, last_run):
        low, high = np.inf, np.inf  # the posts below and above the last tuple; none are known yet
        b, e = U(0), U(0)
        start = U(starts[run])
        if known[run, 0] >= 0:
            b, e = U(known[run, 0]), U(known[run, 1])
            low, high = _around(begin_posts, end_posts, b, e)
        for i in range(start, U(starts[run + 1])):
            value = values[i]
            if not (low <= value < high):
                cell = U(2) * _cell(origin, scale, count, value)
                b = _four(begin_posts, U(cells[cell]), value)
                e = _four(end_posts, U(cells[cell + U(1)]), value)
                if begin_posts[b] <= value:
                    b = gallop(begin_posts, b, value)
                if end_posts[e] <= value:
                    e = gallop(end_posts, e, value)
                low, high = _around(begin_posts, end_posts, b, e)
            begun[i], ended[i] = np.int32(b), np.int32(e)


@njit(inline="always")
def _around(begin_posts, end_posts, b, e):
    low = -np.inf
    if b > U(0):
        low = begin_posts[b - U(1)]
    if e > U(0):
        low = max(low, end_posts[e - U(1)])
    return low, min(begin_posts[b], end_posts[e])


@njit(inline="always")
def rank_within(posts, low, high, value):
    """Find how many posts stand at or below the value, among those from low to high."""
    while low < high:
        middle = (low + high) >> U(1)
        if posts[middle] <= value:
            low = middle + U(1)
        else:
            high = middle
    return low


@njit(nogil=True, cache=True)
def ranks_within(
    posts: Posts,
    steps: Steps,
    segment: Int32s,
    first_run: int,
    last_run: int,
    begun: Int32s,
    ended: Int32s,
):
    """Find the ranks in the segment of each run's own stream; without one (-1) they are 0."""
    begin_posts, end_posts, cells = posts.begin_posts, posts.end_posts, posts.cells
    origin, scale, count = posts.origin, posts.scale, posts.ruler_cells
    starts, values = steps.starts, steps.values[posts.axis]
    for run in range(first_run, last_run):
        here = segment[run]
        for i in range(U(starts[run]), U(starts[run + 1])):
            if here < 0:
                begun[i], ended[i] = 0, 0
                continue
            cell = U(2) * (U(here) * U(count) + _cell(origin, scale, count, values[i]))
            b = rank_within(begin_posts, U(cells[cell]), U(cells[cell + U(2)]), values[i])
            e = rank_within(end_posts, U(cells[cell + U(1)]), U(cells[cell + U(3)]), values[i])
            begun[i], ended[i] = np.int32(b), np.int32(e)


@njit(nogil=True, cache=True)
def count(
    posts: Posts,
    steps: Steps,
    first_run: int,
    last_run: int,
    begun: Int32s,
    ended: Int32s,
    counts: Int32s,
):
    """Add each step's events to `counts`, if there is any; return their sum, and the posts passed.

    Where the step is shorter than the narrowest box nothing can be leapt over, and the ranks say it
    all.
    """
    begin_far, end_far, narrowest = posts.begin_far, posts.end_far, posts.narrowest
    starts, values = steps.starts, steps.values[posts.axis]
    total, passed, tell = np.int64(0), np.int64(0), len(counts) > 0
    for run in range(first_run, last_run):
        for i in range(U(starts[run] + 1), U(starts[run + 1])):
            p = i - U(1)
            b0, b1 = min(begun[p], begun[i]), max(begun[p], begun[i])
            e0, e1 = min(ended[p], ended[i]), max(ended[p], ended[i])
            low, high = min(values[p], values[i]), max(values[p], values[i])
            found = np.int32((b1 - b0) + (e1 - e0))
            passed += found
            if high - low >= narrowest:
                found = np.int32(0)
                for k in range(U(b0), U(b1)):
                    found += np.int32(begin_far[k] > high)
                for k in range(U(e0), U(e1)):
                    found += np.int32(end_far[k] <= low)
            if tell:
                counts[i] += found
            total += found
    return total, passed


@njit(inline="always")
def _put_block(ids, k, queries, w):
    # All loads before all stores: only then may the compiler use one vector for each.
    a0, a1, a2, a3 = ids[k], ids[k + U(1)], ids[k + U(2)], ids[k + U(3)]
    a4, a5, a6, a7 = ids[k + U(4)], ids[k + U(5)], ids[k + U(6)], ids[k + U(7)]
    queries[w], queries[w + U(1)], queries[w + U(2)], queries[w + U(3)] = a0, a1, a2, a3
    queries[w + U(4)], queries[w + U(5)], queries[w + U(6)], queries[w + U(7)] = a4, a5, a6, a7


@njit(inline="always")
def _copy(ids, k, n, place, kind, places, queries, types, w):
    """Copy a slice in rounds of COPY: what is written past its end, the next slice writes over."""
    done = U(0)
    while True:
        _put_block(ids, k + done, queries, w + done)
        _put_block(ids, k + done + U(8), queries, w + done + U(8))
        for q in range(U(COPY)):
            places[w + done + q] = place
        for q in range(U(COPY)):
            types[w + done + q] = kind
        done += U(COPY)
        if done >= n:
            return


@njit(inline="always")
def _keep(ids, far, k0, k1, over, bound, place, kind, places, queries, types, w):
    """Write those of a slice that were not leapt over: far above the bound, or at or below it."""
    for k in range(k0, k1):
        if (far[k] > bound) == over:
            places[w], queries[w], types[w] = place, ids[k], kind
            w += U(1)
    return w


@njit(nogil=True, cache=True)
def fill(
    posts: Posts,
    steps: Steps,
    first_run: int,
    last_run: int,
    begun: Int32s,
    ended: Int32s,
    out: Events,
    start: int,
    stop: int,
):
    """Write the events of these runs to `out`, from start to stop: exactly their number.

    The far end rides beside each id in slice order: reading hi[ids[k]] instead cost 3 ns more an
    event. All arrays are read from their records first: inside the loop that counts references
    (1.41 → 0.60 ns an event).
    """
    begin_ids, begin_far = posts.begin_ids, posts.begin_far
    end_ids, end_far, narrowest = posts.end_ids, posts.end_far, posts.narrowest
    places, queries, types = out.place, out.query, out.type
    starts, values = steps.starts, steps.values[posts.axis]
    w, safe = U(start), U(max(stop - COPY, 0))  # up to there, rounds may overshoot
    for run in range(first_run, last_run):
        for i in range(U(starts[run] + 1), U(starts[run + 1])):
            p = i - U(1)
            b0, b1 = U(min(begun[p], begun[i])), U(max(begun[p], begun[i]))
            e0, e1 = U(min(ended[p], ended[i])), U(max(ended[p], ended[i]))
            n = (b1 - b0) + (e1 - e0)
            if n == U(0):
                continue
            low, high = min(values[p], values[i]), max(values[p], values[i])
            began = np.int8(1) if values[i] > values[p] else np.int8(-1)
            ended_as = np.int8(-began)
            place = np.int32(i)
            if high - low < narrowest and w + n <= safe:
                _copy(begin_ids, b0, b1 - b0, place, began, places, queries, types, w)
                w += b1 - b0
                _copy(end_ids, e0, e1 - e0, place, ended_as, places, queries, types, w)
                w += e1 - e0
            else:
                w = _keep(
                    begin_ids, begin_far, b0, b1, True, high, place, began,
                    places, queries, types, w,
                )  # fmt: skip
                w = _keep(
                    end_ids, end_far, e0, e1, False, low, place, ended_as,
                    places, queries, types, w,
                )  # fmt: skip
    return w


@njit(inline="always")
def _mark(place, kind, n, places, types, w):
    """Write the place and the type of n events in rounds of COPY."""
    done = U(0)
    while True:
        for q in range(U(COPY)):
            places[w + done + q] = place
        for q in range(U(COPY)):
            types[w + done + q] = kind
        done += U(COPY)
        if done >= n:
            return


@njit(nogil=True, cache=True)
def leap(
    posts: Posts,
    steps: Steps,
    first_run: int,
    last_run: int,
    begun: Int32s,
    ended: Int32s,
    out: Events,
    start: int,
):
    """Find the events of these runs where many steps leap over boxes: one pass into room for them.

    Each post passed is tested without a branch: what was leapt over, the next entry writes over.
    Blocks of 2 to 16 posts, and masks, measured alike. Returns the end of the events, the first run
    that did not fit, and 0.
    """
    begin_ids, begin_far = posts.begin_ids, posts.begin_far
    end_ids, end_far = posts.end_ids, posts.end_far
    places, queries, types = out.place, out.query, out.type
    starts, values, room = steps.starts, steps.values[posts.axis], U(len(out.place))
    w = U(start)
    for run in range(first_run, last_run):
        at_first = w
        for i in range(U(starts[run] + 1), U(starts[run + 1])):
            p = i - U(1)
            b0, b1 = U(min(begun[p], begun[i])), U(max(begun[p], begun[i]))
            e0, e1 = U(min(ended[p], ended[i])), U(max(ended[p], ended[i]))
            n = (b1 - b0) + (e1 - e0)
            if n == U(0):
                continue
            if w + n + U(COPY) > room:
                return at_first, run, U(0)
            low, high = min(values[p], values[i]), max(values[p], values[i])
            began = np.int8(1) if values[i] > values[p] else np.int8(-1)
            place = np.int32(i)
            end = w
            for k in range(b0, b1):
                queries[end] = begin_ids[k]
                end += U(begin_far[k] > high)
            _mark(place, began, end - w, places, types, w)
            w = end
            for k in range(e0, e1):
                queries[end] = end_ids[k]
                end += U(end_far[k] <= low)
            _mark(place, np.int8(-began), end - w, places, types, w)
            w = end
    return w, last_run, U(0)


@njit(nogil=True, cache=True)
def changes(ptr: Int64s, ids: Int32s, first: Bools, at: int, seen: Int32s, out: Events):
    """Compare who holds at each place with who held at the one before, unless it begins a run.

    seen[q] is the last place that q held at; the first place here is `at`. Each entry is written
    without a branch, and the next one over it where nothing changed. Returns how many events there
    are.
    """
    places, queries, types = out.place, out.query, out.type
    w = U(0)
    for i in range(len(first)):
        here, there, place = U(ptr[i]), U(ptr[i + 1]), np.int32(at + i)
        if first[i]:
            for k in range(here, there):
                seen[ids[k]] = place
            continue
        for k in range(here, there):
            places[w], queries[w], types[w] = place, ids[k], 1
            w += U(seen[ids[k]] != place - 1)
            seen[ids[k]] = place
        for k in range(U(ptr[i - 1]), here):
            places[w], queries[w], types[w] = place, ids[k], -1
            w += U(seen[ids[k]] != place)
    return w
