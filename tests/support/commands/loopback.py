"""A server on loopback that keeps what is posted to it, and answers as the test sets it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Posted:
    """What arrived, in order; `answers` are given in turn, then 200."""

    address: str = ""
    got: list[dict[str, Any]] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)


@contextmanager
def listening(*answers: int) -> Iterator[Posted]:
    """Listen at a free port until the block ends."""
    posted = Posted(answers=list(answers))

    class Keep(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posted.got.append(json.loads(body))
            posted.types.append(self.headers["Content-Type"])
            code = posted.answers.pop(0) if posted.answers else 200
            self.send_response(code)
            if code in (301, 302, 307):
                self.send_header("Location", posted.address + "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Keep) as server:
        posted.address = f"http://127.0.0.1:{server.server_port}/hook"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield posted
        finally:
            server.shutdown()
            thread.join(10)
