"""Files hashed by tasks, where there is much to read: the driver alone reads about 1 GB a second.

Law: the hashes are those that the driver would make; what a task cannot read is left to it.
"""

import json
from collections.abc import Collection, Sequence
from pathlib import Path

from pipelines.disk.errors import refuse_failing
from pipelines.ingest.landing.contents import hash_of, is_made, remember
from pipelines.ingest.landing.folder import File
from pipelines.ingest.units import filled
from pipelines.places import Place, is_remote, place_of
from pipelines.spark.runner import Runner

MUCH = 256 << 20
"""Bytes on a disk from which on tasks hash them."""
MUCH_REMOTE = 16 << 20
"""Bytes on a store, likewise."""


def hash_by_tasks(
    runner: Runner, source: Place, files: Sequence[File], whole: Collection[int]
) -> None:
    """Hash files that have to be read, if they are much; as many tasks as run at once."""
    unknown = [file for file in files if not is_made(source, file)]
    total = sum(file.size for file in unknown)
    least = MUCH_REMOTE if is_remote(source) else MUCH
    if total < least or len(unknown) < 2 or runner.slots < 2:
        return
    shares = filled([(file, file.size) for file in unknown], -(-total // runner.slots))
    tasks = [
        json.dumps(
            {
                "source": str(source),
                "files": [_fields(file) for file in share],
                "whole": sorted({file.size for file in share}.intersection(whole)),
            }
        )
        for share in shares
    ]
    for share, answer in zip(shares, runner.run(hashes, tasks), strict=True):
        made = zip(share, json.loads(answer), strict=True)
        remember({(source, file): content for file, content in made if content is not None})


def hashes(task: str) -> str:
    """Hash the files of a task; null for one that is gone, has changed or cannot be read."""
    fields = json.loads(task)
    source = place_of(fields["source"], Path("/"))
    return json.dumps([_hash(source, File(*each), fields["whole"]) for each in fields["files"]])


def _fields(file: File) -> list[str | int | None]:
    return [file.path, file.size, file.mtime, file.etag]


def _hash(source: Place, file: File, whole: Collection[int]) -> str | None:
    try:
        return hash_of(source, file, whole)
    except OSError as why:
        refuse_failing(why, str(source / file.path))
        return None
