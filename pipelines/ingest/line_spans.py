"""A large file of lines, cut where lines end, so that several tasks read it.

Where no line has an odd number of quotation marks, no record of CSV goes over a line break: one
that did would open a quotation mark in its first line and not close it there. A record of JSON
lines never does.

Law: the spans hold each line of the file once, under the number that it has in the whole file.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np

from pipelines.files.read.content import Form, LineSpan, form_of, line_breaks
from pipelines.files.read.packed import GZIP, ZIP
from pipelines.files.read.rows import Declared
from pipelines.files.read.zstd import ZSTD
from pipelines.places import Place, is_remote
from pipelines.spark.environment.machine import cores

PIECE = 1 << 18
"""Bytes that are read at a time: they stay in the cache."""
LF, QUOTE = b"\n", b'"'


def line_spans(place: Place, declared: Declared, most: int) -> list[LineSpan]:
    """Cut a file into even spans of about so many bytes at most. O(bytes): 0.15 s a GB, two cores.

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
    """Cut where lines end, and look into all spans side by side."""
    size = path.stat().st_size
    with path.open("rb", buffering=0) as file, ThreadPoolExecutor(cores()) as threads:
        begins = _begins(file.fileno(), size, -(-size // most))
        spans = list(pairwise([*begins, size]))
        looked = threads.map(partial(_breaks, file.fileno(), may_quote=may_quote), spans)
        breaks = [found for found in looked if found is not None]
    if len(breaks) < len(spans):
        return []
    lines = accumulate(breaks[:-1], initial=1)
    return [LineSpan(*span, line) for span, line in zip(spans, lines, strict=True)]


def _begins(file: int, size: int, parts: int) -> list[int]:
    """Say where even parts of a file begin, each behind a line break."""
    begins = [0]
    for part in range(1, parts):
        at = max(size * part // parts - 1, begins[-1])
        while (content := os.pread(file, PIECE, at)) and LF not in content:
            at += len(content)
        begin = at + content.find(LF) + 1
        if begin >= size or not content:
            break
        begins.append(begin)
    return begins


def _breaks(file: int, span: tuple[int, int], *, may_quote: bool) -> int | None:
    """Count the line breaks of a span; None where a line has an odd number of quotation marks."""
    at, end = span
    found, odd = 0, False
    while content := os.pread(file, min(PIECE, end - at), at):
        if may_quote:
            even, odd = _is_even(content, odd)
            if not even:
                return None
        found += line_breaks(content, 0, len(content))
        at += len(content)
    return found


def _is_even(content: bytes, odd: bool) -> tuple[bool, bool]:
    """Say whether each line that ends here has an even number of quotation marks; and the rest.

    `odd` is what the line has that began before.
    """
    if QUOTE not in content:
        ends = odd and LF in content
        return not ends, odd and not ends
    text = np.frombuffer(content, np.uint8)
    before = np.searchsorted(np.flatnonzero(text == QUOTE[0]), np.flatnonzero(text == LF[0])) + odd
    left = content.count(QUOTE, content.rfind(LF) + 1)
    if not len(before):
        return True, bool((left + odd) % 2)
    return not (before % 2).any(), bool(left % 2)
