"""What a cluster and an object store cost: `make bench-cluster`.

The same epoch of ten million ticks by a process's own two threads, by two workers of one core on
this machine, and by these with lake and landing folder on an S3 server (versitygw, on loopback).
Each way is a process; they take turns, and each gives the rows of the first before times count.
`--rows N` takes another number of ticks.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import IO, Any

from benchmarks.lake_made import AXES, FEED, Bench
from benchmarks.lake_times import REPEATS, Times, divided
from benchmarks.report import Line, show
from pipelines.lake.evidence import Evidence
from pipelines.lake.store import Store
from pipelines.places import create, place_of
from pipelines.project.settings import Feed, Settings
from tests.cluster.standalone import Standalone, running
from tests.support.stores.proxy import proxied
from tests.support.stores.servers import S3, gateway_bucket, versitygw

CLUSTER_BAR, STORE_BAR, BYTES_BAR, COMMIT_BAR = 1.3, 1.5, 1.2, 3.0
COMMITS = 100


@dataclass(frozen=True)
class Session:
    """A process with one Spark session and some lakes, which answers what it is asked."""

    process: "subprocess.Popen[str]"

    def asked(self, what: str, lake: int = 0) -> dict[str, Any]:
        """Ask for one thing of a lake, and wait for the answer."""
        print(what, lake, file=self._pipe(self.process.stdin), flush=True)
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """Read the next answer."""
        line = self._pipe(self.process.stdout).readline()
        if not line:
            raise RuntimeError(f"a session ended with {self.process.wait()}: see above")
        found: dict[str, Any] = json.loads(line)
        return found

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe


Places = Sequence[tuple[str, str]]
"""Lakes, and the landing folder of each."""


@contextmanager
def session(
    places: Places, rows: int, cluster: Standalone | None = None, threads: int = 2
) -> Iterator[Session]:
    """Start a process, and wait until its lakes have the ticks; end it with the block."""
    command = [sys.executable, "-m", "benchmarks.cluster_way", "--rows", str(rows)]
    command += ["--master", f"local[{threads}]" if cluster is None else cluster.master]
    for lake, landing in places:
        command += ["--place", lake, landing]
    process = subprocess.Popen(
        command,
        env={**os.environ, **({} if cluster is None else cluster.environment)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        started = Session(process)
        started.answer()
        yield started
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


Ask = Callable[[str], dict[str, Any]]


def in_turns(lakes: Sequence[Ask]) -> list[Times[dict[str, Any]]]:
    """Let all evaluate in turns; the first runs do not count."""
    runs: list[list[tuple[float, dict[str, Any]]]] = [[] for _ in lakes]
    for number in range(1 + REPEATS):
        for ask, found in zip(lakes, runs, strict=True):
            answer = ask("evaluate")
            if number:
                found.append((answer["seconds"], answer["divided"]))
    return [Times(tuple(found)) for found in runs]


def epochs(folder: Path, rows: int, bucket: S3) -> list[Line]:
    """Time an epoch by two threads, by two workers, and by these with all on the store."""
    landing = str(Bench(folder, rows).landing)
    on_store = _uploaded(Path(landing), bucket)
    here = [(str(folder / "threads" / "lake"), landing)]
    there = [(str(folder / "workers" / "lake"), landing), (bucket.uri("lake"), on_store)]
    (folder / "cluster").mkdir()
    with (
        running(folder / "cluster") as cluster,
        session(here, rows) as own,
        session(there, rows, cluster) as others,
    ):
        lakes: list[Ask] = [
            own.asked,
            others.asked,
            lambda what: others.asked(what, 1),
        ]
        threads, workers, store = in_turns(lakes)
        answers = [ask("rows")["hashes"] for ask in lakes]
    assert all(each == answers[0] for each in answers), answers
    return [
        _line("two workers of one core, of local[2]", workers, threads, CLUSTER_BAR),
        _line("the same on S3, of a shared folder", store, workers, STORE_BAR),
    ]


def _line(
    claim: str, ours: Times[dict[str, Any]], theirs: Times[dict[str, Any]], bar: float
) -> Line:
    facts = f"{ours} against {theirs}; {divided(ours.middle)}"
    return Line(claim, ours.median / theirs.median, bar, facts=facts)


def moved(folder: Path, rows: int, bucket: S3) -> list[Line]:
    """Count the bytes that an epoch moves, against those of the files it reads and writes."""
    landing = Bench(folder / "counted", rows).landing
    with proxied(bucket.host) as proxy:
        watched = bucket.through(proxy.host)
        places = [(watched.uri("counted"), str(landing))]
        with _environment(watched), session(places, rows) as counted:
            counted.asked("evaluate")
            proxy.clear()
            counted.asked("evaluate")
            bytes_moved, requests = proxy.moved, proxy.counts()
            size = counted.asked("rows")["bytes"]
    facts = f"{bytes_moved:,} bytes in {sum(requests.values())} requests; files of {size:,} bytes"
    return [
        Line(
            "bytes moved by an epoch on S3, of its files",
            bytes_moved / size,
            BYTES_BAR,
            facts=facts,
        )
    ]


def commits(folder: Path, bucket: S3) -> list[Line]:
    """Time commits to a table on the store against conditional puts of as many bytes."""
    root = place_of(bucket.uri("commits"), folder)
    feed = Feed(FEED, AXES, folder, settle=0)
    settings = Settings(None, root, {FEED: feed})
    store = Store.create(root, settings.tables, buckets=settings.buckets)
    files = store.write_rows("epochs", [])
    ours, theirs = [], []
    for number in range(COMMITS):
        evidence = Evidence("bench", f"{number:032x}", FEED, number, number, 0, 0, 0)
        at = store.version("epochs")
        ours.append(_timed(partial(store.append, "epochs", at, files, evidence)))
        content = (root / "epochs" / "_delta_log" / f"{at + 1:020}.json").read_bytes()
        place = root / "puts" / f"{number}"
        theirs.append(_timed(partial(create, place, content)))
    facts = f"{median(ours) * 1000:.2f} ms against {median(theirs) * 1000:.2f} ms"
    return [
        Line(
            "a commit, of one conditional put",
            median(ours) / median(theirs),
            COMMIT_BAR,
            facts=facts,
        )
    ]


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _uploaded(landing: Path, bucket: S3) -> str:
    """Copy a landing folder into the bucket; give where it is."""
    target = place_of(bucket.uri("landing"), landing)
    for file in sorted(landing.iterdir()):
        create(target / file.name, file.read_bytes())
    return str(target)


@contextmanager
def _environment(bucket: S3) -> Iterator[None]:
    """Let this process, and those it starts, use a server."""
    before = dict(os.environ)
    os.environ.update(bucket.environment())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def main(arguments: list[str]) -> int:
    """Run all sections; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    options = parser.parse_args(arguments)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    lines = []
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as name:
        folder = Path(name)
        served = folder / "served"
        served.mkdir()
        with versitygw(served) as host:
            bucket = gateway_bucket(host, served)
            with _environment(bucket):
                for title, section in (
                    ("A commit", lambda: commits(folder, bucket)),
                    ("An epoch of ticks", lambda: epochs(folder, options.rows, bucket)),
                    ("What it moves", lambda: moved(folder, options.rows // 5, bucket)),
                ):
                    found = section()
                    show(title, found)
                    lines += found
    met = [line.met for line in lines if line.met is not None]
    print(f"\n{sum(met)} of {len(met)} bars met")
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
