"""The service of docs/operations.md: whole, understood by systemd, and of commands that exist."""

import configparser
import re
import shlex
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.commands.commands import REPOSITORY, fencepost

PAGE = REPOSITORY / "docs" / "operations.md"


def unit() -> str:
    """The text of the unit, as a reader copies it."""
    (text,) = re.findall(r"^```ini\n(\[Unit\].*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    return str(text)


def keys_of(section: str) -> dict[str, list[str]]:
    """What a section says, each key with all its values."""
    parser = configparser.RawConfigParser(strict=True, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(unit())
    said: dict[str, list[str]] = defaultdict(list)
    for key, value in parser[section].items():
        said[key].append(value)
    return said


def test_it_says_who_runs_it_where_and_how_it_ends() -> None:
    service = keys_of("Service")
    assert service["User"] == service["Group"] == ["fencepost"]
    (project,) = service["WorkingDirectory"]
    assert project in service["ReadWritePaths"]
    assert service["Restart"] == ["on-failure"]
    assert service["KillSignal"] == ["SIGTERM"]
    assert service["KillMode"] == ["mixed"]  # the command ends its processes in order
    assert keys_of("Install")["WantedBy"] == ["multi-user.target"]


def test_nothing_on_the_machine_can_be_written_but_the_project() -> None:
    service = keys_of("Service")
    assert service["ProtectSystem"] == ["strict"]
    for key in ("NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices"):
        assert service[key] == ["true"]
    assert service["CapabilityBoundingSet"] == [""]


def test_its_command_has_the_options_that_it_is_given() -> None:
    (line,) = keys_of("Service")["ExecStart"]
    program, command, *arguments = shlex.split(line)
    assert program.endswith("/bin/fencepost")
    told = fencepost(command, "--help").out
    for option in (each for each in arguments if each.startswith("-")):
        assert option in told


def test_systemd_understands_all_of_it(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd-analyze here")
    file = tmp_path / "fencepost.service"
    file.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit(), flags=re.MULTILINE))
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
