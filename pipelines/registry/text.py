"""A query as text: the JSON line that gives the same query again, and words for a terminal.

Law: what `json_line` writes is read back as the same definition, to the bit. Nothing printed
here can move a cursor, whatever an id or a note contains.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from math import inf
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from fencepost.doubles import EXACT_UP_TO
from fencepost.errors import LakeError
from fencepost.lanes import pair_of
from fencepost.queries import CROSSING, OPS
from fencepost.queries.geojson_fields import feature_of
from fencepost.queries.joins import BAND_JOIN, JOINS, NEAR_JOIN
from fencepost.shapes.shape import number as shape_number
from fencepost.text import counted, escaped
from fencepost.times import SECOND, format_instant
from pipelines.registry.queries import SILENT, Axes
from pipelines.registry.regions import region_of, region_text

Row = Mapping[str, Any]

_UNITS = (
    ("d", 86_400 * SECOND),
    ("h", 3600 * SECOND),
    ("m", 60 * SECOND),
    ("s", SECOND),
    ("ms", 1000),
    ("us", 1),
)
_BATCH = 1 << 14
ALL = "ALL"
"""The condition that is none."""


def json_lines(queries: pa.Table, axes_of: Axes) -> Iterator[str]:
    """Give each query as a line of JSON, in the order of the rows. 10 µs a query."""
    for batch in queries.to_batches(_BATCH):
        for row in batch.to_pylist():
            yield json_line(as_json(row, axes_of))


def feature_lines(queries: pa.Table, axes_of: Axes) -> Iterator[str]:
    """Give each query that has a region as a feature of GeoJSON, in the order of the rows."""
    for batch in queries.to_batches(_BATCH):
        for row in batch.to_pylist():
            feature = feature_of(as_json(row, axes_of))
            if feature is not None:
                yield json_line(feature)


LISTED = '{"queries": ['
COLLECTED = '{"type": "FeatureCollection", "features": ['


def in_one(lines: Iterable[str], head: str = LISTED, **more: int) -> Iterator[str]:
    """Give lines of JSON as those of one object, `{"queries": [...]}`, with further members."""
    yield head
    line = None
    for after in lines:
        if line is not None:
            yield f"{line},"
        line = after
    if line is not None:
        yield line
    yield "".join(["]", *(f', "{name}": {said}' for name, said in more.items()), "}"])


def write_lines(path: Path, lines: Iterator[str]) -> None:
    """Write lines to a file that is whole or absent, packed if its name ends in `.gz`."""
    from pipelines.files.write.target import Target, write_whole  # has Arrow import pandas

    def write(_: str, file: BinaryIO) -> None:
        file.writelines(line.encode() + b"\n" for line in lines)

    write_whole([(Target(path, "jsonl", path.suffix.lower() == ".gz"), write)])


def as_json(row: Row, axes_of: Axes) -> dict[str, Any]:
    """Give a query as the object that registers it; defaults are left out."""
    fields = _of_join(row) if row["kind"] in JOINS else _of_watching(row, axes_of)
    return {name: value for name, value in fields.items() if value is not None}


def _of_watching(row: Row, axes_of: Axes) -> dict[str, Any]:
    region = row["region"]
    where = where_of(row, axes_of)
    return {
        "id": row["id"],
        "feed": row["feed"],
        "kind": None if row["kind"] == CROSSING else row["kind"],
        "where": None if region is not None and where == ALL else where,
        "region": None if region is None else json.loads(region),
        "leaps": row["leaps"] or None,
        "streams": row["streams"],
        "streams_like": _one_or_more(row["streams_like"]),
        "within": None if row["within"] is None else duration_text(row["within"]),
        "on_first": None if row["on_first"] == SILENT else row["on_first"],
        **_of_all(row),
    }


def where_of(row: Row, axes_of: Axes) -> str:
    """Give the condition of a query of one feed: as written, or what its boxes say.

    Boxes that a region has cut are given without the ends that it has anyway.
    """
    if row["where"] is not None:
        return str(row["where"])
    axes, lo, hi = axes_known(row, axes_of), row["lo"], row["hi"]
    region = region_of(row)
    if region is not None:
        lo, hi = list(lo), list(hi)
        for axis, (low, high) in zip(row["region_on"], region.bounds, strict=True):
            for at in range(axis, len(lo), len(axes)):
                lo[at] = -inf if lo[at] == low else lo[at]
                hi[at] = inf if hi[at] == high else hi[at]
    return where_text(axes, lo, hi, row["tests"])


def _one_or_more(patterns: list[str] | None) -> list[str] | str | None:
    """Write one pattern as such, as most people do."""
    return patterns[0] if patterns and len(patterns) == 1 else patterns


def streams_text(row: Row) -> str:
    """Describe which streams a query watches; a pattern is one that has signs of one, or `like`."""
    named, patterns = row["streams"] or (), row["streams_like"] or ()
    like = (each if any(sign in each for sign in "*?[") else f"like {each}" for each in patterns)
    return ", ".join((*named, *like)) or "all"


def _of_join(row: Row) -> dict[str, Any]:
    left, right = pair_of(row["feed"])
    fields = {"id": row["id"], "kind": row["kind"]}
    if row["kind"] == BAND_JOIN:
        return {
            **fields,
            "left": f"{left}.{row['left_axis']}",
            "right": f"{right}.{row['right_axis']}",
            "between": [_number_of_json(row[name]) for name in ("at_least", "at_most")],
            **_of_all(row),
        }
    if row["kind"] == NEAR_JOIN:
        return {
            **fields,
            "left": left,
            "right": right,
            "distance": distance_text(row),
            "streams": _by_side(row["streams"], row["right_streams"]),
            "streams_like": _by_side(row["streams_like"], row["right_streams_like"]),
            **_of_all(row),
        }
    time = row["window_us"]
    return {
        **fields,
        "left": left,
        "right": right,
        "on": row["joined_on"],
        "where": row["where"],
        "region": None if row["region"] is None else json.loads(row["region"]),
        "window": row["window_count"] if time is None else duration_text(time),
        **_of_all(row),
    }


def distance_text(row: Row) -> str | float:
    """Give the distance of a near join: on the earth in metres, with the unit."""
    length = row["distance"]
    return f"{shape_number(length)}m" if row["on_earth"] else _number_of_json(length) or 0.0


def _by_side(left: list[str] | None, right: list[str] | None) -> object:
    """Give streams, or patterns, once where both sides have the same."""
    if left == right:
        return left
    sides = {"left": left, "right": right}
    return {side: names for side, names in sides.items() if names is not None}


def _of_all(row: Row) -> dict[str, Any]:
    return {
        "valid_from": instant_text(row["valid_from"]),
        "valid_to": instant_text(row["valid_to"]),
        "owner": row["owner"],
        "tags": row["tags"],
        "note": row["note"],
    }


def _number_of_json(value: float | None) -> float | None:
    """Give a double so that it reads back exactly; large ones with all their digits."""
    if value is None or value != int(value) or abs(value) <= EXACT_UP_TO:
        return value
    return int(value)


def condition_text(row: Row, axes_of: Axes) -> str:
    """Describe a query's condition in one line."""
    if row["kind"] == BAND_JOIN:
        left, right = pair_of(row["feed"])
        return f"{left}.{row['left_axis']} - {right}.{row['right_axis']} {_band_text(row)}"
    if row["kind"] == NEAR_JOIN:
        left, right = pair_of(row["feed"])
        return f"{left} within {distance_text(row)} of {right}"
    if row["kind"] in JOINS:
        where = "" if row["where"] is None else f" WHERE {row['where']}"
        sides = () if row["region"] is None else json.loads(row["region"])
        within = f", with a region on the {' and the '.join(sides)}" if sides else ""
        return f"ON {row['joined_on']}{where}{within}"
    where, region = where_of(row, axes_of), region_text(row)
    if region is None:
        return where
    return f"in {region}" if where == ALL else f"{where}, in {region}"


def _band_text(row: Row) -> str:
    least, most = row["at_least"], row["at_most"]
    if least is None:
        return "is any" if most is None else f"<= {number_text(most)}"
    if most is None:
        return f">= {number_text(least)}"
    return f"BETWEEN {number_text(least)} AND {number_text(most)}"


def window_text(row: Row) -> str | None:
    """Describe how long a tuple can be paired; None without a window."""
    if row["window_us"] is not None:
        return duration_text(row["window_us"])
    if row["window_count"] is None:
        return None
    return counted(row["window_count"], "tuple")


def json_line(fields: Mapping[str, Any]) -> str:
    """Write an object on one line; what cannot be printed is escaped as JSON does."""
    line = json.dumps(fields, ensure_ascii=False)
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def axes_known(row: Row, axes_of: Axes) -> tuple[str, ...]:
    """Give the axes of a query's feed; LakeError if it is no longer declared."""
    axes = axes_of.get(row["feed"])
    if axes is None:
        raise LakeError(
            f"the query '{escaped(row['id'])}' watches the feed '{row['feed']}', which is not in "
            "fencepost.toml: without its axes the boxes cannot be named"
        )
    return axes


def where_text(
    axes: Sequence[str],
    lo: Sequence[float],
    hi: Sequence[float],
    tests: Sequence[int] | None = None,
) -> str:
    """Write boxes, in the layout of `queries`, as the condition that parses to the same boxes."""
    d = len(axes)
    tested = tests_by_box(axes, tests)
    return " OR ".join(
        _box_text(axes, lo[at : at + d], hi[at : at + d], tested.get(at // d, ()))
        for at in range(0, len(lo), d)
    )


def tests_by_box(axes: Sequence[str], tests: Sequence[int] | None) -> dict[int, list[str]]:
    """Write tests of two axes, in the layout of `queries`, by the number of their box."""
    texts: dict[int, list[str]] = {}
    for at in range(0, len(tests or ()), 4):
        box, left, op, right = (tests or ())[at : at + 4]
        texts.setdefault(box, []).append(f"{axes[left]} {OPS[op]} {axes[right]}")
    return texts


def _box_text(
    axes: Sequence[str], lo: Sequence[float], hi: Sequence[float], tests: Iterable[str]
) -> str:
    parts = []
    for axis, begin, end in zip(axes, lo, hi, strict=True):
        parts += [f"{axis} >= {number_text(begin)}"] if begin > -inf else []
        parts += [f"{axis} < {number_text(end)}"] if end < inf else []
    return " AND ".join((*parts, *tests)) or ALL


def number_text(value: float) -> str:
    """Write a finite double so that it reads back exactly; large ones with all their digits."""
    text = repr(value)
    if abs(value) > EXACT_UP_TO and Decimal(text) != int(value):
        return str(int(value))
    return text


def duration_text(us: int) -> str:
    """Write a duration exactly, in one or more units: `1h30m`."""
    text = ""
    for unit, size in _UNITS:
        count, us = divmod(us, size)
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def instant_text(at: datetime | None) -> str | None:
    """Write an instant as ISO 8601 in UTC, without trailing zeros."""
    if at is None:
        return None
    text = format_instant(int(pa.scalar(at, pa.timestamp("us", "UTC")).value))
    return text[:-1].rstrip("0").rstrip(".") + "Z"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Arrange texts in columns, each as wide as its widest."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
