"""Whether Dagster has loaded the project, as its web server tells it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from pipelines.serve.ui.readiness import is_loaded
from pipelines.spark.environment.faults import SetupError


@contextmanager
def telling(workspace: Any) -> Iterator[str]:
    """A server that tells of a workspace, as Dagster's does."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            answer = json.dumps({"data": {"workspaceOrError": workspace}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.02,))
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join()


def entry(name: str, status: str = "LOADED", why: str | None = None) -> dict[str, Any]:
    kind = "RepositoryLocation" if why is None else "PythonError"
    inner = [{"error": {"message": why}}] if why else []
    outer = {"__typename": kind, "message": "it failed", "stack": [], "errorChain": inner}
    return {"name": name, "loadStatus": status, "locationOrLoadError": outer}


def workspace(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"__typename": "Workspace", "locationEntries": list(entries)}


def test_it_waits_until_all_is_loaded() -> None:
    with telling(workspace(entry("fencepost", "LOADING"))) as url:
        assert not is_loaded(url)
    with telling(workspace(entry("fencepost"), entry("other"))) as url:
        assert is_loaded(url)


def test_a_server_that_does_not_answer_has_loaded_nothing() -> None:
    assert not is_loaded("http://127.0.0.1:9")


def test_the_innermost_error_is_told_and_what_to_do() -> None:
    failed = entry("fencepost", why="ModuleNotFoundError: No module named 'assets.definitions'\n")
    with telling(workspace(failed)) as url, pytest.raises(SetupError) as told:
        is_loaded(url)
    assert "No module named 'assets.definitions'" in str(told.value)
    assert "module_name: fencepost.dagster" in str(told.value)


def test_where_ours_has_another_name_each_must_load() -> None:
    served = telling(workspace(entry("mine"), entry("prices", why="no")))
    with served as url, pytest.raises(SetupError, match="prices"):
        is_loaded(url)


def test_code_of_the_users_own_that_fails_is_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    with telling(workspace(entry("fencepost"), entry("mine", why="a fault"))) as url:
        assert is_loaded(url)
    assert "'mine' of workspace.yaml was not loaded:     a fault" in capsys.readouterr().err


def test_a_workspace_that_cannot_be_read_is_told() -> None:
    served = telling({"__typename": "PythonError", "message": "bad yaml"})
    with served as url, pytest.raises(SetupError, match="bad yaml"):
        is_loaded(url)
