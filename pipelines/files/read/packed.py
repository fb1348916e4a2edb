"""A file opened as plain bytes: unpacked, past its byte order mark, in UTF-8.

gzip, zstd and zip are known by their first bytes, whatever the file is called. A zip holds files,
its members, which are read in the order of their names.

Law: memory is bounded, whatever a file unpacks to; whatever fails in it names the file.
"""

import gzip
import io
import lzma
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from fencepost.text import shortened, size_in_words
from pipelines.disk.errors import refuse_failing
from pipelines.files.read.content import PARQUET, Lines, refusal
from pipelines.files.read.zstd import ZSTD, refuse_cut

GZIP = b"\x1f\x8b"
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
BOM = b"\xef\xbb\xbf"

MOST_MEMBERS = 10_000
MOST_FOLD = 400
BOMB = 1 << 30
"""A member of so many bytes that is so many times its packed size is no data."""

DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile)


@contextmanager
def opened(
    source: str,
    kept: bytes | None = None,
    *,
    member: str | None = None,
    encoding: str = "utf-8",
) -> Iterator[io.BufferedReader]:
    """Open a file, or a member of a zip; `kept` are the bytes of a pipe."""
    how = "packed"
    try:
        with ExitStack() as stack:
            packed = stack.enter_context(_stored(source, kept))
            head = packed.peek(4)[:4]
            plain = packed
            if member is not None:
                how = "a zip"
                archive = stack.enter_context(zipfile.ZipFile(packed))
                plain = _reader(_Behind(stack.enter_context(archive.open(member)), packed))
                _refuse_packed(f"{source}/{member}", plain.peek(4)[:4])
            elif head[:2] == GZIP:
                how = "packed with gzip"
                plain = _reader(gzip.GzipFile(fileobj=packed))
            elif head == ZSTD:
                how = "packed with zstd"
                refuse_cut(packed)
                plain = _reader(_Behind(pa.CompressedInputStream(packed, "zstd"), packed))
            if plain.peek(3)[:3] == BOM:
                plain.read(3)
            yield _decoded(plain, packed, encoding)
    except FileNotFoundError:
        raise refusal(source, "there is no such file") from None
    except IsADirectoryError:
        message = "is a folder, where a file was expected: give the files in it one by one"
        raise refusal(source, message) from None
    except DAMAGED as broken:
        raise refusal(source, f"is {how}, but cut off or damaged: {broken}") from None
    except OSError as failure:
        refuse_failing(failure, source)
        if how == "packed with zstd" and failure.errno is None:
            raise refusal(source, f"is {how}, but cut off or damaged: {failure}") from None
        raise refusal(source, f"cannot be read: {failure.strerror or failure}") from None


def _stored(source: str, kept: bytes | None) -> io.BufferedReader:
    return Path(source).open("rb") if kept is None else _reader(io.BytesIO(kept))


def _refuse_packed(name: str, head: bytes) -> None:
    if head[:2] == GZIP or head == ZSTD or head in ZIP:
        raise refusal(name, "is packed itself: a zip is read whose files are plain")


def members(source: str, kept: bytes | None = None) -> tuple[str, ...] | None:
    """Name the files in a zip, in the order of their names; None where it is none."""
    try:
        with Path(source).open("rb") if kept is None else io.BytesIO(kept) as stored:
            head = stored.read(4)
            if head not in ZIP:
                return None
            with zipfile.ZipFile(stored) as archive:
                return _of_archive(source, archive, stored.seek(0, io.SEEK_END))
    except zipfile.BadZipFile as broken:
        raise refusal(source, f"is a zip, but cut off or damaged: {broken}") from None
    except OSError:
        return None  # the words are those of `opened`


def _of_archive(source: str, archive: zipfile.ZipFile, size: int) -> tuple[str, ...]:
    every = [each for each in archive.infolist() if not each.is_dir()]
    files = [each for each in every if not _is_aside(each.filename)]
    if not files:
        raise refusal(source, "is a zip without a file in it")
    if len(every) > MOST_MEMBERS:
        message = f"is a zip of {len(every):,} files, where up to {MOST_MEMBERS:,} are read"
        raise refusal(source, message)
    names = [each.filename for each in files]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise refusal(source, f"is a zip with '{shortened(twice, 100)}' in it twice")
    if sum(each.compress_size for each in every) > size:
        raise refusal(source, "is a zip whose files overlap, as those of a bomb do")
    for each in files:
        name = f"{source}/{shortened(each.filename, 100)}"
        if each.flag_bits & 1:
            raise refusal(name, "is encrypted: deliver it without a password")
        if each.file_size > max(BOMB, MOST_FOLD * each.compress_size):
            message = (
                f"unpacks to {size_in_words(each.file_size)}, more than {MOST_FOLD} times its "
                "size, as a bomb does"
            )
            raise refusal(name, message, hint="If it is data, deliver it unpacked.")
        if each.compress_type not in (0, 8, 12, 14):
            message = f"is packed by method {each.compress_type}, which is not read"
            raise refusal(name, message, hint="Pack it with deflate, as zip does by default.")
    return tuple(sorted(names, key=str.encode))


def _is_aside(name: str) -> bool:
    """Recognise what programs put beside the data: hidden files, and those of macOS."""
    parts = name.split("/")
    return any(part.startswith((".", "__MACOSX")) for part in parts)


@contextmanager
def opened_lines(
    source: str,
    size: int,
    kept: bytes | None = None,
    *,
    member: str | None = None,
    encoding: str = "utf-8",
    skip: int = 0,
) -> Iterator[Lines]:
    """Open a file of lines, stored in this many bytes; the first `skip` are passed over."""
    with opened(source, kept, member=member, encoding=encoding) as plain:
        yield Lines(plain, size, skip_lines(plain, skip))


def skip_lines(plain: io.BufferedReader, lines: int) -> int:
    """Pass over the first lines of a file; say how many there were."""
    for line in range(lines):
        if not _past_line(plain):
            return line
    return lines


def _past_line(plain: io.BufferedReader) -> bool:
    some = plain.readline(1 << 16)
    found = bool(some)
    while some and not some.endswith(b"\n"):
        some = plain.readline(1 << 16)
    return found


def whole(
    source: str, kept: bytes | None = None, most: int | None = None, member: str | None = None
) -> bytes:
    """Read all of a file, unpacked and without its byte order mark; refuse it beyond `most`."""
    with opened(source, kept, member=member) as plain:
        if most is None:
            return plain.read()
        content = plain.read(most + 1)
        if len(content) > most:
            message = f"unpacks to more than {most:,} bytes, which would be in memory at once"
            raise refusal(source, message, hint="Deliver it unpacked.")
        return content


def plain_parquet(source: str) -> pa.NativeFile | None:
    """Open a Parquet file that is not packed, to be read in part; None where it is."""
    try:
        file = pa.OSFile(source)
        if file.read(len(PARQUET)) == PARQUET:
            file.seek(0)
            return file
    except OSError:
        return None  # the words are those of `opened`
    file.close()
    return None


class _Behind(io.RawIOBase):
    """Plain bytes behind others, which are `stored`: how far these have been read is known."""

    def __init__(self, source: Any, stored: io.BufferedReader) -> None:  # noqa: ANN401  any stream
        self._source = source
        self.stored = stored

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  any writable buffer
        some = self._some(len(buffer))
        buffer[: len(some)] = some
        return len(some)

    def _some(self, most: int) -> bytes:
        return bytes(self._source.read(most))


class _Latin(_Behind):
    """Latin-1 as UTF-8: a byte becomes two at most."""

    _left = b""

    def _some(self, most: int) -> bytes:
        if not self._left:
            self._left = self._source.read(max(1, most // 2)).decode("latin-1").encode()
        some, self._left = self._left[:most], self._left[most:]
        return some


def _decoded(
    plain: io.BufferedReader, stored: io.BufferedReader, encoding: str
) -> io.BufferedReader:
    if encoding == "utf-8" or plain.peek(4)[:4] == PARQUET:
        return plain
    return _reader(_Latin(plain, stored))


def _reader(raw: io.BytesIO | gzip.GzipFile | _Behind) -> io.BufferedReader:
    return io.BufferedReader(cast("io.RawIOBase", raw), 1 << 18)
