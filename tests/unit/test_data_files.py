"""How a data file is put together: what its readers pay for."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.lake import data_files
from pipelines.lake.data_files import write_files
from schemas import all_tables, axes_only

TICKS = all_tables(axes_only({"ticks": ("price",)}))["ticks"]


def ticks(n: int) -> pa.Table:
    rows = {
        "stream_id": pa.array([f"s{k % 7}" for k in range(n)]),
        "ts": pa.array(np.arange(n) * 1_000_000).view(pa.timestamp("us", "UTC")),
        "price": pa.array(np.arange(n) / 3),
        "arrival": pa.repeat(pa.scalar(1, pa.int64()), n),
        "file": pa.repeat(pa.scalar(0, pa.int32()), n),
        "line": pa.array(np.arange(1, n + 1)),
        "bucket": pa.repeat(pa.scalar(-1, pa.int32()), n),
        "deleted": pa.nulls(n, pa.bool_()),
    }
    return pa.table(rows, schema=TICKS.arrow)


@pytest.mark.parametrize("rows", [1, 99, 100, 101, 199, 250, 1_000])
def test_no_row_group_is_much_smaller_than_the_others(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(data_files, "ROW_GROUP", 100)
    (file,) = write_files(tmp_path, TICKS, ticks(rows))
    written = pq.ParquetFile(tmp_path / file.path)
    groups = [written.metadata.row_group(k).num_rows for k in range(written.num_row_groups)]
    assert sum(groups) == rows == file.rows
    assert len(groups) == max(1, rows // 100)
    assert max(groups) - min(groups) < len(groups)
    assert written.read().equals(ticks(rows).drop_columns(["bucket"]))


def test_times_and_row_numbers_are_written_as_their_steps(tmp_path):
    (file,) = write_files(tmp_path, TICKS, ticks(1_000))
    written = pq.ParquetFile(tmp_path / file.path)
    columns = [written.metadata.row_group(0).column(k) for k in range(len(written.schema))]
    encodings = {column.path_in_schema: column.encodings for column in columns}
    steps = {name for name, used in encodings.items() if "DELTA_BINARY_PACKED" in used}
    assert steps == {"ts", "line"}
    assert sum(c.total_compressed_size for c in columns if c.path_in_schema in steps) < 500
    plain = {column.path_in_schema for column in columns if column.compression == "UNCOMPRESSED"}
    assert plain == steps
