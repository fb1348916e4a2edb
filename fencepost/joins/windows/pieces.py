"""Object decomposition (S3 §6.2): a join condition is no box, so it is cut into several.

A conjunct with tests between the sides is cut along the join axis of the left feed, into as many
pieces as requested; each piece bounds the other axes of tests that speak of that axis. What is in
the pieces but not in the region is dropped by refinement.

Law: a point that satisfies the conjunct is in exactly one of its pieces.
"""

from itertools import pairwise
from math import inf, isfinite

import numpy as np

from fencepost.doubles import next_double
from fencepost.matches import Boxes
from fencepost.queries.joins import WindowJoins
from fencepost.tuples import Int64s

PIECES = 4
_EPSILON = float(np.finfo(np.float64).eps)
_TINY = 1e-300

Range = tuple[float, float]


def decomposed(queries: WindowJoins, pieces: int = PIECES) -> tuple[Boxes, Int64s]:
    """Cut every conjunct; return the boxes over all axes, and the conjunct of each."""
    least, most = Boxes(queries.lo, queries.hi).extent()
    lefts = len(queries.axes[0])
    lo, hi, owner = [], [], []
    for conjunct in range(queries.lo.shape[1]):
        box = list(
            zip(queries.lo[:, conjunct].tolist(), queries.hi[:, conjunct].tolist(), strict=True)
        )
        tests = _tests(queries, conjunct, lefts)
        axis = _join_axis(tests, lefts)
        if axis is None:
            parts = [box]
        else:
            cuts = _cuts(box[axis], (float(least[axis]), float(most[axis])), pieces)
            parts = [_piece(box, tests, axis, cut) for cut in cuts]
        for part in parts:
            if all(begin < end for begin, end in part):
                lo.append([begin for begin, _ in part])
                hi.append([end for _, end in part])
                owner.append(conjunct)
    d = len(queries.lo)
    return (
        Boxes.of(np.array(lo).reshape(-1, d).T, np.array(hi).reshape(-1, d).T),
        np.array(owner, np.int64),
    )


_Test = tuple[int, float, int, int, float]


def _tests(queries: WindowJoins, conjunct: int, lefts: int) -> list[_Test]:
    """Return the tests between the sides, the left feed's axis first.

    The op is as in OPS; 3 and 4 are the same as 0 and 1 the other way round.
    """
    found = []
    for k in range(queries.test_ptr[conjunct], queries.test_ptr[conjunct + 1]):
        one, op, other = queries.tests[k].tolist()
        plus, other_plus = queries.plus[k].tolist()
        if (one < lefts) == (other < lefts):
            continue
        if one < lefts:
            found.append((one, plus, op, other, other_plus))
        else:
            found.append((other, other_plus, op if op == 2 else op + 3, one, plus))
    return found


def _join_axis(tests: list[_Test], lefts: int) -> int | None:
    return next((axis for axis, *_ in tests if axis < lefts), None)


def _cuts(own: Range, extent: Range, pieces: int) -> list[Range]:
    """Cut a range into even pieces; where it is open, the extent of all queries is cut."""
    least = own[0] if isfinite(own[0]) else min(extent[0], own[1])
    most = own[1] if isfinite(own[1]) else max(extent[1], own[0])
    shares = [k / pieces for k in range(1, pieces)]
    inner = {least * (1 - share) + most * share + 0.0 for share in shares}
    ends = [own[0], *sorted(cut for cut in inner if own[0] < cut < own[1]), own[1]]
    return list(pairwise(ends))


def _piece(box: list[Range], tests: list[_Test], axis: int, cut: Range) -> list[Range]:
    """Return the box between two cuts, with bounds for the axes tested against the cut one."""
    part = list(box)
    part[axis] = cut
    for one, plus, op, other, other_plus in tests:
        if one != axis:
            continue
        lo, hi = part[other]
        if op in (0, 1, 2):  # left <(=) right, or equal: right is not below the piece's least
            lo = max(lo, _reached(cut[0] + plus, other_plus, -1))
        if op in (2, 3, 4):
            hi = min(hi, next_double(_reached(cut[1] + plus, other_plus, 1)))
        part[other] = lo, hi
    return part


def _reached(sum_: float, plus: float, way: int) -> float:
    """Return a value beyond which v + plus cannot round to the sum or short of it."""
    if not isfinite(sum_):
        return way * inf
    slack = 4 * _EPSILON * (abs(sum_) + abs(plus)) + _TINY
    beyond: float = (sum_ - plus) + way * slack
    return beyond + 0.0
