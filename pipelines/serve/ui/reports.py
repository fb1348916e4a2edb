"""The project's reports over HTTP, beside the UI: browsers open no `file://` link of another site.

Law: a GET or HEAD of a regular file below reports/ is answered, and nothing else: no name that
begins with a dot, no symbolic link, nothing outside. A page may run its own scripts and load from
here; it reaches no other server. A request that names another host is refused, so no page elsewhere
can read a report by pointing its own name at this address.
"""

import io
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copyfileobj
from socket import getaddrinfo
from typing import BinaryIO
from urllib.parse import quote, unquote, urlsplit

from fencepost.errors import StorageError
from pipelines import places
from pipelines.places import Place, is_remote

LOCAL = ("127.0.0.1", "localhost", "::1")
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".gif": "image/gif",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
}
"""Media types by extension; everything else is a download."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self' data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
INDEX = "index.html"
LONGEST_PATH = 4096
SECONDS = 30.0
"""Time limit for a client's request."""


@contextmanager
def reports_served(
    folder: Place, host: str, port: int, names: Sequence[str] = ()
) -> Iterator[None]:
    """Serve a folder until the block ends; `names` are further hosts that a request may name."""
    family = getaddrinfo(host, port)[0][0]

    class Server(ThreadingHTTPServer):
        address_family = family
        daemon_threads = True

    class Handler(_Handler):
        site = _Site(folder, _allowed(host, names))

    with Server((host, port), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield
        finally:
            server.shutdown()
            serving.join()


def _allowed(host: str, names: Sequence[str]) -> frozenset[str] | None:
    """Give the hosts that a request may name; None if it listens on every address."""
    if host in {"0.0.0.0", "::"}:  # noqa: S104  compared, not bound
        return None
    return frozenset({*LOCAL, host.strip("[]"), *names})


@dataclass(frozen=True)
class _Site:
    """The served folder, and the hosts that requests may name."""

    folder: Place
    hosts: frozenset[str] | None

    def admits(self, host: str) -> bool:
        """Say whether a request for this host is meant for us."""
        with suppress(ValueError):
            return self.hosts is None or urlsplit(f"//{host}").hostname in self.hosts
        return False

    def opened(self, path: str) -> tuple[BinaryIO, str] | None:
        """Open the file of a path, and give its media type; None if there is none to serve."""
        parts = [part for part in path.split("/") if part]
        if any(part.startswith(".") or "\0" in part for part in parts):
            return None
        if not parts or path.endswith("/"):
            parts.append(INDEX)
        with suppress(OSError, StorageError):
            return _opened(self.folder, parts), KINDS.get(Path(parts[-1]).suffix.lower(), "")
        return None

    def is_folder(self, path: str) -> bool:
        """Say whether a path without its last slash is a folder with an index page."""
        index = None if path.endswith("/") else self.opened(f"{path}/")
        if index is not None:
            index[0].close()
        return index is not None

    def contents(self) -> bytes:
        """List the pages of the folder, the newest first: its index page, if it has none."""
        found: dict[str, float] = {}
        with suppress(OSError, StorageError):
            found = _pages(self.folder)
        pages = sorted(found, key=found.__getitem__, reverse=True)
        listed = "".join(
            f'<li><a href="{quote(page)}">{escape(page.removesuffix(".html"))}</a>'
            f"<time>{datetime.fromtimestamp(found[page], UTC):%Y-%m-%d %H:%M} UTC</time></li>"
            for page in pages
        )
        if self.is_folder("/checks"):
            listed += '<li><a href="checks/">checks</a><span>contracts of every table</span></li>'
        none = "<p>No reports yet: <code>fencepost report</code> writes one.</p>"
        return _PAGE.format(content=f"<ul>{listed}</ul>" if listed else none).encode()


def _pages(folder: Place) -> dict[str, float]:
    """Give the pages directly in a folder, and when each was written."""
    if is_remote(folder):
        entries = [entry for entry in places.listed(folder) if "/" not in entry.path]
        found = {entry.path: entry.changed / 1e6 for entry in entries}
    else:
        found = {
            entry.name: entry.stat(follow_symlinks=False).st_mtime
            for entry in os.scandir(folder)
            if entry.is_file(follow_symlinks=False)
        }
    return {name: at for name, at in found.items() if name.endswith(".html") and name[0] != "."}


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reports</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.6 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto;
  background: light-dark(#fdfcf8, #16181d); color: light-dark(#1d1f24, #e6e4dd) }}
h1 {{ font-size: 2rem }}
ul {{ list-style: none; padding: 0 }}
li {{ display: flex; justify-content: space-between; padding: .6rem 0 }}
li {{ border-top: 1px solid #8884 }}
a {{ color: inherit; font-weight: 600 }}
time, span {{ opacity: .7 }}
</style></head><body><h1>Reports</h1>{content}</body></html>
"""


def _opened(folder: Place, parts: Sequence[str]) -> BinaryIO:
    """Open a regular file below a folder, following no links; OSError otherwise."""
    if is_remote(folder):
        return io.BytesIO(places.read(folder / "/".join(parts)))
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise FileNotFoundError(parts[-1])
    return os.fdopen(file, "rb")


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    site: _Site
    server_version = "fencepost"
    sys_version = ""
    timeout = SECONDS

    def do_GET(self) -> None:
        """Answer with a file, the list of reports, or why there is neither."""
        path = unquote(urlsplit(self.path).path, errors="replace")
        if not self.site.admits(self.headers.get("Host", "")):
            self._say(HTTPStatus.MISDIRECTED_REQUEST, "Wrong host name for this server.")
        elif len(path) > LONGEST_PATH:
            self._say(HTTPStatus.REQUEST_URI_TOO_LONG, "The path is too long.")
        elif (found := self.site.opened(path)) is not None:
            self._send(*found)
        elif path == "/":
            self._head(HTTPStatus.OK, KINDS[".html"], len(page := self.site.contents()))
            self._body(page)
        elif self.site.is_folder(path):
            self.send_response(HTTPStatus.MOVED_PERMANENTLY)
            last = path.rpartition("/")[2]
            self.send_header("Location", f"{quote(last)}/")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._say(HTTPStatus.NOT_FOUND, "No such report.")

    do_HEAD = do_GET  # noqa: N815  its name there

    def _send(self, file: BinaryIO, kind: str) -> None:
        with file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            self._head(HTTPStatus.OK, kind or "application/octet-stream", size, download=not kind)
            if self.command != "HEAD":
                copyfileobj(file, self.wfile)

    def _head(self, status: HTTPStatus, kind: str, size: int, *, download: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        if download:
            self.send_header("Content-Disposition", "attachment")
        self.end_headers()

    def _body(self, content: bytes) -> None:
        if self.command != "HEAD":
            self.wfile.write(content)

    def _say(self, status: HTTPStatus, words: str) -> None:
        content = f"{words}\n".encode()
        self._head(status, "text/plain; charset=utf-8", len(content))
        self._body(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request, without echoing it."""
        del message, explain
        self.close_connection = True
        self._say(HTTPStatus(code), HTTPStatus(code).phrase)

    def end_headers(self) -> None:
        """Add the headers of every answer."""
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name there
        """Log nothing."""
