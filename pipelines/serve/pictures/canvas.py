"""The pen: bars, lines and text on a transparent sheet, measured in points of a screen.

A sheet is drawn twice as fine as it is measured, so it is crisp on fine screens. Its colours are of
medium brightness: they read on white and on black (contrast 4 to 1 or more for text).

Law: nothing outside the sheet decides how it looks: no settings of the user's, no installed fonts,
no state of Matplotlib's that others could have changed. The same strokes give the same bytes.
"""

import threading
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle
    from matplotlib.path import Path as MatplotlibPath

WIDTH = 860
INK = "#7b8593"
FAINT = 0.22
DPI = 100
FINE = 1.3
"""Finer than shown, and as wide as Dagster's dialog, which scrolls wider pictures."""
DEGREES = 31

TEAL, ORANGE, BLUE, VIOLET, ROSE, OCHRE = (
    "#159a90",
    "#d97b29",
    "#3d85d3",
    "#8f70d6",
    "#cf5b76",
    "#a98a1f",
)

Bytes = NDArray[np.uint8]
Places = NDArray[np.float64]
"""Points [n, 2]."""

Frame = tuple[float, float, float, float]
"""Left, top, width, height."""

Side = Literal["left", "center", "right"]

_drawing = threading.Lock()  # Matplotlib is not thread-safe


class Canvas:
    """A sheet of WIDTH by `height`; x grows to the right and y downwards, from its upper left."""

    def __init__(self, height: float) -> None:
        """Begin an empty sheet."""
        self.height = height
        self._strokes: list[tuple[str, tuple[Any, ...]]] = []

    def bar(  # noqa: PLR0913  a bar has a place, a size and a look
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colour: str = INK,
        alpha: float = 1.0,
        round_: float = 0.0,
    ) -> None:
        """Fill a rectangle; x and y are its upper left corner."""
        if width > 0 and height > 0:
            self._strokes.append(("_bar", (x, y, width, height, colour, alpha, round_)))

    def line(self, points: Sequence[tuple[float, float]], alpha: float = FAINT) -> None:
        """Draw a thin line."""
        self._strokes.append(("_line", (points, alpha)))

    def areas(self, areas: Sequence[Sequence[Places]], colour: str, frame: Frame) -> None:
        """Fill areas within a frame, each some rings, and draw their edges; O(vertices)."""
        if areas:
            self._strokes.append(("_areas", (areas, colour, frame)))

    def ribbons(
        self, lines: Sequence[Places], widths: Sequence[float], colour: str, frame: Frame
    ) -> None:
        """Draw lines of these widths within a frame."""
        if lines:
            self._strokes.append(("_ribbons", (lines, widths, colour, frame)))

    def words(
        self,
        x: float,
        y: float,
        text: str,
        side: Side = "left",
        *,
        size: float = 10,
        bold: bool = False,
    ) -> None:
        """Write one line; y is its middle."""
        self._strokes.append(("_words", (x, y, drawable(text), side, size, bold)))

    def png(self) -> bytes:
        """Draw it."""
        with _drawing:
            import matplotlib as mpl
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure

            with mpl.rc_context():
                mpl.rcdefaults()
                figure = Figure(figsize=(WIDTH / DPI, self.height / DPI), dpi=DPI * FINE)
                figure.patch.set_alpha(0)
                axes = figure.add_axes((0, 0, 1, 1))
                axes.set_axis_off()
                axes.set_xlim(0, WIDTH)
                axes.set_ylim(self.height, 0)
                for name, arguments in self._strokes:
                    getattr(self, name)(axes, *arguments)
                pen: Any = FigureCanvasAgg(figure)
                pen.draw()
                return _packed(np.array(pen.buffer_rgba()))

    @staticmethod
    def _bar(axes: "Axes", *arguments: Any) -> None:  # noqa: ANN401
        from matplotlib.patches import FancyBboxPatch

        x, y, width, height, colour, alpha, round_ = arguments
        style = f"round,pad=0,rounding_size={min(round_, width / 2, height / 2)}"
        look = {"facecolor": colour, "alpha": alpha, "linewidth": 0}
        axes.add_artist(
            FancyBboxPatch(
                (x, y), width, height, boxstyle=style if round_ else "square,pad=0", **look
            )
        )

    @staticmethod
    def _line(axes: "Axes", points: Sequence[tuple[float, float]], alpha: float) -> None:
        from matplotlib.lines import Line2D

        xs, ys = zip(*points, strict=True)
        axes.add_artist(Line2D(xs, ys, color=INK, alpha=alpha, linewidth=0.6))

    @staticmethod
    def _areas(axes: "Axes", areas: Sequence[Sequence[Places]], colour: str, frame: Frame) -> None:
        from matplotlib.collections import PathCollection
        from matplotlib.colors import to_rgba

        axes.add_artist(
            PathCollection(
                [_closed(rings) for rings in areas],
                facecolors=[to_rgba(colour, 0.2)],
                edgecolors=[to_rgba(colour, 0.85)],
                linewidths=[0.6],
            )
        ).set_clip_path(_within(axes, frame))

    @staticmethod
    def _ribbons(
        axes: "Axes",
        lines: Sequence[Places],
        widths: Sequence[float],
        colour: str,
        frame: Frame,
    ) -> None:
        from matplotlib.collections import LineCollection

        for alpha, wide in ((0.45, [max(width, 3.0) * 72 / DPI for width in widths]), (0.9, [0.6])):
            drawn = LineCollection(
                lines, colors=colour, linewidths=wide, alpha=alpha, joinstyle="round"
            )
            axes.add_artist(drawn).set_clip_path(_within(axes, frame))

    @staticmethod
    def _words(axes: "Axes", *arguments: Any) -> None:  # noqa: ANN401
        x, y, text, side, size, bold = arguments
        from matplotlib.font_manager import FontProperties

        font = FontProperties(fname=str(_font(bold)), size=size * 72 / DPI)
        axes.text(x, y, text, color=INK, ha=side, va="center_baseline", font=font, parse_math=False)


def width_of(text: str, size: float = 10, *, bold: bool = False) -> float:
    """Give the width of a line of text."""
    from matplotlib.ft2font import FT2Font, LoadFlags

    font = FT2Font(str(_font(bold)))
    font.set_size(size * 72 / DPI, DPI)
    font.set_text(drawable(text), 0.0, flags=LoadFlags.NO_HINTING)
    return float(font.get_width_height()[0]) / 64


def drawable(text: str) -> str:
    """Replace characters that the font lacks by a box."""
    known = _letters()
    return "".join(c if ord(c) in known and c.isprintable() else "▯" for c in text)


def _closed(rings: Sequence[Places]) -> "MatplotlibPath":
    """Give rings as one path, whose holes stay empty."""
    from matplotlib.path import Path as MatplotlibPath

    codes = [
        code
        for ring in rings
        for code in (
            MatplotlibPath.MOVETO,
            *[MatplotlibPath.LINETO] * (len(ring) - 1),
            MatplotlibPath.CLOSEPOLY,
        )
    ]
    return MatplotlibPath(np.concatenate([at for ring in rings for at in (ring, ring[:1])]), codes)


def _within(axes: "Axes", frame: Frame) -> "Rectangle":
    from matplotlib.patches import Rectangle

    x, y, width, height = frame
    return Rectangle((x, y), width, height, transform=axes.transData)


@cache
def _letters() -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(str(_font(bold=False))).get_charmap())


@cache
def _font(bold: bool) -> Path:
    import matplotlib as mpl

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return Path(mpl.get_data_path()) / "fonts" / "ttf" / name


def _packed(pixels: Bytes) -> bytes:
    """Write a PNG with 32 degrees of transparency: so few colours take a byte each.

    (Measured) a third of the bytes that Matplotlib would write, with no visible difference.
    """
    from PIL import Image

    degrees = np.round(pixels[..., 3] / 255 * DEGREES) * 255 / DEGREES
    pixels[..., 3] = degrees.astype(np.uint8)
    pixels[pixels[..., 3] == 0] = 0
    coded = pa.array(np.ascontiguousarray(pixels).view(np.uint32).ravel()).dictionary_encode()
    file = BytesIO()
    if len(coded.dictionary) > 256:
        Image.fromarray(pixels).save(file, "png", optimize=True)
        return file.getvalue()
    palette = coded.dictionary.to_numpy().view(np.uint8).reshape(-1, 4)
    places = coded.indices.to_numpy().astype(np.uint8).reshape(pixels.shape[:2])
    image = Image.fromarray(places)
    image.putpalette(palette[:, :3].tobytes())
    image.save(file, "png", optimize=True, transparency=palette[:, 3].tobytes())
    return file.getvalue()
