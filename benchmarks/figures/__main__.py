"""The papers' figures, measured again: `make figures`, or `ARGS="s1-10 s1-15"` for some of them.

A figure's points are kept when it is finished, so what was interrupted goes on with the next one;
`--anew` measures again. `--quick` takes the smallest of everything and judges nothing: minutes, to
see that all answers are equal. `--write` puts what is kept into docs/evidence, and writes
docs/evidence.md and the plots from there; `python -m benchmarks.pages` writes the page alone.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from benchmarks.figures import page
from benchmarks.figures.book import FIGURES
from benchmarks.figures.figure import Figure, Point, curves
from benchmarks.figures.kept import Run, Store, this_run
from benchmarks.matches_made import Scale

CACHE = Path(".cache") / "figures"


def main(arguments: list[str]) -> int:
    """Measure what is missing, show every verdict; 1 if a claim does not hold."""
    options = _parser().parse_args(arguments)
    store = Store(CACHE / ("quick" if options.quick else "full"))
    names = options.figures or list(FIGURES)
    failed = 0
    for k, name in enumerate(names, 1):
        figure = FIGURES[name]
        print(f"{k} of {len(names)}  {figure.paper}: {figure.title}", flush=True)
        run = None if options.anew else store.read(name)
        if run is None:
            lacking = figure.lacks()
            if lacking:
                print(f"  passed over: {lacking}")
                continue
            about = this_run(os.getloadavg()[0])
            run = Run(about, _measured(figure, Scale(options.quick)))
            store.write(name, run)
        else:
            print(f"  {len(run.points)} points kept from before; --anew measures again")
        if not options.quick:
            verdict = figure.judge(curves(run.points))
            failed += verdict.holds is False
            word = {True: "holds", False: "DOES NOT HOLD", None: "shown"}[verdict.holds]
            print(f"  {word}: {verdict.ours}")
    if options.quick:
        print("\nall answers are equal; --quick judges no claim")
        return 0
    if options.write:
        page.SHOWN.take(store, names)
        page.plots(names)
        page.write()
    return 1 if failed else 0


def _measured(figure: Figure, scale: Scale) -> list[Point]:
    begin, found = time.monotonic(), list[Point]()
    for point in figure.measure(scale):
        found.append(point)
        done = f"{time.monotonic() - begin:6.0f} s  {point.panel}  {point.curve}"
        print(f"  {done:<52} {point.x:>10,g} → {point.y:,.4g}", flush=True)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.figures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("figures", nargs="*", choices=[*FIGURES, []], metavar="FIGURE")
    parser.add_argument("--quick", action="store_true", help="the smallest of every figure")
    parser.add_argument("--anew", action="store_true", help="measure again what is kept")
    parser.add_argument("--write", action="store_true", help="write docs/evidence.md and the plots")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
