"""What the kernels and their twins are given: plain arrays, under names.

Named tuples, because Numba takes them as they are and because a kernel with twenty bare arguments
cannot be read.
"""

from typing import NamedTuple

from fencepost.arrays import UInt64s
from fencepost.tuples import Bools, Doubles, Int8s, Int32s, Int64s

ENTERED = 1  # the type of an I event; -ENTERED is an O


class Posts(NamedTuple):
    """One PostList, as the kernels see it."""

    axis: int
    origin: float
    scale: float
    ruler_cells: int
    cells: Int32s
    begin_posts: Doubles
    begin_ids: Int32s
    begin_far: Doubles
    begin_whole: Doubles
    end_posts: Doubles
    end_ids: Int32s
    end_far: Doubles
    end_whole: Doubles
    narrowest: float


class FenceColumns(NamedTuple):
    """The posts of all axes behind each other, those of one between -∞ and ∞."""

    posts: Doubles
    first: Int32s  # [axis] its first post
    starts: Int32s  # how many posts of the axis come before each cell
    first_cell: Int32s  # [axis] its first cell
    origin: Doubles  # [axis]
    scale: Doubles  # [axis]
    cells: Int64s  # [axis]


class Stripes(NamedTuple):
    """How the segments of a list cut another axis.

    With one stripe there is one segment, and no axis is read.
    """

    axis: int
    origin: float
    scale: float
    stripes: int


class BoxColumns(NamedTuple):
    """The boxes of a layer, for the candidates that must be confirmed whole."""

    bounds: Doubles  # [box, axis, (lo, hi)]: one candidate, one or two cache lines
    query: Int32s  # whose box it is
    asks: Bools  # the box alone does not settle it: the query has several, or is not always valid
    careful: bool  # whether any asks
    first: Int64s  # [query], and one more: where its boxes begin
    valid_from: Int64s  # [query]
    valid_to: Int64s
    slot: int  # what to add to a query of this layer


class Steps(NamedTuple):
    """The path of every stream: its last tuple, then its new ones; a step from each to the next."""

    starts: Int64s  # [run + 1] where each stream's run begins
    values: Doubles  # [axis, place]
    ts: Int64s  # [place]


class Events(NamedTuple):
    """Where events are written."""

    place: Int32s  # on the path
    query: Int32s  # its slot
    type: Int8s  # ENTERED or its opposite


class CellFrame(NamedTuple):
    """Where the cells of shapes are: 2^30 places on either axis, from a corner on."""

    x: float
    y: float
    scale: float  # places a unit
    last: float  # the last place


class CellColumns(NamedTuple):
    """The cells of shapes: a stream is in one cell of each size."""

    across: int  # the axes of the position
    up: int
    ground: CellFrame
    shifts: Int64s  # [size] by how many bits a place is shifted to give its cell
    slots: Int64s  # [slot, (block's size and place, segment and number, cells)]
    marks: UInt64s  # a bit for each block; a block whose bit is not set does not exist
    ptr: Int32s  # [cell of a block + 1] where its list begins
    entries: Int32s  # to be tested: four times the query, and what the cell is to it; sure: ~query
    most: int  # entries of one cell


class Ruled(NamedTuple):
    """What the queries of a layer say beside their cells."""

    shape: Int32s  # [query] its row in the shapes, -1 without one
    enters: Bools  # [query] whether the first sight of a stream is an event
    limited: bool  # whether any is not always valid
