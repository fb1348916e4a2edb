"""All that Spark needs, made ready once: what `make setup` does after the packages are installed.

Law: doing it again changes nothing and takes a fifth of a second; afterwards no session needs the
network.
"""

import fcntl
import hashlib
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from pipelines.disk.atomic import replace_text
from pipelines.spark.environment import apart, archive, jars, java, jvm
from pipelines.spark.environment.place import Place

Say = Callable[[str], None]


def prepare(place: Place, say: Say) -> None:
    """Find Java, fetch the jars, compile the kernels, keep an archive of classes.

    SetupError where Spark could not run; what only costs time is said.
    """
    chosen = java.find(place)
    for one in chosen.passed_over:
        say(f"passed over: {one}")
    with (place.made(place.root) / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # who comes second finds all of it done
        jars.fetch(place, chosen, say)
        compile_kernels(place, say)
        archive.make(place, chosen, [*jvm.spark_jars(), *jars.here(place)], say)
    say(f"Spark is ready: Java {chosen.version} ({chosen.why}), and what it needs in {place.root}")


def compile_kernels(place: Place, say: Say) -> None:
    """Let the workers' daemon compile the engine's kernels ahead, unless that is done."""
    if compiled(place):
        return
    say("compiling the engine's kernels; once, 15 seconds")
    place.made(place.kernels)
    program = f"from {apart.module('spark.daemon')} import warm; warm()"
    if fault := apart.run(["-c", program], NUMBA_CACHE_DIR=str(place.kernels)):
        say(f"that failed, and workers will compile for themselves: {fault}")
        return
    replace_text(place.kernels / ".compiled", _engine())


def compiled(place: Place) -> bool:
    """Whether the kernels are compiled from the engine's files of now."""
    stamp = place.kernels / ".compiled"
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _engine()


def _engine() -> str:
    """Name the engine of now: its files, this Python, Numba."""
    import fencepost

    root = Path(fencepost.__file__).parent
    stamps = [(str(f), f.stat().st_mtime_ns, f.stat().st_size) for f in sorted(root.rglob("*.py"))]
    stamp = repr((sys.version, version("numba"), version("numpy"), stamps))
    return hashlib.sha256(stamp.encode()).hexdigest()
