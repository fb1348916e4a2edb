"""What `fencepost bundle` prints is what spark-submit, as it comes with PySpark, runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.drivers import landed
from tests.cluster.standalone import HOME, Standalone, bare_python
from tests.faults.story import copied, differing, do, land, make, rows_of
from tests.support.commands.commands import REPOSITORY

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.xdist_group("second cluster"),
    pytest.mark.timeout(600),
]

ENVIRON = {**os.environ, "PYTHONPATH": str(REPOSITORY)}


def bundled(python: str | Path, folder: Path, *options: str) -> tuple[str, list[str]]:
    """Make an archive in a folder: what is said of it, and the arguments of spark-submit."""
    packed = subprocess.run(
        [python, "-m", "fencepost", "bundle", *options],
        cwd=folder,
        env=ENVIRON,
        capture_output=True,
        text=True,
        check=True,
    )
    size, *command = packed.stdout.replace("\\\n", " ").splitlines()
    name, *arguments = " ".join(command).split()
    assert name == "spark-submit"
    return size, arguments


def submitted(master: str, arguments: list[str], project: Path, **environ: str) -> None:
    """Let spark-submit run a project to its end."""
    ran = subprocess.run(
        [HOME / "bin" / "spark-submit", "--master", master, *arguments],
        cwd=project,
        env={
            **ENVIRON,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "FENCEPOST_RUNNER": "spark",
            **environ,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]


def test_what_bundle_says_is_what_submits_it(tmp_path: Path) -> None:
    make(tmp_path / "here")
    do(tmp_path / "here", "registered")
    project = copied(tmp_path / "here", tmp_path / "there")
    land(project, "taken-in")
    do(tmp_path / "here", "taken-in")
    size, arguments = bundled(sys.executable, tmp_path)
    megabytes = re.match(r"fencepost\.zip: (\d+\.\d) MB; submit it with", size)
    assert megabytes is not None
    assert 4 < float(megabytes[1]) < 6  # code, byte code, kernels: nothing else came in
    submitted(
        "local[2]",
        arguments,
        project,
        PYSPARK_DRIVER_PYTHON=sys.executable,
        PYSPARK_PYTHON=str(bare_python(tmp_path / "python")),
        NUMBA_CACHE_DIR="",
    )
    assert differing(rows_of(project), rows_of(tmp_path / "here")) == []


def test_executors_of_a_packed_environment_write_the_rows_of_one_process(
    cluster: Standalone, uncut: Path, tmp_path: Path
) -> None:
    """The environment has its packages by links: gigabytes are not packed and unpacked here."""
    project = landed(uncut, "crossed", tmp_path / "project")
    python = bare_python(tmp_path / "environment")
    (tmp_path / "environment" / "share").symlink_to(Path(sys.prefix) / "share")
    _, arguments = bundled(python, tmp_path, "--env")
    submitted(cluster.master, arguments, project)
    assert differing(rows_of(project), rows_of(uncut / "crossed")) == []
