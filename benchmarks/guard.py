"""Is a benchmark slower than it was? `make bench-guard`, or with `BASE=main ARGS="joins"`.

Without BASE the lines of `benchmarks.guarded` are compared with the figures committed beside it;
sections with a line that is worse are run again, for a busy machine is no loss, and of the rounds
the best counts. `ARGS=--write` commits new figures, of several rounds; with names of sections
behind it only theirs.

With BASE the benchmarks of two commits run by turns on this machine, BASE in a worktree of its own,
and each line's figure is compared with the same line's there. A figure is a ratio taken within one
run, so noise that both sides of it share cancels out; of the rounds the best counts.

Law: a line fails if it is worse than before by more than the tolerance, and by more than the
earlier figures differ from themselves between their rounds. What has no bar has no direction: it is
shown, not judged.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WORKTREE = ROOT / ".cache" / "bench-guard"
COMMITTED = ROOT / "benchmarks" / "guarded.json"
TOLERANCE = 0.05
LOST = 0.25
"""A loss that fails against committed figures: the machine is another."""
NOISY = 1.0
"""A line that differs from itself by more is not guarded."""
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


def measured(
    base: Path, chosen: Sequence[str], rounds: int
) -> tuple[Figures, Figures, dict[str, bool | None]]:
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


def guarded(sections: Sequence[str]) -> Iterator[tuple[str, float, bool]]:
    """Run sections of the guarded lines, of all or some, in this tree."""
    for claim, figure, at_least in parsed(run(ROOT, "guarded", sections)):
        if at_least is not None:
            yield claim, figure, at_least


def again(rounds: int, tolerance: float) -> list[Verdict]:
    """Compare with the committed figures; what is worse is measured again, the best counts."""
    committed = json.loads(COMMITTED.read_text())
    directions = {claim: each["at_least"] for claim, each in committed.items()}
    base = {claim: each["figures"] for claim, each in committed.items()}
    now: Figures = {}
    sections: list[str] = []
    for turn in range(rounds):
        print(f"round {turn + 1}: {', '.join(sections) or 'all'}", file=sys.stderr, flush=True)
        for claim, figure, _ in guarded(sections):
            now.setdefault(claim, []).append(figure)
        verdicts = list(compared(base, now, directions))
        sections = sorted({v.claim.split(":")[0] for v in verdicts if v.fails(tolerance)})
        if not sections:
            break
    for claim in sorted(base.keys() ^ now.keys()):
        print(f"{claim}: {'not measured any more' if claim in base else 'new; --write commits it'}")
    return verdicts


def write(rounds: int, sections: Sequence[str]) -> None:
    """Commit what several rounds measure, but for the lines that are too noisy to guard."""
    measured: dict[str, dict[str, Any]] = {}
    for _ in range(rounds):
        for claim, figure, at_least in guarded(sections):
            line = measured.setdefault(claim, {"at_least": at_least, "figures": []})
            line["figures"] = sorted([*line["figures"], figure])
    noisy = [
        claim
        for claim, line in measured.items()
        if line["figures"][-1] > (1 + NOISY) * line["figures"][0]
    ]
    for claim in noisy:
        print(f"{claim}: {measured.pop(claim)['figures']}, too noisy")
    others = json.loads(COMMITTED.read_text()) if sections else {}
    kept = {claim: line for claim, line in others.items() if claim.split(":")[0] not in sections}
    COMMITTED.write_text(json.dumps(kept | measured, indent=1) + "\n")


def report(verdicts: Sequence[Verdict], tolerance: float) -> int:
    """Print the comparison; 1 if a line is worse, or nothing was compared."""
    print(f"{'':62} {'before':>11} {'now':>11} {'worse by':>8} {'noise':>8}")
    for verdict in verdicts:
        print(verdict.row(tolerance))
    worse = [verdict for verdict in verdicts if verdict.fails(tolerance)]
    print(f"{len(verdicts)} lines compared, {len(worse)} worse by more than {tolerance:.0%}")
    return 1 if worse or not verdicts else 0


def main(arguments: Sequence[str]) -> int:
    """Print the comparison; 1 if a line is worse."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("chosen", nargs="*", metavar="BOOK[:SECTION,…]")
    parser.add_argument("--base", help="the commit to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tolerance", type=float)
    parser.add_argument("--write", action="store_true", help=f"write {COMMITTED.name}")
    options = parser.parse_args(arguments)
    if options.write:
        write(options.rounds, options.chosen)
        return 0
    if options.base is None:
        tolerance = options.tolerance or LOST
        return report(again(options.rounds, tolerance), tolerance)
    try:
        base, now, directions = measured(
            checked_out(options.base), options.chosen or DEFAULT, options.rounds
        )
    finally:
        removed()
    lost = sorted(set(base) - set(now))
    for claim in lost:
        print(f"{claim}: not printed any more")
    return report(list(compared(base, now, directions)), options.tolerance or TOLERANCE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
