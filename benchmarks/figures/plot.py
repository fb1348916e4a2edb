"""Plots as SVG: one file for light pages and one for dark ones, small, and the same at each run.

Ours is drawn thick and last, so that it is found at once; rivals have colours by their order.
"""

from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks.figures.figure import Curves, Figure, Panel

INK = {"light": "#1f2328", "dark": "#e6edf3"}
SOFT = {"light": "#59636e", "dark": "#9198a1"}
FAINT = {"light": "#e4e8ec", "dark": "#262c36"}
OURS = {"light": "#0b8a80", "dark": "#2dd4bf"}
RIVALS = {
    "light": ("#c2601b", "#2f6fc4", "#7d57c9", "#b83a5e", "#8a6d0b", "#59636e"),
    "dark": ("#f0883e", "#6cb0ff", "#b392f0", "#ff7b96", "#d6b13a", "#9198a1"),
}
MARKS = "sD^vPX"
FIRST = "Fencepost"
WIDTH, HEIGHT = 4.6, 3.0
BELOW = 0.24
"""Inches for a row of the legend."""
FEW_DECADES = 100
"""Axes of powers that span less have ticks at 1, 2 and 5."""

Lines = Mapping[str, Sequence[tuple[float, float]]]


def draw(figure: Figure, drawn: Curves, folder: Path) -> None:
    """Write light.svg and dark.svg of a figure."""
    _both([(panel, drawn[panel.name]) for panel in figure.panels], folder, figure.name)


def draw_first(panels: Sequence[tuple[Panel, Lines]], folder: Path) -> None:
    """Write light.svg and dark.svg of the first screen."""
    if panels:
        _both(panels, folder, "first")


def _both(panels: Sequence[tuple[Panel, Lines]], folder: Path, salt: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for look in INK:
        (folder / f"{look}.svg").write_text(_svg(panels, salt, look), encoding="utf-8")


def _svg(panels: Sequence[tuple[Panel, Lines]], salt: str, look: str) -> str:
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Sheet

    names = list(dict.fromkeys(name for _, lines in panels for name in lines))
    columns = min(len(names), 2 * len(panels) if len(panels) > 1 else 2)
    rows = -(-len(names) // columns)
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_style(salt, look))
        count = len(panels)
        size = (WIDTH * max(count, 1.25), HEIGHT + BELOW * (rows + 1))
        sheet = Sheet(figsize=size, layout="constrained")
        sheet.patch.set_alpha(0)
        sheet.get_layout_engine().set(w_pad=0.12, h_pad=0.06)  # type: ignore[union-attr]
        for (panel, lines), axes in zip(
            panels, sheet.subplots(1, count, squeeze=False)[0], strict=True
        ):
            _panel(axes, panel, lines, names, look)
        handles: dict[str, Any] = {}
        for axes in sheet.axes:
            handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        sheet.legend(
            [handles[name] for name in names],
            names,
            loc="outside lower left",
            ncols=columns,
            frameon=False,
            columnspacing=1.6,
            handlelength=1.8,
        )
        out = StringIO()
        FigureCanvasSVG(sheet).print_svg(out, metadata={"Date": None, "Creator": None})
    return out.getvalue()


def _style(salt: str, look: str) -> dict[str, object]:
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "font.size": 9.5,
        "font.family": "sans-serif",
        "font.sans-serif": ["Inter", "Segoe UI", "Helvetica", "Arial", "DejaVu Sans"],
        "text.color": INK[look],
        "axes.labelcolor": SOFT[look],
        "xtick.color": SOFT[look],
        "ytick.color": SOFT[look],
        "axes.edgecolor": SOFT[look],
        "axes.linewidth": 0.8,
        "xtick.major.width": 0.8,
        "ytick.major.width": 0.0,
        "xtick.minor.size": 0,
        "ytick.minor.size": 0,
    }


def _panel(
    axes: Any,  # noqa: ANN401
    panel: Panel,
    lines: Lines,
    names: Sequence[str],
    look: str,
) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.patch.set_alpha(0)
    rivals = [name for name in names if not name.startswith(FIRST)]
    for name, points in lines.items():
        ours = name.startswith(FIRST)
        k = rivals.index(name) % len(MARKS) if not ours else 0
        second = ours and name != next(n for n in names if n.startswith(FIRST))
        axes.plot(
            *zip(*points, strict=True),
            color=OURS[look] if ours else RIVALS[look][k],
            linestyle="--" if second else "-",
            marker="o" if ours else MARKS[k],
            markersize=5 if ours else 4,
            markerfacecolor="none" if second else None,
            linewidth=2.4 if ours and not second else 1.3,
            zorder=3 if ours else 2,
            label=name,
        )
    for axis in panel.logs:
        getattr(axes, f"set_{axis}scale")("log")
        low, high = getattr(axes, f"get_{axis}lim")()
        steps = (1.0, 2.0, 5.0) if high < FEW_DECADES * low else (1.0,)
        getattr(axes, f"{axis}axis").set_major_locator(LogLocator(subs=steps))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
        axis.set_minor_formatter(NullFormatter())
    if "y" not in panel.logs:
        axes.set_ylim(0, axes.get_ylim()[1])
    axes.set_xlabel(panel.x)
    title = panel.y or panel.name
    axes.set_title(title[0].upper() + title[1:], loc="left", fontsize=9.5, color=INK[look])
    axes.grid(axis="y", color=FAINT[look], linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _short(value: float) -> str:
    """Write a tick: 20 K rather than 20000, 0.5 rather than 5e-1."""
    for size, unit in ((1e6, " M"), (1e3, " K")):
        if abs(value) >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
