"""The command line as a whole: its manual, its JSON, how it ends."""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
import typer

from fencepost.errors import BrokenIndex, LockedError, StoreUnavailable
from pipelines.cli import app
from pipelines.cli.errors import Terminated, exit_code_of
from pipelines.cli.exit_codes import MEANING, Code
from pipelines.project.settings import ENVIRONMENT
from tests.support.commands.commands import REPOSITORY, Said, fencepost, python
from tests.support.commands.files import written

TOML = '[run]\nrunner = "here"\n[feeds.ticks]\naxes = ["price"]\nsource = "landing/ticks"\n'
RULE = '{"id": "band", "feed": "ticks", "where": "price >= 2 AND price < 5"}\n'
TICKS = "stream_id,ts,price\na,2026-11-18T09:00:00Z,1\na,2026-11-18T09:01:00Z,3\na,bad,3\n"


def pages(group: typer.core.TyperGroup, path: str = "") -> Iterator[tuple[str, str]]:
    """Every command that does something, by its path, with its help."""
    for name, command in group.commands.items():
        if isinstance(command, typer.core.TyperGroup):
            yield from pages(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", fencepost(*f"{path}{name}".split(), "--help").out


ROOT: Any = typer.main.get_command(app.app)
PAGES = dict(pages(ROOT))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a query, and a delivery that was taken in."""
    folder = tmp_path_factory.mktemp("project")
    written(folder, "fencepost.toml", TOML)
    written(folder, "rules.jsonl", RULE)
    assert told(folder, "init").code == 0
    landed = written(folder / "landing" / "ticks", "a.csv", TICKS)
    os.utime(landed, (1_700_000_000, 1_700_000_000))
    for command in ("queries import rules.jsonl", "run"):
        said = told(folder, *command.split())
        assert said.code == 0, said.err
    return folder


def told(folder: Path, *arguments: object) -> Said:
    with contextlib.chdir(folder):
        return fencepost(*arguments)


def started(folder: Path, command: str, **environ: str) -> "subprocess.Popen[str]":
    """Start the command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli.app", *shlex.split(command)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=as_at_a_terminal,  # noqa: PLW1509  no thread runs here
    )


def as_at_a_terminal() -> None:
    """Hear Ctrl-C, also where a shell has started the tests in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("columns", ["40", "60", "80", "200"])
def test_the_manual_is_whole_at_any_width(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    said = fencepost("--help")
    assert (said.code, said.err) == (0, "")
    assert "..." not in said.out.partition("COMMAND [ARGS]...")[2]
    assert "\x1b" not in said.out
    words = " ".join(said.out.split())
    shown = ["init", "queries", "run", "sql", "eval", "ui", "report", "check"]
    assert all(f" {name} " in words for name in shown)
    assert all(meaning in words for meaning in MEANING.values())
    known = [name for of_section in ENVIRONMENT.values() for name in of_section.values()]
    assert all(name in words for name in known)
    wide = [line for line in said.out.splitlines() if len(line) > max(80, int(columns))]
    assert [line for line in wide if not line.startswith("    ")] == [], "only examples may be long"


def test_every_command_stands_in_one_panel_of_the_manual():
    listed = [name for names in app.Cover.panels.values() for name in names]
    assert sorted(listed) == sorted(ROOT.commands)


@pytest.mark.parametrize("path", PAGES)
def test_every_command_shows_how_it_is_used(path):
    page = PAGES[path]
    assert re.search(rf"^ +fencepost {path}\b", page, re.MULTILINE), "no example"
    assert re.search(r"^  (-\w, )?--json ", page, re.MULTILINE), "no --json"
    assert "<int" not in page
    assert "[[" not in page


@pytest.mark.parametrize("path", PAGES)
def test_every_example_of_the_help_is_understood(path):
    """Each is parsed as the shell would; what it would do is not done."""
    joined = PAGES[path].replace("\\\n", " ")
    for line in re.findall(r"^ +(?:\w+=\w+ )?(fencepost .*)$", joined, re.MULTILINE):
        words = shlex.split(line.split("   ")[0].split(" | ")[0].split(" > ")[0])[1:]
        command: Any = ROOT
        context = None
        while isinstance(command, typer.core.TyperGroup):
            context = typer.Context(command, parent=context, info_name=words[0])
            command = command.commands[words.pop(0)]
        command.make_context(path, words, parent=context)


@pytest.mark.parametrize(
    "command",
    [
        "run",
        "status",
        "partitions ticks",
        "partitions ticks 2026-11-18",
        "quarantine show",
        "quarantine retry",
        "queries import rules.jsonl",
        "queries list",
        "queries show band",
        "queries export",
        "queries export --out out.jsonl",
        "sql",
        "sql --describe events",
        "sql 'select 1 as one'",
        "sql 'select 1 as one' --out one.csv",
        "maintain",
        "report --out page.html",
        "generate ticks --out t.csv --streams 2 --length 3",
        "generate locations --out l.csv --objects 2 --updates 3",
        "eval -q rules.jsonl -t landing/ticks/a.csv -o out",
        "init",
        "doctor",
    ],
)
def test_under_json_stdout_is_one_object_and_nothing_else(project, command):
    said = told(project, *shlex.split(command), "--json")
    assert isinstance(json.loads(said.out), dict), said.out
    assert said.code == 0 or command == "doctor", said.err


def test_under_json_an_error_is_words_on_stderr_and_nothing_on_stdout(project):
    for command in (("queries", "show", "none"), ("sql", "selec"), ("status", "--lake", "x")):
        said = told(project, *command, "--json")
        assert (said.code, said.out) == (Code.REFUSED, "")
        assert said.err
        assert "Traceback" not in said.err


def failing(fault: BaseException) -> Callable[[], object]:
    def command() -> object:
        raise fault

    return command


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (LockedError("held by `fencepost run`"), Code.LOCKED, "held by `fencepost run`"),
        (
            PermissionError(13, "Permission denied", "x"),
            Code.REFUSED,
            "x: Permission denied: grant",
        ),
        (OSError(28, "No space left on device"), Code.STORAGE, "the output: No space left on"),
        (StoreUnavailable("s3://b/x: the store"), Code.UNAVAILABLE, "s3://b/x: the store"),
        (typer.Abort(), Code.REFUSED, "nothing changed"),
        (MemoryError(), Code.REFUSED, "out of memory: the machine has no more"),
        (pa.ArrowMemoryError("malloc of size 64 failed"), Code.REFUSED, "out of memory"),
        (ZeroDivisionError("x"), Code.FAILED, "this is a bug in Fencepost"),
        (BrokenIndex("post 4"), Code.FAILED, "this is a bug in Fencepost"),
        (ConnectionRefusedError(111, "refused"), Code.FAILED, "this is a bug in Fencepost"),
        (BrokenPipeError(32, "of another process"), Code.FAILED, "this is a bug in Fencepost"),
        (KeyboardInterrupt(), Code.INTERRUPTED, "interrupted by Ctrl-C"),
        (Terminated(), Code.TERMINATED, "terminated by SIGTERM"),
    ],
)
def test_an_exit_code_says_of_which_kind_the_end_is(fault, code, words, capsys):
    assert exit_code_of(failing(fault), debug=False) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert ("Traceback" in said.err) == (code is Code.FAILED)


def test_with_debug_the_traceback_is_shown_too(project):
    plain = told(project, "queries", "show", "none")
    debug = told(project, "queries", "show", "none", "--debug")
    assert debug.code == plain.code == Code.REFUSED
    assert "Traceback" in debug.err
    assert debug.err.endswith(plain.err)


def test_signals_are_as_they_were_after_a_command():
    before = signal.getsignal(signal.SIGTERM)
    assert exit_code_of(lambda: None, debug=False) == Code.WELL
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGTERM, Code.TERMINATED, "terminated by SIGTERM"),
        (signal.SIGINT, Code.INTERRUPTED, "interrupted by Ctrl-C"),
    ],
)
def test_a_signal_ends_a_command_with_one_line_and_its_code(project, tmp_path, number, code, words):
    os.mkfifo(tmp_path / "never.csv")  # nobody writes there, so it waits
    with started(project, f"eval -q rules.jsonl -t {tmp_path / 'never.csv'} -o {tmp_path}") as it:
        wait_until(lambda: "never.csv" in " ".join(opened_by(it.pid)) or waits(it.pid))
        it.send_signal(number)
        out, err = it.communicate(timeout=30)
    assert (it.returncode, out) == (code, "")
    assert err.startswith(words)
    assert len(err.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["never.csv"]


def opened_by(process: int) -> list[str]:
    links = Path(f"/proc/{process}/fd")
    with contextlib.suppress(OSError):
        return [str(link.readlink()) for link in links.iterdir()]
    return []


def waits(process: int) -> bool:
    """Whether it sleeps in the opening of a pipe that nobody writes to."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/wchan").read_text() == "wait_for_partner"
    return False


def wait_until(there: Callable[[], bool], patience: float = 30.0) -> None:
    until = time.monotonic() + patience
    while not there():
        assert time.monotonic() < until, "it did not come so far"
        time.sleep(0.05)


def test_a_pipe_that_nobody_reads_ends_it_without_a_word(project):
    with started(project, "sql 'select * from range(1000000) r(n)' --format csv") as it:
        assert it.stdout is not None
        assert it.stdout.readline() == "n\n"
        it.stdout.close()
        assert it.stderr is not None
        assert it.stderr.read() == ""
    assert it.returncode == Code.NOBODY_READS


def test_output_that_cannot_be_written_is_told(project):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pipelines.cli.app", "status"],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == Code.STORAGE
    assert done.stderr.startswith("the output: No space left on device: make room there, ")
    assert done.stderr.count("\n") == 1


def test_the_project_may_be_named_by_a_variable(project, tmp_path, monkeypatch):
    monkeypatch.setenv("FENCEPOST_CONFIG", str(project))
    assert told(tmp_path, "status", "--json").summary["standing"] == {"crossing": 1}
    assert told(tmp_path, "status", "--config", tmp_path).code == Code.REFUSED


def test_help_imports_nothing_heavy():
    heavy = "{'numpy', 'pyarrow', 'duckdb', 'deltalake', 'rich', 'pydantic', 'urllib.request'}"
    done = python(
        "import sys; sys.argv = ['fencepost', '--help']; from pipelines.cli.app import main; "
        f"main(); print({heavy} & set(sys.modules), file=sys.stderr)"
    )
    assert done.stderr == "set()\n"


def test_the_version_is_said():
    with mock.patch("importlib.metadata.version", return_value="0.1.0"):
        assert fencepost("--version").out == "fencepost 0.1.0\n"
