"""Which column says whose row it is: the ticker, the device, the vehicle.

Law: a column is the stream only if its name is one of a stream and its values recur. Where no
column is, the file's own name is used only if all of its rows can be one series, and only on
request.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.position import folded
from pipelines.files.guess.draft import FoundKey, Question, listed
from pipelines.files.guess.grid import SampleColumn, SampleGrid, is_unnamed
from pipelines.files.guess.hints import FeedHints
from pipelines.files.guess.when import RowTime
from pipelines.files.guess.words import STREAMS, VALUES, WEAK_STREAMS

LIKELY = 60
_TICKER = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9./:_^=-]{3,20}")
NAMED = ("--stream NAME", "--stream-column COLUMN", "--stream-from-path '(?P<stream>…)'")


@dataclass(frozen=True)
class StreamColumn:
    """A column that may hold the stream, and how likely it does."""

    name: str
    score: int
    streams: tuple[str, ...]


def stream_columns(grid: SampleGrid, best: RowTime | None) -> list[StreamColumn]:
    """List the columns that may hold the stream, the likeliest first."""
    times = best.columns if best is not None else ()
    found = [
        StreamColumn(column.name, score, tuple(dict.fromkeys(column.texts)))
        for column in grid.columns
        if column.name not in times and (score := _score(column, grid)) >= LIKELY
    ]
    return sorted(found, key=lambda each: -each.score)


def _score(column: SampleColumn, grid: SampleGrid) -> int:
    texts = column.texts
    if "" in texts or column.kind in ("other", "boolean") or _is_fraction(texts):
        return 0
    many = len({*texts})
    if many > max(len(texts) // 2, 1):
        return 0
    word = folded(column.name)
    if word in STREAMS:
        return 100
    if word in WEAK_STREAMS:
        return 70
    if word.endswith("_id"):
        return 65
    return LIKELY if is_unnamed(column.name, grid) and all(map(_TICKER.fullmatch, texts)) else 0


def _is_fraction(texts: tuple[str, ...]) -> bool:
    return any(re.fullmatch(r"[+-]?\d*\.\d+(?:[eE].*)?", text) for text in texts)


def is_wide(grid: SampleGrid, best: RowTime | None, found: list[StreamColumn]) -> bool:
    """Say whether each column beside the time may be a stream: numbers with names of no values."""
    times = best.columns if best is not None else ()
    others = [column for column in grid.columns if column.name not in times]
    if not grid.header or found or len(others) < 2 or best is None:
        return False
    words = {folded(column.name) for column in others}
    return all(column.is_number for column in others) and not words & VALUES


def keys_of_stream(
    grid: SampleGrid,
    hints: FeedHints,
    found: list[StreamColumn],
    best: RowTime,
    stem: str,
    *,
    alone: bool,
) -> Iterator[FoundKey | Question]:
    """Say where the stream's name comes from, or ask."""
    for name in ("stream", "stream_from_path", "stream_column"):
        value = getattr(hints, name)
        if value is not None:
            yield FoundKey(name, value, "as you said")
            return
    top = [each for each in found if each.score == found[0].score]
    if len(top) > 1:
        names = tuple(each.name for each in top)
        asks = f"{' and '.join(names)} may each be the stream"
        options = tuple(f"--stream-column {name}" for name in names)
        yield Question("stream_column", asks, options, names)
    elif top:
        yield FoundKey("stream_column", top[0].name, _said(top[0].streams))
    else:
        yield from _of_file(grid, hints, best, stem, alone=alone)


def _said(streams: tuple[str, ...]) -> str:
    if len(streams) == 1:
        return f"whose row it is: {streams[0]}"
    return f"whose row it is: {len(streams)} streams, {listed(streams[:3])}"


def _of_file(
    grid: SampleGrid, hints: FeedHints, best: RowTime, stem: str, *, alone: bool
) -> Iterator[FoundKey | Question]:
    """Take a file's own name for a series without one, if that is allowed."""
    is_series = alone and best.form.ascends
    if is_series and hints.file_streams:
        yield FoundKey("stream", stem, "no column names one, so all rows are one: the file's name")
        return
    asks = f"no column of {listed(grid.names)} says whose rows these are"
    options = NAMED
    if not alone:
        options = (NAMED[0], NAMED[1], r"--stream-from-path '(?P<stream>[^/.]+)\.[^/]*$'")
    yield Question("stream", asks, options, usual=stem if is_series else None)
