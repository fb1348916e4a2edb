"""A file of lines, a window at a time: memory is bounded, whatever the file holds.

A window has whole lines, and behind them enough of the file to follow a record that goes on. Of a
line that is too long the beginning and the length are kept, and the rest is read past.

Law: the windows and the long lines together are all the lines of the file, each once, numbered.
"""

import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PIECE = 1 << 23
"""Bytes of a window, those to look ahead aside."""
LONGEST = 1 << 21
"""Bytes of the longest line that is read."""
AHEAD = LONGEST + 2
"""Bytes behind a window, or all that are left."""
MOST_LINES = 1 << 18
"""Lines of a window: a file of empty lines takes no more memory than another."""
MOST_RAW = 1 << 16
"""Characters that are kept of a line that is too long; any other is kept whole."""

LF = b"\n"


@dataclass(frozen=True)
class Window:
    """Some lines: `content[:stop]` is whole lines, the first of them `line`; the rest is ahead."""

    content: bytes
    stop: int
    line: int


@dataclass(frozen=True)
class LongLine:
    """A line that is not read: its beginning, how many bytes it has, and whether it is blank."""

    line: int
    head: bytes
    length: int
    is_blank: bool

    @property
    def malformed(self) -> list[tuple[int, str, str]]:
        """Give it as a malformed row; a blank line is none."""
        raw = cut(self.head.decode(errors="backslashreplace") + "…")
        return [] if self.is_blank else [(self.line, why_long(self.length), raw)]


class Lines:
    """The lines of an opened file, read forward once. Holds PIECE + AHEAD bytes."""

    def __init__(self, plain: io.BufferedReader, size: int = 0) -> None:
        """Begin at the beginning; `size` is that of the file as it is stored."""
        self._plain = plain
        self._size = size
        self._ahead = b""
        self._begin = 0
        self._ended = False
        self._line = 1

    @property
    def done(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        if self._ended and self._begin == len(self._ahead):
            return 1.0
        raw = self._plain.raw
        stored: Any = raw.fileobj if isinstance(raw, gzip.GzipFile) else self._plain
        return min(1.0, float(stored.tell()) / max(self._size, 1))

    def next(self) -> Window | LongLine | None:
        """Give what comes next; None at the end. `past` says how much of a window was used."""
        self._fill()
        ahead, begin = self._ahead, self._begin
        if begin == len(ahead):
            return None
        beyond = min(begin + PIECE, len(ahead) if self._ended else len(ahead) - AHEAD)
        stop = ahead.rfind(LF, begin, beyond) + 1 or ahead.find(LF, begin) + 1
        if self._ended and (not stop or beyond == len(ahead)):
            stop = len(ahead)
        if not stop:
            return self._past_long_line()
        stop = _of_few_lines(ahead, begin, stop)
        return Window(ahead[begin : stop + AHEAD], stop - begin, self._line)

    def past(self, window: Window, end: int) -> None:
        """Say that a window was used up to some byte: the next begins there."""
        self._line = window.line + window.content.count(LF, 0, end)
        self._begin += end

    def _fill(self) -> None:
        """Hold half a window at least, and what is ahead of it."""
        if not self._ended and len(self._ahead) - self._begin <= PIECE // 2 + AHEAD:
            missing = PIECE + AHEAD - (len(self._ahead) - self._begin)
            more = self._plain.read(missing)
            self._ended = len(more) < missing
            self._ahead, self._begin = self._ahead[self._begin :] + more, 0

    def _past_long_line(self) -> LongLine:
        head, length, is_blank = self._ahead[self._begin :][: MOST_RAW + 1], 0, True
        last = b""
        while (end := self._ahead.find(LF, self._begin)) < 0 and not self._ended:
            length += len(self._ahead) - self._begin
            last = self._ahead[-1:]
            is_blank = is_blank and not self._ahead[self._begin :].strip()
            self._begin = len(self._ahead)
            self._fill()
        end = len(self._ahead) if end < 0 else end
        rest = self._ahead[self._begin : end]
        length += len(rest) - ((rest[-1:] or last) == b"\r")
        long = LongLine(self._line, head, length, is_blank and not rest.strip())
        self._begin = min(end + 1, len(self._ahead))
        self._line += 1
        return long


def bounded_lines(plain: io.BufferedReader) -> Iterator[bytes]:
    """Give the lines of a file; of those that are too long nothing."""
    while line := plain.readline(LONGEST + 2):
        if len(line) <= LONGEST + 1 or line.endswith(LF):
            yield line
            continue
        while line and not line.endswith(LF):
            line = plain.readline(LONGEST)


def cut(text: str) -> str:
    """Give a text, or of a long one the beginning."""
    return text if len(text) <= MOST_RAW else text[: MOST_RAW - 1] + "…"


def why_long(length: int) -> str:
    """Say what is wrong with a line that is not read."""
    return f"a line of {length:,} bytes, where up to {LONGEST:,} are read"


def raw_text(record: bytes) -> str:
    """Give a record as it stood, of one too long the beginning; bytes not UTF-8 become escapes."""
    if len(record) > LONGEST:
        return cut(record[: 4 * MOST_RAW + 4].decode(errors="backslashreplace"))
    return record.decode(errors="backslashreplace")


def _of_few_lines(content: bytes, begin: int, stop: int) -> int:
    """Take fewer lines, where there are very many."""
    while content.count(LF, begin, stop) > MOST_LINES:
        stop = content.rfind(LF, begin, (begin + stop) // 2) + 1 or content.find(LF, begin) + 1
    return stop
