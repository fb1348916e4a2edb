"""Breaks the kernels one sign at a time, and asks whether the tests notice: `make mutants`.

A mutant is a kernel with one comparison, sign, connective, min or max, or truth value changed. It
is made in memory and run as plain Python (NUMBA_DISABLE_JIT), by the checks of its part, in two
processes. One that passes has survived: either the tests have a hole there, or the change
changes nothing that anyone may see. Those of the second sort are listed below with the reason, and
do not count; all others do.

    make mutants                    all of them; fails if fewer than 95 in 100 are noticed
    make mutants ARGS="--sample 12" that many, spread evenly
    make mutants ARGS="--of leaps"  those of some files
    make mutants ARGS="--all"       those that are listed too
    make mutants MINUTES=10         begin none after that

What became of each is kept as long as neither the engine nor the tests change: the same command
goes on where it ended. `--anew` neither reads nor keeps it.
"""

import argparse
import ast
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from types import FrameType, ModuleType
from typing import ClassVar, NamedTuple

import numpy as np

from tests.support.kept_mutants import HOUSE, file_of_this_code, keep, known

PARTS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("kernel_suite", "effort_checks", "arrival_checks"): (
        "fencepost/arrivals/kernels.py",
        "fencepost/crossings/kernels.py",
        "fencepost/crossings/confirm_kernels.py",
        "fencepost/transitions/kernels.py",
    ),
    ("shape_suite",): (
        "fencepost/shapes/inside_kernels.py",
        "fencepost/shapes/way_kernels.py",
        "fencepost/leaps/leap_kernels.py",
    ),
    ("order_checks",): (
        "fencepost/row_order_kernels.py",
        "fencepost/piece_kernels.py",
    ),
}
"""By the suites in tests/support/oracles that check them: files, in the order of their imports."""
LATER = ""
"""Instead of what noticed a mutant: its time did not come."""
SOURCES = tuple(source for sources in PARTS.values() for source in sources)
PROCESSES = 2
FEW = 20
"""So many mutants take less than a process takes to begin."""
NOTICED = 0.95  # the share that must be
PATIENCE = 1.0  # seconds of a processor that a check may take beyond ten times its usual

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.Div: ast.Mult,
}

# What no test can see, by function and change.
NEVER_EQUAL = "equal values pass no post and have been passed over before"
NO_STRANGER = "no stream is of a segment that is not there"
SURE = "with room to spare: at that very chord the exact test says the same"
_AT_ONE, _AT_OTHER = (f"_contains(boxes, box, values, {end})" for end in ("c - 1", "c"))
UNSEEN: dict[tuple[str, str], str] = {
    ("gallop", "high + U(1) → high - U(1)"): "the halving begins two posts early, to the same end",
    ("judge", "line + U(TS) → line - U(TS)"): "the ts is at the beginning of the line",
    ("judge", "0 <= row < thin_to → 0 <= row <= thin_to"): "from there on all are kept",
    ("judge", "d != current → d == current"): "to carry a watermark on twice changes nothing",
    ("judge", "inserted += 1 → inserted -= 1"): "any number but 0 says that there are some",
    ("fill", "values[i] > values[p] → values[i] >= values[p]"): NEVER_EQUAL,
    ("leap", "values[i] > values[p] → values[i] >= values[p]"): NEVER_EQUAL,
    ("confirm", "now > before → now >= before"): NEVER_EQUAL,
    ("leaps", "len(cells.cell_ptr) - 1 → len(cells.cell_ptr) + 1"): NO_STRANGER,
    ("leaps", "s >= segments → s > segments"): NO_STRANGER,
    ("_round", "values[x, c] < values[x, c - 1] → values[x, c] <= values[x, c - 1]"): "it moves",
    ("_through_polygons", "b - a > SHORTEST → b - a >= SHORTEST"): "none is of that very length",
    ("_passes", "ya > yb → ya >= yb"): "a level edge is passed over before",
    ("inside", "square <= prepared.balls[s, 3] → square < prepared.balls[s, 3]"): SURE,
    ("inside", "square > prepared.balls[s, 4] → square >= prepared.balls[s, 4]"): SURE,
    ("crossings", "found.type[row] > 0 → found.type[row] >= 0"): "each is an I or an O",
    ("_met", f"{_AT_ONE} or {_AT_OTHER} → {_AT_ONE} and {_AT_OTHER}"): "all boxes are asked below",
}


@dataclass(frozen=True)
class Mutant:
    """One change: the `number`-th that can be made in its file."""

    source: str
    number: int
    line: int
    function: str
    before: str
    after: str

    @property
    def place(self) -> tuple[str, int]:
        """Where it is, as long as the code is the same."""
        return self.source, self.number

    @property
    def key(self) -> tuple[str, str]:
        """What it is called in UNSEEN."""
        return self.function, f"{self.before} → {self.after}"

    def __str__(self) -> str:
        """Say where it is and what changes."""
        return f"{self.source}:{self.line}  {self.function}: {self.before}  →  {self.after}"


# ── making them ───────────────────────────────────────────────────────────────────────────────────


class Change(NamedTuple):
    """Another value for a field of a node of the tree."""

    function: str
    node: ast.AST
    field: str
    value: object

    def make(self) -> None:
        """Put it in."""
        setattr(self.node, self.field, self.value)


def changes(tree: ast.Module) -> list[Change]:
    """List every change that can be made in a file's functions, always in the same order."""
    return [
        Change(function.name, node, *change)
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
        for statement in function.body
        for node in seen_nodes(statement)
        for change in of_node(node)
    ]


def seen_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes, but for what is only fetched ahead: that has no effect that can be seen."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "prefetch":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from seen_nodes(child)


def of_node(node: ast.AST) -> Iterator[tuple[str, object]]:
    """The changes that can be made at one place of the tree: a field, and another value for it."""
    match node:
        case ast.Compare(ops=ops):
            yield from (("ops", others) for others in compared_otherwise(ops))
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            yield "op", COUNTED[type(op)]()
        case ast.BoolOp(op=op):
            yield "op", ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.USub()):
            yield "op", ast.UAdd()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "operand", ast.UnaryOp(ast.Not(), operand)
        case ast.Call(func=ast.Name(id="min" | "max" as name)):
            yield "func", ast.Name("min" if name == "max" else "max", ast.Load())
        case ast.Constant(value=bool(value)):
            yield "value", not value
        case ast.If(test=ast.Name() as test) | ast.IfExp(test=ast.Name() as test):
            yield "test", ast.UnaryOp(ast.Not(), test)


def compared_otherwise(ops: list[ast.cmpop]) -> Iterator[list[ast.cmpop]]:
    """The signs of a comparison, of which there may be several in a chain, with one changed."""
    for place, op in enumerate(ops):
        for other in COMPARED[type(op)]:
            yield [*ops[:place], other(), *ops[place + 1 :]]


def mutants_of(source: str, text: str) -> list[Mutant]:
    """List the mutants of a file's text."""
    found = []
    for number, change in enumerate(changes(ast.parse(text))):
        before, was = told(change.node), getattr(change.node, change.field)
        change.make()
        line = getattr(change.node, "lineno", 0)
        found.append(Mutant(source, number, line, change.function, before, told(change.node)))
        setattr(change.node, change.field, was)
    return found


def told(node: ast.AST) -> str:
    """The code of a node in one line; of an `if`, its condition."""
    shown = node.test if isinstance(node, ast.If | ast.IfExp) else node
    return " ".join(ast.unparse(shown).split())


def read() -> dict[str, str]:
    """The kernels as they stand."""
    return {source: (HOUSE / source).read_text(encoding="utf-8") for source in SOURCES}


def all_mutants(texts: dict[str, str]) -> list[Mutant]:
    """Every mutant of every kernel."""
    return [mutant for source, text in texts.items() for mutant in mutants_of(source, text)]


# ── running them ──────────────────────────────────────────────────────────────────────────────────


def module_of(source: str) -> ModuleType:
    return sys.modules[source.removesuffix(".py").replace("/", ".")]


def load(texts: dict[str, str], changed: Mutant | None = None) -> None:
    """Run the files again into their modules, which keep their names; one of them changed."""
    for source, text in texts.items():
        tree = ast.parse(text)
        if changed is not None and changed.source == source:
            changes(tree)[changed.number].make()
            ast.fix_missing_locations(tree)
        exec(compile(tree, source, "exec"), vars(module_of(source)))  # noqa: S102  our own code


class OutOfPatienceError(Exception):
    """A check takes so long that it may never end."""


def give_up(_signal: int, _frame: FrameType | None) -> None:
    raise OutOfPatienceError


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise if it takes longer, in seconds of the processor."""
    signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class Suite:
    """The checks, and the time each takes on kernels that are whole. One in each process."""

    texts: ClassVar[dict[str, str]] = {}
    checks: ClassVar[dict[str, list[tuple[str, Callable[[], None], float]]]] = {}

    @classmethod
    def begin(cls, texts: dict[str, str]) -> None:
        """Compute all that is expected, and make sure that whole kernels pass."""
        os.environ["NUMBA_DISABLE_JIT"] = "1"  # read when the suites import Numba
        np.seterr(all="ignore")  # of scalars that broken kernels let overflow
        cls.texts = texts
        for suites, sources in PARTS.items():
            if sources[0] not in texts:
                continue
            rooms = [import_module(f"tests.support.oracles.{suite}") for suite in suites]
            every = [timed(name, check) for room in rooms for name, check in room.checks()]
            cls.checks |= dict.fromkeys(sources, every)


def timed(name: str, check: Callable[[], None]) -> tuple[str, Callable[[], None], float]:
    """Run a check of kernels that are whole, for the time it takes."""
    begun = time.process_time()
    try:
        check()
    except Exception:
        sys.stderr.write(f"'{name}' fails on kernels that are whole:\n")
        raise
    return name, check, time.process_time() - begun


def noticed_by(mutant: Mutant) -> str | None:
    """Name the check that fails on a mutant, or nothing."""
    load(Suite.texts, mutant)
    try:
        for name, check, usual in Suite.checks[mutant.source]:
            try:
                with within(PATIENCE + 10 * usual):
                    check()
            except BaseException as fault:  # noqa: BLE001  whatever it is, it was noticed
                return f"{name} ({type(fault).__name__})"
    finally:
        load(Suite.texts)
    return None


def tried_until(end: float, mutant: Mutant) -> str | None:
    """Name the check that fails on a mutant, unless it is later than that."""
    return noticed_by(mutant) if time.monotonic() < end else LATER


def spread(mutants: Sequence[Mutant], sample: int) -> list[Mutant]:
    """Some of them, evenly from all files and functions."""
    if sample >= len(mutants):
        return list(mutants)
    return [mutants[(2 * k + 1) * len(mutants) // (2 * sample)] for k in range(sample)]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the mutants and print the figure; 0 if enough were noticed."""
    options = argparse.ArgumentParser(description="Break the kernels one sign at a time.")
    options.add_argument("--sample", type=int, default=10**6, help="how many, spread evenly")
    options.add_argument("--of", default="", help="only of files whose path has this in it")
    options.add_argument("--all", action="store_true", help="those that no test can see, too")
    options.add_argument("--show", action="store_true", help="say what noticed each")
    options.add_argument("--anew", action="store_true", help="whatever earlier runs found")
    options.add_argument("--minutes", type=float, default=float("inf"), help="begin no more then")
    chosen = options.parse_args(arguments)
    begun = time.monotonic()
    texts = read()
    every = all_mutants(texts)
    stale = UNSEEN.keys() - {mutant.key for mutant in every}
    for function, change in sorted(stale):
        say(f"listed as unseen, but there is no such mutant: {function}: {change}")
    every = [mutant for mutant in every if chosen.of in mutant.source]
    counted = [m for m in every if chosen.all or m.key not in UNSEEN]
    tried = spread(counted, chosen.sample)
    file = file_of_this_code()
    found = {} if chosen.anew else known(file)
    left = [mutant for mutant in tried if mutant.place not in found]
    for mutant, notice in outcomes(left, texts, begun + 60 * chosen.minutes):
        found[mutant.place] = notice
        if not chosen.anew:
            keep(file, mutant.place, notice)
    done = [mutant for mutant in tried if mutant.place in found]
    for mutant in done:
        notice = found[mutant.place]
        if notice is None:
            say(f"survived  {mutant}")
        elif chosen.show:
            say(f"noticed   {mutant}   by {notice}")
    killed = sum(found[mutant.place] is not None for mutant in done)
    say(
        f"killed {killed} of {len(done)} ({killed / max(len(done), 1):.1%}) in "
        f"{time.monotonic() - begun:.0f} s; {len(every) - len(counted)} more change nothing that "
        "can be seen"
    )
    if len(done) < len(tried):
        say(f"{len(tried) - len(done)} are left: the same command goes on with them")
    return int(bool(stale) or killed < NOTICED * len(done))


def outcomes(
    mutants: Sequence[Mutant], texts: dict[str, str], end: float
) -> Iterator[tuple[Mutant, str | None]]:
    """Try mutants, beginning none after an instant; give what noticed each that was tried."""
    if not mutants:
        return
    processes = PROCESSES if len(mutants) > FEW else 1
    broken = {mutant.source for mutant in mutants}
    parts = (sources for sources in PARTS.values() if not broken.isdisjoint(sources))
    theirs = {source: texts[source] for sources in parts for source in sources}
    with ProcessPoolExecutor(processes, get_context("spawn"), Suite.begin, (theirs,)) as pool:
        answers = pool.map(partial(tried_until, end), mutants, chunksize=1)
        for mutant, notice in zip(mutants, answers, strict=True):
            if notice != LATER:
                yield mutant, notice


if __name__ == "__main__":
    sys.exit(main())
