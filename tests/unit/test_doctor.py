"""What the doctor finds of an environment, and what it says to do."""

import json
import os

import pytest
import typer
from typer.testing import CliRunner

from pipelines.cli.commands.doctor import doctor
from pipelines.spark.environment.diagnosis import Mark, findings
from pipelines.spark.environment.place import Place
from tests.support.commands.javas import java_of

commands = typer.Typer()
commands.command()(doctor)


def test_the_doctor_finds_nothing_to_stop_a_run_where_all_is_set_up(tmp_path):
    said = CliRunner().invoke(commands, ["--lake", str(tmp_path / "a" / "lake")])
    assert said.exit_code == 0, said.output
    begins = {line.split()[1] for line in said.output.splitlines() if line.startswith("ok ")}
    assert {"Python", "Java", "Spark", "Delta", "kernels", "disk", "ports", "time"} <= begins
    assert f"free at {tmp_path}" in said.output
    assert not (tmp_path / "a").exists()


def test_the_doctor_says_what_would_stop_a_run_and_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setenv("FENCEPOST_JAVA", str(java_of(tmp_path, "11")))
    said = CliRunner().invoke(commands, ["--lake", str(tmp_path), "--json"])
    assert said.exit_code == 1
    stops = {
        one["thing"]: one for one in json.loads(said.stdout)["findings"] if one["mark"] == Mark.STOP
    }
    assert set(stops) == {"Java", "Delta jars"}
    assert "Java 11, and Spark takes 17 or 21" in stops["Java"]["found"]
    assert "Install Java 17 or 21" in stops["Java"]["found"]
    assert stops["Delta jars"]["do"] == "`fencepost doctor --prepare` fetches 9.6 MB"
    said = CliRunner().invoke(commands, ["--lake", str(tmp_path)])
    assert "✗   Delta jars" in said.stdout
    assert "to do: `fencepost doctor --prepare` fetches 9.6 MB" in said.stdout


def test_the_doctor_names_the_java_that_was_passed_over(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(java_of(tmp_path, "25").parents[1]))
    monkeypatch.delenv("FENCEPOST_JAVA", raising=False)
    found = [one for one in findings(Place(tmp_path / "share"), tmp_path) if one.thing == "Java"]
    assert [one.mark for one in found] == [Mark.OK, Mark.MIND]
    assert "Java 25, and Spark takes 17 or 21" in found[1].found


@pytest.mark.fault(19)
def test_the_doctor_minds_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    marks = {one.thing: one.mark for one in findings(Place(tmp_path / "share"), tmp_path)}
    assert (marks["kernels"], marks["disk"]) == (Mark.MIND, Mark.STOP)
