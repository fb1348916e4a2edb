"""From a file to a delivery, whichever of the three forms it has.

Law: an unreadable file is refused before any row is read; the same rows in CSV, JSON lines
or Parquet, packed or not, are the same delivery.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from fencepost.errors import refuse
from pipelines.files.read import csv_rows, json_rows
from pipelines.files.read.content import (
    Form,
    comes_once,
    form_of,
    opened,
    opened_lines,
    plain_parquet,
    whole,
)
from pipelines.files.read.rows import Declared, RawRows, ReadDelivery, TuplePiece, too_many_columns
from pipelines.progress import Progress, no_progress

MOST_UNPACKED = 1 << 29
"""Bytes of a Parquet file that is packed once more: it cannot be read in part."""


@dataclass(frozen=True)
class DeliveryFile:
    """A file of which the form is known, not yet read.

    axes     those that the file names; None where no row says (JSON lines without a good one)
    size     its bytes, as they are stored
    kept     the bytes of a pipe, which can be read only once
    ignored  columns that are not used
    """

    source: str
    form: Form
    axes: tuple[str, ...] | None
    size: int
    kept: bytes | None = None
    ignored: tuple[str, ...] = ()


def look_at(source: str, declared: Declared) -> DeliveryFile:
    """Find out a file's form and axes, reading little of it; Faults list all that is wrong."""
    kept = whole(source) if comes_once(source) else None
    with opened(source, kept) as plain:
        size = len(kept) if kept is not None else Path(source).stat().st_size
        form = declared.form or form_of(source, plain)
        if form is Form.JSON:
            found = json_rows.named_columns(plain, declared)
            refuse(too_many_columns(source, found or ()))
            axes = declared.axes if found is None else declared.axes_among(found)
            ignored = declared.ignored_among(found or ())
            return DeliveryFile(source, form, axes, size, kept, ignored)
        if form is Form.PARQUET:
            from pipelines.files.read import parquet_rows

            file = parquet_rows.open_file(source, plain)
            faults = parquet_rows.faults(source, file, declared)
            names: Sequence[str] = list(dict.fromkeys([*file.schema_arrow.names, *declared.fixed]))
        else:
            header = csv_rows.read_header(source, plain)
            faults, names = header.faults(declared), header.names
    refuse(faults)
    axes, ignored = declared.axes_among(names), declared.ignored_among(names)
    return DeliveryFile(source, form, axes, size, kept, ignored)


def read(
    file: DeliveryFile,
    axes: Sequence[str],
    declared: Declared,
    progress: Progress = no_progress,
) -> ReadDelivery:
    """Read all of a file, piece by piece: these axes, in this order."""
    declared = replace(declared, axes=tuple(axes))
    read = []
    for rows in pieces(file, declared):
        read.append(TuplePiece.of(rows, declared))
        progress(f"reading {file.source}", rows.done)
    return ReadDelivery.joined(file.source, declared, read)


def pieces(
    file: DeliveryFile, declared: Declared, groups: range | None = None
) -> Iterator[RawRows]:
    """Read a file piece by piece; of a Parquet file only these row groups, if named."""
    axes = declared.axes or ()
    if file.form is Form.PARQUET:
        yield from _of_parquet(file, declared, groups)
        return
    with opened_lines(file.source, file.size, file.kept) as lines:
        if file.form is Form.JSON:
            yield from json_rows.rows(lines, axes, declared)
        else:
            yield from csv_rows.rows(file.source, lines, axes, declared)


def _of_parquet(file: DeliveryFile, declared: Declared, groups: range | None) -> Iterator[RawRows]:
    from pipelines.files.read import parquet_rows

    stored = None if file.kept is not None else plain_parquet(file.source)
    content = stored or pa.BufferReader(_unpacked(file))
    opened_anew = parquet_rows.open_file(file.source, content)
    refuse(parquet_rows.faults(file.source, opened_anew, declared))
    coded = parquet_rows.coded_columns(opened_anew, declared.stream_id)
    opened_anew = parquet_rows.open_file(file.source, content, coded)
    yield from parquet_rows.rows(file.source, opened_anew, declared, groups)


def _unpacked(file: DeliveryFile) -> bytes:
    if file.kept is not None:
        return whole(file.source, file.kept)
    return whole(file.source, most=MOST_UNPACKED)
