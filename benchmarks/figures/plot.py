"""Plots as SVG: one file for light pages and one for dark ones, small, and the same at each run."""

from io import StringIO
from pathlib import Path

from benchmarks.figures.figure import Curves, Figure, Panel

INK = {"light": "#24292f", "dark": "#d0d7de"}
FAINT = {"light": "#d8dee4", "dark": "#30363d"}
COLOURS = ("#159a90", "#d97b29", "#3d85d3", "#8f70d6", "#cf5b76", "#a98a1f")
MARKS = "osD^vP"
WIDTH, HEIGHT = 4.6, 3.1


def draw(figure: Figure, drawn: Curves, folder: Path) -> None:
    """Write light.svg and dark.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    for look in INK:
        (folder / f"{look}.svg").write_text(_svg(figure, drawn, look), encoding="utf-8")


def _svg(figure: Figure, drawn: Curves, look: str) -> str:
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Sheet

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": figure.name,
                "font.size": 9,
                "font.family": "sans-serif",
                "text.color": INK[look],
                "axes.labelcolor": INK[look],
                "xtick.color": INK[look],
                "ytick.color": INK[look],
                "axes.edgecolor": INK[look],
            }
        )
        count = len(figure.panels)
        sheet = Sheet(figsize=(WIDTH * count, HEIGHT + 0.5), layout="constrained")
        sheet.patch.set_alpha(0)
        names = list(dict.fromkeys(name for panel in drawn.values() for name in panel))
        for panel, axes in zip(
            figure.panels, sheet.subplots(1, count, squeeze=False)[0], strict=True
        ):
            _panel(axes, panel, drawn[panel.name], names, look)
        handles = {}
        for axes in sheet.axes:
            handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        sheet.legend(
            [handles[name] for name in names],
            names,
            loc="outside lower center",
            ncols=min(3, len(names)),
            frameon=False,
        )
        out = StringIO()
        FigureCanvasSVG(sheet).print_svg(out, metadata={"Date": None, "Creator": None})
    return out.getvalue()


def _panel(axes, panel: Panel, drawn, names: list[str], look: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    axes.patch.set_alpha(0)
    for name, points in drawn.items():
        k = names.index(name)
        axes.plot(
            *zip(*points, strict=True),
            color=COLOURS[k % len(COLOURS)],
            marker=MARKS[k % len(MARKS)],
            markersize=4,
            linewidth=1.4,
            label=name,
        )
    for axis in panel.logs:
        getattr(axes, f"set_{axis}scale")("log")
    if "y" not in panel.logs:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    axes.set_title(f"({panel.name})", fontsize=9)
    axes.grid(color=FAINT[look], linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
