"""The workers' daemon, begun beside the JVM, so that both warm up at once.

Spark starts its daemon when the first task comes, and waits for it: 1.3 s of imports and kernels.
So the driver begins one with the session. What Spark starts then is a stand-in: it gives the other
its streams and its environment, and waits until that ends.

Law: whatever fails on the way, the stand-in becomes the daemon; that costs the time that would have
been spared. A daemon that nobody comes for ends with the driver, whose pipe it listens to.
"""

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from pipelines.spark.environment import apart

WHERE = "FENCEPOST_DAEMON"
"""The variable that says at which socket a warm daemon listens."""

STREAMS = (0, 1, 2)
LONGEST_ADDRESS = 100
"""Bytes of a socket's path, which the system limits."""
MOST_SAID = 1 << 20
SERVES = b"1"


class Begun(NamedTuple):
    """A daemon that warms up: what Spark must be set to for it, and the pipe that it lives by."""

    settings: Mapping[str, str]
    pipe: IO[bytes] | None

    def let_go(self) -> None:
        """Let it end, unless Spark has it."""
        if self.pipe is not None:
            self.pipe.close()


NONE = Begun({}, None)


def begin(folder: Path, environment: Mapping[str, str]) -> Begun:
    """Begin a daemon in this environment, which listens in a session's folder."""
    address = folder / "daemon"
    if len(os.fsencode(address)) > LONGEST_ADDRESS:
        return NONE
    this = apart.module("spark.early")
    try:
        process = subprocess.Popen(  # noqa: S603  this Python
            [sys.executable, "-m", this, str(address)],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=2,
            process_group=0,  # Ctrl-C is for the driver
        )
    except OSError:
        return NONE
    process.returncode = 0  # nobody waits for it: it ends by its pipe, or with the JVM
    settings = {"spark.python.daemon.module": this, f"spark.executorEnv.{WHERE}": str(address)}
    return Begun(settings, process.stdin)


def listen(address: str) -> None:
    """Warm up, and serve Spark in the place of who comes."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(1)
        from pipelines.spark import daemon

        serve = daemon.warmed()
        if listening.fileno() not in select.select([0, listening.fileno()], [], [])[0]:
            return  # the driver has ended
        spoken, _ = listening.accept()
        Path(address).unlink()
    said, streams, _, _ = socket.recv_fds(spoken, MOST_SAID, len(STREAMS))
    given = json.loads(said)
    for mine, theirs in zip(STREAMS, streams, strict=True):
        os.dup2(theirs, mine)
        os.close(theirs)
    os.environ.clear()
    os.environ.update(given["environment"])
    os.chdir(given["folder"])
    spoken.sendall(SERVES)
    serve()


def stand_in(address: str) -> bool:
    """Let the daemon at an address serve in our place, and wait for its end; False: it does not."""
    said = json.dumps({"environment": dict(os.environ), "folder": str(Path.cwd())}).encode()
    with socket.socket(socket.AF_UNIX) as speaking:
        try:
            speaking.connect(address)
            socket.send_fds(speaking, [said], STREAMS)
            if speaking.recv(1) != SERVES:
                return False
        except OSError:
            return False
        with suppress(OSError):
            speaking.recv(1)
    return True


def main() -> None:
    """Be the daemon of the driver that began us, or the stand-in that Spark started."""
    if len(sys.argv) > 1 and os.sep in sys.argv[1]:
        address = sys.argv.pop(1)
        listen(address)
    elif not stand_in(os.environ.get(WHERE, "")):
        from pipelines.spark import daemon

        daemon.main()


if __name__ == "__main__":
    main()
