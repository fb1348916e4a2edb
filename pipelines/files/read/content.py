"""The bytes of a delivery's file, and which of the three forms they have.

Law: gzip, Parquet and a first object of JSON are known by their first bytes, whatever the file is
called; where these say nothing its name's ending does, and where that says nothing it is CSV.
"""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path, PurePath
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.errors import Fault, Faults
from fencepost.tuples import Bools, Int64s
from pipelines.disk.errors import refuse_failing
from pipelines.files.read.lines import Lines, raw_text

GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
BOM = b"\xef\xbb\xbf"


class Form(StrEnum):
    """How rows stand in a file."""

    CSV = "CSV"
    JSON = "JSON lines"
    PARQUET = "Parquet"


ENDINGS = {
    ".csv": Form.CSV,
    ".txt": Form.CSV,
    ".json": Form.JSON,
    ".jsonl": Form.JSON,
    ".ndjson": Form.JSON,
    ".parquet": Form.PARQUET,
    ".pq": Form.PARQUET,
}


def refusal(
    source: str, message: str, *, line: int | None = None, hint: str | None = None
) -> Faults:
    """Make the error of a file that cannot be taken at all."""
    return Faults([Fault(source, message, line=line, hint=hint)])


def comes_once(source: str) -> bool:
    """Tell a pipe, whose bytes come only once. What is not there is for `opened` to say."""
    path = Path(source)
    return path.exists() and not path.is_dir() and not path.is_file()


@contextmanager
def opened(source: str, kept: bytes | None = None) -> Iterator[io.BufferedReader]:
    """Open a file unpacked and past its byte order mark; whatever fails in it names the file."""
    try:
        with Path(source).open("rb") if kept is None else _reader(io.BytesIO(kept)) as packed:
            is_packed = packed.peek(2)[:2] == GZIP
            plain = _reader(gzip.GzipFile(fileobj=packed)) if is_packed else packed
            if plain.peek(3)[:3] == BOM:
                plain.read(3)
            yield plain
    except FileNotFoundError:
        raise refusal(source, "there is no such file") from None
    except IsADirectoryError:
        message = "is a folder, where a file was expected: give the files in it one by one"
        raise refusal(source, message) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as broken:
        raise refusal(source, f"is packed with gzip, but cut off or damaged: {broken}") from None
    except OSError as failure:
        refuse_failing(failure, source)
        raise refusal(source, f"cannot be read: {failure.strerror or failure}") from None


@contextmanager
def opened_lines(source: str, size: int, kept: bytes | None = None) -> Iterator[Lines]:
    """Open a file of lines of so many bytes, as it is stored."""
    with opened(source, kept) as plain:
        yield Lines(plain, size)


def whole(source: str, kept: bytes | None = None, most: int | None = None) -> bytes:
    """Read all of a file, unpacked and without its byte order mark; refuse it beyond `most`."""
    with opened(source, kept) as plain:
        if most is None:
            return plain.read()
        content = plain.read(most + 1)
        if len(content) > most:
            message = f"unpacks to more than {most:,} bytes, which must be held at once"
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


def form_of(source: str, plain: io.BufferedReader) -> Form:
    """Look at the first bytes, without reading on, and at the name."""
    head = plain.peek(64)
    if head.startswith(PARQUET):
        return Form.PARQUET
    name = PurePath(source.lower().removesuffix(".gz").removesuffix(".gzip"))
    named = ENDINGS.get(name.suffix)
    if named is Form.PARQUET:
        raise refusal(source, "is called Parquet, but does not begin as Parquet does, with PAR1")
    return Form.JSON if head.lstrip().startswith(b"{") else named or Form.CSV


def not_utf8(content: bytes, begins: Int64s, ends: Int64s) -> Bools:
    """Say which of these stretches of a file are not UTF-8; line breaks part them."""
    wrong = np.zeros(len(begins), np.bool_)
    if not len(begins):
        return wrong
    first = int(begins[0])
    part = content[first : int(ends[-1])]
    if part.isascii() or _decodes(part):
        return wrong
    beyond_ascii = np.flatnonzero(np.frombuffer(part, np.uint8) > 127) + first
    for row in np.unique(np.searchsorted(begins, beyond_ascii, side="right") - 1).tolist():
        wrong[row] = not _decodes(content[begins[row] : ends[row]])
    return wrong


def stretches(content: bytes, begins: Int64s, ends: Int64s) -> pa.StringArray:
    """Cut stretches out of a file, ascending and apart; bytes that are not UTF-8 become escapes."""
    if not len(begins):
        return pa.array([], pa.string())
    bounds = pa.py_buffer(np.stack([begins, ends], axis=1).astype(np.int64).ravel())
    parts = [None, bounds, pa.py_buffer(content)]  # every second one is what lies between
    every = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 2 * len(begins) - 1, parts)
    cut = every.take(pa.array(np.arange(0, 2 * len(begins) - 1, 2)))
    try:
        return pc.cast(cut, pa.string())
    except pa.ArrowInvalid:
        return pa.array([raw_text(part) for part in cut.to_pylist()], pa.string())


def _decodes(part: bytes) -> bool:
    try:
        part.decode()
    except UnicodeDecodeError:
        return False
    return True


def _reader(raw: io.BytesIO | gzip.GzipFile) -> io.BufferedReader:
    return io.BufferedReader(cast("io.RawIOBase", raw), 1 << 18)
