"""Alerts: messages about what needs attention, sent the way [alerts] in fencepost.toml declares.

A webhook gets the alert as JSON with the text under `text`, as Slack and Mattermost expect; a
command gets the same JSON on standard input.

Law: a webhook's address is a secret. It is read from the environment when it is used, and is in
no message, no log and no chain of exceptions.
"""

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from fencepost.errors import AlertError
from fencepost.text import counted
from pipelines.ingest.refusals import Unanswered
from pipelines.project.settings import Settings

WEBHOOK, COMMAND = "webhook", "command"
TIMEOUT = 10.0
"""Seconds for one request; a tick of a sensor has a minute for all of them."""
COMMAND_TIMEOUT = 40.0
PAUSES = (1.0, 3.0)
"""Seconds between the attempts at a webhook."""
MOST_NAMED = 10
MOST_DETAIL = 300


@dataclass(frozen=True)
class Alert:
    """The content of an alert. `facts` are beside the text in the JSON."""

    kind: str
    project: str
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Encode it; `&`, `<` and `>` in the text are escaped, as Slack reads `<…>` as markup."""
        text = self.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return json.dumps({"text": text, "kind": self.kind, "project": self.project, **self.facts})


def channels(settings: Settings) -> list[str]:
    """Name the ways that are declared."""
    declared = {WEBHOOK: settings.webhook, COMMAND: settings.command}
    return [name for name, value in declared.items() if value is not None]


def of_refused(settings: Settings, found: Sequence[Unanswered]) -> Alert:
    """Make the alert of refused deliveries."""
    many = counted(len(found), "delivery was", "deliveries were")
    lines = [f"Fencepost, {project_of(settings)}: {many} refused; nothing of it is in the lake."]
    for each in found[:MOST_NAMED]:
        detail = " ".join(each.detail.split())
        cut = detail if len(detail) <= MOST_DETAIL else detail[: MOST_DETAIL - 1] + "…"
        lines.append(f"• {each.name}: {each.reason}: {cut}")
    lines += [f"… and {len(found) - MOST_NAMED:,} more"] if len(found) > MOST_NAMED else []
    lines.append("Mend it, then `fencepost quarantine retry`; or `fencepost quarantine dismiss`.")
    facts = {"deliveries": [vars(each) for each in found]}
    return Alert("refused_deliveries", project_of(settings), "\n".join(lines), facts)


def of_failed_run(settings: Settings, job: str, run: str, why: str) -> Alert:
    """Make the alert of a failed run, with its error."""
    words = why if len(why) <= MOST_DETAIL else why[: MOST_DETAIL - 1] + "…"
    text = f"Fencepost, {project_of(settings)}: a run of {job} failed ({run[:8]}).\n{words}"
    return Alert("failed_run", project_of(settings), text, {"job": job, "run": run, "why": why})


def project_of(settings: Settings) -> str:
    """Name a project by its folder."""
    return (settings.file.parent if settings.file else settings.root).name


def send(settings: Settings, channel: str, alert: Alert) -> None:
    """Send an alert one way; AlertError says why it could not be sent."""
    if channel == WEBHOOK and settings.webhook is not None:
        _post(settings.webhook, alert)
    elif channel == COMMAND and settings.command is not None:
        folder = settings.file.parent if settings.file else Path.cwd()
        _execute(settings.command, folder, alert)


def _post(variable: str, alert: Alert) -> None:
    address = os.environ.get(variable, "").strip()
    if not address:
        raise AlertError(
            f"no alert can be sent: the variable {variable}, which [alerts] webhook names, is not "
            "set where Dagster runs"
        )
    if not address.lower().startswith(("http://", "https://")):
        raise AlertError(f"no alert can be sent: {variable} holds no address of http or https")
    why = _why_not_posted(address, alert)
    for pause in PAUSES:
        if why is None:
            return
        time.sleep(pause)
        why = _why_not_posted(address, alert)
    if why is not None:
        raise AlertError(f"an alert could not be posted to the address in {variable}: {why}")


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: the alert is for this address and no other."""

    def redirect_request(self, *_: object) -> None:
        """Return no new request, which makes the redirection an error."""


def _why_not_posted(address: str, alert: Alert) -> str | None:
    """Post once. Errors are reported in words that cannot contain the address."""
    try:
        request = urllib.request.Request(  # noqa: S310  the caller has checked the scheme
            address, alert.to_json().encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.build_opener(_Stay).open(request, timeout=TIMEOUT):
            return None
    except HTTPError as failure:
        failure.close()
        return f"it answered {failure.code}"
    except URLError as failure:
        system = failure.reason
        words = system.strerror if isinstance(system, OSError) else None
        return words or f"it cannot be reached ({type(system).__name__})"
    except (OSError, ValueError, HTTPException) as failure:
        return f"it cannot be posted to ({type(failure).__name__})"


def _execute(command: Sequence[str], folder: Path, alert: Alert) -> None:
    """Execute the command in the project's folder; its output goes to the log of the service."""
    name, why = command[0], ""
    try:
        done = subprocess.run(  # noqa: S603  the project's own declaration, without a shell
            command,
            input=alert.to_json() + "\n",
            text=True,
            cwd=folder,
            timeout=COMMAND_TIMEOUT,
            check=False,
        )
        why = f"ended with {done.returncode}" if done.returncode else ""
    except subprocess.TimeoutExpired:
        why = f"took longer than {COMMAND_TIMEOUT:g} s and was ended"
    except OSError as failure:
        why = f"cannot be started: {failure.strerror}"
    if why:
        raise AlertError(f"no alert was sent: the command '{name}' {why}")
