"""The wheel, installed where other packages are called `assets`, `pipelines` and `schemas`."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import hatch_build
from pipelines.spark.environment.place import Place
from tests.support.commands.commands import BAND, REPOSITORY, TICKS, T
from tests.support.commands.files import written

SHADOW = "raise ImportError('this is the package of another project')\n"
OTHERS = ("assets", "pipelines", "schemas")
ROWS = TICKS + "".join(f"a,{T.format(at)},{price}\n" for at, price in enumerate((1, 3, 9)))
TOML = "[feeds.ticks]\naxes = ['price']\nsource = 'landing/ticks'\n"
ASKED = "select type, stream_id from events order by ts"


class Installed:
    """A Python environment with the wheel in it, and our own dependencies behind."""

    def __init__(self, wheel: Path, root: Path) -> None:
        try:
            venv.create(root, with_pip=True)
        except subprocess.CalledProcessError as why:
            pytest.skip(f"this Python makes no environment with pip: {why}")
        self.python = root / "bin" / "python"
        (self.site,) = root.glob("lib/python*/site-packages")
        for name in OTHERS:
            written(self.site, f"{name}/__init__.py", SHADOW)
        self._run(self.python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel)
        ours = [path for path in sys.path if path.endswith("site-packages")]
        written(self.site, "dependencies.pth", "".join(f"{path}\n" for path in ours))

    def _run(self, *command: object, cwd: Path | None = None, **environ: str) -> str:
        keep = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "FENCEPOST_CONFIG"}}
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd,
            env=keep | environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def fencepost(self, folder: Path, *arguments: object, **environ: str) -> str:
        return self._run(self.python.with_name("fencepost"), *arguments, cwd=folder, **environ)

    def module(self, folder: Path, *arguments: object, **environ: str) -> str:
        return self._run(self.python, "-m", *arguments, cwd=folder, **environ)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(wheel, tmp_path_factory.mktemp("installed") / "venv")


@pytest.fixture
def project(tmp_path: Path, installed: Installed) -> Iterator[Path]:
    """A project whose own code is called like ours, with a delivery and a rule in its lake."""
    for name in OTHERS:
        written(tmp_path, f"{name}/__init__.py", SHADOW)
    written(tmp_path, "fencepost.toml", TOML)
    written(tmp_path, "band.jsonl", BAND)
    written(tmp_path, "landing/ticks/a.csv", ROWS)
    os.utime(tmp_path / "landing/ticks/a.csv", (1, 1))
    installed.fencepost(tmp_path, "init")
    installed.fencepost(tmp_path, "queries", "import", "band.jsonl")
    yield tmp_path
    shutil.rmtree(tmp_path)


def test_the_wheel_installs_one_package(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    assert {name.partition("/")[0] for name in names} == {"fencepost", "fencepost-0.1.0.dist-info"}
    assert "fencepost/_app/pipelines/project/templates/workspace.yaml" in names
    assert "fencepost/_app/pipelines/serve/report/parts/page.css" in names


def test_a_lake_is_worked_on_beside_packages_of_the_same_names(installed, project):
    installed.fencepost(project, "run", FENCEPOST_RUNNER="here")
    said = installed.module(project, "fencepost", "sql", "--format", "csv", ASKED)
    assert said.split() == ["type,stream_id", "I,a", "O,a"]


@pytest.mark.dagster
def test_dagster_loads_the_project_beside_packages_of_the_same_names(installed, project):
    said = installed.module(project, "dagster", "definitions", "validate", "-w", "workspace.yaml")
    assert "Validation successful" in said


@pytest.mark.slow
@pytest.mark.spark
def test_spark_works_from_the_wheel(installed, project):
    prefix = installed.python.parents[1]
    shutil.copytree(Place.of_this_python().jars, prefix / "share" / "fencepost" / "jars")
    installed.fencepost(project, "run", FENCEPOST_RUNNER="spark")
    said = installed.fencepost(project, "sql", "--format", "csv", ASKED)
    assert said.split() == ["type,stream_id", "I,a", "O,a"]


def test_every_import_of_ours_is_rewritten_and_lines_stay_where_they_are():
    text = (
        '"""Written by `python -m pipelines.cli.handbook`."""\n'
        "import schemas\n"
        "from pipelines.lake import store\n"
        "def later():\n"
        "    from assets import graph  # only then\n"
        "    return graph, store, 'pipelines'\n"
    )
    assert hatch_build.rewritten(text, "module.py") == (
        '"""Written by `python -m pipelines.cli.handbook`."""\n'
        "from fencepost._app import schemas\n"
        "from fencepost._app.pipelines.lake import store\n"
        "def later():\n"
        "    from fencepost._app.assets import graph  # only then\n"
        "    return graph, store, 'pipelines'\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "name = 'pipelines.spark.daemon'",
        "program = 'from pipelines.spark.daemon import warm'",
        "import pipelines.spark.session",
        "import pipelines, sys",
    ],
)
def test_what_nothing_would_rewrite_stops_the_build(line):
    with pytest.raises(ValueError, match=r"module\.py:1"):
        hatch_build.rewritten(f"{line}\n", "module.py")
