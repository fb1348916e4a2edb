"""`fencepost doctor --start` on a cluster: what each executor lacks, in words."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.cluster.standalone import Standalone, bare_python
from tests.support.commands.commands import REPOSITORY

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.xdist_group("cluster"),
    pytest.mark.timeout(600),
]

FEED = '[lake]\npath = "lake"\n[feeds.ticks]\naxes = ["price"]\nsource = "in"\n'


def executors_said(cluster: Standalone, project: Path, **environ: str) -> list[dict[str, str]]:
    """Give what the doctor found of each executor."""
    ran = subprocess.run(
        [sys.executable, "-m", "fencepost", "doctor", "--start", "--json", "--config", project],
        cwd=project,
        env={**os.environ, **cluster.environment, "PYTHONPATH": str(REPOSITORY), **environ},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    findings = json.loads(ran.stdout)["findings"]
    sessions = [each for each in findings if each["thing"] == "session"]
    assert [each["mark"] for each in sessions] == ["ok"], ran.stdout
    return [each for each in findings if each["thing"] == "executor"]


def test_executors_that_are_sent_our_code_lack_nothing(cluster, tmp_path) -> None:
    (tmp_path / "fencepost.toml").write_text(FEED)
    said = executors_said(cluster, tmp_path)
    assert [each["mark"] for each in said] == ["ok", "ok"]
    assert all(each["found"].endswith(": has all it needs") for each in said)


def test_of_each_executor_it_is_said_what_it_lacks(cluster, tmp_path) -> None:
    """An archive of their own says that they have our code; and their Python lacks a package."""
    with zipfile.ZipFile(tmp_path / "theirs.zip", "w") as theirs:
        theirs.writestr("nothing.txt", "")
    archive = f'[run.spark]\n"spark.archives" = "{tmp_path}/theirs.zip#theirs"\n'
    (tmp_path / "fencepost.toml").write_text(FEED + archive)
    python = bare_python(tmp_path / "python", but="deltalake")
    said = executors_said(cluster, tmp_path, PYSPARK_PYTHON=str(python))
    assert len(said) == 2
    for each in said:
        assert each["mark"] != "ok"
        assert f"its Python ({python}) lacks deltalake" in each["found"]
        why = "Fencepost cannot be imported: ModuleNotFoundError: No module named 'fencepost'"
        assert why in each["found"]
        assert each["do"] == "docs/clusters.md says how executors get it"
