"""A little of a file: its beginning, and of a plain one also some of its middle and its end.

Law: at most a megabyte or so is read, however large the file is; every line of a sample is a whole
line of the file, in its order.
"""

import gzip
import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from fencepost.errors import InputError
from pipelines.files.read.content import PARQUET, Form
from pipelines.files.read.packed import BOM, GZIP

HEAD = 1 << 19
PART = 1 << 16
"""Bytes of the beginning, and of each later part."""
MOST_FILES = 6
"""Files that are looked into where more are given."""
ZIP, ZSTD = b"PK\x03\x04", b"\x28\xb5\x2f\xfd"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
LOG = "_delta_log"
PASSED_OVER = (".tmp", ".part", ".crc")


@dataclass(frozen=True)
class Sampled:
    """A file's first bytes, and some later lines.

    path    of the file; in a zip the member's name comes after it
    below   as the regular expressions of a feed see it: below its folder
    packed  gzip, zip or zstd; empty for none
    head    whole lines from the beginning, unpacked and without a byte order mark
    later   whole lines from further on
    whole   whether `head` is all there is
    table   of Parquet: some rows
    """

    path: str
    below: str
    form: Form
    packed: str
    head: bytes
    later: bytes = b""
    marked: bool = False
    whole: bool = False
    table: pa.Table | None = None


@dataclass(frozen=True)
class SampleFiles:
    """What was given as a sample: its files, and the folder that they are in, if one was given.

    others  files of the folder that end otherwise than most of it: they are not looked into
    """

    files: tuple[Path, ...]
    folder: Path | None = None
    is_delta: bool = False
    others: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """What the sample is called, without endings."""
        first = self.folder or self.files[0]
        return first.name.split(".")[0] or first.name


def files_of(given: Sequence[Path]) -> SampleFiles:
    """Find the files of a sample: those named, those of a folder, or those of a Delta table."""
    missing = [path for path in given if not path.exists()]
    if missing:
        raise InputError(f"{missing[0]}: there is no such file or folder to take a sample of")
    folders = [path for path in given if path.is_dir()]
    if folders and len(given) > 1:
        raise InputError(f"{folders[0]} is a folder: give one folder, or files")
    if not folders:
        return SampleFiles(tuple(given))
    folder = folders[0]
    if (folder / LOG).is_dir():
        return SampleFiles(_of_delta(folder), folder, is_delta=True)
    found = sorted(path for path in folder.rglob("*") if path.is_file() and _counts(path, folder))
    if not found:
        raise InputError(f"{folder} has no file to take a sample of")
    endings = Counter(path.suffix for path in found)
    usual = endings.most_common(1)[0][0]
    alike = tuple(path for path in found if path.suffix == usual)
    return SampleFiles(alike, folder, others=tuple(p for p in found if p.suffix != usual))


def _counts(path: Path, folder: Path) -> bool:
    parts = path.relative_to(folder).parts
    return not path.name.endswith(PASSED_OVER) and not any(part[0] in "._" for part in parts)


def _of_delta(folder: Path) -> tuple[Path, ...]:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        added = DeltaTable(folder).get_add_actions(flatten=True)
    except (DeltaError, OSError) as why:
        raise InputError(f"{folder} cannot be read as a Delta table: {why}") from None
    paths = pa.table(added)["path"].to_pylist()
    if not paths:
        raise InputError(f"{folder} is a Delta table without rows: there is nothing to look at")
    return tuple(folder / path for path in sorted(paths))


def sampled(found: SampleFiles, form: Form | None = None) -> list[Sampled]:
    """Take a sample of some of the files, the first and the last among them."""
    files = found.files
    if len(files) > MOST_FILES:
        files = (*files[: MOST_FILES - 1], files[-1])
    root = found.folder
    return [
        replace(each, below=str(Path(each.path).relative_to(root or path.parent)))
        for path in files
        for each in _of_file(path, form)
    ]


def _of_file(path: Path, form: Form | None) -> Iterator[Sampled]:
    try:
        with path.open("rb") as file:
            begin = file.read(4)
            file.seek(0)
            if begin.startswith(ZIP):
                yield from _of_zip(path, form)
            elif begin.startswith(GZIP):
                yield _of_text(str(path), _part(gzip.GzipFile(fileobj=file)), "gzip", form)
            elif begin.startswith(ZSTD):
                stream = pa.CompressedInputStream(pa.PythonFile(file), "zstd")
                yield _of_text(str(path), _part(stream), "zstd", form)
            elif begin.startswith(PARQUET) and form in (None, Form.PARQUET):
                yield _of_parquet(path)
            else:
                yield _of_plain(path, file, form)
    except (EOFError, zlib.error, zipfile.BadZipFile, pa.ArrowException) as why:
        raise InputError(f"{path} is damaged, or not what its first bytes say: {why}") from None
    except OSError as why:
        raise InputError(f"{path} cannot be read: {why.strerror or why}") from None


def _part(unpacked: io.IOBase | pa.NativeFile) -> bytes:
    read = b""
    while len(read) <= HEAD and (more := unpacked.read(HEAD + 1 - len(read))):
        read += more
    return read


def _of_zip(path: Path, form: Form | None) -> Iterator[Sampled]:
    with zipfile.ZipFile(path) as packed:
        names = sorted(name for name in packed.namelist() if not name.endswith("/"))
        if not names:
            raise InputError(f"{path} is a zip without files")
        for name in names[:MOST_FILES]:
            with packed.open(name) as member:
                yield _of_text(f"{path}/{name}", _part(member), "zip", form)


def _of_text(path: str, read: bytes, packed: str, form: Form | None) -> Sampled:
    """Make a sample of what one read from the beginning gave: at most HEAD + 1 bytes."""
    if read.startswith(PARQUET):
        raise InputError(f"{path} is Parquet in {packed}: unpack it to take a sample of it")
    if read.startswith(UTF_16):
        raise InputError(f"{path} is UTF-16, where UTF-8 or Latin-1 is read: convert it first")
    marked, whole = read.startswith(BOM), len(read) <= HEAD
    text = read.removeprefix(BOM)
    if not whole:
        text = text[: text.rfind(b"\n") + 1] or text
    if not text.strip():
        raise InputError(f"{path} is empty: there is nothing to look at")
    is_json = text.lstrip()[:1] == b"{" if form is None else form is Form.JSON
    found = Form.JSON if is_json else Form.CSV
    return Sampled(path, path, found, packed, text, b"", marked, whole)


def _of_plain(path: Path, file: io.BufferedReader, form: Form | None) -> Sampled:
    first = _of_text(str(path), file.read(HEAD + 1), "", form)
    if first.whole or not file.seekable():
        return first
    size = path.stat().st_size
    later = b""
    for begin in (size // 2, size - PART):
        if begin > HEAD:
            file.seek(begin)
            part = file.read(PART)
            later += part[part.find(b"\n") + 1 : part.rfind(b"\n") + 1]
    return replace(first, later=later)


def _of_parquet(path: Path) -> Sampled:
    """Read some of the first rows and of the last row group's."""
    from pyarrow import parquet as pq

    file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    groups = sorted({0, file.num_row_groups - 1} - {-1})
    batches = [next(file.iter_batches(1000, row_groups=[group]), None) for group in groups]
    rows = [batch for batch in batches if batch is not None]
    table = pa.Table.from_batches(rows, file.schema_arrow)
    whole = len(groups) < 2
    return Sampled(str(path), str(path), Form.PARQUET, "", b"", whole=whole, table=table)
