"""Who of a block of seven is on the other side of a distance than before? Compiled.

A bucket's streams stand in blocks of a cache line: where each is within its cell, and the next
block. So of a move a few vectors are compared, and whoever's answer they are sure of is not looked
at again.
"""

import numpy as np
from llvmlite import ir
from numba import njit, types

from fencepost.simd import U, bits, compiled, every

EACH = 7  # streams to a block
LINE = 16  # numbers: the places of seven on either axis, behind them FAR and the next block
LINK = 15
WIDTH = 8  # of a vector, and of the block's codes: seven streams, and how many there are
MANY = 7
FAR = 1e15  # cells: where there is nobody
NOBODY = -1
NONE = 0  # no block comes next: the first one is nobody's next

_FLOATS = ir.VectorType(ir.FloatType(), WIDTH)


def changed(places, at, x, y, to_x, to_y, weight, within, beyond):
    """Which of eight are not surely within before and after, nor surely beyond: bits.

    Squares are weighted along x. All is float32.
    """
    dx, to_dx = (places[at : at + U(WIDTH)] - each for each in (x, to_x))
    dy, to_dy = (places[at + U(WIDTH) : at + U(LINE)] - each for each in (y, to_y))
    before, after = dy * dy + weight * (dx * dx), to_dy * to_dy + weight * (to_dx * to_dx)
    near, far = (before < within) & (after < within), (before > beyond) & (after > beyond)
    return U(np.packbits(~(near | far), bitorder="little")[0])


_NUMBERS = (types.float32,) * 7


@compiled(changed, types.uint64, None, types.uint64, *_NUMBERS)
def _changed(builder, places, at, *numbers):
    x, y, to_x, to_y, weight, within, beyond = (every(builder, n, _FLOATS) for n in numbers)
    over = builder.add(at, ir.Constant(at.type, WIDTH))
    across, up = (builder.load(places.address(of, _FLOATS), align=4) for of in (at, over))

    def square(own_x, own_y):
        dx, dy = builder.fsub(across, own_x), builder.fsub(up, own_y)
        aside = builder.fmul(weight, builder.fmul(dx, dx))
        return builder.fadd(builder.fmul(dy, dy), aside)

    def both(operation, limit):
        one, other = (builder.fcmp_ordered(operation, each, limit) for each in (before, after))
        return builder.and_(one, other)

    before, after = square(x, y), square(to_x, to_y)
    return bits(builder, builder.not_(builder.or_(both("<", within), both(">", beyond))))


@njit
def _last(words, bucket):
    """Find the last block of a bucket, and the one before it, or NOBODY's."""
    before, block = np.int64(NOBODY), bucket
    while words[block * LINE + LINK] != NONE:
        before, block = block, np.int64(words[block * LINE + LINK])
    return before, block


@njit
def leave(cells, side, bucket, at):
    """Take out who stands at a place of a bucket; the last of the bucket comes there instead."""
    places, words, codes = cells.places, cells.words, cells.codes
    before, last = _last(words, bucket)
    many = codes[last * WIDTH + MANY] - 1
    moved = codes[last * WIDTH + many]
    hole, end = at // WIDTH * LINE + at % WIDTH, last * LINE + many
    places[hole], places[hole + WIDTH] = places[end], places[end + WIDTH]
    places[end], places[end + WIDTH] = FAR, FAR
    codes[at], codes[last * WIDTH + MANY] = moved, many
    cells.movers[side, moved].at = at
    if many == 0 and before != NOBODY:
        words[before * LINE + LINK] = NONE
        words[last * LINE + LINK] = cells.free[0]
        cells.free[0] = last


@njit
def join(cells, stream, bucket):
    """Put a stream at the end of a bucket; return its place."""
    words, codes = cells.words, cells.codes
    _, last = _last(words, bucket)
    if codes[last * WIDTH + MANY] == EACH:
        block = np.int64(cells.free[0])
        cells.free[0] = words[block * LINE + LINK]
        words[last * LINE + LINK], words[block * LINE + LINK] = block, NONE
        last = block
    at = last * WIDTH + codes[last * WIDTH + MANY]
    codes[at] = stream
    codes[last * WIDTH + MANY] += 1
    return at


@njit(nogil=True, error_model="numpy", _nrt=False)
def rehouse(cells, side, stream, bucket, at, to):
    """Move a stream from its place in a bucket to another bucket; NOBODY's is none."""
    own = cells.movers[side, stream]
    if bucket != NOBODY:
        leave(cells, side, bucket, at)
    if to != NOBODY:
        own.at = join(cells, stream, to)
    own.bucket = to


@njit(inline="always")
def stand(cells, at, across, up):
    """Say where in its cell the stream at a place is."""
    place = (at >> U(3)) * U(LINE) + (at & U(7))
    cells.places[place], cells.places[place + U(WIDTH)] = across, up
