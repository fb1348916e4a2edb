"""Dagster's UI and the reports of one project: started together, and stopped together.

`dagster dev` starts a web server, a daemon and a code server, and runs start more processes. All of
them are in a session of their own, so that a Ctrl-C reaches this process alone, which then stops
them in order: the first one stops its children, and what is left after that is killed.

Law: when `serve` has returned or raised, none of its processes is alive. It reports that it is
ready only when the UI answers and the project's code is loaded.
"""

import errno
import ipaddress
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fencepost.errors import InputError
from pipelines.project.settings import Settings
from pipelines.project.settings.keys import REPORTS_ADDRESS
from pipelines.serve.ui.readiness import is_loaded
from pipelines.serve.ui.reports import reports_served
from pipelines.spark.environment import apart
from pipelines.spark.environment.faults import SetupError

PATIENCE = 30.0
"""Seconds for the processes to stop by themselves; a run that commits takes a few."""

A_LOOK = 0.2
PROCESSES = Path("/proc")
LAST_PORT = 65535
WORKSPACE = "workspace.yaml"
INSTANCE = "dagster.yaml"
SUPERSEDED = "ignore:Function `dev_command` is superseded"
"""A warning of `dagster dev`; the new command knows no workspace.yaml."""

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that stop it."""


@dataclass(frozen=True)
class Address:
    """An address to listen on."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """Its URL for a browser on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host and host[0] != '[' else host}:{self.port}"

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def next_free(self) -> "Address":
        """Give the next address with a free port; InputError if there is none."""
        for port in range(self.port + 1, min(self.port + 100, LAST_PORT) + 1):
            if _why_not_free(self.host, port) is None:
                return Address(self.host, port)
        raise InputError(
            f"no free port after {self.port} for the reports: give one with --reports-port"
        )

    def refuse_in_use(self) -> None:
        """Raise InputError if it is not free, and say what to do."""
        why = _why_not_free(self.host, self.port)
        if why is None:
            return
        if why.errno == errno.EADDRINUSE:
            others = range(self.port + 1, min(self.port + 100, LAST_PORT) + 1)
            free = next((port for port in others if _why_not_free(self.host, port) is None), None)
            more = f": try --port {free}, or end the process" if free else ": end the process"
            raise InputError(f"port {self.port} of {self.host} is in use by another process{more}")
        if why.errno == errno.EACCES:
            raise InputError(
                f"port {self.port} needs more privileges: use 1024 or above, like 3000"
            )
        raise InputError(
            f"cannot listen on '{self.host}': {why.strerror or why}. Give --host an address of "
            "this machine, like 127.0.0.1"
        )


def environment_of(
    settings: Settings, reports: Address, around: Mapping[str, str]
) -> dict[str, str]:
    """Give Dagster's environment: the project, our packages, its reports, no other home.

    With a dagster.yaml in the working folder and no DAGSTER_HOME, Dagster keeps its history where
    the file says: in the project.
    """
    config = _file_of(settings)
    quiet = [around.get("PYTHONWARNINGS", ""), SUPERSEDED]
    environment = {
        **around,
        "PYTHONPATH": apart.import_settings()["PYTHONPATH"],
        "PYTHONWARNINGS": ",".join(filter(None, quiet)),
        "FENCEPOST_CONFIG": str(config),
        str(REPORTS_ADDRESS.variable): settings.reports_address or reports.url,
    }
    environment.pop("PYTHONSAFEPATH", None)  # Dagster assumes a script's folder first in sys.path
    if (config.parent / INSTANCE).exists():
        environment.pop("DAGSTER_HOME", None)
    return environment


def serve(settings: Settings, at: Address, reports: Address, ready: Callable[[int], None]) -> None:
    """Serve a project's UI and reports until a signal arrives; `ready` gets Dagster's process.

    Dagster's output goes to stderr, until it is stopped. SetupError if it exits early, or cannot
    load the project's code.
    """
    stopping = threading.Event()
    environment = environment_of(settings, reports, os.environ)
    folder = _file_of(settings).parent
    named = urlsplit(settings.reports_address or "").hostname
    with (
        _signals(stopping),
        reports_served(settings.reports, reports.host, reports.port, [named] if named else []),
        _started(folder, environment, at, stopping) as dagster,
    ):
        while not stopping.is_set() and not (_answers(at, dagster) and is_loaded(at.url)):
            stopping.wait(A_LOOK)
        if not stopping.is_set():
            ready(dagster.pid)
        while not stopping.wait(A_LOOK):
            if dagster.poll() is not None:
                raise _gone(dagster)


def _file_of(settings: Settings) -> Path:
    return settings.file or Path.cwd()


@contextmanager
def _started(
    folder: Path, environment: Mapping[str, str], at: Address, stopping: threading.Event
) -> "Iterator[subprocess.Popen[bytes]]":
    arguments = ["dev", "-w", WORKSPACE, "-h", at.host, "-p", str(at.port)]
    dagster = subprocess.Popen(  # noqa: S603  this Python
        [sys.executable, "-m", "dagster", *arguments, "--log-level", "warning"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    listening = threading.Thread(target=_pass_on, args=(dagster, stopping), daemon=True)
    listening.start()
    try:
        yield dagster
    finally:
        _end(dagster)
        listening.join(A_LOOK)


def _pass_on(dagster: "subprocess.Popen[bytes]", stopping: threading.Event) -> None:
    """Pass on Dagster's output, but not the complaints of processes that are being stopped."""
    for line in dagster.stdout or ():
        if not stopping.is_set():
            sys.stderr.write(line.decode(errors="replace"))
            sys.stderr.flush()


def _answers(at: Address, dagster: "subprocess.Popen[bytes]") -> bool:
    """Say whether the UI answers; SetupError if it never will."""
    if dagster.poll() is not None:
        raise _gone(dagster)
    try:
        with urllib.request.urlopen(f"{at.url}/server_info", timeout=2) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _gone(dagster: "subprocess.Popen[bytes]") -> SetupError:
    return SetupError(
        f"Dagster exited with {dagster.returncode}; its output is above. Fix the cause, then try "
        "again"
    )


def _end(dagster: "subprocess.Popen[bytes]") -> None:
    """Have the first process stop its children and itself; kill what is left."""
    with suppress(ProcessLookupError):
        dagster.send_signal(signal.SIGTERM)
    until = time.monotonic() + PATIENCE
    while _session_of(dagster.pid) and time.monotonic() < until:
        dagster.poll()
        time.sleep(A_LOOK)
    while left := _session_of(dagster.pid):
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        dagster.poll()
        time.sleep(A_LOOK)
    dagster.wait()


def _session_of(leader: int) -> list[int]:
    """List the live processes of a session.

    Without /proc, the first one represents all of them.
    """
    if not PROCESSES.is_dir():
        with suppress(ProcessLookupError):
            os.killpg(leader, 0)
            return [-leader]  # to kill this is to kill its group
        return []
    alive = []
    for entry in PROCESSES.iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(session) == leader and state != "Z":
                    alive.append(int(entry.name))
    return alive


@contextmanager
def _signals(stopping: threading.Event) -> Iterator[None]:
    """Set the event on a signal, in the main thread; others get no signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, lambda *_: stopping.set()) for each in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _why_not_free(host: str, port: int) -> OSError | None:
    """Try to listen there."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(where)
            tried.listen(1)
    except OSError as why:  # an unknown host name, too
        return why
    return None
