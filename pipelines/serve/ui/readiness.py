"""Has Dagster loaded the project's code? Its web server answers even if it has not.

Law: code reported as loaded is loaded; a failure is reported with its reason, the last line of the
traceback, and what to do.
"""

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.spark.environment.faults import SetupError

OURS = "fencepost"
"""The name of the project in our workspace.yaml."""

QUERY = """{ workspaceOrError { __typename
  ... on PythonError { message }
  ... on Workspace { locationEntries { name loadStatus locationOrLoadError { __typename
    ... on PythonError { message stack errorChain { error { message } } } } } } } }"""
LONGEST = 2000
WHAT_TO_DO = (
    "Dagster could not load the project's code, '{name}' of workspace.yaml:\n{why}\n"
    "workspace.yaml must have `module_name: fencepost.dagster`, which no folder of the project can "
    "hide; `dagster definitions validate` shows the whole failure. Nothing is left running"
)


def is_loaded(url: str) -> bool:
    """Say whether all code is loaded; SetupError if ours failed, a note if another did."""
    workspace = _workspace(url)
    if workspace is None:
        return False
    if workspace["__typename"] == "PythonError":
        raise SetupError(f"Dagster cannot read workspace.yaml: {_cut(workspace['message'])}")
    entries: Sequence[Mapping[str, Any]] = workspace["locationEntries"]
    if any(entry["loadStatus"] == "LOADING" for entry in entries):
        return False
    failed = {
        entry["name"]: why
        for entry in entries
        if (why := entry["locationOrLoadError"] or {}).get("__typename") == "PythonError"
    }
    names = [entry["name"] for entry in entries]
    ours = [OURS] if OURS in names else names
    for name, why in failed.items():
        if name in ours:
            raise SetupError(WHAT_TO_DO.format(name=name, why=_reason(why)))
        sys.stderr.write(f"note: '{name}' of workspace.yaml was not loaded: {_reason(why)}\n")
    return True


def _workspace(url: str) -> Any:  # noqa: ANN401  as JSON has it
    """Query Dagster; None while it does not answer."""
    request = urllib.request.Request(  # noqa: S310  http, on this machine
        f"{url}/graphql",
        data=json.dumps({"query": QUERY}).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return json.load(answer)["data"]["workspaceOrError"]
    except (urllib.error.URLError, OSError, ValueError):
        return None


def _reason(why: Mapping[str, Any]) -> str:
    """Give the innermost error: the outer ones only say that loading failed."""
    chain = [each["error"]["message"] for each in why.get("errorChain") or ()]
    return _cut(chain[-1] if chain else why["message"])


def _cut(message: str) -> str:
    lines = [f"    {line}" for line in message.strip()[:LONGEST].splitlines()]
    return "\n".join(lines) or "    (Dagster gave no reason)"
