"""Alerts as Dagster sends them: of each refusal once a way, of each failed run, and no secret."""

import json
import sys
from contextlib import suppress
from pathlib import Path

import dagster as dg
import pytest

from assets.alerts import sensors
from fencepost.errors import AlertError
from pipelines.lake.layout import NOTE
from pipelines.runs import alerts as alerting
from schemas import FORMAT
from tests.dagster.project import Project
from tests.dagster.test_refused import spoil
from tests.support.commands.loopback import listening
from tests.support.lakes.on_disk import on_disk

pytestmark = pytest.mark.dagster
HOOK = "HOOK_OF_THE_TEST"
CANARY = "T0Ps3cret"
BY_WEBHOOK = "refused_deliveries_by_webhook"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait between no attempts."""
    monkeypatch.setattr(alerting, "PAUSES", (0.0, 0.0))


def alerting_by(project: Project, *lines: str) -> Project:
    """Declare where alerts go."""
    file = project.folder / "fencepost.toml"
    file.write_text("\n".join([file.read_text(), "[alerts]", *lines, ""]))
    return project


@pytest.fixture
def watched(project: Project) -> Project:
    """A project whose alerts go to a webhook."""
    return alerting_by(project, f'webhook = "env:{HOOK}"')


def failures(project: Project) -> dg.SensorDefinition:
    """The sensor that sends word of failed runs."""
    return next(each for each in sensors(project.settings) if each.name == "failed_runs_by_webhook")


def failed_run(project: Project) -> dg.ExecuteInProcessResult:
    """Let a run fail: the lake is of a format that nobody knows yet."""
    note = on_disk(project.settings.root / NOTE)
    note.write_text(note.read_text().replace(f'"format": {FORMAT}', '"format": 99'))
    result = project.job("run_now", raise_on_error=False)
    assert not result.success
    return result


def test_without_a_declaration_there_are_no_such_sensors(project: Project) -> None:
    assert list(sensors(project.settings)) == []


def test_a_refusal_is_sent_once_whoever_took_it_in(
    watched: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(watched, 1)
    watched.by_command()
    with listening() as server:
        monkeypatch.setenv(HOOK, server.address)
        ticked = watched.tick(BY_WEBHOOK)
        assert "sent: 1 refused delivery" in ticked.skip_message
        ticked = watched.tick(BY_WEBHOOK, ticked.cursor)
        assert "no new refusals" in ticked.skip_message
        spoil(watched, 2)
        watched.by_command()
        watched.tick(BY_WEBHOOK, ticked.cursor)
    first, second = server.got
    assert "1 delivery was refused" in first["text"]
    assert "ticks/2026-01-05T01-bad.csv: unreadable" in first["text"]
    assert [each["path"] for each in second["deliveries"]] == ["2026-01-05T02-bad.csv"]


def test_what_could_not_be_sent_is_sent_by_a_later_tick(
    watched: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(watched, 1)
    watched.by_command()
    monkeypatch.setenv(HOOK, f"http://127.0.0.1:1/{CANARY}")
    with pytest.raises(AlertError, match=f"in {HOOK}: Connection refused"):
        watched.tick(BY_WEBHOOK)
    with listening() as server:
        monkeypatch.setenv(HOOK, server.address)
        watched.tick(BY_WEBHOOK)
    assert len(server.got) == 1


def test_a_run_that_failed_is_sent_with_its_words(
    watched: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = failed_run(watched).dagster_run
    event = watched.instance.all_logs(run.run_id, of_type=dg.DagsterEventType.PIPELINE_FAILURE)[-1]
    failure = event.dagster_event
    assert failure is not None
    with listening() as server:
        monkeypatch.setenv(HOOK, server.address)
        context = dg.build_run_status_sensor_context(
            "failed_runs_by_webhook", failure, watched.instance, run
        ).for_run_failure()
        failures(watched)(context)
    (got,) = server.got
    assert got["text"].startswith(f"Fencepost, {watched.folder.name}: a run of run_now failed")
    assert (got["run"], got["job"]) == (run.run_id, "run_now")
    assert "has format 99, this Fencepost knows" in got["why"]


def test_a_command_gets_the_same(project: Project) -> None:
    code = "import pathlib, sys; pathlib.Path('got.json').write_text(sys.stdin.read())"
    watched = alerting_by(project, f"command = {json.dumps([sys.executable, '-c', code])}")
    spoil(watched, 1)
    watched.by_command()
    watched.tick("refused_deliveries_by_command")
    got = json.loads((watched.folder / "got.json").read_text())
    assert [each["feed"] for each in got["deliveries"]] == ["ticks"]


@pytest.mark.fault(67)
def test_the_address_of_a_webhook_is_in_no_file_of_the_lake_or_of_dagster(
    watched: Project, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    history = watched.folder.parent / "history"
    history.mkdir()
    spoil(watched, 1)
    with dg.instance_for_test(temp_dir=str(history)) as instance, listening() as server:
        watched.instance = instance
        for address in (f"{server.address}/{CANARY}", f"http://127.0.0.1:1/{CANARY}"):
            monkeypatch.setenv(HOOK, address)
            watched.job("run_now")
            with suppress(AlertError):
                watched.tick(BY_WEBHOOK)
    assert len(server.got) == 1
    assert files_with(CANARY, watched.folder.parent) == []
    said = capfd.readouterr()
    assert CANARY not in said.out + said.err


def files_with(text: str, folder: Path) -> list[Path]:
    """List the files that hold a text."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if text.encode() in path.read_bytes()]
