"""A large file of lines, cut where lines end, so that several tasks read it.

Where no line has an odd number of quotation marks, no record of CSV goes over a line break: one
that did would open a quotation mark in its first line and not close it there. A record of JSON
lines never does.

Law: the spans hold each line of the file once, under the number that it has in the whole file.
"""

from pathlib import Path

import numpy as np

from pipelines.files.read.content import Form, LineSpan, form_of, line_breaks
from pipelines.files.read.packed import GZIP, ZIP
from pipelines.files.read.rows import Declared
from pipelines.files.read.zstd import ZSTD
from pipelines.places import Place, is_remote

PIECE = 1 << 22
LF, QUOTE = b'\n"'


def line_spans(place: Place, declared: Declared, most: int) -> list[LineSpan]:
    """Cut a file into even spans of about so many bytes at most. O(bytes), 0.4 s a GB.

    None where it is on a store, packed, not in UTF-8, or may have records of several lines.
    """
    if is_remote(place) or declared.encoding != "utf-8":
        return []
    try:
        form = _form(place, declared)
        return [] if form is None else _cut(place, most, may_quote=form is Form.CSV)
    except OSError:
        return []  # the words are those of the task that reads it


def _form(path: Path, declared: Declared) -> Form | None:
    """Say which form a file of lines has; None for what is packed."""
    with path.open("rb") as file:
        head = file.peek(4)[:4]
        if head[:2] == GZIP or head == ZSTD or head in ZIP:
            return None
        return declared.form or form_of(str(path), file)


def _cut(path: Path, most: int, *, may_quote: bool) -> list[LineSpan]:
    size = path.stat().st_size
    parts = -(-size // most)
    spans = [LineSpan(0, size, 1)]
    at, line, odd = 0, 1, False
    with path.open("rb") as file:
        while content := file.read(PIECE):
            if may_quote:
                even, odd = _is_even(content, odd)
                if not even:
                    return []
            begin = 0
            while len(spans) < parts:
                wanted = max(size * len(spans) // parts - 1, spans[-1].begin)
                end = content.find(b"\n", max(wanted - at, begin)) + 1
                if at + len(content) <= wanted or not end:
                    break
                line += line_breaks(content, begin, end)
                spans[-1:] = [spans[-1]._replace(end=at + end), LineSpan(at + end, size, line)]
                begin = end
            if len(spans) == parts and not may_quote:
                break
            line += line_breaks(content, begin, len(content))
            at += len(content)
    return [span for span in spans if span.begin < span.end]


def _is_even(content: bytes, odd: bool) -> tuple[bool, bool]:
    """Say whether each line that ends here has an even number of quotation marks; and the rest.

    `odd` is what the line has that began before.
    """
    if b'"' not in content:
        return not (odd and b"\n" in content), odd
    text = np.frombuffer(content, np.uint8)
    before = np.searchsorted(np.flatnonzero(text == QUOTE), np.flatnonzero(text == LF)) + odd
    left = content.count(b'"', content.rfind(b"\n") + 1)
    if not len(before):
        return True, bool((left + odd) % 2)
    return not (before % 2).any(), bool(left % 2)
