"""The archive of classes: loaded, verified and stored once by the JVM, to be mapped next time.

Spark and Delta load 18,000 classes until the first table is read, half of the time that takes. The
JVM dumps them at the end of a rehearsal, and each later start maps the file.

Law: an archive only saves time. One that does not fit is silently ignored by the JVM.
"""

import hashlib
import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from pipelines.disk.atomic import replacing
from pipelines.spark.environment import apart, jvm
from pipelines.spark.environment.faults import SetupError
from pipelines.spark.environment.java import Java
from pipelines.spark.environment.place import Place


def path(place: Place, java: Java, class_path: Sequence[Path]) -> Path:
    """Give the path of the archive for this Java and these jars."""
    stamps = [(str(jar), jar.stat().st_mtime_ns, jar.stat().st_size) for jar in class_path]
    stamp = repr((java.version, str(java.home), jvm.SPARK_OPTIONS, stamps))
    key = hashlib.sha256(stamp.encode()).hexdigest()[:12]
    return place.archives / f"java{java.major}-{key}.jsa"


def options(place: Place, java: Java, class_path: Sequence[Path]) -> list[str]:
    """Return the options with which a JVM uses the archive; none if there is none."""
    archive = path(place, java, class_path)
    if not archive.is_file():
        return []
    base = _base(archive)
    layers = [base, archive] if base.is_file() else [archive]
    return [f"-XX:SharedArchiveFile={os.pathsep.join(map(str, layers))}"]


def make(place: Place, java: Java, class_path: Sequence[Path], say: Callable[[str], None]) -> bool:
    """Rehearse a session and keep its archive, unless there is one: half a minute, 200 MB.

    False if the rehearsal failed: sessions then start more slowly.
    """
    archive = path(place, java, class_path)
    if archive.is_file():
        return True
    say("rehearsing a Spark session, so that later ones start in half the time; once, 30 seconds")
    place.made(place.archives)
    for old in chain.from_iterable(map(place.archives.glob, (f"java{java.major}-*", ".java*"))):
        old.unlink()
    try:
        with replacing(archive) as (passing,):
            record = [*_on_base(java, archive), f"-XX:ArchiveClassesAtExit={passing}"]
            _rehearse(record, passing)
    except SetupError as fault:
        say(f"the rehearsal failed, and Spark will start more slowly: {fault}")
        return False
    return True


def _rehearse(record: Sequence[str], archive: Path) -> None:
    """Have a new JVM write the archive; SetupError if it does not."""
    fault = apart.run(["-m", apart.module("spark.environment.rehearsal"), *record])
    if fault or not archive.is_file():
        raise SetupError(fault or "Java wrote no archive")


def _base(archive: Path) -> Path:
    return archive.with_suffix(".base")


def _on_base(java: Java, archive: Path) -> list[str]:
    """Write the archive of Java's own classes if the Java has none: the wheel's has none."""
    if any(java.home.glob("lib/server/classes*.jsa")):
        return []
    base = _base(archive)
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(  # noqa: S603  the Java that was chosen
            [java.binary, "-Xshare:dump", f"-XX:SharedArchiveFile={base}", "-Xlog:disable"],
            env=jvm.environ([]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=apart.PATIENCE,
            check=False,
        )
    return [f"-XX:SharedArchiveFile={base}"] if base.is_file() else []
