"""Deliveries as files for the tests: written plainly, read by what is tested, compared as rows."""

import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pipelines.files.read.content import Lines
from pipelines.files.read.delivery import look_at, read
from pipelines.files.read.rows import Declared, ReadDelivery

Row = tuple[str, int, tuple[float, ...]]


def shared(name: str) -> Path:
    """Find a file of the folder `shared` beside the repository; without it, the test is skipped."""
    beside = Path(__file__).resolve().parents[4] / "shared"
    path = Path(os.environ.get("FENCEPOST_SHARED", beside)) / name
    if not path.exists():
        pytest.skip(f"there is no {path.name}: FENCEPOST_SHARED says where the folder is")
    return path


def taken(path: Path, axes: tuple[str, ...] | None = None, **declared: Any) -> ReadDelivery:
    """Inspect a file and read it, with its own axes unless others are given."""
    known = Declared(axes, **declared)
    file = look_at(str(path), known)
    assert file.axes is not None
    return read(file, file.axes, known)


def lines_of(content: bytes) -> Lines:
    """The lines of a file with this content."""
    return Lines(io.BufferedReader(io.BytesIO(content)), len(content))


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file, byte by byte as given."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows_of(delivery: ReadDelivery) -> list[Row]:
    """The tuples, one by one."""
    values = [tuple(column) for column in delivery.values.T.tolist()]
    return list(zip(delivery.ids.to_pylist(), delivery.ts.tolist(), values, strict=True))


def faulty(delivery: ReadDelivery) -> list[tuple[int, str]]:
    """The malformed rows: line and detail."""
    found = delivery.malformed
    return list(zip(found.line.tolist(), found.detail.to_pylist(), strict=True))


def raws(delivery: ReadDelivery) -> list[str]:
    """The malformed rows, verbatim."""
    raw: list[str] = delivery.malformed.raw.to_pylist()
    return raw


def zipped(files: Mapping[str, str]) -> bytes:
    """A zip of text files."""
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return into.getvalue()
