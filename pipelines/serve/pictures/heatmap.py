"""When the busiest queries were crossed: a row for each, a cell for each hour.

Law: the stronger a cell's colour, the more events; a cell without any has the background's.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

import pyarrow as pa

from fencepost.text import counted, cut_in_the_middle
from pipelines.serve.pictures.canvas import INK, TEAL, WIDTH, Canvas, width_of
from pipelines.serve.pictures.charts import compact, nothing, titled
from pipelines.serve.pictures.picture import Picture

TOTALS, TOP, ROW = 74.0, 84.0, 22.0
LONGEST = 30
LABEL = 30.0
"""Width of an hour's label, with a margin."""
DAY = 78.0
"""Width of a day's label."""
WIDEST = 96.0


@dataclass(frozen=True)
class _Grid:
    """The places of the cells: the hours, between the names and the totals."""

    hours: range
    begin: float

    @property
    def step(self) -> float:
        return min((WIDTH - TOTALS - self.begin) / len(self.hours), WIDEST)

    def left(self, place: int) -> float:
        return self.begin + place * self.step


def of_events(feed: str, found: pa.Table, queries: int) -> Picture:
    """Draw rows of (query_id, hour, events), the busiest query first, of `queries` in all."""
    title = f"{feed}: events by query and hour"
    if not found.num_rows:
        why = "no events yet: no stream has entered or left a query"
        return Picture(nothing(title, why).png(), f"{title}: {why}.")
    rows = [
        (query, {row["hour"]: row["events"] for row in cells})
        for query, cells in groupby(found.to_pylist(), key=lambda row: row["query_id"])
    ]
    hours = range(
        min(hour for _, cells in rows for hour in cells),
        max(hour for _, cells in rows for hour in cells) + 1,
    )
    most = max(events for _, cells in rows for events in cells.values())
    many = counted(queries, "query", "queries")
    which = f"the {len(rows)} busiest of {many}" if queries > len(rows) else many
    canvas = titled(TOP + ROW * len(rows) + 14, title, f"{which}; UTC")
    _scale(canvas, most)
    widest = max(width_of(cut_in_the_middle(query, LONGEST)) for query, _ in rows)
    grid = _Grid(hours, 14 + widest + 12)
    _clock(canvas, grid)
    for place, (query, cells) in enumerate(rows):
        y = TOP + place * ROW
        canvas.words(14, y + ROW / 2, cut_in_the_middle(query, LONGEST))
        _cells(canvas, grid, y, [cells.get(hour, 0) for hour in hours], most)
    query, cells = rows[0]
    alt = f"{title}, {_instant(hours[0])} to {_instant(hours[-1] + 1)} UTC. Busiest: {query}, "
    return Picture(canvas.png(), f"{alt}{counted(sum(cells.values()), 'event')}.")


def _cells(canvas: Canvas, grid: _Grid, y: float, events: list[int], most: int) -> None:
    gap = min(2.0, grid.step / 8)
    for place, count in enumerate(events):
        colour, alpha = (TEAL, _strength(count, most)) if count else (INK, 0.07)
        x = grid.left(place) + gap / 2
        canvas.bar(x, y + 1, grid.step - gap, ROW - 2, colour, alpha, 2.5)
    canvas.words(WIDTH - 14, y + ROW / 2, f"{sum(events):,}", "right")


def _strength(events: float, most: float) -> float:
    """Give the strength of a colour: few events differ visibly from none, and many from most."""
    return float(0.14 + 0.86 * (events / most) ** 0.6)


def _clock(canvas: Canvas, grid: _Grid) -> None:
    """Write the hours over the columns, and the day over its first hour."""
    every = next((n for n in (1, 2, 3, 6, 12) if n * grid.step >= LABEL), 24)
    for place, hour in enumerate(grid.hours):
        x = grid.left(place)
        if hour % every == 0:
            canvas.words(x + grid.step / 2, TOP - 10, f"{hour % 24:02}", "center", size=9)
        midnight = hour % 24 == 0
        ends = min(place + 24 - hour % 24, len(grid.hours))
        if midnight and place:
            canvas.line([(x, TOP - 32), (x, TOP - 4)], 0.5)
        if (midnight or not place) and ((ends - place) * grid.step >= DAY or len(grid.hours) < 24):
            day = datetime.fromtimestamp(hour * 3600, UTC)
            canvas.words(x + (5 if place else 1), TOP - 26, f"{day:%Y-%m-%d}")


def _scale(canvas: Canvas, most: int) -> None:
    """Draw the scale of colours."""
    steps, wide, end = 6, 16.0, WIDTH - 14.0
    canvas.words(end, 18, compact(most), "right", size=9.5)
    end -= width_of(compact(most), 9.5) + 8 + steps * wide
    for place in range(steps):
        alpha = _strength((place + 1) / steps, 1.0)
        canvas.bar(end + place * wide, 12, wide - 1.5, 11, TEAL, alpha, 2)
    canvas.words(end - 8, 18, "events per hour:  1", "right", size=9.5)


def _instant(hour: int) -> str:
    return f"{datetime.fromtimestamp(hour * 3600, UTC):%Y-%m-%d %H:00}"
