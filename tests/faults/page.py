"""docs/reliability.md: the fault matrix. docs/reliability-tests.md: the tests that prove each row.

    python -m tests.faults.page      writes both; `make docs` calls it

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
TESTS = HOUSE / "docs" / "reliability-tests.md"
HEAD = """\
# Reliability

Whenever and however a process ends, the next run gives the same rows as an uninterrupted one: each
event, transition, match, pair and rejected row is there exactly once. Bad input is rejected with a
reason and affects nothing else. Damage on disk is reported by file, never read as data.

This covers killed processes, several writers, disks that lose answers, and restarts.
**Not covered:**

{not_promised}

## The matrix
{rows} faults, what holds under each, and how many tests prove it: {short} in the short set
(`make test`), {long} in the long set (`make test-all`, marked ◆). The numbers link to
[the tests](reliability-tests.md). [The long set](../tests/README.md) also prints how many kills,
seeds and epochs it ran. `make docs` writes this page from `tests/faults/matrix.py` and the tests'
marks.
"""
TESTS_HEAD = """\
# Reliability: the tests

The tests that prove each row of [the fault matrix](reliability.md); ◆ marks the long set. A test's
name is its sentence with underscores: `make test-all ARGS="-k killed_ten_times"`. Written by
`make docs`.
"""
NOT_PROMISED = (
    (
        "**Power loss**, unless `[lake] fsync = true` is set. A killed process loses nothing; a "
        "power cut can: by default commits are written and renamed, not flushed to the disk. An "
        "empty or torn last commit is reported at the next start."
    ),
    (
        "**Shared file systems.** The lock is a POSIX record lock, a commit an atomic link or "
        "rename. Both hold on a local disk; on NFS and the like they are as good as the server."
    ),
    (
        "**Other writers.** Any program may read the tables. `fencepost check` detects one that "
        "deletes or rewrites rows, but nothing prevents it."
    ),
    "**A machine that computes wrongly.** Data files and commits carry checksums; memory does not.",
)
TABLE = "| | fault | what holds | tests |\n| --- | --- | --- | --- |\n"


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


def written() -> dict[Path, str]:
    """Give both pages."""
    every = proofs()
    by_row = {number: [p for p in every if number in p.rows] for number in ROWS}
    long = sum(proof.is_long for proof in every)
    matrix = HEAD.format(
        not_promised="\n".join(f"- {each}" for each in NOT_PROMISED),
        rows=len(ROWS),
        short=len(every) - long,
        long=long,
    )
    tests = TESTS_HEAD
    for title, rows in SECTIONS.items():
        matrix += f"\n### {title}\n{TABLE}"
        matrix += "".join(_line(row, by_row[row.number]) for row in rows)
        tests += f"\n## {title}\n"
        tests += "".join(_section(row, by_row[row.number]) for row in rows)
    return {PAGE: matrix, TESTS: tests}


def _line(row: Row, proving: list[Proof]) -> str:
    long = sum(proof.is_long for proof in proving)
    counts = [str(len(proving) - long)] * (len(proving) > long) + [f"{long} ◆"] * (long > 0)
    link = f"[{' + '.join(counts)}]({TESTS.name}#row-{row.number})" if counts else ""
    limit = f" *{row.limit}*" if row.limit and (row.limit != NOT_YET or not proving) else ""
    return f"| {row.number} | {row.fault} | {row.promise}{limit} | {link} |\n"


def _section(row: Row, proving: list[Proof]) -> str:
    tests = "".join(f"- {proof}\n" for proof in proving) or "- none\n"
    return f'\n<a id="row-{row.number}"></a>**{row.number}. {row.fault}**\n{tests}'


if __name__ == "__main__":
    for page, text in written().items():
        page.write_text(text, encoding="utf-8")
