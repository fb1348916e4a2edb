"""S3 servers of this machine: started by the tests, ended by them, on loopback only.

`moto` runs in this process, and is good for all that happens one request after another and for
small races. versitygw is a server of its own over a folder, whose conditional puts race as those
of the real stores do: of n writers exactly one wins.
"""

import fcntl
import http.client
import os
import secrets
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

CACHE = Path(__file__).resolve().parents[3] / ".cache" / "bin"
VERSION = "v1.8.0"
SOURCE = f"github.com/versity/versitygw/cmd/versitygw@{VERSION}"
KEY = "fencepost-tests"
SECRET = "no-secret-of-anyone"  # noqa: S105
REGION = "us-east-1"
PATIENCE = 30.0


@dataclass(frozen=True)
class S3:
    """A bucket of a server; `host` is as HTTP names it, `127.0.0.1:port`."""

    host: str
    bucket: str

    @property
    def endpoint(self) -> str:
        """The address for clients."""
        return f"http://{self.host}"

    def uri(self, path: str = "") -> str:
        """Name a place in the bucket."""
        return f"s3://{self.bucket}/{path}".rstrip("/")

    def through(self, host: str) -> "S3":
        """Reach the same bucket by another address: a proxy's."""
        return replace(self, host=host)

    def environment(self) -> dict[str, str]:
        """Give what clients find the server and its credentials by."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ALLOW_HTTP": "true",
        }

    def adopt(self, environment: pytest.MonkeyPatch) -> None:
        """Let this process, and those it starts, use the server."""
        for name in [n for n in os.environ if n.startswith("AWS_")]:
            environment.delenv(name)
        for name, value in self.environment().items():
            environment.setenv(name, value)


@contextmanager
def moto() -> Iterator[str]:
    """Serve S3 from memory in this process; gives its host."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _conditions_in_turn(server)
    try:
        address, port = server.get_host_and_port()
        yield f"{address}:{port}"
    finally:
        server.stop()


def _conditions_in_turn(server: Any) -> None:
    """Let conditional puts pass one by one: moto looks and then writes, so two could both win."""
    app, turn = server._server.app, threading.Lock()

    def taken_in_turn(environ: dict[str, Any], start_response: Any) -> Any:
        if environ["REQUEST_METHOD"] == "PUT" and "HTTP_IF_NONE_MATCH" in environ:
            with turn:
                return app(environ, start_response)
        return app(environ, start_response)

    server._server.app = taken_in_turn


def moto_bucket(host: str) -> S3:
    """Make a bucket in moto, empty and of a new name."""
    bucket = f"bucket-{secrets.token_hex(6)}"
    connection = http.client.HTTPConnection(host, timeout=PATIENCE)
    connection.request("PUT", f"/{bucket}")
    answer = connection.getresponse()
    connection.close()
    assert answer.status == http.HTTPStatus.OK, answer.reason
    return S3(host, bucket)


@contextmanager
def versitygw(folder: Path) -> Iterator[str]:
    """Serve the folders of a folder as buckets; gives the server's host."""
    program = _found() or _built()
    data = folder / "buckets"
    data.mkdir(parents=True, exist_ok=True)
    _refuse_without_attributes(data)
    host = f"127.0.0.1:{_free_port()}"
    command = [str(program), "--port", host, "--region", REGION, "--quiet", "--keep-alive"]
    server = subprocess.Popen(
        [*command, "posix", str(data)],
        env={"PATH": os.environ["PATH"], "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await(host, server)
        yield host
    finally:
        server.terminate()
        try:
            server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def gateway_bucket(host: str, folder: Path) -> S3:
    """Make a bucket of the server that `versitygw` started over this folder."""
    bucket = f"bucket-{secrets.token_hex(6)}"
    (folder / "buckets" / bucket).mkdir()
    return S3(host, bucket)


def _refuse_without_attributes(folder: Path) -> None:
    """Skip where a file cannot carry its entity tag: kept apart from it, puts would not be atomic.

    (Measured) with `--sidecar`, six writers that replaced under a condition won 360 times, and
    101 of their updates were lost.
    """
    try:
        os.setxattr(folder, "user.fencepost", b"1")
    except OSError as why:
        pytest.skip(f"needs extended attributes for versitygw, and {folder} has none: {why}")


def _found() -> Path | None:
    """Find versitygw on the PATH, where Go installs, or where we built it."""
    on_path = shutil.which("versitygw")
    gobin = Path(os.environ.get("GOBIN") or Path(os.environ.get("GOPATH") or "~/go") / "bin")
    places = [Path(on_path)] if on_path else []
    places += [gobin.expanduser() / "versitygw", CACHE / "versitygw"]
    return next((place for place in places if place.is_file()), None)


def _built() -> Path:
    """Build it with Go, once; skip the test where that is not to be had."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("needs versitygw, a server of S3, or Go to build it: neither is on the PATH")
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "versitygw.lock").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)  # workers of one test run wait for the first
        if not (CACHE / "versitygw").is_file():
            environment = {**os.environ, "GOBIN": str(CACHE)}
            built = subprocess.run(
                [go, "install", SOURCE],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if built.returncode:
                pytest.skip(f"versitygw could not be built: {built.stderr.strip()[-300:]}")
    return CACHE / "versitygw"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await(host: str, server: subprocess.Popen[bytes]) -> None:
    address, port = host.split(":")
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection((address, int(port)), timeout=1).close()
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
