"""The workers' daemon that warms up beside the JVM, and the stand-in that Spark starts."""

import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.spark import early
from tests.support.commands.commands import REPOSITORY

PATIENCE = 200.0
"""Seconds: without compiled kernels the daemon compiles them first."""


@contextmanager
def process(argument: str, **environ: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The module as a process, with pipes to it, which is ended if it does not end."""
    started = subprocess.Popen(
        [sys.executable, "-m", "pipelines.spark.early", argument],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environ},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,
    )
    with started:  # closes the pipes, and waits
        try:
            yield started
        finally:
            started.kill()


def test_a_daemon_serves_spark_through_its_stand_in_and_both_end_with_its_pipe(tmp_path: Path):
    address = str(tmp_path / "daemon")
    with (
        process(address) as daemon,
        process("pyspark.worker", **{early.WHERE: address}) as stand_in,
    ):
        wait_for(address)
        assert stand_in.stdin is not None
        assert stand_in.stdout is not None
        (port,) = struct.unpack(">i", stand_in.stdout.read(4))
        socket.create_connection(("127.0.0.1", port)).close()
        assert daemon.poll() is None
        stand_in.stdin.close()
        daemon.wait(PATIENCE)  # Spark's part of it says 1, however it ends
        assert stand_in.wait(PATIENCE) == 0
        assert not Path(address).exists()


def wait_for(address: str) -> None:
    """A stand-in that came before the daemon listens would serve by itself."""
    until = threading.Event()
    for _ in range(int(PATIENCE * 100)):
        if Path(address).exists():
            return
        until.wait(0.01)
    raise TimeoutError(address)


def test_a_daemon_that_nobody_comes_for_ends_with_its_driver(tmp_path: Path):
    with process(str(tmp_path / "daemon")) as daemon:
        assert daemon.stdin is not None
        daemon.stdin.close()
        assert daemon.wait(PATIENCE) == 0


def test_where_no_daemon_listens_the_stand_in_says_so(tmp_path: Path):
    assert not early.stand_in("")
    assert not early.stand_in(str(tmp_path / "daemon"))


def test_where_a_daemon_breaks_off_the_stand_in_says_so(tmp_path: Path):
    address = str(tmp_path / "daemon")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(1)

        def break_off() -> None:
            spoken, _ = listening.accept()
            spoken.close()

        breaking = threading.Thread(target=break_off)
        breaking.start()
        assert not early.stand_in(address)
        breaking.join()


def test_a_folder_too_deep_for_a_socket_has_no_daemon(tmp_path: Path):
    assert early.begin(tmp_path / ("x" * early.LONGEST_ADDRESS), {}) == early.NONE
