"""`fencepost bundle --env`: executors that run a whole Python environment as it was packed.

The environment has its packages by links, so that gigabytes are not packed and unpacked here.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.drivers import landed
from tests.cluster.standalone import HOME, Standalone, bare_python
from tests.faults.story import differing, rows_of
from tests.support.commands.commands import REPOSITORY

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.xdist_group("second cluster"),
    pytest.mark.timeout(600),
]


def test_executors_of_a_packed_environment_write_the_rows_of_one_process(
    cluster: Standalone, uncut: Path, tmp_path: Path
) -> None:
    project = landed(uncut, "crossed", tmp_path / "project")
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    python = bare_python(tmp_path / "environment")
    (tmp_path / "environment" / "share").symlink_to(Path(sys.prefix) / "share")
    packed = subprocess.run(
        [python, "-m", "fencepost", "bundle", "--env"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    _, *command = packed.stdout.replace("\\\n", " ").splitlines()
    submit = " ".join(command).split()
    assert submit.pop(0) == "spark-submit"
    ran = subprocess.run(
        [HOME / "bin" / "spark-submit", "--master", cluster.master, *submit],
        cwd=project,
        env={
            **environ,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "FENCEPOST_RUNNER": "spark",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert differing(rows_of(project), rows_of(uncut / "crossed")) == []
