"""`fencepost ui`: Dagster's UI really started on a project, and all of it gone afterwards."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.cli.exit_codes import Code
from pipelines.project.settings import load
from pipelines.serve.report.links import link
from pipelines.serve.ui.server import Address, environment_of
from tests.support.commands.commands import REPOSITORY, Said, fencepost
from tests.support.commands.files import written

TOML = '[run]\nrunner = "here"\n[feeds.ticks]\naxes = ["price"]\nsource = "landing/ticks"\n'
PATIENCE = 150.0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a lake, and a folder in which one may stand."""
    written(tmp_path, "fencepost.toml", TOML)
    with contextlib.chdir(tmp_path):
        assert fencepost("init").code == 0
    return tmp_path


@contextlib.contextmanager
def listening() -> Iterator[int]:
    """A port where somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken.getsockname()[1]


def free_port() -> int:
    with listening() as port:
        return port


def ui(folder: Path, *arguments: object) -> Said:
    with contextlib.chdir(folder):
        return fencepost("ui", *arguments)


def test_a_port_in_use_is_refused_and_another_is_named(project):
    with listening() as port:
        said = ui(project, "--port", port)
    assert (said.code, said.out) == (Code.REFUSED, "")
    assert f"port {port} of 127.0.0.1 is in use by another process: try --port " in said.err


def test_without_a_lake_nothing_is_started(tmp_path):
    written(tmp_path, "fencepost.toml", TOML)
    said = ui(tmp_path, "--port", free_port())
    assert (said.code, "`fencepost init` makes one" in said.err) == (Code.REFUSED, True)
    assert [path.name for path in tmp_path.iterdir()] == ["fencepost.toml"]


@pytest.mark.parametrize(
    ("host", "private", "url"),
    [
        ("127.0.0.1", True, "http://127.0.0.1:3000"),
        ("localhost", True, "http://localhost:3000"),
        ("127.9.9.9", True, "http://127.9.9.9:3000"),
        ("::1", True, "http://[::1]:3000"),
        ("0.0.0.0", False, "http://127.0.0.1:3000"),  # noqa: S104
        ("::", False, "http://[::1]:3000"),
        ("10.1.2.3", False, "http://10.1.2.3:3000"),
        ("localhost.example", False, "http://localhost.example:3000"),
    ],
)
@pytest.mark.fault(65)
def test_whom_an_address_lets_in_and_how_it_is_reached(host, private, url):
    assert (Address(host, 3000).is_private, Address(host, 3000).url) == (private, url)


def test_dagster_is_told_the_project_our_packages_and_no_other_home(project):
    config = project / "fencepost.toml"
    settings, reports = load(config), Address("127.0.0.1", 3009)
    around = {"DAGSTER_HOME": "/elsewhere", "PYTHONSAFEPATH": "1", "PATH": "/bin"}
    told = environment_of(settings, reports, around)
    assert told["FENCEPOST_CONFIG"] == str(config)
    assert told["PYTHONPATH"].split(os.pathsep)[0] == str(REPOSITORY)
    assert not {"DAGSTER_HOME", "PYTHONSAFEPATH"} & told.keys()
    assert told["PATH"] == "/bin"
    (project / "dagster.yaml").unlink()
    assert environment_of(settings, reports, around)["DAGSTER_HOME"] == "/elsewhere"


def test_links_lead_to_where_the_reports_are_served_unless_a_proxy_is_named(project):
    config = project / "fencepost.toml"
    reports = Address("127.0.0.1", 3009)
    told = environment_of(load(config), reports, {})
    assert told["FENCEPOST_REPORTS_ADDRESS"] == "http://127.0.0.1:3009"
    proxy = "https://fencepost.example.com/reports"
    config.write_text(config.read_text().replace("[run]", f'[run]\nreports_address = "{proxy}/"'))
    settings = load(config)
    assert environment_of(settings, reports, {})["FENCEPOST_REPORTS_ADDRESS"] == proxy
    page = settings.reports / "checks" / "a page.html"
    assert link(settings, page) == f"{proxy}/checks/a%20page.html"


def processes_of(project: Path) -> set[int]:
    """The processes that know of this project: their environment names it."""
    found = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and str(project).encode() in (entry / "environ").read_bytes():
                found.add(int(entry.name))
    return found


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_ui_shows_the_project_and_ends_with_all_its_processes(project, number):
    (project / "workspace.yaml").unlink()
    hide_ours(project)
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli.app", "ui", "--port", str(port), "--json"],
        cwd=project,
        env={
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONSAFEPATH": "1",
            "DAGSTER_HOME": "/nowhere",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as it:
        assert it.stdout is not None
        told = json.loads(it.stdout.readline())
        assert told["url"] == f"http://127.0.0.1:{port}"
        assert told["project"] == str(project / "fencepost.toml")
        with urllib.request.urlopen(f"{told['reports']}/", timeout=30) as answer:  # noqa: S310
            assert b"No report yet" in answer.read()
        assert {"ticks/ticks", "ticks/events"} <= asset_keys(told["url"])
        assert len(processes_of(project)) > 2
        it.send_signal(number)
        out, err = it.communicate(timeout=60)
    assert (it.returncode, out) == (Code.WELL, "")
    assert err.splitlines()[0] == f"made {project / 'workspace.yaml'}"
    assert err.splitlines()[-1] == "stopped"
    assert "Aborted" not in err
    assert processes_of(project) == set()
    assert (project / ".dagster" / "storage").is_dir()
    for each in (told["url"], told["reports"]):
        Address("127.0.0.1", int(each.rpartition(":")[2])).refuse_in_use()


def hide_ours(project: Path) -> None:
    """Give a project packages of its own with the names of ours; who imports one of them fails."""
    for name in ("assets", "pipelines", "schemas"):
        written(project, f"{name}/__init__.py", "raise RuntimeError('not ours')\n")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_code_that_does_not_load_is_said_in_words_and_no_address_is_printed(project):
    hide_ours(project)
    workspace = project / "workspace.yaml"
    workspace.write_text(workspace.read_text().replace("fencepost.dagster", "assets.definitions"))
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli.app", "ui", "--port", str(free_port()), "--json"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (Code.REFUSED, "")
    said = done.stderr[done.stderr.index("Dagster could not load") :]
    assert "the project's code, 'fencepost' of workspace.yaml" in said
    assert "RuntimeError: not ours" in said
    assert "module_name: fencepost.dagster" in said
    assert processes_of(project) == set()


def asset_keys(url: str) -> set[str]:
    """The assets that Dagster shows, once it has loaded them."""
    query = json.dumps({"query": "{assetNodes{assetKey{path}}}"}).encode()
    as_json = {"content-type": "application/json"}
    request = urllib.request.Request(f"{url}/graphql", query, as_json)  # noqa: S310
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            nodes = json.load(answer)["data"]["assetNodes"]
        if nodes:
            return {"/".join(node["assetKey"]["path"]) for node in nodes}
        time.sleep(0.5)
    return set()
