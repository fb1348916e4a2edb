"""Which joins ask for a pair: those for all streams, and those that name one of it; compiled."""

from numba import njit


@njit
def is_listed(ptr, streams, side, row, stream):
    """Say whether a stream is among those that a join names on a side. O(log of these)."""
    begin, end = ptr[side, row], ptr[side, row + 1]
    last = end
    while begin < end:
        middle = (begin + end) >> 1
        if streams[middle] < stream:
            begin = middle + 1
        else:
            end = middle
    return begin < last and streams[begin] == stream


@njit
def takes(cover, row, left, right):
    """Say whether a join takes a stream on the left and another on the right."""
    if cover.names[0, row] and not is_listed(cover.ptrs, cover.left, 0, row, left):
        return False
    return not cover.names[1, row] or is_listed(cover.ptrs, cover.right, 1, row, right)


@njit
def covers(cover, row, side, own, other):
    """Say whether a join asks for a pair: of one feed whichever of the two is left."""
    left, right = (own, other) if side == 0 else (other, own)
    return takes(cover, row, left, right) or (cover.one and takes(cover, row, right, left))


@njit
def is_under(cover, side, stream, row):
    """Say whether a join stands under a stream that it names."""
    for at in range(cover.under_ptr[side, stream], cover.under_ptr[side, stream + 1]):
        if cover.under[at] == row:
            return True
    return False
