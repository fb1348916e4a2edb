"""What a file holds, as one hash: 160 bits of BLAKE2, or on S3 the entity tag.

A large file is hashed in parts, side by side, and its hash is that of their hashes. Older versions
hashed every file whole: where they did, a file of as many bytes is hashed whole again.

S3 makes entity tags of contents, so nothing is read to know one; there the same content that was
uploaded in other parts, or encrypted with a key of KMS, has another tag, and counts as other
content. Other stores make theirs of versions: there a file is read.

Law: equal hashes mean equal contents. A process remembers the hashes that it has made; else a file
that was touched would be read again at every scan.
"""

import hashlib
import os
import re
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from fencepost.hashing import digest
from pipelines.ingest.landing.folder import File
from pipelines.places import Place, Remote, is_remote
from pipelines.places.download import download, found
from pipelines.places.objects import Found
from pipelines.spark.environment.machine import cores

PIECE = 1 << 20
BYTES = 20
PART = 32 << 20
"""Bytes that are hashed at a time; a file of twice as many is hashed in parts."""
MOST_REMEMBERED = 100_000
TAG = "etag:"
PARTS = "parts:"
"""How the hash of a file begins that is its entity tag, or was made of its parts."""

_OF_CONTENT = re.compile(r"[0-9a-f]{32}(-[0-9]+)?")
_made: dict[tuple[Place, File], str] = {}


def hash_of(source: Place, file: File, whole: Collection[int] = ()) -> str | None:
    """Hash a file; 1 s a GB and core, on S3 nothing. None if it changed since it was seen, or does.

    `whole` are the sizes of files that are not hashed in parts. A store's file that is gone is None
    as well.
    """
    tag = content_tag(source, file)
    known = tag or _made.get((source, file))
    if known is not None and (tag or is_in_parts(known) == _has_parts(file.size, whole)):
        return known
    content = (
        _of_object(source, file, whole) if is_remote(source) else _of_file(source, file, whole)
    )
    if content is not None:
        remember({(source, file): content})
    return content


def remember(hashes: Mapping[tuple[Place, File], str]) -> None:
    """Keep hashes that were made, here or by tasks."""
    if len(_made) + len(hashes) > MOST_REMEMBERED:
        _made.clear()
    _made.update(hashes)


def content_tag(source: Place, file: File) -> str | None:
    """Give the hash of a file that its store knows; None where it has to be read."""
    if not is_remote(source) or not source.base.startswith("s3:") or file.etag is None:
        return None
    tag = file.etag.strip('"')
    return TAG + tag if _OF_CONTENT.fullmatch(tag) else None


def is_made(source: Place, file: File) -> bool:
    """Say whether the hash of a file is known without reading it."""
    return content_tag(source, file) is not None or (source, file) in _made


def is_in_parts(content: str) -> bool:
    """Say whether a hash was made of the parts of a file."""
    return content.startswith(PARTS)


def is_large_and_whole(size: int, content: str) -> bool:
    """Say whether a file is large, and was hashed whole all the same."""
    return _has_parts(size, ()) and not content.startswith((PARTS, TAG))


def _has_parts(size: int, whole: Collection[int]) -> bool:
    return size >= 2 * PART and size not in whole


def are_of_one_kind(one: str, other: str) -> bool:
    """Say whether two hashes can be compared: of files on S3, or of files that were read."""
    return one.startswith(TAG) == other.startswith(TAG)


def file_at(source: Place, path: str) -> File:
    """Look at a file as it is now; FileNotFoundError or OSError if that fails."""
    if is_remote(source):
        return file_of(path, found(source / path))
    return File.of(path, (source / path).stat())


def file_of(path: str, what: Found) -> File:
    """Describe an object; below the second, mtime tells versions of one second apart."""
    within = int(digest((what.etag or "").encode(), 8), 16) % 1_000_000_000
    return File(path, what.size, what.changed // 1_000_000 * 1_000_000_000 + within, what.etag)


def _of_file(source: Path, file: File, whole: Collection[int]) -> str | None:
    try:
        with (source / file.path).open("rb", buffering=0) as opened:
            before = File.of(file.path, os.fstat(opened.fileno()))
            content = _of_bytes(opened.fileno(), before.size, whole)
            after = File.of(file.path, os.fstat(opened.fileno()))
    except FileNotFoundError:
        return None
    return content if before == after == file else None


def _of_object(source: Remote, file: File, whole: Collection[int]) -> str | None:
    with TemporaryDirectory(prefix="fencepost-") as folder:
        copy = Path(folder) / "object"
        try:
            what = download(source / file.path, copy)
        except FileNotFoundError:
            return None
        if file_of(file.path, what) != file:
            return None
        with copy.open("rb", buffering=0) as opened:
            return _of_bytes(opened.fileno(), file.size, whole)


def _of_bytes(file: int, size: int, whole: Collection[int]) -> str:
    """Hash the first bytes of an open file, all of them or in parts."""
    if not _has_parts(size, whole):
        return _blake(file, 0, size).hex()
    begins = range(0, size, PART)
    with ThreadPoolExecutor(cores()) as threads:
        parts = threads.map(lambda begin: _blake(file, begin, min(begin + PART, size)), begins)
        return PARTS + digest(b"".join(parts), BYTES)


def _blake(file: int, begin: int, end: int) -> bytes:
    content, piece = hashlib.blake2b(digest_size=BYTES), memoryview(bytearray(PIECE))
    while read := os.preadv(file, [piece[: max(0, end - begin)]], begin):
        content.update(piece[:read])
        begin += read
    return content.digest()


def content_of(hashes: Sequence[str]) -> str:
    """Make one hash of those of several files, in their order; that of a single one is its own."""
    if len(hashes) == 1:
        return hashes[0]
    return digest("\n".join(hashes), BYTES)
