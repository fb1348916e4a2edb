"""Alerts reach a webhook or a command, and the address, which is a secret, stands nowhere else."""

import sys
import traceback
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.errors import AlertError, Faults
from pipelines.ingest.refusals import Unanswered
from pipelines.project.settings import Settings, understood
from pipelines.runs import alerts as alerting
from pipelines.runs.alerts import COMMAND, WEBHOOK, Alert, channels, of_refused, send
from tests.support.commands.loopback import listening

CANARY = "T0Ps3cret"
TOML = """
[feeds.ticks]
axes = ["price"]
source = "landing"
"""
ALERT = Alert("a_test", "prices", "a & b <!channel>", {"more": 1})
WATCHED = "HOOK_OF_THE_TEST"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A project whose alerts go to the address in a variable; nobody waits between attempts."""
    monkeypatch.setattr(alerting, "PAUSES", (0.0, 0.0))
    toml = f'{TOML}\n[alerts]\nwebhook = "env:{WATCHED}"\n'
    return understood(toml, tmp_path / "prices" / "fencepost.toml")


def test_a_webhook_gets_json_that_slack_takes(settings, monkeypatch):
    with listening() as server:
        monkeypatch.setenv(WATCHED, server.address)
        send(settings, WEBHOOK, ALERT)
    assert server.types == ["application/json"]
    (got,) = server.got
    assert got == {
        "text": "a &amp; b &lt;!channel&gt;",
        "kind": "a_test",
        "project": "prices",
        "more": 1,
    }


def test_a_server_that_fails_once_is_asked_again(settings, monkeypatch):
    with listening(500) as server:
        monkeypatch.setenv(WATCHED, server.address)
        send(settings, WEBHOOK, ALERT)
    assert len(server.got) == 2


@pytest.mark.parametrize(("answer", "words"), [(404, "it answered 404"), (302, "answered 302")])
def test_an_alert_that_is_not_taken_is_an_error_and_follows_nowhere(
    settings, monkeypatch, answer, words
):
    with listening(*[answer] * 3) as server:
        monkeypatch.setenv(WATCHED, f"{server.address}/{CANARY}")
        with pytest.raises(AlertError, match=words) as error:
            send(settings, WEBHOOK, ALERT)
    assert len(server.got) == 3
    assert CANARY not in "".join(traceback.format_exception(error.value))


@pytest.mark.fault(67)
@pytest.mark.parametrize(
    "address",
    [
        f"http://127.0.0.1:1/{CANARY}",
        f"http://127.0.0.1:notaport/{CANARY}",
        f"http://127.0.0.1:1/{CANARY} with a blank\x01",
        f"http://[{CANARY}/",
        f"http://{CANARY}.invalid/",
        f"file:///{CANARY}",
        CANARY,
    ],
)
def test_the_address_stands_in_no_error_and_in_no_chain_of_errors(settings, monkeypatch, address):
    monkeypatch.setenv(WATCHED, address)
    with pytest.raises(AlertError, match=WATCHED) as error:
        send(settings, WEBHOOK, ALERT)
    assert CANARY not in "".join(traceback.format_exception(error.value))
    fault: BaseException | None = error.value
    while fault is not None:
        assert CANARY not in repr(fault)
        fault = fault.__cause__ or fault.__context__


def test_a_variable_that_is_not_set_is_named(settings, monkeypatch):
    monkeypatch.delenv(WATCHED, raising=False)
    with pytest.raises(AlertError, match=f"the variable {WATCHED}, .* is not set where Dagster"):
        send(settings, WEBHOOK, ALERT)


@pytest.mark.fault(67)
@pytest.mark.parametrize(
    "given", [f'"https://hooks.example/{CANARY}"', f'"env:{CANARY}/x"', '"env:"', "7"]
)
def test_an_address_in_the_file_is_refused_and_not_repeated(tmp_path, given):
    with pytest.raises(Faults) as refused:
        understood(f"{TOML}\n[alerts]\nwebhook = {given}\n", tmp_path / "fencepost.toml")
    assert "a variable like" in str(refused.value)
    assert CANARY not in str(refused.value)


def test_a_command_gets_the_alert_in_the_folder_of_the_project(tmp_path):
    code = "import sys, pathlib; pathlib.Path('got.json').write_text(sys.stdin.read())"
    settings = understood(TOML, tmp_path / "fencepost.toml")
    settings = replace(settings, command=(sys.executable, "-c", code))
    assert channels(settings) == [COMMAND]
    send(settings, COMMAND, ALERT)
    assert '"kind": "a_test"' in (tmp_path / "got.json").read_text()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((sys.executable, "-c", "raise SystemExit(3)"), "ended with 3"),
        (("./nowhere.sh",), "'./nowhere.sh' cannot be started: No such file"),
    ],
)
def test_a_command_that_fails_is_an_error(tmp_path, command, words):
    settings = replace(understood(TOML, tmp_path / "fencepost.toml"), command=command)
    with pytest.raises(AlertError, match=words):
        send(settings, COMMAND, ALERT)


def test_of_many_refusals_the_first_are_named_and_all_are_in_the_facts(settings):
    many = [Unanswered(n, "ticks", f"{n}.csv", "unreadable", "x" * 999, "") for n in range(1, 13)]
    alert = of_refused(settings, many)
    assert alert.text.startswith("Fencepost, prices: 12 deliveries were refused; nothing of it")
    assert "… and 2 more" in alert.text
    assert len(alert.text) < 5_000
    assert len(alert.facts["deliveries"]) == 12
