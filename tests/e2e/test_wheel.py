"""The wheel, installed where other packages are called `assets`, `pipelines` and `schemas`.

And installed alone, with the base requirements and nothing else.
"""

import email
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import hatch_build
from pipelines.spark.environment.place import Place
from tests.support.commands.commands import BAND, REPOSITORY, TICKS, T
from tests.support.commands.files import written
from tests.support.commands.snippets import Session, blocks

SHADOW = "raise ImportError('this is the package of another project')\n"
OTHERS = ("assets", "pipelines", "schemas")
ROWS = TICKS + "".join(f"a,{T.format(at)},{price}\n" for at, price in enumerate((1, 3, 9)))
TOML = "[feeds.ticks]\naxes = ['price']\nsource = 'landing/ticks'\n"
ASKED = "select type, stream_id from events order by ts"


class Environment:
    """A Python environment with the wheel in it, and packages called like our rooms."""

    def __init__(self, wheel: Path, root: Path, *options: str) -> None:
        try:
            venv.create(root, with_pip=True)
        except subprocess.CalledProcessError as why:
            pytest.skip(f"this Python makes no environment with pip: {why}")
        self.python = root / "bin" / "python"
        (self.site,) = root.glob("lib/python*/site-packages")
        for name in OTHERS:
            written(self.site, f"{name}/__init__.py", SHADOW)
        self.run(self.python, "-m", "pip", "install", "-q", *options, wheel)

    def run(
        self, *command: object, cwd: Path | None = None, refused: object = False, **env: object
    ) -> str:
        keep = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "FENCEPOST_CONFIG"}}
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd,
            env=keep | {name: str(value) for name, value in env.items()},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode in ({0, 2} if refused else {0}), done.stdout + done.stderr
        return done.stdout + done.stderr

    def fencepost(self, folder: Path, *arguments: object, **environ: str) -> str:
        return self.run(self.python.with_name("fencepost"), *arguments, cwd=folder, **environ)

    def module(self, folder: Path, *arguments: object, **environ: str) -> str:
        return self.run(self.python, "-m", *arguments, cwd=folder, **environ)


class Installed(Environment):
    """One with our own dependencies behind."""

    def __init__(self, wheel: Path, root: Path) -> None:
        super().__init__(wheel, root, "--no-deps", "--no-index")
        ours = [path for path in sys.path if path.endswith("site-packages")]
        written(self.site, "dependencies.pth", "".join(f"{path}\n" for path in ours))


class Base(Environment):
    """One with links to the distributions that the wheel requires without extras, and no others."""

    def __init__(self, wheel: Path, root: Path) -> None:
        super().__init__(wheel, root, "--no-deps", "--no-index")
        for name in required(wheel):
            for file in distribution(name).files or ():
                top = Path(file.parts[0])
                here, there = self.site / top, distribution(name).locate_file(top)
                if top.name not in ("..", "__pycache__") and not here.exists():
                    here.symlink_to(str(there))


def required(wheel: Path) -> set[str]:
    """The distributions that a plain `pip install` of the wheel brings along."""
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        waiting = email.message_from_bytes(packed.read(name)).get_all("Requires-Dist", [])
    found: set[str] = set()
    while waiting:
        requirement = Requirement(waiting.pop())
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and requirement.name not in found:
            found.add(requirement.name)
            waiting += distribution(requirement.name).requires or []
    return found


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


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Base:
    return Base(wheel, tmp_path_factory.mktemp("base") / "venv")


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


@pytest.mark.slow
def test_a_lake_is_worked_on_beside_packages_of_the_same_names(installed, project):
    installed.fencepost(project, "run", FENCEPOST_RUNNER="here")
    said = installed.module(project, "fencepost", "sql", "--format", "csv", ASKED)
    assert said.split() == ["type,stream_id", "I,a", "O,a"]


PROGRAM = """
import sys, time
started = time.perf_counter()
import fencepost as fp
rows = [{"stream_id": "a", "ts": f"2026-11-18T14:0{n}:00Z", "price": p}
        for n, p in enumerate((1, 3, 9))]
monitor = fp.Monitor.from_bytes(fp.Monitor("band.jsonl").to_bytes(), "band.jsonl")
print(fp.evaluate(rows, "band.jsonl").events["type"].to_pylist())
print(monitor.push(rows).events["type"].to_pylist())
try:
    fp.open_lake(".")
except fp.FencepostError as why:
    print(why)
"""
FOUND = """['I', 'O']
['I', 'O']
this needs duckdb, which is not installed: pip install "fencepost[lake]"
"""


def evaluates_alone(environment: Environment, folder: Path) -> None:
    """Have the command and the API evaluate in an environment without any extra."""
    written(folder, "band.jsonl", BAND)
    written(folder, "ticks.csv", ROWS)
    arguments = ("eval", "-q", "band.jsonl", "-t", "ticks=ticks.csv", "-o", "out", "--json")
    assert json.loads(environment.fencepost(folder, *arguments))["events"] == 2
    assert environment.run(environment.python, "-c", PROGRAM, cwd=folder) == FOUND
    environment.fencepost(folder, "--help")


def test_the_base_requirements_are_enough_for_eval_and_the_api(base, wheel, tmp_path):
    direct = {"numpy", "numba", "pyarrow", "typer", "rich", "tzdata"}
    assert direct <= required(wheel)
    assert not {"pyspark", "dagster", "duckdb", "deltalake", "pandas"} & required(wheel)
    evaluates_alone(base, tmp_path)


def test_the_wheel_says_that_its_types_are_declared(wheel):
    with zipfile.ZipFile(wheel) as packed:
        assert "fencepost/py.typed" in packed.namelist()


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_pip_installs_the_base_from_the_registry(wheel, tmp_path, capsys):
    reach = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir"]
    asked = subprocess.run(
        [*reach, "-d", str(tmp_path / "reach"), "mdurl"], capture_output=True, check=False
    )
    if asked.returncode:
        pytest.skip("pip reaches no registry of packages from here")
    started = time.perf_counter()
    environment = Environment(wheel, tmp_path / "venv")
    seconds = time.perf_counter() - started
    with capsys.disabled():
        sys.stdout.write(f"\npip install fencepost, in an empty environment: {seconds:.0f} s\n")
    evaluates_alone(environment, tmp_path)


class Newcomer(Session):
    """A reader of the README who has the installed wheel, and no repository."""

    installed: Installed

    def _fencepost(self, *words: str, **environment: str) -> str:
        command = self.installed.python.with_name("fencepost")
        engine = {"FENCEPOST_RUNNER": "here", **environment}
        return self.installed.run(command, *words, cwd=self.folder, refused=True, **engine)


def test_the_five_minutes_of_the_readme_run_from_the_wheel(installed, tmp_path):
    reader = Newcomer(tmp_path)
    reader.installed = installed
    played = [block for block in blocks(REPOSITORY / "README.md") if block.language == "console"]
    assert len(played) >= 3
    for block in played:
        reader.play(block)


@pytest.mark.slow
@pytest.mark.dagster
@pytest.mark.timeout(400)
def test_the_ui_is_served_from_the_wheel(installed, project):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with subprocess.Popen(
        [str(installed.python.with_name("fencepost")), "ui", "--json", "--port", port],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as ui:
        assert ui.stdout is not None
        address = json.loads(ui.stdout.readline())["url"]
        with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310  our own
            assert b"Dagster" in answer.read()
        ui.send_signal(signal.SIGINT)
        _, err = ui.communicate(timeout=60)
    assert (ui.returncode, err.splitlines()[-1]) == (0, "stopped")


@pytest.mark.slow
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
