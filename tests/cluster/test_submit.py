"""spark-submit, as it comes with PySpark, runs `fencepost run` in its own session."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.standalone import HOME, bare_python
from tests.faults.story import copied, differing, do, land, make, rows_of
from tests.support.commands.commands import REPOSITORY

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.xdist_group("second cluster"),
    pytest.mark.timeout(600),
]


def test_what_bundle_says_is_what_submits_it(tmp_path: Path) -> None:
    make(tmp_path / "here")
    do(tmp_path / "here", "registered")
    project = copied(tmp_path / "here", tmp_path / "there")
    land(project, "taken-in")
    do(tmp_path / "here", "taken-in")
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    packed = subprocess.run(
        [sys.executable, "-m", "fencepost", "bundle"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    size, *command = packed.stdout.replace("\\\n", " ").splitlines()
    assert size.startswith("fencepost.zip: 2.")
    submit = " ".join(command).split()
    assert submit.pop(0) == "spark-submit"
    ran = subprocess.run(
        [HOME / "bin" / "spark-submit", "--master", "local[2]", *submit],
        cwd=project,
        env={
            **environ,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "FENCEPOST_RUNNER": "spark",
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "PYSPARK_PYTHON": str(bare_python(tmp_path / "python")),
            "NUMBA_CACHE_DIR": "",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert differing(rows_of(project), rows_of(tmp_path / "here")) == []
