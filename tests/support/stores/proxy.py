"""What stands between a client and a store: it counts, and it fails as networks and stores fail.

A request is passed on as it came, `Host` too, since that is signed. Faults are drawn from a seed:
    lost answers   the store has done it, and the client never hears so: the connection ends
    refused        the store does nothing: 503, with the words stores use for it
    latency        seconds before each answer
    pause          nothing passes until it is resumed
    deaf           conditions of puts are left out, as by a store that does not know them
"""

import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

WRITES = frozenset({"PUT", "POST", "DELETE"})
SLOW_DOWN = (
    b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code>'
    b"<Message>Please reduce your request rate.</Message></Error>"
)
_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "expect", "proxy-connection"})


@dataclass(frozen=True)
class Request:
    """A request that passed: sent and received are bytes of content."""

    method: str
    path: str
    query: dict[str, list[str]]
    status: int
    sent: int
    received: int

    @property
    def kind(self) -> str:
        """GET, HEAD, PUT, POST, DELETE, or LIST: a GET of a bucket."""
        return "LIST" if self.method == "GET" and "list-type" in self.query else self.method


@dataclass
class Proxy:
    """A proxy in front of one store, at `host`."""

    host: str = ""
    lost: float = 0.0
    """The share of write answers that never arrive."""
    refused: float = 0.0
    """The share of requests that are answered with 503."""
    latency: float = 0.0
    """Seconds before each request is passed on."""
    deaf: bool = False
    """Whether conditions are left out."""
    seen: list[Request] = field(default_factory=list)
    faults: int = 0
    draws: random.Random = field(default_factory=lambda: random.Random(16))  # noqa: S311
    _open: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._open.set()

    def counts(self) -> dict[str, int]:
        """Count the requests by kind."""
        return dict(Counter(request.kind for request in self.seen))

    @property
    def moved(self) -> int:
        """The bytes of content that passed, both ways."""
        return sum(request.sent + request.received for request in self.seen)

    def clear(self) -> None:
        """Count from here on."""
        self.seen.clear()
        self.faults = 0

    @contextmanager
    def counted(self) -> Iterator[list[Request]]:
        """Give the requests of a block, as they come."""
        self.clear()
        yield self.seen

    def pause(self) -> None:
        """Let nothing pass."""
        self._open.clear()

    def resume(self) -> None:
        """Let everything pass, first what waits."""
        self._open.set()


@contextmanager
def proxied(upstream: str) -> Iterator[Proxy]:
    """Put a proxy in front of a store while the block runs."""
    proxy = Proxy()
    with _Server(proxy, upstream) as server:
        proxy.host = f"127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.resume()
            server.shutdown()
            thread.join()


def _is_condition(header: str) -> bool:
    return header.lower() in ("if-match", "if-none-match")


class _Server(ThreadingHTTPServer):
    """As many threads as there are connections; they end with the process, at the latest."""

    daemon_threads = True
    block_on_close = False  # clients keep connections open
    request_queue_size = 128

    def __init__(self, proxy: Proxy, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.proxy, self.upstream = proxy, upstream

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    """One client's connection, and one of ours to the store."""

    server: _Server

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    store: http.client.HTTPConnection | None = None

    def pass_on(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        proxy = self.server.proxy
        proxy._open.wait()
        time.sleep(proxy.latency)
        if proxy.draws.random() < proxy.refused:
            proxy.faults += 1
            length = ("Content-Length", str(len(SLOW_DOWN)))
            self.answer(503, [("Content-Type", "application/xml"), length], SLOW_DOWN)
            return
        reply, given = self.store_says(content)
        url = urlsplit(self.path)
        query = parse_qs(url.query, keep_blank_values=True)
        proxy.seen.append(
            Request(self.command, url.path, query, reply.status, len(content), len(given))
        )
        if self.command in WRITES and proxy.draws.random() < proxy.lost:
            proxy.faults += 1
            self.close_connection = True
            return
        headers = reply.getheaders()
        if reply.chunked:
            headers.append(("Content-Length", str(len(given))))
        self.answer(reply.status, headers, given)

    def store_says(self, content: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        """Pass it on, once more by a new connection where the store closed the old one."""
        for fresh in (False, True):
            if self.store is None or fresh:
                self.finish_store()
                self.store = http.client.HTTPConnection(self.server.upstream, timeout=60)
            try:
                return self.exchange(self.store, content)
            except (http.client.RemoteDisconnected, ConnectionError):
                if fresh:
                    raise
        raise AssertionError("unreachable")

    def exchange(
        self, store: http.client.HTTPConnection, content: bytes
    ) -> tuple[http.client.HTTPResponse, bytes]:
        store.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in _HOP and not (self.server.proxy.deaf and _is_condition(name)):
                store.putheader(name, value)
        store.endheaders(content or None)
        reply = store.getresponse()
        return reply, reply.read()

    def answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in _HOP:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def finish_store(self) -> None:
        if self.store is not None:
            self.store.close()
            self.store = None

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()
        self.finish_store()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on  # noqa: N815
