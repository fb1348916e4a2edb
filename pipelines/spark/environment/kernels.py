"""The engine's kernels, compiled ahead: once for all copies of the same code.

Numba keeps machine code by the path of its source. What was compiled for one copy of the engine
(a clone, a work tree) is copied to where Numba looks for another with the same environment.

Law: machine code that is found was compiled from these sources, by this Numba.
"""

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from fencepost.kernel_cache import ENGINE, fingerprint
from fencepost.text import counted
from pipelines.disk.atomic import replace_text
from pipelines.spark.environment import apart
from pipelines.spark.environment.place import Place, Say

COMPILED = ".compiled"
"""The file that says by which Numba."""
ENGINES = ".engines"
"""The file that says for which copies of the engine: a path a line."""


def compile_kernels(place: Place, say: Say) -> None:
    """Let the workers' daemon compile the engine's kernels ahead, unless they are compiled.

    Those of another copy of the engine are made this one's, too: 20 ms.
    """
    if compiled(place):
        _share(place.kernels)
        return
    say("compiling the engine's kernels, once; about a minute")
    begin = time.perf_counter()
    place.made(place.kernels)
    program = f"from {apart.module('spark.daemon')} import warm; warm()"
    if fault := apart.run(["-c", program], NUMBA_CACHE_DIR=str(place.kernels)):
        say(f"that failed, and workers will compile for themselves: {fault}")
        return
    replace_text(place.kernels / COMPILED, compilers())
    replace_text(place.kernels / ENGINES, f"{engine()}\n")
    for old in place.kernels.parent.iterdir():  # of earlier versions of the engine
        if not any(fingerprint(path) == old.name for path in (engine(), *copies(old))):
            shutil.rmtree(old, ignore_errors=True)
    many = sum(len([*path.glob("*.nbi")]) for _, path in kept(place.kernels))
    say(f"compiled {counted(many, 'kernel')} in {time.perf_counter() - begin:.0f} s")


def compiled(place: Place) -> bool:
    """Whether the kernels of the engine as it is are compiled, for some copy and by this Numba."""
    stamp = place.kernels / COMPILED
    is_ours = stamp.is_file() and stamp.read_text(encoding="utf-8") == compilers()
    return is_ours and bool(copies(place.kernels))


def copies(cache: Path) -> list[Path]:
    """List the copies of the engine whose kernels a cache has."""
    file = cache / ENGINES
    return [Path(line) for line in file.read_text().splitlines()] if file.is_file() else []


def compilers() -> str:
    """Name what compiled kernels depend on beside their source."""
    return f"Python {sys.version}, numba {version('numba')}, numpy {version('numpy')}"


def engine() -> Path:
    """Give the engine that workers import."""
    return ENGINE.resolve()


def kept(cache: Path) -> Iterator[tuple[Path, Path]]:
    """Give the folders of the engine that have kernels, each with where a cache keeps them."""
    top = next(iter(copies(cache)), engine())
    inside = (path.relative_to(ENGINE) for path in ENGINE.rglob("*") if path.is_dir())
    for folder in (Path(), *inside):
        if (path := cache / _named(top / folder)).is_dir():
            yield folder, path


def bring(cache: Path, to: Path) -> None:
    """Copy what a cache has to where another one, or the same, keeps this engine's kernels.

    Whoever looks meanwhile finds a kernel whole, or none: its index comes last.
    """
    for folder, path in kept(cache):
        target = to / _named(engine() / folder)
        target.mkdir(parents=True, exist_ok=True)
        for file in sorted(path.glob("*.nb[ci]"), key=lambda file: file.suffix):
            passing = target / f"{file.name}.{os.getpid()}"
            shutil.copyfile(file, passing)
            passing.replace(target / file.name)


def _share(cache: Path) -> None:
    known = copies(cache)
    if engine() not in known and os.access(cache, os.W_OK):
        bring(cache, cache)
        replace_text(cache / ENGINES, "".join(f"{path}\n" for path in (*known, engine())))


def _named(folder: Path) -> str:
    """Name a folder of sources as Numba does."""
    return f"{folder.name}_{hashlib.sha1(str(folder).encode()).hexdigest()}"  # noqa: S324
