"""What a file holds, as one hash: 160 bits of BLAKE2, read a piece at a time.

A process remembers the hashes that it has made; else a file that was touched would be read anew at
every look.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from pipelines.ingest.landing.folder import File

PIECE = 1 << 20
BYTES = 20
MOST_REMEMBERED = 100_000

_made: dict[tuple[Path, File], str] = {}


def hash_of(source: Path, file: File) -> str | None:
    """Hash a file; 1 s a GB. None if it is not what it was when it was seen, or changes now."""
    known = _made.get((source, file))
    if known is not None:
        return known
    content = hashlib.blake2b(digest_size=BYTES)
    piece = memoryview(bytearray(PIECE))
    try:
        with (source / file.path).open("rb", buffering=0) as opened:
            before = File.of(file.path, os.fstat(opened.fileno()))
            while read := opened.readinto(piece):
                content.update(piece[:read])
            after = File.of(file.path, os.fstat(opened.fileno()))
    except FileNotFoundError:
        return None
    if not before == after == file:
        return None
    if len(_made) >= MOST_REMEMBERED:
        _made.clear()
    _made[source, file] = content.hexdigest()
    return _made[source, file]


def content_of(hashes: Sequence[str]) -> str:
    """Make one hash of those of several files, in their order; that of a single one is its own."""
    if len(hashes) == 1:
        return hashes[0]
    return hashlib.blake2b("\n".join(hashes).encode(), digest_size=BYTES).hexdigest()
