"""A feed on a map: the tracks of some streams, their crossings, and which is inside what over time.

The slider has STEPS + 1 places, from the first tuple to the last. Counts of streams inside a region
are of all streams; tracks and marks are of the streams with most crossings.

Law: at each place, a region counts the visits that have begun and not ended by then.
"""

# ruff: noqa: S608  whole numbers and declared names alone

from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np

from fencepost.position import Position, declared_position
from pipelines.project.settings import Feed
from pipelines.serve.report import regions
from pipelines.serve.report.base import Base
from pipelines.serve.report.leaps import leaps
from pipelines.serve.report.outlines import Ground, outlines
from pipelines.serve.report.payload import coded, said
from pipelines.serve.report.scope import ReportScope
from pipelines.serve.report.streams import Seen
from pipelines.serve.report.thin import (
    Float64s,
    Int64s,
    Scale,
    columns,
    differences,
    main_part,
    without_rests,
)

MARKS = 24_000
"""Crossings, at most."""

STEPS = 360
POINTS = 720
"""Of a track, at most."""

PLANES = (("x", "y"), ("lon", "lat"), ("lng", "lat"), ("longitude", "latitude"))
"""Axes that are a place, of a feed that declares none."""

Session = duckdb.DuckDBPyConnection


def place_of(feed: Feed) -> Position | None:
    """Give the two axes that are coordinates, declared or known by name; None if there are none."""
    named = (declared_position(feed.axes, each) for each in PLANES if set(each) <= set(feed.axes))
    return feed.place or next(named, None)


def on_map(
    session: Session, scope: ReportScope, feed: Feed, place: Position, base: Base | None, seen: Seen
) -> dict[str, Any]:
    """Gather what a map shows; degrees are drawn as they lie on earth."""
    axes = feed.axes
    plane = axes[place.axes[0]], axes[place.axes[1]]
    of_rules = regions.choose(session, scope.feed)
    shown = regions.chosen(session, axes)
    crossed = _crossed(session, scope, feed, plane)
    points = _points(session, plane, seen)
    spans = _side(points["x"], crossed["x"]), _side(points["y"], crossed["y"])
    ground = Ground(*spans, earth=place.earth)
    drawn = outlines([rule.pop("region") for rule in shown], ground)
    counts = _inside(session, scope.feed, seen, len(shown))
    x, y = (2 * axis for axis in place.axes)
    for rule, outline, inside in zip(shown, drawn, counts, strict=True):
        rule["held"] = inside
        rule["also"] = _elsewhere(rule["boxes"], axes, plane)
        if outline is None:
            rule["boxes"] = [[box[x], box[y], box[x + 1], box[y + 1]] for box in rule["boxes"]]
        else:
            rule |= {"boxes": [], "of": 0, "shape": outline}
    return {
        "axes": plane,
        "geographic": ground.earth,
        "begin": seen.first,
        "end": seen.last,
        "steps": STEPS,
        "extent": [spans[0].low, spans[1].low, spans[0].high, spans[1].high],
        "rules": shown,
        "of_rules": of_rules,
        "tracks": _tracks(points, spans, seen),
        "of_streams": seen.streams,
        "so_far": _so_far(session, scope, seen),
        **_marks(crossed, spans, seen),
        **leaps(session, scope, plane, ground, seen),
        **({} if base is None else base.drawn(ground)),
    }


def _elsewhere(
    boxes: list[list[float | int | None]], axes: Sequence[str], plane: tuple[str, str]
) -> list[str]:
    """Name the axes outside the plane that a query bounds."""
    return [
        axis
        for place, axis in enumerate(axes)
        if axis not in plane
        and any(box[2 * place] is not None or box[2 * place + 1] is not None for box in boxes)
    ]


def _points(session: Session, plane: tuple[str, str], seen: Seen) -> dict[str, Any]:
    """Give the first tuple of each chosen stream in each of POINTS intervals."""
    width = (seen.last - seen.first) // POINTS + 1
    return columns(
        session.execute(
            f"""SELECT g.nth, g.part, g.us, g.here.x AS x, g.here.y AS y FROM (
                SELECT c.nth, (epoch_us(t.ts) - {seen.first}) // {width} AS part,
                    MIN(epoch_us(t.ts)) AS us,
                    ARG_MIN({{x: t.{plane[0]}, y: t.{plane[1]}}}, t.ts) AS here
                FROM __tuples t JOIN __streams c ON c.stream_id = t.stream_id GROUP BY 1, 2
            ) g ORDER BY 1, 2"""
        ).to_arrow_table()
    )


def _crossed(
    session: Session, scope: ReportScope, feed: Feed, plane: tuple[str, str]
) -> dict[str, Any]:
    """Give the crossings of the chosen streams, by time and place."""
    return columns(
        session.execute(
            f"""SELECT epoch_us(t.ts) AS us, t.type, c.nth AS stream, r.nth AS rule,
                CASE WHEN r.nth IS NULL THEN t.query_id END AS other,
                t.{plane[0]} AS x, t.{plane[1]} AS y, {said(feed)} AS said
            FROM events t JOIN __streams c ON c.stream_id = t.stream_id
            LEFT JOIN __rules r ON r.id = t.query_id AND r.version = t.query_version
            WHERE {scope.found} ORDER BY 1, 3, t.place, t.query_id"""
        ).to_arrow_table()
    )


def _side(*values: Float64s) -> Scale:
    """Give the extent of a map along one axis, with a margin."""
    all_of_them = np.concatenate(values)
    if not len(all_of_them):
        return Scale(0.0, 1.0)
    ends = Scale.of(np.array(main_part(all_of_them)))
    room = (ends.high / 2 - ends.low / 2) * 0.06
    return Scale(ends.low - room, ends.high + room)


def _tracks(points: dict[str, Any], spans: tuple[Scale, Scale], seen: Seen) -> list[dict[str, Any]]:
    """Give each track as differences, without rests."""
    stream, x, y = points["nth"], spans[0].placed(points["x"]), spans[1].placed(points["y"])
    keep = without_rests(stream, x, y)
    ts, stream, x, y = seen.parts(points["us"])[keep], stream[keep], x[keep], y[keep]
    tracks = []
    for nth, (id_, many) in enumerate(seen.chosen):
        mine = stream == nth
        path = {name: differences(part[mine]) for name, part in (("t", ts), ("x", x), ("y", y))}
        tracks.append({"id": id_, "n": many, **path})
    return tracks


def _marks(crossed: dict[str, Any], spans: tuple[Scale, Scale], seen: Seen) -> dict[str, Any]:
    """Give the shown crossings; a rule below 0 is one of the `others`."""
    every = seen.every(len(crossed["us"]))
    others = sorted({name for name in crossed["other"] if name is not None})
    place = {name: -1 - at for at, name in enumerate(others)}
    rules = zip(crossed["other"][::every], crossed["rule"][::every], strict=True)
    return {
        "others": others,
        "of_marks": len(crossed["us"]),
        "marks": {
            "t": differences((crossed["us"][::every] - seen.first) // 1000),
            "type": "".join(crossed["type"][::every]),
            "stream": crossed["stream"][::every].tolist(),
            "rule": [int(nth) if name is None else place[name] for name, nth in rules],
            "x": spans[0].placed(crossed["x"][::every]).tolist(),
            "y": spans[1].placed(crossed["y"][::every]).tolist(),
            **coded(crossed["said"][::every]),
        },
    }


def _inside(session: Session, feed: str, seen: Seen, many: int) -> list[list[int]]:
    """Count the visits to each region at each place of the slider, over all streams.

    Given as pairs: places since the last change, and the change.
    """
    first, last = seen.first, seen.last
    width = seen.step(STEPS)
    got = columns(
        session.execute(
            f"""SELECT r.nth,
                GREATEST(0, COALESCE(CEIL((epoch_us(v.entered_ts) - {first}) / {width}), 0))::BIGINT
                    AS entered,
                LEAST({STEPS + 1},
                    COALESCE(CEIL((epoch_us(v.left_ts) - {first}) / {width}), {STEPS + 1})
                )::BIGINT AS gone,
                COUNT(*) AS n
            FROM visits v JOIN __rules r ON r.id = v.query_id AND r.version = v.query_version
            WHERE v.feed = '{feed}'
                AND (v.left_ts IS NULL OR epoch_us(v.left_ts) > {first})
                AND (v.entered_ts IS NULL OR epoch_us(v.entered_ts) <= {last})
            GROUP BY 1, 2, 3"""
        ).to_arrow_table()
    )
    changes = np.zeros((many, STEPS + 2), np.int64)
    np.add.at(changes, (got["nth"], got["entered"]), got["n"])
    np.add.at(changes, (got["nth"], got["gone"]), -got["n"])
    by_region = []
    for row in changes:
        places = np.flatnonzero(row[: STEPS + 1])
        pairs: Int64s = np.column_stack((np.diff(places, prepend=0), row[places]))
        by_region.append(pairs.ravel().tolist())
    return by_region


def _so_far(session: Session, scope: ReportScope, seen: Seen) -> dict[str, list[int]]:
    """Count the crossings up to each place of the slider, over all streams; as differences."""
    rows = session.execute(
        f"""SELECT t.type, COUNT(*),
            CEIL((epoch_us(t.ts) - {seen.first}) / {seen.step(STEPS)})::BIGINT AS place
        FROM events t WHERE {scope.found} GROUP BY 1, 3"""
    ).fetchall()
    counts = {"I": [0] * (STEPS + 1), "O": [0] * (STEPS + 1)}
    for kind, many, place in rows:
        counts[kind][min(max(place, 0), STEPS)] += many
    return counts
