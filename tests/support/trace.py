"""How far does a reader walk to follow one row, one rule, one question through the code?

`python -m tests.support.trace` plays each walk for real, under a profiler, and prints for each how
many functions, files and rooms are on it; `-v` lists them. ARCHITECTURE.md shows the table.

A function is on a walk if it is handed what the walk follows, or returns it: the row's value, the
rule's bound, the text of the question, or the path of the file it came in. So are its callers at
that moment, up to the command. Every function is listed where it was first reached.

Law: nothing is listed by hand, so a detour that is added to the code is added to the table.
"""

import argparse
import os
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from itertools import pairwise
from pathlib import Path, PurePath
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pyarrow as pa

from pipelines.lake.store import Store
from tests.support.commands.commands import REPOSITORY

TOPS = ("assets", "pipelines", "schemas", "fencepost")
VALUE = 4242.25
"""Stands in one row, or in one rule, and nowhere else."""
MARKS = (str(VALUE), "walker")
UNNAMED = frozenset(("<genexpr>", "<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<module>"))
DEEPEST = 4
MOST_ITEMS = 60

Function = tuple[str, str]
"""The file, from the repository's root, and the function's qualified name."""


def carries(x: object, marks: tuple[str, ...], depth: int = DEEPEST) -> bool:
    """Say whether one of the marks is in a value, or in what it consists of."""
    match x:
        case float() | np.floating():
            found = float(x) == VALUE
        case str() | PurePath():
            found = any(mark in str(x) for mark in marks)
        case bytes() | bytearray() | memoryview() | pa.Buffer():
            found = any(mark.encode() in bytes(x) for mark in marks)
        case np.ndarray():
            found = _in_array(x, marks)
        case pa.Array() | pa.ChunkedArray():
            found = _is_read(x.type) and _any(x.to_pylist(), marks, depth)
        case pa.Table() | pa.RecordBatch():
            found = _any(x.columns, marks, depth)
        case _:
            found = depth > 0 and _any(_parts(x), marks, depth - 1)
    return found


def _in_array(x: "np.ndarray[Any, Any]", marks: tuple[str, ...]) -> bool:
    if x.dtype.kind == "f":
        return bool((x == VALUE).any())
    return x.dtype.kind == "u" and x.itemsize == 1 and carries(x.tobytes(), marks)


def _is_read(kind: pa.DataType) -> bool:
    one = kind.value_type if pa.types.is_list(kind) or pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_floating(one) or pa.types.is_string(one) or pa.types.is_binary(one))


def _any(values: Iterable[object], marks: tuple[str, ...], depth: int) -> bool:
    return any(carries(value, marks, depth) for value in values)


def _parts(x: object) -> list[object]:
    """List what a container or an object of ours consists of.

    A store is the whole lake: what it remembers of its tables is not handed on with it.
    """
    if isinstance(x, Store):
        return []
    if isinstance(x, dict):
        return [*x, *x.values()][: 2 * MOST_ITEMS]
    if isinstance(x, list | tuple | set | frozenset | deque):
        return list(x)[:MOST_ITEMS]
    if type(x).__module__.partition(".")[0] not in TOPS:
        return []
    slots = [getattr(x, name, None) for name in getattr(type(x), "__slots__", ())]
    return [*getattr(x, "__dict__", {}).values(), *slots]


@dataclass
class Walk:
    """The functions on the way, in the order in which they were first reached, and from where.

    It ends when the function `until` returns: there what is followed has arrived.
    """

    until: str
    marks: tuple[str, ...] = MARKS
    arrived: bool = False
    steps: dict[Function, Function | None] = field(default_factory=dict)
    _files: dict[str, str] = field(default_factory=dict)
    _looking: bool = False

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        """Inspect what a function of ours is handed, or returns."""
        code = frame.f_code
        if self._looking or self.arrived or event not in ("call", "return"):
            return
        if not self._file(code):
            return
        self.arrived = event == "return" and code.co_qualname == self.until
        if code.co_name in UNNAMED or (self._file(code), code.co_qualname) in self.steps:
            return
        self._looking = True
        try:
            if _any(_arguments(frame) if event == "call" else [arg], self.marks, DEEPEST):
                self._add(frame)
        finally:
            self._looking = False

    def _file(self, code: CodeType) -> str:
        """Return the file of a function of ours, from the root; "" for any other."""
        name = code.co_filename
        if name not in self._files:
            path = Path(name)
            ours = path.is_relative_to(REPOSITORY)
            below = path.relative_to(REPOSITORY) if ours else PurePath("elsewhere")
            self._files[name] = str(below) if below.parts[0] in TOPS else ""
        return self._files[name]

    def _add(self, frame: FrameType | None) -> None:
        """Add a function, and before it those that led to it."""
        stack: list[Function] = []
        while frame is not None:
            if file := self._file(frame.f_code):
                stack.append((file, frame.f_code.co_qualname))
            frame = frame.f_back
        came_from = None
        for function in reversed(stack):
            self.steps.setdefault(function, came_from)
            came_from = function

    @property
    def files(self) -> dict[str, str | None]:
        """The files on the way, each with the one from which it was first reached."""
        opened: dict[str, str | None] = {}
        for (file, _), came_from in self.steps.items():
            opened.setdefault(file, came_from and came_from[0])
        return opened

    @property
    def changes(self) -> int:
        """How often one function is in another room than the one before it."""
        rooms = [room(file) for file, _ in self.steps]
        return sum(here != there for here, there in pairwise(rooms))

    @property
    def entered(self) -> int:
        """How many files were first reached from a file of another room."""
        return sum(a is not None and room(a) != room(b) for b, a in self.files.items())


def _arguments(frame: FrameType) -> Iterator[object]:
    code = frame.f_code
    many = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)
    for name in code.co_varnames[: many + bool(code.co_flags & 8)]:
        yield frame.f_locals.get(name)


def room(file: str) -> str:
    """Name the room of a file: `pipelines/lake`, `fencepost/crossings`, or a top room itself."""
    parts = PurePath(file).parts
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


@contextmanager
def walking(until: str, marks: tuple[str, ...] = MARKS) -> Iterator[Walk]:
    """Follow the marks through what is done inside, until a function returns."""
    walk = Walk(until, marks)
    sys.setprofile(walk)
    try:
        yield walk
    finally:
        sys.setprofile(None)
    if not walk.arrived:
        raise LookupError(f"no function {until!r} was called: name the one where the walk ends")


def do(folder: Path, *words: str) -> None:
    """Run a command in a project, in this process."""
    from pipelines.cli.app import main

    given, sys.argv = sys.argv, ["fencepost", *words]
    printed = StringIO()
    try:
        with chdir(folder), redirect_stdout(printed), redirect_stderr(printed):
            main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"fencepost {' '.join(words)}: {printed.getvalue()}") from end
    finally:
        sys.argv = given


RULE = '{{"id": "{name}", "feed": "{feed}", "where": "price >= {low} AND price < 5000"}}\n'
JOIN = (
    '{"id": "near", "kind": "window_join", "left": "bids", "right": "asks", '
    '"on": "left.price <= right.price", "window": "1m"}\n'
)


def project(folder: Path, feeds: tuple[str, ...], rules: str) -> Path:
    """Make a project whose lake has one epoch of every lane."""
    tables = "".join(
        f'[feeds.{feed}]\nsource = "landing/{feed}"\naxes = ["price"]\nsettle = "0s"\n'
        for feed in feeds
    )
    folder.mkdir()
    (folder / "fencepost.toml").write_text(f'{tables}[lake]\nqueries = "rules.jsonl"\n')
    (folder / "rules.jsonl").write_text(rules)
    do(folder, "init")
    do(folder, "queries", "import")
    for feed in feeds:
        land(folder, feed, "a", "00:00:01", 4000.0)
    do(folder, "run")
    return folder


def land(folder: Path, feed: str, name: str, time: str, price: float) -> None:
    """Put a file of one row into a landing folder."""
    text = f"stream_id,ts,price\nA,2026-01-01T{time}Z,{price}\n"
    (folder / "landing" / feed / f"{name}.csv").write_text(text)


def a_tick(folder: Path) -> Walk:
    """Follow a row from its landing file to `events`."""
    made = project(folder, ("ticks",), RULE.format(name="q", feed="ticks", low=4100))
    land(made, "ticks", "walker", "00:00:02", VALUE)
    with walking("advance") as walk:
        do(made, "run")
    return walk


def a_rule(folder: Path) -> Walk:
    """Follow a rule from rules.jsonl into the border index."""
    made = project(folder, ("ticks",), RULE.format(name="q", feed="ticks", low=4100))
    (made / "rules.jsonl").write_text(RULE.format(name="walker", feed="ticks", low=VALUE))
    land(made, "ticks", "b", "00:00:02", 4500.0)
    with walking("BorderIndex.build") as walk:
        do(made, "queries", "import")
        do(made, "run")
    return walk


def a_question(folder: Path) -> Walk:
    """Follow a question from the command line to the rows that are printed."""
    made = project(folder, ("ticks",), RULE.format(name="walker", feed="ticks", low=3900))
    with walking("sql", ("inside_now where 1 = 1", "walker")) as walk:
        do(made, "sql", "select * from inside_now where 1 = 1")
    return walk


def a_pair(folder: Path) -> Walk:
    """Follow a row of one feed to the pairs of two."""
    made = project(folder, ("asks", "bids"), JOIN)
    land(made, "bids", "walker", "00:00:02", VALUE)
    land(made, "asks", "b", "00:00:02", VALUE + 1)
    with walking("main") as walk:
        do(made, "run")
    return walk


WALKS: dict[str, Callable[[Path], Walk]] = {
    "a tick, from its landing file to `events`": a_tick,
    "a rule, from rules.jsonl to the index": a_rule,
    "`sql`, a statement over `inside_now`": a_question,
    "a tick of `bids`, to the pairs of `bids~asks`": a_pair,
}


def played(name: str) -> Walk:
    """Play a walk on a new project."""
    os.environ["FENCEPOST_RUNNER"] = "here"
    with tempfile.TemporaryDirectory() as folder:
        return WALKS[name](Path(folder) / "project")


def main() -> None:
    """Print the table."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("-v", "--verbose", action="store_true", help="list the functions too")
    verbose = words.parse_args().verbose
    say("| walk | functions | files | opened from another room | changes of room |")
    say("| --- | --- | --- | --- | --- |")
    for name in WALKS:
        walk = played(name)
        if verbose:
            for file, function in walk.steps:
                say(f"    {file:44} {function}")
        counts = len(walk.steps), len(walk.files), walk.entered, walk.changes
        say(f"| {name} | {' | '.join(map(str, counts))} |")


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
