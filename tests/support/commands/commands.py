"""The command `fencepost` run for the tests, and what it takes to inspect the outcome."""

import contextlib
import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from pipelines.cli.app import main
from pipelines.cli.exit_codes import Code

REPOSITORY = Path(__file__).resolve().parents[3]
T = "2026-11-18T14:0{}:00Z"
TICKS = "stream_id,ts,price\n"
BAND = '{"id": "band", "feed": "ticks", "where": "price >= 2 AND price < 5", "within": "1m"}\n'


class Said(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def summary(self) -> dict[str, Any]:
        assert self.code in (Code.WELL, Code.UNANSWERED), self.err
        summary: dict[str, Any] = json.loads(self.out)
        return summary


def fencepost(*arguments: object) -> Said:
    """Run the command in this process."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["fencepost", *map(str, arguments)]
    with (
        mock.patch.object(sys, "argv", argv),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    return Said(code, out.getvalue(), err.getvalue())


def python(code: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def spawned(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command in its own process; its last line lists the heavy modules it imported."""
    return python(
        f"import sys\nsys.argv = {['fencepost', *map(str, arguments)]!r}\n"
        "from pipelines.cli.app import main\n"
        "try:\n    main()\n"
        "finally:\n    heavy = {'numba', 'pandas', 'rich'} & set(sys.modules)\n"
        "    print(sorted(heavy), file=sys.stderr)"
    )


def evaluated(
    folder: Path, *tuples: str, queries: str = "q.jsonl", more: tuple[object, ...] = ()
) -> Said:
    """Run `fencepost eval` in a folder, into its sub-folder `out`."""
    deliveries = [argument for each in tuples for argument in ("--tuples", each)]
    with contextlib.chdir(folder):
        return fencepost("eval", "--queries", queries, *deliveries, "--out", "out", *more)


def rows(path: Path) -> list[dict[str, str]]:
    """Read a CSV of results."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def ticks(*seen: object) -> str:
    """A CSV of one stream `a`: its values, a minute apart."""
    return TICKS + "".join(f"a,{T.format(n)},{value}\n" for n, value in enumerate(seen))
