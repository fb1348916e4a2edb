"""From a file to a delivery, whichever of the three forms it has.

Law: an unreadable file is refused before any row is read; the same rows in CSV, JSON lines
or Parquet, packed or not, are the same delivery.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from fencepost.arrow import owned
from fencepost.errors import Fault, Faults, refuse
from fencepost.tuples import Int64s
from pipelines.files.read import csv_rows, json_rows
from pipelines.files.read.content import PARQUET, Form, LineSpan, comes_once, form_of
from pipelines.files.read.names import as_spelt, renamed, respelt, spelling_of
from pipelines.files.read.packed import (
    members,
    opened,
    opened_lines,
    plain_parquet,
    skip_lines,
    whole,
)
from pipelines.files.read.rows import (
    Declared,
    Malformed,
    RawRows,
    ReadDelivery,
    TuplePiece,
    too_many_columns,
)
from pipelines.files.read.wide import located, narrow, narrow_form
from pipelines.progress import Progress, no_progress

MOST_UNPACKED = 1 << 29
"""Bytes of a Parquet file that is packed once more: it cannot be read in part."""


FileStretch = LineSpan | range | None
"""What is read of a file: some lines; of a Parquet file some row groups; None: all of it."""


@dataclass(frozen=True)
class FileMember:
    """A file to read, or one in a zip.

    columns  those that may be axes or streams; None where no row says
    """

    name: str | None
    form: Form
    columns: tuple[str, ...] | None


@dataclass(frozen=True)
class DeliveryFile:
    """A file of which the form is known, not yet read.

    axes     those that the file names; None where no row says (JSON lines without a good one)
    size     its bytes, as they are stored
    kept     the bytes of a pipe, which can be read only once
    ignored  columns that are not used
    members  what is read of it: itself, or the files in a zip
    """

    source: str
    form: Form
    axes: tuple[str, ...] | None
    size: int
    kept: bytes | None = None
    ignored: tuple[str, ...] = ()
    members: tuple[FileMember, ...] = field(default=())


def look_at(source: str, declared: Declared, kept: bytes | None = None) -> DeliveryFile:
    """Find out a file's form and axes, reading little of it; Faults list all that is wrong.

    `kept` are its first bytes, where no more of it is to be read.
    """
    if kept is None and comes_once(source):
        kept = whole(source)
    names: Sequence[str | None] = members(source, kept) or (None,)
    found, faults = [], []
    for name in names:
        try:
            found.append(_looked_at(source, name, declared, kept))
        except Faults as refused:
            faults += refused.faults
    refuse(faults)
    size = len(kept) if kept is not None else Path(source).stat().st_size
    first = next((member for member in found if member.columns is not None), found[0])
    columns = first.columns
    axes = declared.axes
    if columns is not None and axes is None:
        axes = as_spelt(declared, columns).axes_among(columns)
    ignored = [
        name
        for each in found
        for name in as_spelt(declared, each.columns or ()).ignored_among(each.columns or ())
    ]
    return DeliveryFile(
        source, first.form, axes, size, kept, tuple(dict.fromkeys(ignored)), tuple(found)
    )


def _looked_at(source: str, name: str | None, declared: Declared, kept: bytes | None) -> FileMember:
    called = source if name is None else f"{source}/{name}"
    declared = declared.of_path(source, name)
    with opened(source, kept, member=name, encoding=declared.encoding) as plain:
        skipped = 0 if _is_parquet(plain) else skip_lines(plain, declared.skip_lines)
        form = declared.form or form_of(called, plain)
        faults: list[Fault]
        columns: tuple[str, ...] | None
        if form is Form.JSON:
            columns = json_rows.named_columns(plain, declared)
            faults = too_many_columns(called, columns or ())
        elif form is Form.PARQUET:
            from pipelines.files.read import parquet_rows

            packed = (
                plain if name is None else pa.BufferReader(owned([_unpacked(source, kept, name)]))
            )
            file = parquet_rows.open_file(called, packed)
            columns = tuple(dict.fromkeys([*file.schema_arrow.names, *declared.fixed]))
            faults = parquet_rows.faults(called, file, as_spelt(declared, columns))
        else:
            header = csv_rows.read_header(called, plain, declared, skipped + 1)
            faults, columns = header.faults(as_spelt(declared, header.columns)), header.columns
    refuse(faults)
    return FileMember(name, form, columns)


def _is_parquet(plain: object) -> bool:
    peek = getattr(plain, "peek", None)
    return peek is not None and peek(len(PARQUET))[: len(PARQUET)] == PARQUET


def read(
    file: DeliveryFile,
    axes: Sequence[str],
    declared: Declared,
    progress: Progress = no_progress,
) -> ReadDelivery:
    """Read all of a file, piece by piece: these axes, in this order."""
    declared = replace(declared, axes=tuple(axes))
    read = []
    for piece in pieces(file, declared):
        read.append(piece)
        progress(f"reading {file.source}", piece.done)
    return ReadDelivery.joined(file.source, declared, read)


def pieces(
    file: DeliveryFile, declared: Declared, part: FileStretch = None
) -> Iterator[TuplePiece]:
    """Read a file piece by piece, or a part of it.

    The lines of the files in a zip are numbered through.
    """
    before = 0
    for place, member in enumerate(file.members):
        last = before
        for piece in _of_member(file, member, declared, part):
            moved = piece if not place else _behind(piece, before, member)
            last = max(last, _last(moved.line), _last(moved.malformed.line))
            yield replace(moved, done=(place + piece.done) / len(file.members))
        before = last


def _last(line: Int64s) -> int:
    return int(line[-1]) if len(line) else 0


def _behind(piece: TuplePiece, before: int, member: FileMember) -> TuplePiece:
    """Number the rows of a file in a zip behind those of the files before it."""
    bad = piece.malformed
    if len(bad):
        said = zip(bad.detail.to_pylist(), bad.line.tolist(), strict=True)
        details = [f"{detail} (line {line} of {member.name})" for detail, line in said]
        bad = Malformed(bad.line + before, pa.array(details, pa.string()), bad.raw)
    return replace(piece, line=piece.line + np.int64(before), malformed=bad)


def _of_member(
    file: DeliveryFile, member: FileMember, declared: Declared, part: FileStretch
) -> Iterator[TuplePiece]:
    columns = member.columns or ()
    declared = declared.of_path(file.source, member.name)
    names = spelling_of(declared, columns)
    in_file = respelt(declared, names).over(columns)
    as_declared = {name: own for own, name in names.items()}
    declared = respelt(in_file, as_declared)
    for found in _rows_of(file, member, in_file, part):
        rows = renamed(found, as_declared)
        if not declared.wide:
            yield TuplePiece.of(rows, declared)
            continue
        piece = TuplePiece.of(narrow(rows, declared), narrow_form(declared))
        yield replace(piece, malformed=located(piece.malformed, declared))


def _rows_of(
    file: DeliveryFile, member: FileMember, declared: Declared, part: FileStretch
) -> Iterator[RawRows]:
    axes, span = declared.axes or (), part if isinstance(part, LineSpan) else None
    called = file.source if member.name is None else f"{file.source}/{member.name}"
    if member.form is Form.PARQUET:
        groups = part if isinstance(part, range) else None
        yield from _of_parquet(file, member, declared, groups)
        return
    with opened_lines(
        file.source,
        file.size,
        file.kept,
        member=member.name,
        encoding=declared.encoding,
        skip=declared.skip_lines,
    ) as lines:
        if member.form is Form.JSON:
            yield from json_rows.rows(lines, axes, declared, span)
        else:
            yield from csv_rows.rows(called, lines, axes, declared, span)


def _of_parquet(
    file: DeliveryFile, member: FileMember, declared: Declared, groups: range | None
) -> Iterator[RawRows]:
    from pipelines.files.read import parquet_rows

    is_packed = file.kept is not None or member.name is not None
    stored = None if is_packed else plain_parquet(file.source)
    content = stored or pa.BufferReader(owned([_unpacked(file.source, file.kept, member.name)]))
    opened_anew = parquet_rows.open_file(file.source, content)
    refuse(parquet_rows.faults(file.source, opened_anew, declared))
    coded = parquet_rows.coded_columns(opened_anew, declared.stream_id)
    opened_anew = parquet_rows.open_file(file.source, content, coded)
    yield from parquet_rows.rows(file.source, opened_anew, declared, groups)


def _unpacked(source: str, kept: bytes | None, member: str | None) -> bytes:
    if kept is not None and member is None:
        return whole(source, kept)
    return whole(source, kept, most=MOST_UNPACKED, member=member)
