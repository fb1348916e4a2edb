"""Tile38 beside us: as many geofences as channels, and pipelined SETs of the same fixes.

Each fence is a `SETCHAN … NEARBY … FENCE DETECT enter,exit`. Events are read back on a second
connection while some of the fixes are set, and compared; the time is what SETs without a listener
take: of the server's processor where /proc says it, or on the clock in the best of some settings.
The server runs on loopback, in a folder of its own, and ends with the race.

Its earth has a radius of 6,371,000 m, ours of 6,371,008.8: a circle of a kilometre is there wider
by 1.4 mm. So its fences have radii of the same angle as ours.
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path as FilePath

import numpy as np

from fencepost.crossings.columns import Events
from fencepost.crossings.path import Path
from fencepost.shapes.columns import Shapes
from fencepost.shapes.earth import RADIUS

NAME = "tile38-server"
PIPELINED = 500  # commands before their answers are read
PATIENCE = 30.0  # seconds to start, or without an event
DONE = b"+OK\r\n"
THEIR_RADIUS = 6_371_000.0
Key = tuple[str, int, int]


def program() -> str | None:
    """The server's path, if it is on the PATH."""
    return shutil.which(NAME)


def race(
    program: str, shapes: Shapes, path: Path, events: Events, updates: int
) -> tuple[float, int, int]:
    """Return the seconds of a SET, and how many events are equal, and how many differ.

    `updates` fixes are set: the first ones of as many movers as come to that.
    """
    runs = max(1, updates // int(np.diff(path.starts)[0]))
    stop = int(path.starts[runs])
    with _serving(program) as (port, server):
        commands = _Client(port)
        commands.ask(_fences(shapes))
        theirs = _events(port, commands, path, stop)
        first = path.starts[:-1]
        early = np.flatnonzero(events.place < stop)
        rows = zip(*(column[early].tolist() for column in events), strict=True)
        ours = {(f"fence-{q}", p, kind) for p, q, kind in rows}
        theirs = {key for key in theirs if key[1] not in set(first[:runs].tolist())}
        commands.ask([("DROP", "fleet")])
        sets = list(_sets(path, stop))
        begin = _busy(server)
        commands.ask(sets)
        took = _busy(server) - begin
    return took / stop, len(ours & theirs), len(ours ^ theirs)


@dataclass(frozen=True)
class Setting:
    """How SETs are sent: over how many connections, how many before their answers are read."""

    connections: int
    pipelined: int = PIPELINED

    def __str__(self) -> str:
        """What a line says of it."""
        return f"{self.connections} connections, {self.pipelined} a pipeline"


SETTINGS = (Setting(2), Setting(4), Setting(8), Setting(4, 2_000), Setting(4, 100))
OPTIONS = ((), ("--spinlock",))
Batches = list[list[tuple[bytes, int]]]


def fastest(
    program: str, shapes: Shapes, path: Path, updates: int, repeats: int
) -> tuple[float, int, str]:
    """Return the least seconds of SETs of the first fixes, how many SETs, and at which setting.

    A tenth of them decides the setting. What is sent is encoded before, and each answer is five
    bytes of which only the number is checked: the client is no part of the race.
    """
    stop, part = _first_runs(path, updates), _first_runs(path, updates // 10)
    best, found = SETTINGS[0], []
    for options in OPTIONS:
        with _serving(program, *options) as (port, _):
            _Client(port).ask(_fences(shapes))
            if not options:
                tried = [_set_all(port, _batches(path, part, each), 2) for each in SETTINGS]
                best = SETTINGS[int(np.argmin(tried))]
            took = _set_all(port, _batches(path, stop, best), repeats)
            found.append((took, stop, " ".join((str(best), *options))))
    return min(found)


def _first_runs(path: Path, updates: int) -> int:
    """Give the number of fixes of as many movers as come to these updates."""
    runs = max(1, updates // int(np.diff(path.starts)[0]))
    return int(path.starts[min(runs, len(path.starts) - 1)])


def _batches(path: Path, stop: int, setting: Setting) -> Batches:
    """Encode the first fixes, a mover's for one connection."""
    lanes: list[list[tuple[str, ...]]] = [[] for _ in range(setting.connections)]
    run = np.searchsorted(path.starts, np.arange(stop), side="right") - 1
    for of, command in zip(run.tolist(), _sets(path, stop, fields=False), strict=True):
        lanes[of % setting.connections].append(command)
    return [
        [(_encoded(some), len(some)) for some in _cut(lane, setting.pipelined)] for lane in lanes
    ]


def _cut(lane: list[tuple[str, ...]], size: int) -> Iterator[list[tuple[str, ...]]]:
    return (lane[k : k + size] for k in range(0, len(lane), size))


def _set_all(port: int, batches: Batches, repeats: int) -> float:
    """Send batches over a connection each; the least seconds, each time from no fix at all."""
    clients, took = [_Client(port) for _ in batches], float("inf")
    for _ in range(repeats):
        clients[0].ask([("DROP", "fleet")])
        with ThreadPoolExecutor(len(batches)) as threads:
            begin = time.perf_counter()
            list(threads.map(_Client.send_all, clients, batches))
            took = min(took, time.perf_counter() - begin)
    return took


def _fences(shapes: Shapes) -> Iterator[tuple[str, ...]]:
    circles = zip(*shapes.xy.tolist(), shapes.reach.tolist(), strict=True)
    return (_chan(k, *circle) for k, circle in enumerate(circles))


def _busy(server: int) -> float:
    """Give the seconds of the processor that a server has had; without /proc those on the clock."""
    stat = FilePath(f"/proc/{server}/stat")
    if not stat.exists():
        return time.perf_counter()
    _, _, after_its_name = stat.read_text().rpartition(") ")
    user, system = after_its_name.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _chan(k: int, lon: float, lat: float, radius: float) -> tuple[str, ...]:
    same = repr(radius * (THEIR_RADIUS / RADIUS))
    fence = ("FENCE", "DETECT", "enter,exit", "POINT", repr(lat), repr(lon), same)
    return ("SETCHAN", f"fence-{k}", "NEARBY", "fleet", *fence)


def _sets(path: Path, stop: int, *, fields: bool = True) -> Iterator[tuple[str, ...]]:
    """Set each fix, run by run; its place rides along as a field, unless that is not wanted."""
    run = np.searchsorted(path.starts, np.arange(stop), side="right") - 1
    lon, lat = path.values[:, :stop].tolist()
    for place, (of, x, y) in enumerate(zip(run.tolist(), lon, lat, strict=True)):
        field = ("FIELD", "place", str(place + 1)) if fields else ()
        yield ("SET", "fleet", f"mover-{of}", *field, "POINT", repr(y), repr(x))


def _events(port: int, commands: "_Client", path: Path, stop: int) -> set[Key]:
    """Set the fixes with a listener, and collect what it is sent."""
    found: set[Key] = set()
    listener = _Client(port)
    listener.send([("PSUBSCRIBE", "fence-*")])
    listener.socket.settimeout(PATIENCE)
    assert listener.answer()[0] == b"psubscribe"
    sets = list(_sets(path, stop))
    for begin in range(0, stop, PIPELINED):
        commands.ask(sets[begin : begin + PIPELINED])
        commands.ask([("PUBLISH", "fence-end", str(begin))])
        while (message := listener.answer())[2] != b"fence-end":
            said = json.loads(message[3])
            if said["detect"] in ("enter", "exit"):
                kind = 1 if said["detect"] == "enter" else -1
                found.add((said["hook"], int(said["fields"]["place"]) - 1, kind))
    listener.socket.close()
    return found


class _Client:
    """A connection that speaks RESP, as Redis does."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.reader = self.socket.makefile("rb", 1 << 20)

    def ask(self, commands: "Iterator[tuple[str, ...]] | list[tuple[str, ...]]") -> None:
        """Send commands, some at a time, and read their answers."""
        waiting: list[tuple[str, ...]] = []
        for command in (*commands, None):
            if command is not None:
                waiting.append(command)
            if command is None or len(waiting) == PIPELINED:
                self.send(waiting)
                for _ in waiting:
                    self.answer()
                waiting = []

    def send(self, commands: list[tuple[str, ...]]) -> None:
        """Write commands."""
        self.socket.sendall(_encoded(commands))

    def send_all(self, batches: list[tuple[bytes, int]]) -> None:
        """Write SETs that are encoded, a batch after the other, and count their answers."""
        for text, sets in batches:
            self.socket.sendall(text)
            answers = self.reader.read(len(DONE) * sets)
            assert answers == DONE * sets, answers[:60]

    def answer(self) -> list[bytes]:
        """Read one answer: a line, a text, or a list of them."""
        line = self.reader.readline()
        kind, rest = line[:1], line[1:].rstrip()
        if kind == b"-":
            raise RuntimeError(f"Tile38 says {rest.decode()}")
        if kind == b"$":
            text = self.reader.read(int(rest) + 2)[:-2] if int(rest) >= 0 else b""
            return [text]
        if kind == b"*":
            return [self.answer()[0] for _ in range(int(rest))]
        if kind not in (b"+", b":"):
            raise RuntimeError(f"Tile38 sends {line[:60]!r}")
        return [rest]


def _encoded(commands: list[tuple[str, ...]]) -> bytes:
    text = []
    for command in commands:
        text.append(f"*{len(command)}\r\n")
        text += [f"${len(word.encode())}\r\n{word}\r\n" for word in command]
    return "".join(text).encode()


@contextmanager
def _serving(program: str, *options: str) -> Iterator[tuple[int, int]]:
    """Start the server on a free port of loopback, without a log on disk; end it. Port and pid."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "-h", "127.0.0.1", "-p", str(port), "-d", folder]
        command += ["--appendonly", "no", "-q", *options]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _until_it_answers(port)
            yield port, server.pid
        finally:
            server.kill()
            server.wait()


def _until_it_answers(port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            _Client(port).ask([("PING",)])
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
