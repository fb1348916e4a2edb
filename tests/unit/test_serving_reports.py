"""The reports over HTTP: pages of the folder and nothing else, to those who mean this server."""

import http.client
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.serve.ui.reports import HEADERS, reports_served

PRIVATE = "what nobody may read"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports, and beside them what is not to be read."""
    above = tmp_path_factory.mktemp("served")
    made = above / "reports"
    (made / "checks" / ".results").mkdir(parents=True)
    (made / "latest.html").write_text("<title>latest</title>")
    (made / "checks" / "index.html").write_text("<title>checks</title>")
    (made / "checks" / "a page.html").write_text("<title>page</title>")
    (made / "data.bin").write_bytes(b"\0\1")
    (above / "secret.html").write_text(PRIVATE)
    (above / "secrets").mkdir()
    (above / "secrets" / "index.html").write_text(PRIVATE)
    (made / ".hidden.html").write_text(PRIVATE)
    (made / "checks" / ".results" / "run.json").write_text(PRIVATE)
    (made / "link.html").symlink_to(above / "secret.html")
    (made / "folder").symlink_to(above / "secrets")
    os.mkfifo(made / "pipe.html")
    return made


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    """The port at which they are served: by one server, which takes half a second to end."""
    port = free_port()
    with reports_served(folder, "127.0.0.1", port, ["fencepost.example.com"]):
        yield port


def ask(
    port: int, path: str, method: str = "GET", host: str | None = None
) -> tuple[int, str, dict[str, str]]:
    """Ask as no browser would: the path as it is written."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", f"127.0.0.1:{port}" if host is None else host)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/latest.html", "latest"),
        ("/latest.html?x=1#y", "latest"),
        ("/checks/", "checks"),
        ("//checks//index.html", "checks"),
        ("/checks/a%20page.html", "page"),
    ],
)
def test_a_page_of_the_folder_is_served(port: int, path: str, said: str) -> None:
    status, text, headers = ask(port, path)
    assert (status, text) == (200, f"<title>{said}</title>")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert {name: headers[name] for name in HEADERS} == dict(HEADERS)
    assert headers["Server"].strip() == "fencepost"


@pytest.mark.fault(61)
@pytest.mark.parametrize(
    "path",
    [
        "/../secret.html",
        "/checks/../../secret.html",
        "/..%2fsecret.html",
        "/%2e%2e/secret.html",
        "/checks/%2e%2e/%2e%2e/secret.html",
        "/checks%2f..%2f..%2fsecret.html",
        "/..\\secret.html",
        "/latest.html%00.png",
        "/.hidden.html",
        "/checks/.results/run.json",
        "/link.html",
        "/folder/",
        "/folder/index.html",
        "/pipe.html",
        "/latest.html/",
        "/no.html",
        "/" + "a/" * 1500,
    ],
)
def test_nothing_else_is_read(port: int, path: str) -> None:
    status, text, _ = ask(port, path)
    assert status == 404
    assert PRIVATE not in text


def test_a_path_from_the_root_of_the_machine_is_one_of_the_folder(port: int, folder: Path) -> None:
    assert ask(port, f"/{folder.parent}/secret.html")[0] == 404
    assert ask(port, f"file://{folder.parent}/secret.html")[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_nothing_can_be_sent(port: int, method: str) -> None:
    status, text, headers = ask(port, "/latest.html", method)
    assert status == 501
    assert "latest" not in text
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_head_tells_the_size_alone(port: int) -> None:
    status, text, headers = ask(port, "/latest.html", "HEAD")
    assert (status, text, headers["Content-Length"]) == (200, "", "21")


@pytest.mark.fault(65)
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:3001", 200),
        ("fencepost.example.com", 200),
        ("evil.example.com", 421),
        ("127.0.0.1.evil.example.com:3001", 421),
        ("", 421),
        ("[", 421),
    ],
)
def test_a_site_that_gives_its_name_this_address_reads_nothing(
    port: int, host: str, status: int
) -> None:
    assert ask(port, "/latest.html", host=host)[0] == status


def test_what_is_no_page_is_a_download(port: int) -> None:
    _, _, headers = ask(port, "/data.bin")
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == "attachment"


def test_a_folder_is_redirected_to_its_first_page(port: int) -> None:
    status, _, headers = ask(port, "/checks")
    assert (status, headers["Location"]) == (301, "checks/")


def test_the_first_page_lists_reports_the_newest_first(port: int, folder: Path) -> None:
    (folder / "<old>.html").write_text("")
    os.utime(folder / "<old>.html", (1, 1))
    status, text, _ = ask(port, "/")
    assert status == 200
    found = [text.index(f'href="{name}"') for name in ("latest.html", "%3Cold%3E.html", "checks/")]
    assert found == sorted(found)
    assert "&lt;old&gt;</a><time>1970-01-01 00:00 UTC</time>" in text
    assert "hidden" not in text
    assert "link.html" not in text


def test_before_there_is_a_report_it_says_what_writes_one(tmp_path: Path) -> None:
    port = free_port()
    with reports_served(tmp_path / "reports", "127.0.0.1", port):
        assert "fencepost report" in ask(port, "/")[1]
        assert ask(port, "/latest.html")[0] == 404
    with pytest.raises(ConnectionRefusedError):
        ask(port, "/")
