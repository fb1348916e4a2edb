"""What `fencepost queries` prints: the active queries, one query with its history, what changed.

Law: nothing here writes to the lake, acquires its lock, or reads its holder.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.arrays import Bools
from fencepost.errors import InputError
from fencepost.lanes import feeds_of
from fencepost.queries.columns import CROSSING
from fencepost.queries.joins import BAND_JOIN, JOINS, NEAR_JOIN, WINDOW_JOIN
from fencepost.text import escaped
from pipelines.lake.sequence import ARRIVALS
from pipelines.lake.store import Store
from pipelines.registry.commit import Registered, unknown_id
from pipelines.registry.queries import DEFINITION, Axes, history, standing
from pipelines.registry.regions import region_text
from pipelines.registry.text import (
    Row,
    aligned,
    as_json,
    axes_known,
    condition_text,
    duration_text,
    in_one,
    instant_text,
    json_line,
    json_lines,
    number_text,
    streams_text,
    tests_by_box,
    where_of,
    window_text,
)
from schemas.arrivals import DONE, REGISTRY

HEADER = ("id", "version", "kind", "feed", "where", "streams", "within", "owner", "tags")
WIDEST = 48
_NAMED = {
    **dict.fromkeys(("lo", "hi", "tests"), "where"),
    "wkb": "region",
    **dict.fromkeys(("region_on", "on_earth"), "position"),
    "joined_on": "on",
    **dict.fromkeys(("window_us", "window_count"), "window"),
    "left_axis": "left",
    "right_axis": "right",
    **dict.fromkeys(("at_least", "at_most"), "between"),
    **dict.fromkeys(("right_streams", "right_streams_like"), "streams"),
}
"""The fields that columns keep, where they go by another name."""

MOST_BOXES = 20
"""Boxes that are printed of one query."""


@dataclass(frozen=True)
class QueryFilter:
    """Which queries to list; None: any. A join belongs to both its feeds."""

    feed: str | None = None
    owner: str | None = None
    tag: str | None = None
    ids: str | None = None
    kind: str | None = None

    def among(self, queries: pa.Table) -> pa.Table:
        """Give the rows that pass. O(n)."""
        if self.feed is not None:
            named = pc.unique(queries["feed"]).to_pylist()
            lanes = [lane for lane in named if self.feed in (lane, *feeds_of(lane))]
            queries = queries.filter(
                pc.is_in(queries["feed"], value_set=pa.array(lanes, pa.string()))
            )
        plainly = {"kind": self.kind, "owner": self.owner}
        for name, wanted in plainly.items():
            if wanted is not None:
                queries = queries.filter(pc.fill_null(pc.equal(queries[name], wanted), False))
        if self.tag is not None:
            queries = queries.filter(pa.array(_tagged(queries["tags"], self.tag)))
        if self.ids is not None:
            fits = re.compile(fnmatch.translate(self.ids)).match
            queries = queries.filter([fits(each) is not None for each in _texts(queries["id"])])
        return queries


def list_queries(
    store: Store, wanted: QueryFilter, axes_of: Axes, limit: int, *, in_json: bool
) -> list[str]:
    """List the active queries, by feed and id: a table, or a JSON object. A limit of 0: all."""
    queries = wanted.among(standing(store))
    order = pc.sort_indices(queries, [("feed", "ascending"), ("id", "ascending")])
    shown = queries.take(order[: limit or len(order)])
    if in_json:
        return list(in_one(json_lines(shown, axes_of), total=len(order)))
    if not len(order):
        return ["no active query matches"]
    lines = list(_as_table(shown.to_pylist(), axes_of))
    if len(shown) < len(order):
        lines.append(f"… {len(shown):,} of {len(order):,}; --limit 0 lists all")
    return lines


def describe(store: Store, query_id: str, axes_of: Axes, *, in_json: bool) -> list[str]:
    """Describe one query: its boxes, and what changed when."""
    rows = history(store)
    mine = rows.filter(pc.equal(rows["id"], query_id)).to_pylist()
    if not mine:
        raise InputError(unknown_id(query_id, standing(store)["id"]))
    mine.sort(key=lambda row: row["n"])
    when = _times(store)
    past = [
        {
            "registry_version": row["registry_version"],
            "n": row["n"],
            "at": when[row["registry_version"]],
            "version": row["version"],
            "what": _what_changed(before, row),
        }
        for before, row in zip([None, *mine], mine, strict=False)
    ]
    last = mine[-1]
    if in_json:
        now = {"version": last["version"], "removed": last["removed"]}
        return [json_line({**as_json(last, axes_of), **now, "history": past})]
    state = "removed" if last["removed"] else "active"
    return [
        f"{escaped(query_id)}  version {last['version']}, {state}",
        "",
        *_fields(last, axes_of),
        "",
        *aligned(
            ("registry", "n", "at", "version", "what"),
            [[str(cell) for cell in line.values()] for line in past],
        ),
        "",
        json_line(as_json(last, axes_of)),
    ]


def summary(registered: Registered) -> str:
    """Describe the outcome of a registration."""
    counts = [
        f"{count:,} {what}"
        for what, count in (
            ("added", registered.added),
            ("changed", registered.changed),
            ("edited", registered.edited),
            ("removed", registered.removed),
            ("unchanged", registered.unchanged),
        )
        if count
    ]
    said = ", ".join(counts) or "nothing given"
    if registered.n is None:
        return f"{said}: the registry stays at version {registered.registry_version}"
    return (
        f"{said}: registry version {registered.registry_version}, number {registered.n} in the "
        "sequence; applies to data loaded from now on"
    )


def _as_table(rows: Sequence[Row], axes_of: Axes) -> Iterator[str]:
    """Arrange queries; with a column `window` only if some have one."""
    cells = [_cells(row, axes_of) for row in rows]
    windows = [window_text(row) for row in rows]
    if not any(windows):
        return aligned(HEADER, cells)
    place = HEADER.index("within") + 1
    header = (*HEADER[:place], "window", *HEADER[place:])
    for each, window in zip(cells, windows, strict=True):
        each.insert(place, window or "")
    return aligned(header, cells)


def _cells(row: Row, axes_of: Axes) -> list[str]:
    within = row["within"]
    return [
        escaped(row["id"], WIDEST),
        str(row["version"]),
        row["kind"],
        row["feed"],
        escaped(condition_text(row, axes_of), WIDEST),
        escaped(streams_text(row), WIDEST // 2),
        "" if within is None else duration_text(within),
        escaped(row["owner"] or "", WIDEST // 2),
        escaped(", ".join(row["tags"] or ()), WIDEST // 2),
    ]


def _fields(row: Row, axes_of: Axes) -> Iterator[str]:
    within, join = row["within"], row["kind"] in JOINS
    words = {
        "kind": row["kind"],
        "lane" if join else "feed": row["feed"],
        **_condition(row, axes_of),
        "streams": None if join else streams_text(row),
        "within": None if within is None else duration_text(within),
        "on_first": row["on_first"] if row["kind"] == CROSSING else None,
        "leaps": "true" if row["leaps"] else None,
        "valid_from": instant_text(row["valid_from"]),
        "valid_to": instant_text(row["valid_to"]),
        "owner": row["owner"],
        "tags": ", ".join(row["tags"] or ()) or None,
        "note": row["note"],
    }
    for name, word in words.items():
        if word is not None:
            yield f"  {name:<11} {escaped(word)}"
    if join:
        return
    boxes = list(_boxes(axes_known(row, axes_of), row))
    for place, box in enumerate(boxes[:MOST_BOXES], 1):
        name = f"box {place}" if len(boxes) > 1 else "box"
        yield f"  {name:<11} {box}"
    if len(boxes) > MOST_BOXES:
        yield f"  … {len(boxes):,} boxes"


def _condition(row: Row, axes_of: Axes) -> dict[str, str | None]:
    """Give the condition as text, by field."""
    if row["kind"] == WINDOW_JOIN:
        on, where, region = row["joined_on"], row["where"], row["region"]
        return {"on": on, "where": where, "region": region, "window": window_text(row)}
    if row["kind"] == BAND_JOIN:
        return {"band": condition_text(row, axes_of)}
    if row["kind"] == NEAR_JOIN:
        return {"near": condition_text(row, axes_of), **_sides(row)}
    return {"where": where_of(row, axes_of), "region": region_text(row)}


def _sides(row: Row) -> dict[str, str | None]:
    """Give the streams that a near join takes on either side, where it does not take all."""
    right = {"streams": row["right_streams"], "streams_like": row["right_streams_like"]}
    sides = {"left": streams_text(row), "right": streams_text(right)}
    return {side: None if word == "all" else word for side, word in sides.items()}


def _boxes(axes: tuple[str, ...], row: Row) -> Iterator[str]:
    lo, hi, d = row["lo"], row["hi"], len(axes)
    tests = tests_by_box(axes, row["tests"])
    for at in range(0, len(lo), d):
        ends = zip(axes, lo[at : at + d], hi[at : at + d], strict=True)
        box = " × ".join(f"{axis} {_range(begin, end)}" for axis, begin, end in ends)
        yield ", ".join((box, *tests.get(at // d, ())))


def _range(begin: float, end: float) -> str:
    low = f"[{number_text(begin)}" if begin > -inf else "(-∞"
    return f"{low}, {number_text(end) if end < inf else '∞'})"


def _times(store: Store) -> Mapping[int, str]:
    """Say when each registry version was registered."""
    arrivals = store.rows(ARRIVALS)
    mine = pc.and_(pc.equal(arrivals["kind"], REGISTRY), pc.equal(arrivals["state"], DONE))
    rows = arrivals.filter(mine).select(["registry_version", "found_at"]).to_pylist()
    return {row["registry_version"]: f"{row['found_at']:%Y-%m-%dT%H:%M:%SZ}" for row in rows}


def _what_changed(before: Row | None, row: Row) -> str:
    if row["removed"]:
        return "removed"
    if before is None:
        return "added"
    if before["removed"]:
        return "added again"
    named = [_named(name) for name in DEFINITION.names if before[name] != row[name]]
    how = "edited" if before["version"] == row["version"] else "changed"
    return f"{how}: {', '.join(dict.fromkeys(named))}"


def _named(column: str) -> str:
    return _NAMED.get(column, column)


def _tagged(tags: pa.ChunkedArray, tag: str) -> Bools:
    found = np.zeros(len(tags), np.bool_)
    rows = pc.list_parent_indices(tags).filter(pc.equal(pc.list_flatten(tags), tag))
    found[rows.to_numpy()] = True
    return found


def _texts(column: pa.ChunkedArray) -> list[Any]:
    texts: list[Any] = column.to_pylist()
    return texts
