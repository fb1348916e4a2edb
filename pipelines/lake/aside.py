"""Small files that are whole or not there: written under another name, then renamed."""

import os
from pathlib import Path

from pipelines.disk.errors import naming


def write_aside(path: Path, text: str, *, sync: bool = False) -> None:
    """Replace a file, in one step. `sync`: its bytes are on the disk before that."""
    aside = path.with_name(f"{path.name}.tmp")
    try:
        with naming(aside), aside.open("w") as file:
            file.write(text)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
