"""The streams of a file of lines, from piece to piece: each has one code, and its name is cut once.

Law: the codes that were given stay good until the names are forgotten, which they are as soon as
they are more than the lines of a piece: so no piece has many names that do not occur in it.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from fencepost.arrays import Bytes, Int32s, Int64s, UInt64s


class StreamRoom(NamedTuple):
    """The names as the kernel takes them, with room for more: see `kernels.read_lines`."""

    known: int
    table: Int32s
    heads: UInt64s
    begins: Int64s
    kept: Bytes

    @classmethod
    def of(cls, names: int, size: int) -> "StreamRoom":
        """Make room for so many names of so many bytes."""
        return cls(
            0,
            np.full(1 << (names + names // 2).bit_length(), -1, np.int32),
            np.empty((names, 2), np.uint64),
            np.zeros(names + 1, np.int64),
            np.empty(size, np.uint8),
        )


class KnownStreams:
    """The names of streams, in the order of their codes."""

    def __init__(self) -> None:
        """Begin without names."""
        self.names: pa.StringArray = pa.array([], pa.string())
        self.room = StreamRoom.of(0, 0)

    def make_room(self, lines: int, size: int) -> None:
        """Make room for the names of so many lines, of so many bytes in all."""
        known, *_, begins, kept = self.room
        fits = known + lines < len(begins) and begins[known] + size <= len(kept)
        if known > lines or not fits:
            self.names = pa.array([], pa.string())
            self.room = StreamRoom.of(2 * lines, 2 * size)

    def learn(self, known: int) -> None:
        """Cut out the names that are new. O(their bytes), and that of all if there are any."""
        before, *_, begins, kept = self.room
        if known == before:
            return
        offsets = (begins[before : known + 1] - begins[before]).astype(np.int32)
        content = kept[begins[before] : begins[known]].copy()
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content)]
        fresh = pa.StringArray.from_buffers(known - before, buffers[1], buffers[2])
        self.names = pa.concat_arrays([self.names, fresh])
        self.room = self.room._replace(known=known)
