"""What the pictures share: titles, columns on a baseline, round numbers.

Law: a column's height is its value's share of the highest line, which is labelled.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.serve.pictures.canvas import INK, WIDTH, Canvas, width_of

LEFT, RIGHT, TOP = 64.0, 16.0, 54.0
SPAN = WIDTH - LEFT - RIGHT
GAP = 0.22
WIDEST = 76.0

Stack = Sequence[float]
"""The parts of a column, from the bottom up."""


@dataclass(frozen=True)
class ColumnGrid:
    """The places of columns side by side, all of one width."""

    count: int

    @property
    def step(self) -> float:
        """The distance from one column to the next."""
        return min(SPAN / max(self.count, 1), WIDEST / (1 - GAP))

    def left(self, place: int) -> float:
        """The left end of a column, with half of the gap before it."""
        return LEFT + place * self.step

    def middle(self, place: int) -> float:
        """The middle of a column."""
        return self.left(place) + self.step / 2


def titled(height: float, title: str, more: str) -> Canvas:
    """Begin a picture with its title and subtitle."""
    canvas = Canvas(height)
    canvas.words(14, 18, title, size=13, bold=True)
    canvas.words(14, 37, more, size=10)
    return canvas


def nothing(title: str, why: str) -> Canvas:
    """Make a picture that says why there is nothing to show."""
    canvas = titled(96, title, "")
    canvas.bar(14, 36, WIDTH - 28, 46, INK, 0.10, 6)
    canvas.words(WIDTH / 2, 59, why, "center", size=11)
    return canvas


def legend(canvas: Canvas, y: float, named: Mapping[str, str]) -> None:
    """Draw the legend of the colours, on the right."""
    x = WIDTH - RIGHT
    for name, colour in reversed([*named.items()]):
        x -= width_of(name, 9.5)
        canvas.words(x, y, name, size=9.5)
        canvas.bar(x - 14, y - 4.5, 9, 9, colour, 1, 2)
        x -= 30


def panel(  # noqa: PLR0913
    canvas: Canvas,
    columns: ColumnGrid,
    top: float,
    height: float,
    stacks: Sequence[Stack],
    colours: Sequence[str],
    joined: Sequence[bool] = (),
) -> float:
    """Draw stacked columns on a baseline; give the value of the highest line.

    `joined` columns have no gap before them.
    """
    most = nice(max((sum(stack) for stack in stacks), default=0))
    ground = top + height
    for share in (0.5, 1.0):
        y = ground - share * height
        canvas.line([(LEFT, y), (WIDTH - RIGHT, y)])
        canvas.words(LEFT - 8, y, compact(most * share), "right", size=9)
    canvas.line([(LEFT, ground), (WIDTH - RIGHT, ground)], 0.7)
    inset = columns.step * GAP / 2
    for place, stack in enumerate(stacks):
        y = ground
        begin = columns.left(place) + (0 if place < len(joined) and joined[place] else inset)
        goes_on = place + 1 < len(joined) and joined[place + 1]
        width = columns.left(place + 1) - begin - (0 if goes_on else inset)
        for value, colour in zip(stack, colours, strict=True):
            tall = value / most * height if most else 0.0
            y -= tall
            canvas.bar(begin, y, width, tall, colour)
    return most


def marked(canvas: Canvas, columns: ColumnGrid, y: float, labels: Sequence[str]) -> None:
    """Write labels under the columns, as many as fit, the first among them."""
    longest = max((width_of(label, 9) for label in labels), default=0.0)
    every = max(1, math.ceil((longest + 8) / columns.step))
    for place in range(0, len(labels), every):
        canvas.words(columns.middle(place), y, labels[place], "center", size=9)


def nice(value: float) -> float:
    """Round up to 1, 2, 3, 4, 5, 6 or 8 followed by zeros."""
    if value <= 0:
        return 1.0
    ten = 10.0 ** math.floor(math.log10(value))
    return next((k * ten for k in (1, 2, 3, 4, 5, 6, 8) if k * ten >= value), 10 * ten)


def compact(value: float) -> str:
    """Format a number in few characters."""
    for size, name in ((1e9, " G"), (1e6, " M"), (1e3, " K")):
        if float(f"{value:.3g}") >= size:
            return f"{value / size:.3g}{name}"
    return f"{value:.3g}"
