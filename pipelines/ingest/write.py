"""Where the rows of a unit go: tuples to one file per share of the streams, others to quarantine.

Law: rows are in a file in the order in which they were added. A unit of few rows makes one mixed
file, so that a trickle of small deliveries does not become a flood of small files.
"""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa

from fencepost.arrow import dictionary_of
from pipelines.lake.buckets import MIXED, bucket_of, residues_of
from pipelines.lake.data_files import DataFile, GrowingFile
from pipelines.places import Place
from schemas import Table

FEW = 200_000
"""Rows of a unit up to which they share one mixed file."""


AT_ONCE = 1 << 16
"""Rows that are parted at a time, at least: many small pieces would cost more than their rows."""


class TupleFiles:
    """A unit's tuples on their way to files; FEW rows and a row group a bucket in memory."""

    def __init__(self, folder: Place, table: Table, buckets: int) -> None:
        """Begin without files."""
        self.folder = folder
        self.table = table
        self.buckets = buckets
        self._buffer: list[pa.Table] = []
        self._rows = 0
        self._files: dict[int, GrowingFile] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Add rows."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the files."""
        if kind is None and self._rows >= FEW:
            self._split_buffer()
        elif kind is None:
            for rows in self._buffer:
                self._file(MIXED).add(rows)
        self._open.__exit__(kind, error, trace)

    def add(self, rows: pa.Table) -> None:
        """Add tuples, their stream ids coded; (measured) 0.2 µs a row."""
        if rows.num_rows == 0:
            return
        self._rows += rows.num_rows
        self._buffer.append(rows)
        if self._rows >= FEW and sum(buffer.num_rows for buffer in self._buffer) >= AT_ONCE:
            self._split_buffer()

    def closed(self) -> list[DataFile]:
        """Describe the files, once they are closed."""
        return [file.closed() for _, file in sorted(self._files.items())]

    def _split_buffer(self) -> None:
        buffer, self._buffer = self._buffer, []
        if buffer:
            self._part(pa.concat_tables(buffer))

    def _part(self, rows: pa.Table) -> None:
        """Add each row to the file of its bucket; each file gets only its own stream ids."""
        coded = dictionary_of(rows["stream_id"])
        names = coded.dictionary.cast(pa.string())
        bucket = residues_of(names, self.buckets).astype(np.uint16)
        codes = coded.indices.to_numpy(zero_copy_only=False)
        order = np.argsort(bucket[codes], kind="stable")
        ends = np.cumsum(np.bincount(bucket[codes], minlength=self.buckets))
        by_bucket = np.argsort(bucket, kind="stable")
        own_ends = np.cumsum(np.bincount(bucket, minlength=self.buckets))
        own_code = np.empty(len(names), np.int32)
        own_code[by_bucket] = np.arange(len(names))
        sorted_rows = rows.drop_columns(["stream_id"]).take(pa.array(order))
        sorted_codes, sorted_names = own_code[codes][order], names.take(pa.array(by_bucket))
        for place in range(self.buckets):
            begin, own_begin = (ends[place - 1], own_ends[place - 1]) if place else (0, 0)
            if begin == ends[place]:
                continue
            ids = pa.DictionaryArray.from_arrays(
                sorted_codes[begin : ends[place]] - np.int32(own_begin),
                sorted_names.slice(own_begin, own_ends[place] - own_begin),
            )
            part = sorted_rows.slice(begin, ends[place] - begin).append_column("stream_id", ids)
            self._file(bucket_of(self.buckets, place)).add(part)

    def _file(self, bucket: int) -> GrowingFile:
        if bucket not in self._files:
            file = GrowingFile(self.folder, self.table, {"bucket": str(bucket)})
            self._files[bucket] = self._open.enter_context(file)
        return self._files[bucket]
