"""A standalone cluster of Spark on loopback, from the jars of PySpark's wheel.

A master and two workers of one core each. Their executors run a Python of their own that has what
Fencepost needs, and nothing of Fencepost.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from pipelines.spark import bundle
from pipelines.spark.environment import java, jvm
from pipelines.spark.environment.place import Place

HOME = Path(pyspark.__file__).parent
LOOPBACK = "127.0.0.1"
PATIENCE = 120.0
EXECUTOR = "CoarseGrainedExecutorBackend"
OURS = ("fencepost", "_editable", "__editable__", "pipelines", "schemas", "assets")


@dataclass(eq=False)
class Standalone:
    """A cluster that runs; its processes end with `stop`."""

    folder: Path
    port: int
    python: Path
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    @property
    def master(self) -> str:
        """What FENCEPOST_MASTER is to be."""
        return f"spark://{LOOPBACK}:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a driver."""
        return {
            "FENCEPOST_RUNNER": "spark",
            "FENCEPOST_MASTER": self.master,
            "PYSPARK_PYTHON": str(self.python),
        }

    def executors(self) -> list[int]:
        """List the processes of the executors."""
        workers = {process.pid for process in self.processes[1:]}
        return [pid for pid in _processes() if _parent(pid) in workers and EXECUTOR in _words(pid)]

    def unpacked(self) -> list[Path]:
        """List where executors, gone ones too, have unpacked what was shipped to them."""
        return sorted(self.folder.glob(f"work-*/app-*/*/{bundle.FOLDER}"))

    def start(self, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start one of Spark's daemons."""
        chosen = java.find(Place.of_this_python())
        home = java.home_for_executors(chosen, self.folder / f"java-{len(self.processes)}")
        words = [f"org.apache.spark.deploy.{name}", "--host", LOOPBACK, "--webui-port", "0"]
        with (self.folder / "log.txt").open("ab") as log:
            process = subprocess.Popen(
                [chosen.binary, "-Xmx256m", *jvm.QUICK, *jvm.SPARK_OPTIONS, *words, *arguments],
                env={
                    **jvm.environ(jvm.spark_jars()),
                    "JAVA_HOME": str(home),
                    "SPARK_HOME": str(HOME),
                    "SPARK_SCALA_VERSION": "2.13",
                    "SPARK_LOCAL_IP": LOOPBACK,
                    "PYTHONPATH": "",
                    "NUMBA_CACHE_DIR": "",
                },
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def start_worker(self) -> "subprocess.Popen[bytes]":
        """Start a worker of one core."""
        work = self.folder / f"work-{len(self.processes)}"
        options = ("--cores", "1", "--memory", "1200m", "--work-dir", str(work), self.master)
        return self.start("worker.Worker", *options)

    def stop(self) -> None:
        """End every process."""
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def running(folder: Path, workers: int = 2) -> Iterator[Standalone]:
    """Start a cluster of so many workers, and end it."""
    with closing(socket.socket()) as free:
        free.bind((LOOPBACK, 0))
        port = free.getsockname()[1]
    cluster = Standalone(folder, port, bare_python(folder / "python"))
    bundle.shipped(Place.of_this_python(), print)  # where kernels must be compiled, not in a test
    try:
        cluster.start("master.Master", "--port", str(port))
        _wait_for_port(port)
        for _ in range(workers):
            cluster.start_worker()
        yield cluster
    finally:
        cluster.stop()


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """Start a server of Spark Connect, with two tasks at a time, and give its address."""
    with closing(socket.socket()) as free:
        free.bind((LOOPBACK, 0))
        port = free.getsockname()[1]
    python = bare_python(folder / "python")
    settings = {
        "spark.master": "local[2]",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
        "spark.pyspark.python": str(python),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    words.append("spark-internal")
    chosen = java.find(Place.of_this_python())
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(
            [
                chosen.binary,
                "-Xmx700m",
                *jvm.QUICK,
                *jvm.SPARK_OPTIONS,
                jvm.SUBMIT,
                *words,
            ],
            env={
                **jvm.environ(jvm.spark_jars()),
                "SPARK_LOCAL_IP": LOOPBACK,
                "PYSPARK_PYTHON": str(python),
                "PYTHONPATH": "",
                "NUMBA_CACHE_DIR": "",
            },
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _wait_for_port(port)
        yield f"sc://{LOOPBACK}:{port}"
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def bare_python(folder: Path, but: str = "fencepost") -> Path:
    """Make an environment with this one's packages, by links, and without Fencepost.

    `but`: a package that it lacks, too.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    target = next((folder / "lib").glob("python3*")) / "site-packages"
    for entry in HOME.parent.iterdir():
        if not entry.name.startswith((*OURS, but)) and entry.suffix != ".pth":
            (target / entry.name).symlink_to(entry)
    python = folder / "bin" / "python"
    lacking = subprocess.run(
        [python, "-c", f"import numba, pyarrow, pandas\nimport {but}"],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"No module named '{but}'" in lacking.stderr, lacking.stderr
    return python


def python(
    code: str, arguments: Sequence[object], cwd: Path, **environ: str
) -> "subprocess.Popen[str]":
    """Start a program that drives the cluster, in a group of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def kill(pid: int) -> None:
    """Kill a process, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _wait_for_port(port: int) -> None:
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE:
        with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens at {port}")


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _parent(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _words(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""
