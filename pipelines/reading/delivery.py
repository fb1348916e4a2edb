"""From a file to a delivery, whichever of the three forms it has.

Law: what cannot be taken at all is said before a row of it is; the same rows in CSV, JSON lines or
Parquet, packed or not, are the same delivery.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from pipelines.reading import csv_rows, json_rows
from pipelines.reading.content import Form, comes_once, form_of, opened, whole
from pipelines.reading.raw_rows import Declared, RawRows, refuse
from pipelines.reading.read_rows import ReadDelivery, TuplePiece


@dataclass(frozen=True)
class DeliveryFile:
    """A file looked at, not yet read.

    axes  those that the file names; None where no row says (JSON lines without a good one)
    size  its bytes, as they are stored
    kept  the bytes of what can be read only once
    """

    source: str
    form: Form
    axes: tuple[str, ...] | None
    size: int
    kept: bytes | None = None


def look_at(source: str, declared: Declared) -> DeliveryFile:
    """Find out a file's form and axes, reading little of it; Faults tell all that is wrong."""
    kept = whole(source) if comes_once(source) else None
    with opened(source, kept) as plain:
        size = len(kept) if kept is not None else Path(source).stat().st_size
        form = form_of(source, plain)
        if form is Form.JSON:
            axes = declared.axes or json_rows.named_axes(plain, declared)
            return DeliveryFile(source, form, axes, size, kept)
        if form is Form.PARQUET:
            from pipelines.reading import parquet_rows

            file = parquet_rows.open_file(source, plain)
            faults, names = parquet_rows.faults(source, file, declared), file.schema_arrow.names
        else:
            header = csv_rows.read_header(source, plain)
            faults, names = header.faults(declared), header.names
    refuse(faults)
    return DeliveryFile(source, form, declared.axes_among(names), size, kept)


def read(
    file: DeliveryFile,
    axes: Sequence[str],
    declared: Declared,
    on_piece: Callable[[float], None] = lambda _: None,
) -> ReadDelivery:
    """Read all of a file, a piece after the other: these axes, in this order.

    `on_piece` is told how much of the file has been read, from 0 to 1.
    """
    declared = replace(declared, axes=tuple(axes))
    pieces = []
    for rows in _pieces(file, declared):
        pieces.append(TuplePiece.of(rows, declared))
        on_piece(rows.done)
    return ReadDelivery.joined(file.source, declared, pieces)


def _pieces(file: DeliveryFile, declared: Declared) -> Iterator[RawRows]:
    content, axes = whole(file.source, file.kept), declared.axes or ()
    if file.form is Form.JSON:
        return json_rows.rows(content, axes, declared)
    if file.form is Form.CSV:
        return csv_rows.rows(file.source, content, axes, declared)
    from pipelines.reading import parquet_rows

    opened_anew = parquet_rows.open_file(file.source, pa.BufferReader(content))
    refuse(parquet_rows.faults(file.source, opened_anew, declared))
    return parquet_rows.rows(file.source, opened_anew, axes, declared)
