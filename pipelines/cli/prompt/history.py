"""Where what was typed is kept: in a user's state folder, for the user alone.

Law: a history that cannot be read or written is no reason to refuse an answer. It holds MOST_KEPT
bytes at most when a prompt opens; what goes first is the oldest.
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
"""What stands before an entry."""


def state_folder(around: Mapping[str, str]) -> Path:
    """Give the folder for a user's state, as the XDG Base Directory Specification has it."""
    given = Path(around.get("XDG_STATE_HOME", ""))
    home = given if given.is_absolute() else Path.home() / ".local" / "state"
    return home / FOLDER


def prepared(folder: Path) -> Path:
    """Make the folder and the file where they are missing, and shorten a file that is too long."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / FILE
    os.close(os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    if file.stat().st_size > MOST_KEPT:
        kept = file.read_bytes()[-MOST_KEPT // 2 :]
        file.write_bytes(kept[max(kept.find(_BEGINS), 0) :])
    return file


class History(FileHistory):
    """A history in a file; where that fails, one of this prompt alone."""

    def load_history_strings(self) -> Iterable[str]:
        """Give what was typed before, the newest first."""
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Keep what was typed."""
        with suppress(OSError):
            super().store_string(string)
