"""Is a benchmark slower than it was? `make bench-guard BASE=main ARGS="engine:default joins"`.

The benchmarks of two commits run by turns on this machine, BASE in a worktree of its own, and each
line's figure is compared with the same line's there. A figure is a ratio taken within one run, so
noise that both sides of it share cancels out; of the rounds the best counts.

Law: a line fails if it is worse than at BASE by more than the tolerance, and by more than BASE
differs from itself between its rounds. What has no bar has no direction: it is shown, not judged.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORKTREE = ROOT / ".cache" / "bench-guard"
TOLERANCE = 0.05
DEFAULT = ("engine:default,sparse,index", "matches:auto,crossings", "joins:windows,bands")
_LINE = re.compile(r"^ {2,}(?P<claim>\S.*?) {2,}(?P<figure>[\d.]+) × +(?P<sign>[≤≥])? ?[\d.e+]*")

Figures = dict[str, list[float]]
"""By claim, a figure a round."""


@dataclass(frozen=True)
class Verdict:
    """A line now and then. `change` is how much worse it is: 0.05 is 5% worse, below 0 better."""

    claim: str
    base: float
    now: float
    at_least: bool | None
    spread: float

    @property
    def change(self) -> float:
        """How much worse, as a share of BASE's figure; 0 where no direction is known."""
        if self.at_least is None or not self.base or not self.now:
            return 0.0
        return self.base / self.now - 1 if self.at_least else self.now / self.base - 1

    def fails(self, tolerance: float) -> bool:
        """Whether it is worse by more than the tolerance and the noise."""
        return self.change > max(tolerance, self.spread)

    def row(self, tolerance: float) -> str:
        """A row of the table."""
        word = "WORSE" if self.fails(tolerance) else "" if self.at_least is None else "ok"
        figures = f"{self.base:9.2f} × {self.now:9.2f} ×"
        judged = f"{self.change:+8.1%} {self.spread:8.1%}" if self.at_least is not None else ""
        return f"{self.claim:<62} {figures} {judged:17} {word}"


def parsed(text: str) -> Iterator[tuple[str, float, bool | None]]:
    """Read the lines that a benchmark printed: claim, figure, and whether more is better."""
    for line in text.splitlines():
        if found := _LINE.match(line):
            sign = found["sign"]
            yield found["claim"], float(found["figure"]), None if sign is None else sign == "≥"


def compared(
    base: Figures, now: Figures, directions: Mapping[str, bool | None]
) -> Iterator[Verdict]:
    """Compare every line that both commits print."""
    for claim, before in base.items():
        if claim not in now:
            continue
        at_least = directions[claim]
        best = max if at_least else min
        spread = max(before) / min(before) - 1 if min(before) else 0.0
        yield Verdict(claim, best(before), best(now[claim]), at_least, spread)


def run(root: Path, book: str, sections: Sequence[str]) -> str:
    """Run sections of a benchmark in a tree, with this Python and that tree's code."""
    command = [sys.executable, "-m", f"benchmarks.{book}", *sections]
    environ = {**os.environ, "PYTHONPATH": str(root), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(  # a missed bar ends with 1, which is not ours to judge
        command, cwd=root, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        raise SystemExit(f"{' '.join(command[1:])} in {root.name} failed:\n{done.stderr}")
    return done.stdout


def removed() -> None:
    """Remove the checkout, of this run or of one that was interrupted."""
    if WORKTREE.exists():
        git = ("git", "-C", str(ROOT))
        subprocess.run([*git, "worktree", "remove", "--force", str(WORKTREE)], check=True)


def checked_out(base: str) -> Path:
    """Check a commit out beside this one; an older checkout is replaced."""
    git = ("git", "-C", str(ROOT))
    subprocess.run([*git, "worktree", "prune"], check=True)
    removed()
    add = [*git, "worktree", "add", "--quiet", "--detach", str(WORKTREE), base]
    subprocess.run(add, check=True)
    return WORKTREE


def measured(base: Path, chosen: Sequence[str], rounds: int) -> tuple[Figures, Figures, dict]:
    """Run both trees by turns, the first of each round alternating."""
    figures: dict[Path, Figures] = {base: {}, ROOT: {}}
    directions: dict[str, bool | None] = {}
    for book, _, sections in (each.partition(":") for each in chosen):
        for turn in range(rounds):
            for tree in (base, ROOT) if turn % 2 == 0 else (ROOT, base):
                print(
                    f"{book} {sections}: round {turn + 1} of {rounds}, "
                    f"{'base' if tree == base else 'now'}",
                    file=sys.stderr,
                    flush=True,
                )
                printed = run(tree, book, sections.split(",") if sections else [])
                for claim, figure, at_least in parsed(printed):
                    figures[tree].setdefault(f"{book}: {claim}", []).append(figure)
                    directions[f"{book}: {claim}"] = at_least
    return figures[base], figures[ROOT], directions


def main(arguments: Sequence[str]) -> int:
    """Print the comparison; 1 if a line is worse."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("chosen", nargs="*", default=DEFAULT, metavar="BOOK[:SECTION,…]")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    asked = parser.parse_args(arguments)
    try:
        base, now, directions = measured(checked_out(asked.base), asked.chosen, asked.rounds)
    finally:
        removed()
    verdicts = list(compared(base, now, directions))
    print(f"{'':62} {'base':>11} {'now':>11} {'worse by':>8} {'noise':>8}")
    for verdict in verdicts:
        print(verdict.row(asked.tolerance))
    lost = sorted(set(base) - set(now))
    print(*(f"{claim}: not printed any more" for claim in lost), sep="\n")
    worse = [verdict for verdict in verdicts if verdict.fails(asked.tolerance)]
    print(f"{len(verdicts)} lines compared, {len(worse)} worse by more than {asked.tolerance:.0%}")
    return 1 if worse or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
