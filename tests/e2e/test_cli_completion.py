"""Tab, as a shell asks for it: what is offered, and that it never says or breaks anything."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
import typer

from pipelines.cli import completion as completing
from tests.support.commands.commands import REPOSITORY, fencepost
from tests.support.commands.files import written
from tests.support.lakes.ledger import Ledger

TOML = (
    '[feeds.ticks]\naxes = ["price", "volume"]\nsource = "landing/ticks"\npartition = "hour"\n'
    '[feeds.locations]\naxes = ["x", "y", "speed"]\nsource = "landing/locations"\n'
)
IDS = ("depot", "deep", "$(touch owned)", "a b", "`x`", "'", "späti", "band-1")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with queries, some of them called by names that a shell would run."""
    folder = tmp_path_factory.mktemp("project")
    written(folder, "fencepost.toml", TOML)
    ledger = Ledger()
    ledger.register(*({"id": name} for name in IDS))
    for key in ("2026-11-18T09", "2026-11-18T10"):
        ledger.arrive("ticks", rows=1, partition_key=key)
    ledger.written(folder / "lake")
    return folder


def asking(line: str, shell: str) -> dict[str, str]:
    """What a shell puts into the environment, to ask what may come at the end of the line."""
    return {
        "_FENCEPOST_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }


def tab(folder: Path, line: str, shell: str = "bash") -> list[str]:
    """Press Tab at the end of the line."""
    with contextlib.chdir(folder), mock.patch.dict(os.environ, asking(line, shell)):
        said = fencepost()
    assert (said.code, said.err) == (0, "")
    return said.out.split("\n")[:-1] if said.out.strip() else []


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("fencepost st", ["status"]),
        ("fencepost queries re", ["remove"]),
        ("fencepost sql --desc", ["--describe"]),
        ("fencepost partitions ", ["ticks", "locations"]),
        ("fencepost partitions l", ["locations"]),
        ("fencepost partitions ticks ", ["2026-11-18T10", "2026-11-18T09"]),
        ("fencepost partitions locations ", []),
        ("fencepost queries list --feed t", ["ticks"]),
        ("fencepost queries show de", ["deep", "depot"]),
        ("fencepost queries remove ", ["band-1", "deep", "depot"]),
        ("fencepost sql --describe vis", ["visits"]),
        ("fencepost sql --describe raw_t", ["raw_transitions", "raw_ticks"]),
        ("fencepost quarantine show --reason l", ["late"]),
        ("fencepost sql --format p", ["parquet"]),
    ],
)
def test_what_exists_is_offered(project, line, offered):
    assert sorted(tab(project, line)) == sorted(offered)


def test_every_shell_is_answered_and_none_is_given_a_name_that_it_might_run(project):
    for shell in ("bash", "zsh", "fish"):
        told = "\n".join(tab(project, "fencepost queries show ", shell))
        assert all(name in told for name in ("band-1", "deep", "depot"))
        assert not any(name in told for name in ("touch", "`", "a b", "späti"))


def test_a_shell_that_starts_the_command_is_answered_the_same(project):
    line = "fencepost queries show de"
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli.app"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **asking(line, "bash")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "deep\ndepot\n", "")


@pytest.mark.parametrize("what", ["nothing", "no lake", "no TOML", "another lake"])
@pytest.mark.parametrize(
    "line",
    [
        "fencepost partitions ticks ",
        "fencepost queries show ",
        "fencepost quarantine retry --feed ",
        "fencepost sql --describe v",
    ],
)
def test_where_there_is_nothing_to_offer_nothing_is_said(tmp_path, what, line):
    if what != "nothing":
        written(tmp_path, "fencepost.toml", "[" if what == "no TOML" else TOML)
    if what == "another lake":
        (tmp_path / "lake").mkdir()
        written(tmp_path / "lake", "_fencepost.json", "{")
    offered = tab(tmp_path, line)
    assert set(offered) <= {"ticks", "locations", "visits"}, "what the file alone tells"
    assert not (offered and what in ("nothing", "no TOML"))
    before = {"nothing": 0, "another lake": 2}.get(what, 1)
    assert len(list(tmp_path.iterdir())) == before, "nothing is made"


def test_of_very_many_names_some_are_offered_and_a_vast_registry_is_not_read(project, monkeypatch):
    context = typer.Context(typer.core.TyperCommand("x"))
    context.params = {"config": str(project)}
    assert completing.query_ids(context, "de") == ["deep", "depot"]
    monkeypatch.setattr(completing, "MOST_OFFERED", 1)
    assert completing.query_ids(context, "de") == ["deep"]
    monkeypatch.setattr(completing, "MOST_ROWS", 1)
    assert completing.query_ids(context, "de") == []


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/fencepost.sh"),
        ("zsh", ".zfunc/_fencepost"),
        ("fish", ".config/fish/completions/fencepost.fish"),
    ],
)
def test_completion_is_installed_for_a_shell(tmp_path, shell, file):
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli.app", "--install-completion", shell],
        cwd=REPOSITORY,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"_FENCEPOST_COMPLETE=complete_{shell}" in (tmp_path / file).read_text()
