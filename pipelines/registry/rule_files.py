"""The files that hold the standing queries of a project, as `[lake] queries` names them."""

from pathlib import Path

from fencepost.errors import InputError
from pipelines.project.settings import Settings

KINDS = (".jsonl", ".jsonl.gz", ".parquet", ".parquet.gz")
"""How the name of such a file ends, in a folder of them."""


def rule_files(settings: Settings) -> list[Path]:
    """List the files, sorted by name; none where the settings name no place, or it is empty.

    A file is taken whatever its name is. In a folder the names tell; hidden files and folders in it
    are passed over. InputError where there is no such place.
    """
    place = settings.queries
    if place is None:
        return []
    try:
        if not place.is_dir():
            place.stat()
            return [place]
        found = sorted(place.iterdir())
    except OSError as why:
        raise InputError(
            f"{place}, where the standing queries are by [lake] queries, cannot be read: "
            f"{why.strerror}. Make it, or name another file or folder in {settings.file}."
        ) from None
    return [
        path
        for path in found
        if path.name.endswith(KINDS) and not path.name.startswith(".") and path.is_file()
    ]
