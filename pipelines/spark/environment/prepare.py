"""All that Spark needs, prepared once: what `make setup` does after installing the packages.

Law: repeating it changes nothing and takes a fifth of a second; afterwards no session needs the
network.
"""

import fcntl

from pipelines.spark.environment import archive, jars, java, jvm
from pipelines.spark.environment.kernels import compile_kernels
from pipelines.spark.environment.place import Place, Say


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
