"""A command at a terminal of its own, for tests of what a person sees and types."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.commands.commands import REPOSITORY

PATIENCE = 20.0
_CONTROL = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[=>])|\r|\x07")


class Terminal:
    """A process that reads and writes a terminal of `columns` × 40 characters."""

    def __init__(self, folder: Path, columns: int, *arguments: object) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {
            **{name: value for name, value in os.environ.items() if name not in _ABOUT_TERMINALS},
            "PYTHONPATH": str(REPOSITORY),
            "TERM": "xterm",
            "PROMPT_TOOLKIT_NO_CPR": "1",  # nothing here reports the cursor's position
            "XDG_STATE_HOME": str(folder / "state"),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TO_ITS_TERMINAL, *map(str, arguments)],
            cwd=folder,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.said = ""
        """What it wrote, without what moves the cursor or colours."""
        self._raw = b""
        self._seen = 0

    def types(self, text: str) -> None:
        """Press keys."""
        os.write(self.ours, text.encode())

    def shows(self, wanted: str) -> str:
        """Wait until it has written this, after all that was waited for before."""
        until = time.monotonic() + PATIENCE
        while (found := self.said.find(wanted, self._seen)) < 0:
            assert time.monotonic() < until, f"no {wanted!r} in {self.said[self._seen :]!r}"
            assert self._read() or self.said.find(wanted, self._seen) >= 0, self.said
        before = self.said[self._seen : found]
        self._seen = found + len(wanted)
        return before

    def ends(self) -> int:
        """Wait for its end; return its exit code."""
        with contextlib.suppress(AssertionError):
            while self._read():
                pass
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        """Read what there is within a moment; say whether there may be more."""
        ready, _, _ = select.select([self.ours], [], [], 0.2)
        if not ready:
            return self.process.poll() is None
        try:
            more = os.read(self.ours, 1 << 16)
        except OSError:  # the other side was closed
            return False
        self._raw += more
        self.said = _CONTROL.sub("", self._raw.decode(errors="replace"))
        return bool(more)


_TO_ITS_TERMINAL = (
    "import fcntl, sys, termios\nfcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C reaches it\n"
    "sys.argv[0] = 'fencepost'\nfrom pipelines.cli.app import main\nmain()"
)
_ABOUT_TERMINALS = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TERM")


@contextlib.contextmanager
def terminal(folder: Path, *arguments: object, columns: int = 100) -> Iterator[Terminal]:
    """Run `fencepost` at a terminal; it is ended with the block."""
    opened = Terminal(folder, columns, *arguments)
    try:
        yield opened
    finally:
        opened.process.kill()
        opened.process.wait()
        os.close(opened.ours)
