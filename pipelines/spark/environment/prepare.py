"""All that Spark needs, prepared once: what `make setup` does after installing the packages.

Law: repeating it changes nothing and takes a fifth of a second; afterwards no session needs the
network.
"""

import fcntl
import shutil
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

from fencepost.text import counted
from pipelines.disk.atomic import replace_text
from pipelines.spark.environment import apart, archive, jars, java, jvm
from pipelines.spark.environment.place import Place

Say = Callable[[str], None]
COMPILED = ".compiled"


def prepare(place: Place, say: Say) -> None:
    """Find Java, fetch the jars, compile the kernels, write an archive of classes.

    SetupError if Spark could not run; what only costs time is reported.
    """
    chosen = java.find(place)
    for one in chosen.passed_over:
        say(f"passed over: {one}")
    with (place.made(place.root) / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second process finds all of it done
        jars.fetch(place, chosen, say)
        compile_kernels(place, say)
        archive.make(place, chosen, [*jvm.spark_jars(), *jars.here(place)], say)
    say(f"Spark is ready: Java {chosen.version} ({chosen.why}), and what it needs in {place.root}")


def compile_kernels(place: Place, say: Say) -> None:
    """Let the workers' daemon compile the engine's kernels ahead, unless they are compiled."""
    if compiled(place):
        return
    say("compiling the engine's kernels, once; half a minute")
    begin = time.perf_counter()
    place.made(place.kernels)
    program = f"from {apart.module('spark.daemon')} import warm; warm()"
    if fault := apart.run(["-c", program], NUMBA_CACHE_DIR=str(place.kernels)):
        say(f"that failed, and workers will compile for themselves: {fault}")
        return
    replace_text(place.kernels / COMPILED, compilers())
    for old in place.kernels.parent.iterdir():  # of earlier versions of the engine
        if old != place.kernels:
            shutil.rmtree(old, ignore_errors=True)
    kernels = counted(len(list(place.kernels.rglob("*.nbi"))), "kernel")
    say(f"compiled {kernels} in {time.perf_counter() - begin:.0f} s")


def compiled(place: Place) -> bool:
    """Whether the kernels of the engine as it is are compiled, by this Numba."""
    stamp = place.kernels / COMPILED
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == compilers()


def compilers() -> str:
    """Name what compiled kernels depend on beside their source."""
    return f"Python {sys.version}, numba {version('numba')}, numpy {version('numpy')}"
