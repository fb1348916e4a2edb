"""A feed as charts: the axes of a stream over time, its crossings, and its rules.

Law: a line has the least and the greatest value of every interval that a screen can show, so no
extreme is lost.
"""

# ruff: noqa: S608  whole numbers and declared names alone

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np

from pipelines.project.settings import Feed
from pipelines.serve.report import regions
from pipelines.serve.report.payload import coded, said
from pipelines.serve.report.scope import ReportScope
from pipelines.serve.report.streams import Seen
from pipelines.serve.report.thin import Scale, columns, differences, short

MARKS = 48_000
"""Crossings of all streams together, at most."""

AXES = 4
"""Axes that are charted."""

PARTS = 600
"""Parts of a line, each with two points."""

POINTS = 110_000
"""Of all lines together, at most."""

LEVELS = 1 << 13
"""Values that a line can have: more than there are points on a screen."""

RULES = 30
"""Rules shown of those that a stream crossed."""

QUIET = 10
"""Rules shown of those that name a stream and that it did not cross."""

Session = duckdb.DuckDBPyConnection


def as_charts(session: Session, scope: ReportScope, feed: Feed, seen: Seen) -> dict[str, Any]:
    """Gather what the charts show."""
    axes = feed.axes
    rules = _Rules(session, scope.feed, len(axes))
    shown = axes[:AXES]
    marks, of_marks = _marks(session, scope, feed, seen, rules)
    lines = _lines(session, shown, seen)
    streams = [
        {"id": id_, "n": many, "lines": lines[nth], "rules": rules.of[nth], "marks": marks[nth]}
        for nth, (id_, many) in enumerate(seen.chosen)
    ]
    return {
        "axes": axes,
        "begin": seen.first,
        "end": seen.last,
        "rules": rules.shown,
        "streams": streams,
        "of_streams": seen.streams,
        "of_marks": of_marks,
    }


def _lines(session: Session, axes: Sequence[str], seen: Seen) -> list[list[dict[str, Any]]]:
    """Give the line of each chosen stream on each axis, in one pass over the tuples."""
    most = POINTS // (2 * max(1, len(seen.chosen)) * max(1, len(axes)))
    width = (seen.last - seen.first) // min(PARTS, most) + 1
    extremes = ", ".join(
        f"MIN(t.{a}) AS low{k}, epoch_us(ARG_MIN(t.ts, t.{a})) AS low_at{k}, "
        f"MAX(t.{a}) AS high{k}, epoch_us(ARG_MAX(t.ts, t.{a})) AS high_at{k}"
        for k, a in enumerate(axes)
    )
    got = columns(
        session.execute(
            f"""SELECT c.nth, (epoch_us(t.ts) - {seen.first}) // {width} AS part, {extremes}
            FROM __tuples t JOIN __streams c ON c.stream_id = t.stream_id
            GROUP BY 1, 2 ORDER BY 1, 2"""
        ).to_arrow_table()
    )
    ends = np.searchsorted(got["nth"], np.arange(len(seen.chosen) + 1)).tolist()
    return [
        [_line(got, slice(begin, end), k, seen) for k in range(len(axes))]
        for begin, end in pairwise(ends)
    ]


def _line(got: dict[str, Any], mine: slice, k: int, seen: Seen) -> dict[str, Any]:
    """Give a line: its lows and highs, by time; of one instant there may be both."""
    at = np.concatenate((got[f"low_at{k}"][mine], got[f"high_at{k}"][mine]))
    values = np.concatenate((got[f"low{k}"][mine], got[f"high{k}"][mine]))
    order = np.lexsort((values, at))
    at, values = at[order], values[order]
    fresh = (np.diff(at, prepend=at[:1] - 1) != 0) | (np.diff(values, prepend=0.0) != 0)
    at, values = at[fresh], values[fresh]
    span = Scale.of(values, LEVELS)
    return {
        "low": span.low,
        "high": span.high,
        "t": differences(seen.parts(at)),
        "v": differences(span.placed(values)),
    }


def _marks(
    session: Session, scope: ReportScope, feed: Feed, seen: Seen, rules: "_Rules"
) -> tuple[list[dict[str, Any]], int]:
    """Give the crossings of each chosen stream, and how many there are in all."""
    axes = feed.axes[:AXES]
    values = ", ".join(f"t.{axis} AS v{k}" for k, axis in enumerate(axes))
    got = columns(
        session.execute(
            f"""SELECT c.nth, epoch_us(t.ts) AS us, t.type, t.query_id AS id,
                t.query_version AS version, {said(feed)} AS said, {values}
            FROM events t JOIN __streams c ON c.stream_id = t.stream_id
            WHERE {scope.found} ORDER BY 1, 2, t.place, 4"""
        ).to_arrow_table()
    )
    every = seen.every(len(got["us"]))
    ends = np.searchsorted(got["nth"], np.arange(len(seen.chosen) + 1)).tolist()
    marks = []
    for begin, end in pairwise(ends):
        mine = slice(begin, end, every)
        pairs = zip(got["id"][mine], got["version"][mine].tolist(), strict=True)
        marks.append(
            {
                "t": differences((got["us"][mine] - seen.first) // 1000),
                "type": "".join(got["type"][mine]),
                "rule": [rules.place(*pair) for pair in pairs],
                "v": [[short(v) for v in got[f"v{k}"][mine].tolist()] for k in range(len(axes))],
                **coded(got["said"][mine]),
            }
        )
    return marks, len(got["us"])


class _Rules:
    """The rules of all chosen streams, each once; by stream, their places and its crossings.

    shown  the rules; those beyond the busiest of a stream have an id alone
    of     by stream: the place of the rule, how often entered, how often left
    """

    def __init__(self, session: Session, feed: str, axes: int) -> None:
        self.shown: list[dict[str, Any]] = []
        self._places: dict[tuple[str, int], int] = {}
        streams = session.execute("SELECT COUNT(*) FROM __streams s").fetchall()[0][0]
        self.of: list[list[list[int]]] = [[] for _ in range(streams)]
        crossed = f"""SELECT {regions.columns(axes)}, c.nth, c.entered, c.gone
            FROM (
                SELECT s.nth, c.query_id, c.query_version, SUM(c.n) AS n,
                    SUM(c.n) FILTER (c.type = 'I') AS entered,
                    SUM(c.n) FILTER (c.type = 'O') AS gone
                FROM __streams s JOIN __crossed c ON c.stream_id = s.stream_id GROUP BY 1, 2, 3
                QUALIFY ROW_NUMBER() OVER (
                    PARTITION BY s.nth ORDER BY SUM(c.n) DESC, c.query_id, c.query_version
                ) <= {RULES}
            ) c JOIN query_versions v ON v.id = c.query_id AND v.version = c.query_version
            ORDER BY c.nth, c.n DESC, v.id, v.version"""
        quiet = f"""SELECT {regions.columns(axes)}, s.nth, 0, 0
            FROM (
                SELECT v.*, UNNEST(v.streams) AS stream_id FROM query_versions v
                WHERE v.feed = '{feed}' AND v.kind = 'crossing' AND v.until_n IS NULL
                    AND v.streams IS NOT NULL
            ) v JOIN __streams s ON s.stream_id = v.stream_id
            WHERE NOT EXISTS (
                SELECT 1 FROM __crossed c WHERE c.query_id = v.id
                    AND c.query_version = v.version AND c.stream_id = s.stream_id
            )
            QUALIFY ROW_NUMBER() OVER (PARTITION BY s.nth ORDER BY v.id) <= {QUIET}
            ORDER BY s.nth, v.id"""
        for query in (crossed, quiet):
            for row in session.execute(query).fetchall():
                self._add(row, axes)

    def _add(self, row: Sequence[Any], axes: int) -> None:
        key = row[0], row[1]
        if key not in self._places:
            self._places[key] = len(self.shown)
            self.shown.append(regions.described(row[:8], axes))
        self.of[row[8]].append([self._places[key], int(row[9] or 0), int(row[10] or 0)])

    def place(self, id_: str, version: int) -> int:
        """Give the place of a rule; a new one is added by name."""
        key = id_, version
        if key not in self._places:
            self._places[key] = len(self.shown)
            self.shown.append({"id": id_, "version": version, "boxes": [], "of": 0})
        return self._places[key]
