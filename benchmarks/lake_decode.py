"""The floors of epochs: PyArrow decodes the ticks that a task reads, and writes heads.

A module of its own, since Spark's workers import it.
"""

import json
import time
from pathlib import Path

import pyarrow.parquet as pq

from pipelines.execute.read import columns_of_tuples
from pipelines.execute.share import Share


def decoded(line: str) -> str:
    """Decode the ticks of a share, with nothing checked, and give the seconds that took."""
    share = Share.from_json(line)
    columns = columns_of_tuples(share, share.feed)
    begin = time.perf_counter()
    for path in share.files[share.feed]:
        file = pq.ParquetFile(
            share.place / share.feed / path, read_dictionary=["stream_id"], memory_map=True
        )
        file.read(columns, use_threads=False)
    return str(time.perf_counter() - begin)


def written_again(line: str) -> str:
    """Write the rows of some files again, with nothing checked, and give the seconds that took."""
    spent = 0.0
    for path in map(Path, json.loads(line)):
        rows = pq.ParquetFile(path, read_dictionary=["stream_id", "index"]).read()
        again = path.with_name(f"{path.name}.again")
        begin = time.perf_counter()
        pq.write_table(rows, again, compression="NONE", use_dictionary=["stream_id", "index"])
        spent += time.perf_counter() - begin
        again.unlink()
    return str(spent)
