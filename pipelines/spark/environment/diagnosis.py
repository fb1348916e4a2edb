"""What is missing for a Spark session on this machine, checked item by item.

Law: a check changes nothing and starts no JVM; every fault comes with its remedy.
"""

import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fencepost.text import size_in_words
from pipelines import places
from pipelines.spark import causes
from pipelines.spark.environment import archive, jars, java, jvm, machine
from pipelines.spark.environment.faults import SetupError
from pipelines.spark.environment.kernels import compiled
from pipelines.spark.environment.place import Place

GB = 10**9
PAIR = {"pyspark": "4.1.", "delta-spark": "4.4."}
NOTHING: Mapping[str, Any] = {}
PREPARE = "`fencepost doctor --prepare`"


class Mark(StrEnum):
    """The state of a thing; a run would fail on a STOP."""

    OK = "ok"
    MIND = "!"
    STOP = "✗"


@dataclass(frozen=True)
class Finding:
    """A thing checked: what it is, its state, the finding, what to do about it."""

    thing: str
    mark: Mark
    found: str
    do: str = ""


def findings(place: Place, lake: places.Place) -> Iterator[Finding]:
    """Check everything that a session needs, in about a tenth of a second."""
    yield _python()
    yield from _java(place)
    yield _packages()
    yield _jars(place)
    yield _kernels(place)
    yield _memory()
    yield _disk(lake)
    yield _loopback()
    yield _clock()


def started(options: Mapping[str, Any] = NOTHING, seen: str = "") -> Iterator[Finding]:
    """Start a session with these options, run a job on it, end it, and say how long that took.

    On a cluster a task is tried on every executor, which must see the path `seen`.
    """
    from pipelines.spark import masters, probes, session

    begin = time.perf_counter()
    far = not masters.is_threads(options.get("master", masters.LOCAL))
    try:
        more = {"extra": {**options.get("extra", {}), **probes.STOCK}} if far else {}
        spark = session.spark(**{**options, **more})
        up = time.perf_counter()
        found = probes.probed(spark, seen) if far or not session.is_ours(spark) else []
        if not found:
            spark.sparkContext.parallelize(range(10), 2).map(abs).count()
        ran = time.perf_counter()
        session.stop()
    except Exception as why:  # noqa: BLE001  any failure is a finding
        do = "see what is marked above"
        yield Finding("session", Mark.STOP, f"does not start: {causes.cause(why)}", do)
        return
    yield Finding(
        "session",
        Mark.OK,
        f"up in {up - begin:.1f} s, a first job through Python workers in {ran - up:.1f} s",
    )
    for each in found:
        wrong = probes.lacks(each)
        said = f"{each['host']}, {each['folder']}: {'; '.join(wrong) or 'has all it needs'}"
        do = "docs/clusters.md says how executors get it"
        yield Finding("executor", Mark.STOP if wrong else Mark.OK, said, do if wrong else "")


def _python() -> Finding:
    found = f"{sys.version.split()[0]}, {sys.executable}"
    if (3, 11) <= sys.version_info[:2] < (3, 14):
        return Finding("Python", Mark.OK, found)
    return Finding("Python", Mark.STOP, found, "use Python 3.11, 3.12 or 3.13")


def _java(place: Place) -> Iterator[Finding]:
    try:
        chosen = java.find(place)
    except SetupError as why:
        yield Finding("Java", Mark.STOP, str(why))
        return
    yield Finding("Java", Mark.OK, f"{chosen.version} ({chosen.why}), {chosen.home}")
    for one in chosen.passed_over:
        yield Finding("Java", Mark.MIND, f"passed over: {one}", "nothing, another one is used")
    class_path = [*jvm.spark_jars(), *(place.jars / jar.file for jar in jars.JARS)]
    if not jars.faults(place) and not archive.options(place, chosen, class_path):
        yield Finding(
            "start",
            Mark.MIND,
            "no archive of classes for this Java: a session starts, in twice the time",
            PREPARE,
        )


def _packages() -> Finding:
    found, wrong = [], []
    for name, wanted in PAIR.items():
        try:
            found.append(f"{name} {version(name)}")
            if not version(name).startswith(wanted):
                wrong.append(f"{name} {wanted}x")
        except PackageNotFoundError:
            found.append(f"no {name}")
            wrong.append(f"{name} {wanted}x")
    if wrong:
        do = f"make setup: the jars go with {' and '.join(wrong)}"
        return Finding("Spark", Mark.STOP, ", ".join(found), do)
    return Finding("Spark", Mark.OK, ", ".join(found))


def _jars(place: Place) -> Finding:
    if wrong := jars.faults(place):
        return Finding("Delta jars", Mark.STOP, "; ".join(wrong), f"{PREPARE} fetches {jars.SIZE}")
    return Finding("Delta jars", Mark.OK, f"both there, checksums right, in {place.jars}")


def _kernels(place: Place) -> Finding:
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or place.kernels)
    writable = folder.is_dir() and os.access(folder, os.W_OK)
    if not writable and folder.exists():
        found = f"{folder} cannot be written to: each session compiles for 10 s"
        return Finding("kernels", Mark.MIND, found, "make it writable, or set NUMBA_CACHE_DIR")
    if folder == place.kernels and not compiled(place):
        return Finding("kernels", Mark.MIND, "not compiled: the first session does, 10 s", PREPARE)
    return Finding("kernels", Mark.OK, f"kept in {folder}")


def _memory() -> Finding:
    memory = machine.memory()
    short, long = machine.heap(None, quick=True), machine.heap(None, quick=False)
    found = (
        f"{size_in_words(memory.free)} free of {size_in_words(memory.total)}; "
        f"Spark's JVM takes up to {size_in_words(short)} for a command, "
        f"{size_in_words(long)} for a long job; {machine.cores()} cores"
    )
    do = "free some memory, or give Spark less (the setting `memory`, like 600m)"
    if memory.free < machine.LEAST:
        return Finding("memory", Mark.STOP, found, do)
    return Finding("memory", Mark.MIND if memory.free < 2 * short else Mark.OK, found, do)


def _disk(lake: places.Place) -> Finding:
    """Check the disk of the lake; of one on a store, that of temporary files and copies."""
    there = Path(tempfile.gettempdir()) if places.is_remote(lake) else lake.absolute()
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free
    found = f"{size_in_words(free)} free at {there}"
    if not os.access(there, os.W_OK):
        return Finding("disk", Mark.STOP, f"{there} cannot be written to", "choose another lake")
    mark = Mark.STOP if free < GB // 4 else Mark.MIND if free < 5 * GB else Mark.OK
    return Finding("disk", mark, found, "make room, or put the lake on a larger disk")


def _loopback() -> Finding:
    from pipelines.spark.masters import LOOPBACK

    try:
        with socket.socket() as listening:
            listening.bind((LOOPBACK, 0))
            listening.listen(1)
            with socket.create_connection(listening.getsockname(), timeout=2):
                return Finding("ports", Mark.OK, f"{LOOPBACK} listens and answers")
    except OSError as why:
        do = "Spark talks to itself over loopback: bring it up (ip link set lo up), or allow it"
        return Finding("ports", Mark.STOP, f"{LOOPBACK} does not answer: {why}", do)


def _clock() -> Finding:
    here = time.strftime("%Z %z")
    return Finding("time", Mark.OK, f"kept and shown in UTC; this machine shows {here}")
