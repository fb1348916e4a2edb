"""Was a test lost? The ids of the tests at a base commit, compared with those of today.

`python -m tests.support.ids [BASE]` collects both and names every test that is gone. Renames are
listed in renamed.tsv, one a line: old id, tab, new id. A line may also map a whole function (no
`[…]`) or a whole file (no `::`); the longest match counts. A case whose id quotes a message that
was reworded is proposed as a line for that file: read it before you add it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE = "d35e41b"
"""The last commit before the tests' support moved."""
RENAMED = Path(__file__).with_name("renamed.tsv")
GIT = shutil.which("git") or "git"
COLLECT = ("-m", "pytest", "--collect-only", "-q", "-m", "", "-n0")


def collected(folder: Path) -> list[str]:
    """Collect every test of a checkout, the slow ones too."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    command = [sys.executable, *COLLECT]
    done = subprocess.run(
        command, check=False, cwd=folder, env=plain, capture_output=True, text=True
    )
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-20:])
        sys.exit(f"pytest cannot collect the tests of {folder}:\n{last}{done.stderr}")
    return [line for line in done.stdout.splitlines() if line.startswith("tests/")]


def collected_at(commit: str) -> list[str]:
    """Collect the tests of a commit, checked out into a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "base"
        subprocess.run([GIT, "clone", "-q", "-n", "--shared", ROOT, clone], check=True)
        subprocess.run([GIT, "-C", clone, "checkout", "-q", commit], check=True)
        return collected(clone)


def renames(text: str) -> dict[str, str]:
    """Parse renamed.tsv."""
    lines = (line.partition("\t") for line in text.splitlines() if line and line[0] != "#")
    return {old: new for old, _, new in lines}


def new_id(old: str, renamed: Mapping[str, str]) -> str:
    """Follow a rename: of the id itself, else of its function, else of its file."""
    function, file = old.partition("[")[0], old.partition("::")[0]
    for part in (old, function, file):
        if part in renamed:
            return renamed[part] + old.removeprefix(part)
    return old


def lost(old: Iterable[str], new: set[str], renamed: Mapping[str, str]) -> list[str]:
    """Name the tests that exist neither under their old id nor under a new one."""
    return sorted(id_ for id_ in old if id_ not in new and new_id(id_, renamed) not in new)


def reworded(gone: Iterable[str], before: Iterable[str], now: Iterable[str]) -> dict[str, str]:
    """Propose a rename for each lost id whose function still has as many cases: by their order."""
    cases = defaultdict[str, tuple[list[str], list[str]]](lambda: ([], []))
    for place, ids in enumerate((before, now)):
        for id_ in ids:
            cases[id_.partition("[")[0]][place].append(id_)
    proposed: dict[str, str] = {}
    for old, new in cases.values():
        if len(old) == len(new):
            proposed.update(zip(old, new, strict=True))
    return {id_: proposed[id_] for id_ in gone if id_ in proposed}


def main(base: str = BASE) -> int:
    """Compare, print what was lost, and the lines for renamed.tsv that would explain it."""
    before, now = collected_at(base), collected(ROOT)
    gone = lost(before, set(now), renames(RENAMED.read_text()) if RENAMED.exists() else {})
    proposed = reworded(gone, before, now)
    for id_ in gone:
        line = f"renamed? {id_}\t{proposed[id_]}" if id_ in proposed else f"lost: {id_}"
        sys.stdout.write(line + "\n")
    added = len(set(now) - set(before))
    sys.stdout.write(f"{len(before)} tests at {base}, {len(now)} now: {len(gone)} lost, ")
    sys.stdout.write(f"{added} under an id that {base} does not have\n")
    return bool(gone)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
