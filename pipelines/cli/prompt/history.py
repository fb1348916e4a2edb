"""The history of the prompt, in the user's state folder and readable by the user alone.

Law: a history that cannot be read or written never stops the prompt. It has at most MOST_KEPT bytes
when a prompt opens; the oldest entries go first.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory

FOLDER = "fencepost"
FILE = "sql_history"
MOST_KEPT = 1 << 20
_BEGINS = b"\n# "
"""The beginning of an entry."""


def state_folder(around: Mapping[str, str]) -> Path:
    """Give the folder for a user's state, as the XDG Base Directory Specification has it."""
    xdg = Path(around.get("XDG_STATE_HOME", ""))
    home = xdg if xdg.is_absolute() else Path.home() / ".local" / "state"
    return home / FOLDER


def prepared(folder: Path) -> Path:
    """Create folder and file if missing, and shorten a file that is too long."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / FILE
    os.close(os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    if file.stat().st_size > MOST_KEPT:
        kept = file.read_bytes()[-MOST_KEPT // 2 :]
        file.write_bytes(kept[max(kept.find(_BEGINS), 0) :])
    return file


class History(FileHistory):
    """A history in a file; if that fails, of this prompt alone."""

    def load_history_strings(self) -> Iterable[str]:
        """Give the entries, the newest first."""
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Add an entry."""
        with suppress(OSError):
            super().store_string(string)
