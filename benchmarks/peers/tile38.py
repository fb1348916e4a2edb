"""Tile38 beside us: as many geofences as channels, and pipelined SETs of the same fixes.

Each fence is a `SETCHAN … NEARBY … FENCE DETECT enter,exit`. Events are read back on a second
connection while some of the fixes are set, and compared; the time is what SETs without a listener
cost the server, of the processor where /proc says it, as ours is. The server runs on loopback, in a
folder of its own, and ends with the race.

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
from contextlib import contextmanager
from pathlib import Path as FilePath

import numpy as np

from fencepost.crossings.columns import Events
from fencepost.crossings.path import Path
from fencepost.shapes.columns import Shapes
from fencepost.shapes.earth import RADIUS

NAME = "tile38-server"
PIPELINED = 500  # commands before their answers are read
PATIENCE = 30.0  # seconds to start, or without an event
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
        commands.ask(
            _chan(k, *circle)
            for k, circle in enumerate(zip(*shapes.xy.tolist(), shapes.reach.tolist(), strict=True))
        )
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


def _sets(path: Path, stop: int) -> Iterator[tuple[str, ...]]:
    """Set each fix, run by run; its place rides along as a field."""
    run = np.searchsorted(path.starts, np.arange(stop), side="right") - 1
    lon, lat = path.values[:, :stop].tolist()
    for place, (of, x, y) in enumerate(zip(run.tolist(), lon, lat, strict=True)):
        yield (
            *("SET", "fleet", f"mover-{of}", "FIELD", "place", str(place + 1)),
            *("POINT", repr(y), repr(x)),
        )


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
        text = []
        for command in commands:
            text.append(f"*{len(command)}\r\n")
            text += [f"${len(word.encode())}\r\n{word}\r\n" for word in command]
        self.socket.sendall("".join(text).encode())

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


@contextmanager
def _serving(program: str) -> Iterator[tuple[int, int]]:
    """Start the server on a free port of loopback, without a log on disk; end it. Port and pid."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "-h", "127.0.0.1", "-p", str(port), "-d", folder]
        command += ["--appendonly", "no", "-q"]
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
