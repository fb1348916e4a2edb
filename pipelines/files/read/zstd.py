"""Is a zstd file whole? Arrow reads one that is cut off as if it ended there.

Law: a file is whole iff it is frames to its last byte (RFC 8878); only their headers are read.
"""

import io

ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPED = range(0x184D2A50, 0x184D2A60)
"""What begins a frame that is passed over."""
_RUN, _RESERVED = 1, 3
"""Kinds of blocks: one byte that repeats, and none."""


def refuse_cut(file: io.BufferedReader) -> None:
    """Raise EOFError where a file ends within a frame; it stands at its beginning afterwards."""
    end = file.seek(0, io.SEEK_END)
    file.seek(0)
    while (at := file.tell()) < end:
        head = _some(file, 4)
        if int.from_bytes(head, "little") in _SKIPPED:
            file.seek(int.from_bytes(_some(file, 4), "little"), io.SEEK_CUR)
        elif head == ZSTD:
            _past_frame(file)
        else:
            raise EOFError(f"what stands at byte {at:,} is no frame")
    if file.tell() > end:
        raise EOFError("the last frame has no end")
    file.seek(0)


def _past_frame(file: io.BufferedReader) -> None:
    described = _some(file, 1)[0]
    is_single = described >> 5 & 1
    of_size = (is_single, 2, 4, 8)[described >> 6]
    file.seek((1 - is_single) + (0, 1, 2, 4)[described & 3] + of_size, io.SEEK_CUR)
    is_last = 0
    while not is_last:
        block = int.from_bytes(_some(file, 3), "little")
        is_last, kind = block & 1, block >> 1 & 3
        if kind == _RESERVED:
            raise EOFError("a block is of no kind")
        file.seek(1 if kind == _RUN else block >> 3, io.SEEK_CUR)
    if described >> 2 & 1:
        _some(file, 4)


def _some(file: io.BufferedReader, length: int) -> bytes:
    found = file.read(length)
    if len(found) < length:
        raise EOFError("the last frame has no end")
    return found
