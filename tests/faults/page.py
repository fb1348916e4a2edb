"""docs/reliability.md: the fault matrix, and which tests prove each row.

    python -m tests.faults.page      writes the page; `make docs` calls it

Tests are found by reading their source, not by importing it: a second for all of them, and no
Spark. A mark counts on a function, in a parameter, or on a whole file (`pytestmark`).
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.faults.matrix import NOT_YET, ROWS, SECTIONS, Row

HOUSE = Path(__file__).resolve().parents[2]
PAGE = HOUSE / "docs" / "reliability.md"
HEAD = """\
# What happens when something goes wrong

Whatever ends a process, and whenever, the next run ends with the rows of a run that was not
interrupted: each event, transition, match, pair and rejected row is there exactly once. Bad input
is rejected with its reason and changes nothing else. What is damaged on disk is refused by name,
never read as something else.

That holds across killed processes, several writers, lost answers of the disk, and restarts of
everything. **Not promised:**

{not_promised}

## The matrix
{rows} faults, what holds when they happen, and the tests that prove it: {short} in the short set
(`make test`), {long} in the long set (`make test-all`, marked ◆). A test's name is its sentence
with underscores: `make test-all ARGS="-k killed_ten_times"`. [The long set](../tests/README.md)
also counts its kills, seeds and epochs, and prints them. This page is made by `make docs` from
`tests/faults/matrix.py` and the tests' marks.
"""
NOT_PROMISED = (
    (
        "**Power loss**, unless `[lake] fsync = true` is set. A killed process loses nothing. A "
        "power cut can: by default commits are written and renamed, not flushed to the disk. An "
        "empty or torn last commit is named at the next start."
    ),
    (
        "**Shared file systems.** The lock is a POSIX record lock, a commit an atomic link or "
        "rename. Both hold on a local disk; on NFS and its like they are as good as the server's."
    ),
    (
        "**Other writers.** Any program may read the tables. One that deletes or rewrites rows in "
        "them is noticed by `fencepost check`, not prevented."
    ),
    "**A machine that computes wrongly.** Data files and commits carry checksums; memory does not.",
)
TABLE = "| | fault | what holds | proved by |\n| --- | --- | --- | --- |\n"


@dataclass(frozen=True, order=True)
class Proof:
    """A test that names rows."""

    file: str
    name: str
    is_long: bool
    rows: tuple[int, ...]

    def __str__(self) -> str:
        """Write its sentence as a link to its file."""
        sentence = self.name.removeprefix("test_").replace("_", " ")
        return f"[{sentence}](../{self.file}){' ◆' * self.is_long}"


def proofs() -> list[Proof]:
    """List every test that carries a mark, in the order of their files."""
    files = sorted((HOUSE / "tests").rglob("test_*.py"))
    return [proof for path in files for proof in proofs_in(path)]


def proofs_in(path: Path) -> Iterator[Proof]:
    """List the tests of a file that carry a mark."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    shared = [each.value for each in tree.body if isinstance(each, ast.Assign) and _is_mark(each)]
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
            continue
        marks = [*shared, *node.decorator_list]
        rows = sorted({row for mark in marks for row in _rows(mark)})
        if rows:
            is_long = any(_is_slow(mark) for mark in marks)
            yield Proof(str(path.relative_to(HOUSE)), node.name, is_long, tuple(rows))


def _is_mark(node: ast.Assign) -> bool:
    return any(isinstance(name, ast.Name) and name.id == "pytestmark" for name in node.targets)


def _rows(node: ast.expr) -> Iterator[int]:
    """Give the rows that a decorator names, wherever in it they stand."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "pytest.mark.fault":
            yield from map(ast.literal_eval, each.args)


def _is_slow(node: ast.expr) -> bool:
    """Whether a whole test is slow; one slow parameter of several leaves it in the short set."""
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return any(ast.unparse(part) == "pytest.mark.slow" for part in parts)


def written() -> str:
    """Write the page."""
    every = proofs()
    by_row = {number: [p for p in every if number in p.rows] for number in ROWS}
    long = sum(proof.is_long for proof in every)
    head = HEAD.format(
        not_promised="\n".join(f"- {each}" for each in NOT_PROMISED),
        rows=len(ROWS),
        short=len(every) - long,
        long=long,
    )
    parts = [head]
    for title, rows in SECTIONS.items():
        parts += [
            f"\n### {title}\n",
            "| | fault | what holds | proved by |\n| --- | --- | --- | --- |\n",
        ]
        parts += [_line(row, by_row[row.number]) for row in rows]
    return "".join(parts)


def _line(row: Row, found: list[Proof]) -> str:
    told = [str(proof) for proof in found]
    if row.limit and (row.limit != NOT_YET or not found):
        told.append(f"*{row.limit}*")
    return f"| {row.number} | {row.fault} | {row.promise} | {'<br>'.join(told)} |\n"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
