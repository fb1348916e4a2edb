"""The other pictures: epochs, partitions, and quarantine.

Law: the seconds of epochs that were committed together are divided evenly among them; of a job's
seconds each phase has its share of the tasks' time.
"""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from fencepost.text import counted
from pipelines.serve.pictures.canvas import (
    BLUE,
    INK,
    OCHRE,
    ORANGE,
    ROSE,
    TEAL,
    VIOLET,
    WIDTH,
    Canvas,
    width_of,
)
from pipelines.serve.pictures.charts import (
    LEFT,
    TOP,
    ColumnGrid,
    legend,
    marked,
    nothing,
    panel,
    titled,
)
from pipelines.serve.pictures.picture import Picture
from schemas.epochs import COUNTS
from schemas.quarantine import REASONS

PANEL, BETWEEN = 74.0, 34.0
PHASES = {
    "plan": OCHRE,
    "read": BLUE,
    "sort": VIOLET,
    "evaluate": TEAL,
    "write": ORANGE,
    "other": INK,
}
"""The phases of an epoch, and their colours."""

CROSSED = {"in": TEAL, "out": ORANGE}
TUPLES = BLUE


def of_epochs(feed: str, epochs: pa.Table) -> Picture:
    """Draw rows, crossings and seconds, epoch by epoch."""
    title = f"{feed}: epochs"
    if not epochs.num_rows:
        return _nothing(title, "no epoch yet")
    rows = epochs.to_pylist()
    shared = [row["plan"] for row in rows]
    spent = [_spent(row["seconds"], row["together"]) for row in rows]
    joined = [a == b for a, b in zip(shared, [None, *shared], strict=False)]
    took = sum(sum(each.values()) for each in spent)
    columns = ColumnGrid(len(rows))
    canvas = titled(_height(3), title, _which(len(rows), rows[0]["of"], "epoch"))
    total = sum(row["rows"] for row in rows)
    crossed = [[row["entered"], row["left"]] for row in rows]
    crossings = sum(map(sum, crossed))
    _named(canvas, 0, "rows", f"{total:,}")
    panel(canvas, columns, _top(0), PANEL, [[row["rows"]] for row in rows], [TUPLES])
    _named(canvas, 1, "crossings", f"{crossings:,}", CROSSED)
    panel(canvas, columns, _top(1), PANEL, crossed, [*CROSSED.values()])
    _named(canvas, 2, "seconds", f"{took:,.1f}", PHASES)
    stacks = [[each[phase] for phase in PHASES] for each in spent]
    panel(canvas, columns, _top(2), PANEL, stacks, [*PHASES.values()], joined)
    marked(canvas, columns, _top(3) - BETWEEN + 12, [str(row["epoch"]) for row in rows])
    alt = f"{title} {rows[0]['epoch']} to {rows[-1]['epoch']}: "
    alt += f"{counted(total, 'row')}, {counted(crossings, 'crossing')}"
    return Picture(canvas.png(), f"{alt}, {took:,.1f} seconds.")


def of_partitions(feed: str, partitions: pa.Table) -> Picture:
    """Draw tuples and events, partition by partition."""
    title = f"{feed}: partitions"
    if not partitions.num_rows:
        return _nothing(title, "no partition yet")
    rows = partitions.to_pylist()
    columns = ColumnGrid(len(rows))
    canvas = titled(_height(2) + 14, title, _which(len(rows), rows[0]["of"], "partition"))
    tuples = sum(row["tuples"] for row in rows)
    crossed = [[row["entered"], row["left"]] for row in rows]
    crossings = sum(map(sum, crossed))
    _named(canvas, 0, "tuples", f"{tuples:,}")
    panel(canvas, columns, _top(0), PANEL, [[row["tuples"]] for row in rows], [TUPLES])
    _named(canvas, 1, "events", f"{crossings:,}", CROSSED)
    panel(canvas, columns, _top(1), PANEL, crossed, [*CROSSED.values()])
    _keys(canvas, columns, _top(2) - BETWEEN + 12, [row["key"] for row in rows])
    alt = f"{title} {rows[0]['key']} to {rows[-1]['key']}: {counted(tuples, 'tuple')}"
    return Picture(canvas.png(), f"{alt}, {counted(crossings, 'event')}.")


def of_quarantine(feed: str, reasons: pa.Table, read: int) -> Picture:
    """Draw the rejected rows by reason, and their share of all rows."""
    title = f"{feed}: quarantine"
    counts = {row["reason"]: row["rows"] for row in reasons.to_pylist()}
    if not counts:
        why = f"none of {counted(read, 'row')} rejected" if read else "no rows yet"
        return _nothing(title, why)
    total = sum(counts.values())
    share = f" of {read:,} read, {100 * total / read:.2g} %" if read else ""
    ordered = sorted(REASONS, key=lambda reason: -counts.get(reason, 0))
    tall, name, end = 34.0, 108.0, WIDTH - 150.0
    canvas = titled(TOP + tall * len(ordered) + 8, title, f"{counted(total, 'row')}{share}")
    for place, reason in enumerate(ordered):
        rows, y = counts.get(reason, 0), TOP + place * tall
        canvas.words(name - 10, y + 9, reason, "right", size=10.5)
        canvas.bar(name, y + 2, end - name, 14, INK, 0.08, 3)
        wide = (end - name) * rows / max(counts.values())
        canvas.bar(name, y + 2, max(wide, 3.0) if rows else 0, 14, ROSE, 1, 3)
        canvas.words(WIDTH - 14, y + 9, f"{rows:,}", "right", size=10.5, bold=rows > 0)
        canvas.words(name, y + 25, COUNTS[reason], size=8.5)
    by_reason = ", ".join(f"{reason} {counts[reason]:,}" for reason in ordered if reason in counts)
    return Picture(canvas.png(), f"{title}: {counted(total, 'row')}{share}: {by_reason}.")


def _nothing(title: str, why: str) -> Picture:
    return Picture(nothing(title, why).png(), f"{title}: {why}.")


def _which(shown: int, of: int, what: str) -> str:
    many = "" if of == 1 else "s"
    return f"the newest {shown:,} of {of:,} {what}{many}" if of > shown else f"{of:,} {what}{many}"


def _top(place: int) -> float:
    return TOP + 24 + place * (PANEL + BETWEEN)


def _height(panels: int) -> float:
    return _top(panels) - BETWEEN + 28


def _named(
    canvas: Canvas, place: int, name: str, total: str, colours: Mapping[str, str] | None = None
) -> None:
    """Write the heading of a panel: its name, its total, and its colours."""
    y = _top(place) - 16
    canvas.words(LEFT, y, name, size=10.5, bold=True)
    canvas.words(LEFT + width_of(name, 10.5, bold=True) + 8, y, total, size=10.5)
    legend(canvas, y, colours or {})


def _spent(seconds: str | None, together: int) -> dict[str, float]:
    """Divide the seconds of a group: by phase, and evenly among its epochs."""
    spent: dict[str, Any] = json.loads(seconds or "{}")
    job = spent.get("job", 0.0)
    tasks = {name: spent.get(name, 0.0) for name in ("read", "sort", "evaluate", "write")}
    busy = sum(tasks.values())
    scale = min(1.0, job / busy) if busy else 0.0
    parts = {name: value * scale for name, value in tasks.items()}
    parts["plan"] = spent.get("plan", 0.0) + spent.get("prepare", 0.0)
    parts["other"] = job - busy * scale + spent.get("commit", 0.0)
    return {name: max(parts[name], 0.0) / together for name in PHASES}


def _keys(canvas: Canvas, columns: ColumnGrid, y: float, keys: list[str]) -> None:
    """Write the keys under the columns: days; or hours, with the day under its first hour."""
    if any("T" not in key for key in keys):
        marked(canvas, columns, y, keys)
        return
    marked(canvas, columns, y, [key[-2:] for key in keys])
    free = 0.0
    for place, key in enumerate(keys):
        x = columns.left(place) + 2
        if (place == 0 or key[:10] != keys[place - 1][:10]) and x >= free:
            canvas.words(x, y + 15, key[:10], size=9)
            free = x + 80
